package lds_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distmv"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/lds"
)

// TestEvidenceIsBelowTheExactOne of one dimension: z is integrated out by a scalar filter, and the parameters by
// adaptive importance sampling, under the prior in the coordinates of the fit (docs/theory/lds.md, section 3).
func TestEvidenceIsBelowTheExactOne(t *testing.T) {
	for i, c := range []struct {
		columns, steps int
		loose          float64 // of one column, noise and signal can hardly be told apart
	}{{1, 30, 16}, {2, 30, 5}, {2, 100, 5}} {
		p := &lds.Parameters{K: 1, D: c.columns, Dynamics: []float64{0.8}, Start: []float64{1}, Spread: 1,
			Loadings: []float64{1, 0.7}[:c.columns], Mean: []float64{5, 2}[:c.columns], Noise: []float64{1, 0.5}[:c.columns],
			Center: []float64{5, 2}[:c.columns], Unit: []float64{4, 2}[:c.columns]}
		b := sequences(p, uint64(i+1), 0, c.steps)
		res, err := framework.Fit(t.Context(), lds.Model{}, source(t, b), framework.Options{K: 1, FixedK: true, Restarts: 3})
		require.NoError(t, err)
		exact, sd := exactEvidence(t, res.Parameters, b)
		t.Logf("%d × %d: E − ln p(X|K) = %.3f ± %.3f", c.steps, c.columns, res.Value-exact, sd)
		assert.Less(t, sd, 0.1)
		assert.Less(t, res.Value, exact+3*sd)
		assert.Greater(t, res.Value, exact-c.loose)
	}
}

// exactEvidence is ln p(X|K = 1) and its standard error.
func exactEvidence(t *testing.T, p *lds.Parameters, b blocks.Sequences) (logMean, sd float64) {
	n, d := b.Steps.N, p.D
	mean, cov, _ := dense(t, p, b)
	second := 1.0
	for i := range n {
		second += mean.AtVec(i)*mean.AtVec(i) + cov.At(i, i)
	}
	unit := math.Sqrt(second / float64(n)) // of z
	prior := func(x []float64) (sum float64) {
		for i, v := range x {
			sum += distuv.Normal{Sigma: 1}.LogProb(v)
			if i < d {
				sum += distuv.Normal{Sigma: math.Sqrt2}.LogProb(v) - distuv.Normal{Sigma: 1}.LogProb(v)
			}
		}
		return sum
	}
	likelihood := func(x []float64) (sum float64) { // x: D of ln r, loadings and means, then A and the start
		m, v := x[3*d+1]*unit, p.Spread
		noise := make([]float64, d)
		for j := range noise {
			noise[j] = p.Unit[j] * math.Exp(x[j])
		}
		for i := range n {
			if i > 0 {
				m, v = x[3*d]*m, x[3*d]*x[3*d]*v+1
			}
			for j, value := range b.Steps.Row(i) {
				s := math.Sqrt(p.Unit[j])
				c, left := x[d+j]*s/unit, value-p.Center[j]-x[2*d+j]*s
				total := c*c*v + noise[j]
				gain := c * v / total
				left -= c * m
				sum -= (math.Log(2*math.Pi*total) + left*left/total) / 2
				m, v = m+gain*left, v-gain*c*v
			}
		}
		return sum
	}
	size := 3*d + 2
	at, spread := make([]float64, size), mat.NewSymDense(size, nil)
	for i := range size {
		spread.SetSym(i, i, 0.1)
	}
	for j := range d {
		s := math.Sqrt(p.Unit[j])
		at[j], at[d+j], at[2*d+j] = math.Log(p.NoiseOf(j)/p.Unit[j]), p.Loadings[j]*unit/s, (p.Mean[j]-p.Center[j])/s
	}
	at[3*d], at[3*d+1] = p.Dynamics[0], p.Start[0]/unit
	sign := math.Copysign(1, at[d])
	const draws = 10000
	weights, x := make([]float64, draws), mat.NewDense(draws, size, nil)
	src := rand.NewPCG(8, 9)
	for range 4 {
		q, ok := distmv.NewStudentsT(at, spread, 5, src)
		require.True(t, ok)
		for i := range draws {
			row := q.Rand(x.RawRowView(i))
			weights[i] = math.Inf(-1)
			if row[d]*sign > 0 { // the other sign of z is as probable
				weights[i] = math.Ln2 + likelihood(row) + prior(row) - q.LogProb(row)
			}
		}
		total := floats.LogSumExp(weights)
		logMean = total - math.Log(draws)
		for i := range weights {
			weights[i] = draws * math.Exp(weights[i]-total)
		}
		sd = stat.StdDev(weights, nil) / math.Sqrt(draws)
		for i := range at {
			at[i] = stat.Mean(mat.Col(nil, i, x), weights)
		}
		stat.CovarianceMatrix(spread, x, weights)
	}
	return logMean, sd
}

package features

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

// A feature is divided by a model of two features that is fitted to what the others leave of the rows: the partial EM
// of Ueda, Nakano, Ghahramani & Hinton (2000). Local maxima have a feature that is on where either of two is, or both,
// or leave one to the noise.

const (
	// splitIterations bounds the iterations of the model of two: the fit's own go on from there.
	splitIterations = 20
	// splitStarts is the number of its starts.
	splitStarts = 3
)

var errUnpromising = errors.New("features: the rows that are left have no room for two features")

// Split divides feature k with the rows of a sample (see [optional.Splitter]). It tries two divisions: one starts at
// feature k and a new one beside it, the other at two new features.
func (m Model) Split(
	ctx context.Context, src framework.Source[blocks.Rows], s *Statistics, p *Parameters, k int, rng *rand.Rand,
) (*Parameters, float64, error) {
	rest, err := p.rest(ctx, src, s.N, k, rng)
	if err != nil {
		return nil, 0, err
	}
	o := framework.Options{
		K:             2,
		Method:        framework.EM,
		Criterion:     framework.ELBO,
		MaxIterations: splitIterations,
		Restarts:      splitStarts,
		Seed:          rng.Uint64(),
		Workers:       1,
		NoMoves:       true,
	}
	start := m.Init
	if framework.DivisionOf(ctx) == 0 {
		start = func(ctx context.Context, src framework.Source[blocks.Rows], n int, rng *rand.Rand) (*Parameters, error) {
			return m.beside(ctx, src, p, k, n, rng)
		}
	}
	two, err := framework.FitFrom(ctx, m, rest, start, o)
	if err != nil {
		return nil, 0, fmt.Errorf("%w: %w", errUnpromising, err)
	}
	o.K, o.Restarts = 1, 1
	one, err := framework.FitFrom(ctx, m, rest,
		func(ctx context.Context, src framework.Source[blocks.Rows], n int, rng *rand.Rand) (*Parameters, error) {
			return m.beside(ctx, src, p, k, n, rng)
		}, o)
	if err != nil {
		return nil, 0, err
	}
	rows, _ := rest.Dims()
	extra := float64(p.D+1) * s.N / float64(rows) // what one more feature gains on the sample where there is none
	return p.grown(two.Parameters, k), two.Value - one.Value - extra, nil
}

// rest is what the features other than k leave of the rows of a sample, which stand for n rows in all.
func (p *Parameters) rest(
	ctx context.Context, src framework.Source[blocks.Rows], n float64, k int, rng *rand.Rand,
) (*blocks.Table, error) {
	rows, err := family.DrawRows(ctx, src, p.D, rng)
	if err != nil {
		return nil, err
	}
	_, on, err := p.Score(rows)
	if err != nil {
		return nil, err
	}
	for i := range rows.N {
		row, q := rows.Row(i), on[i*p.K:(i+1)*p.K]
		q[k] = 0
		for j := range row {
			row[j] -= floats.Dot(q, p.Loadings[j*p.K:(j+1)*p.K])
		}
	}
	floats.Scale(n/floats.Sum(rows.Weights), rows.Weights)
	t, err := blocks.FromSlice(rows.X, rows.N, rows.D)
	if err != nil {
		return nil, err
	}
	return t.WithWeights(rows.Weights)
}

// beside starts with feature k of p, and n − 1 that Init draws.
func (m Model) beside(
	ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, k, n int, rng *rand.Rand,
) (*Parameters, error) {
	q, err := m.Init(ctx, src, n, rng)
	if err != nil {
		return nil, err
	}
	q.On[0] = p.On[k]
	for j := range p.D {
		q.Loadings[j*n] = p.Loadings[j*p.K+k]
		q.Offset[j] = p.Offset[j]
		for l := 1; l < n; l++ {
			q.Offset[j] -= q.Loadings[j*n+l] / 2
		}
	}
	return q, nil
}

// grown has the two features of two in place of feature k, and as the last.
func (p *Parameters) grown(two *Parameters, k int) *Parameters {
	q := p.clone()
	q.K = p.K + 1
	q.On, q.Loadings, q.Offset = append(q.On, two.On[1]), make([]float64, p.D*q.K), two.Offset
	q.On[k] = two.On[0]
	for j := range p.D {
		w := q.Loadings[j*q.K : (j+1)*q.K]
		copy(w, p.Loadings[j*p.K:(j+1)*p.K])
		w[k], w[p.K] = two.Loadings[2*j], two.Loadings[2*j+1]
	}
	return q
}

var (
	_ optional.Splitter[framework.Source[blocks.Rows], *Parameters, *Statistics]             = Model{}
	_ optional.Splitter[framework.Source[blocks.Rows], *Parameters, *Statistics]             = MeanField{}
	_ optional.Coupled[blocks.Rows, framework.Source[blocks.Rows], *Parameters, *Statistics] = MeanField{}
)

package bernmix_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/bernmix"
	"github.com/latent-go/latent/models/mixture"
)

// arcsine are the coordinates 2 arcsin √μ of all probabilities.
func arcsine(_ *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
	var x []float64
	for _, mu := range p.Components {
		x = append(x, 2*math.Asin(math.Sqrt(mu)))
	}
	return x, func(x []float64) *mixture.Parameters {
		q := *p
		q.Weights, q.Components = append([]float64(nil), p.Weights...), nil
		for _, phi := range x {
			s := math.Sin(phi / 2)
			q.Components = append(q.Components, s*s)
		}
		return &q
	}
}

// free are those and the logarithms of the weights' ratios.
func free(s *mixture.Statistics, p *mixture.Parameters) ([]float64, func([]float64) *mixture.Parameters) {
	x, at := arcsine(s, p)
	n := len(x)
	for _, w := range p.Weights[1:] {
		x = append(x, math.Log(w/p.Weights[0]))
	}
	return x, func(x []float64) *mixture.Parameters {
		q := at(x[:n])
		sum := 1.0
		for _, v := range x[n:] {
			sum += math.Exp(v)
		}
		q.Weights[0] = 1 / sum
		for k, v := range x[n:] {
			q.Weights[k+1] = math.Exp(v) / sum
		}
		return q
	}
}

// pseudoCounts are the logarithms of the weights' concentrations and of the numbers of ones
// and zeros.
func pseudoCounts(_ *mixture.Statistics, p *mixture.Posterior) ([]float64, func([]float64) *mixture.Posterior) {
	var x []float64
	for _, a := range p.Weights {
		x = append(x, math.Log(a))
	}
	for i := 0; i < len(p.Components); i += 2 {
		x = append(x, math.Log(p.Components[i+1]), math.Log(p.Components[i]-p.Components[i+1]))
	}
	return x, func(x []float64) *mixture.Posterior {
		q := *p
		q.Weights, q.Components = nil, nil
		for _, v := range x[:p.K] {
			q.Weights = append(q.Weights, math.Exp(v))
		}
		for i := p.K; i < len(x); i += 2 {
			ones, zeros := math.Exp(x[i]), math.Exp(x[i+1])
			q.Components = append(q.Components, ones+zeros, ones)
		}
		return &q
	}
}

// cycled puts the first rows of a K×n matrix last.
func cycled(v []float64, k, by int) []float64 {
	n := len(v) / k * by
	return append(append([]float64(nil), v[n:]...), v[:n]...)
}

// listed are bits as lists of the ones.
func listed(x []float64, m int) lvmtest.Data[blocks.Rows] {
	return lvmtest.Data[blocks.Rows]{Rows: len(x) / m, Block: func(rows []int, weights []float64, first int) blocks.Rows {
		e := &blocks.Entries{Start: []int{0}}
		for _, i := range rows {
			for j, v := range x[i*m : (i+1)*m] {
				if v == 1 {
					e.Columns = append(e.Columns, j)
				}
			}
			e.Start = append(e.Start, len(e.Columns))
		}
		return blocks.Rows{First: first, N: len(rows), D: m, Entries: e, Weights: weights}
	}}
}

func bits(x []float64, m int) lvmtest.Data[blocks.Rows] {
	return lvmtest.Matrix(mat.NewDense(len(x)/m, m, x))
}

const columns = 6

func estimated(model framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics], as func([]float64, int) lvmtest.Data[blocks.Rows]) lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics] {
	return lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
		Model: model, K: tier.Sizes(), NoAllocations: true,
		Data: as(draw(120, three.weights, three.probabilities, 8), columns),
		Free: free, Latent: arcsine,
		Symmetry: func(p *mixture.Parameters, rng *rand.Rand) *mixture.Parameters {
			q, by := *p, rng.IntN(p.K)
			q.Weights, q.Components = cycled(p.Weights, p.K, by), cycled(p.Components, p.K, by)
			return &q
		},
		Degenerate: func(s *mixture.Statistics, p *mixture.Parameters) (*mixture.Statistics, *mixture.Parameters, float64) {
			last := p.K - 1
			s.Nk[last] = 0
			clear(s.Classes.Sums[last*len(s.Classes.Sums)/p.K:])
			rest := 1 - p.Weights[last]
			p.Weights[last] = 0
			for k := range p.Weights {
				p.Weights[k] /= rest
			}
			return s, p, 0
		},
		Sample: func(p *mixture.Parameters, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
			x, _, err := bernmix.EM().Sample(p, n, rng)
			return as(x, columns), err
		},
	}
}

func integrated(model framework.Model[blocks.Rows, *mixture.Posterior, *mixture.Statistics], as func([]float64, int) lvmtest.Data[blocks.Rows]) lvmtest.Case[blocks.Rows, *mixture.Posterior, *mixture.Statistics] {
	return lvmtest.Case[blocks.Rows, *mixture.Posterior, *mixture.Statistics]{
		Model: model, K: tier.Sizes(), NoAllocations: true,
		Data: as(draw(120, three.weights, three.probabilities, 8), columns),
		Free: pseudoCounts,
		Symmetry: func(p *mixture.Posterior, rng *rand.Rand) *mixture.Posterior {
			q, by := *p, rng.IntN(p.K)
			q.Weights, q.Components = cycled(p.Weights, p.K, by), cycled(p.Components, p.K, by)
			return &q
		},
	}
}

func TestConformance(t *testing.T) {
	t.Run("EM", func(t *testing.T) { lvmtest.Test(t, estimated(bernmix.EM(), bits)) })
	t.Run("MAP", func(t *testing.T) { lvmtest.Test(t, estimated(bernmix.MAP(2, 1.5), bits)) })
	t.Run("sparse EM", func(t *testing.T) { lvmtest.Test(t, estimated(bernmix.EM(), listed)) })
	t.Run("VB", func(t *testing.T) { lvmtest.Test(t, integrated(bernmix.VB(1, 1), bits)) })
	t.Run("VB near the edge", func(t *testing.T) { lvmtest.Test(t, integrated(bernmix.VB(0.3, 0.2), bits)) })
	t.Run("sparse VB", func(t *testing.T) { lvmtest.Test(t, integrated(bernmix.VB(1, 1), listed)) })
}

package factor

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/bpca"
)

// A view is the model of the columns that rows of one pattern show.
type view struct {
	*bpca.Parameters // of whitened rows
	root             *root
	own              *Parameters
	score            func(b blocks.Rows, logProb, mean []float64) ([]float64, []float64, error) // whitened rows
}

// view is the model of the columns that a pattern has.
func (p *Parameters) view(of *pattern) (*view, error) {
	own := &Parameters{K: p.K, D: len(of.show), Structure: Structure{Isotropic: p.Isotropic},
		Mean: pick(nil, p.Mean, 1, of.show), Loadings: pick(nil, p.Loadings, p.K, of.show), Noise: p.Noise}
	if !p.Isotropic {
		own.Noise = nil
		at, next := 0, 0 // in Noise, and in show
		for _, part := range p.parts(p.D) {
			m := len(part)
			if next < len(of.show) && part[0] == of.show[next] {
				own.Noise = append(own.Noise, p.Noise[at:at+m*m]...)
				if p.Blocks != nil {
					block := make([]int, m)
					for i := range block {
						block[i] = next + i
					}
					own.Blocks = append(own.Blocks, block)
				}
				next += m
			}
			at += m * m
		}
	}
	v := &view{own: own}
	var err error
	if v.Parameters, v.root, err = own.whitened(); err != nil {
		return nil, err
	}
	v.score, err = v.Parameters.Scorer()
	return v, err
}

// views reads rows by the columns that they show, and keeps the model of the last ones.
type views struct {
	p      *Parameters
	reader reader
	last   *view
	x      []float64 // whitened rows
}

// each calls f with the model of rows that miss the same entries and follow one another, and these, whitened, until the
// next call. first is the place of the first of them in the block.
func (r *views) each(b blocks.Rows, f func(v *view, white blocks.Rows, first int) error) error {
	for i := range b.N {
		for j, v := range b.Row(i) {
			if math.IsInf(v, 0) {
				return fmt.Errorf("factor: %w", blocks.NotFinite(b.First+i, j, v))
			}
		}
	}
	return r.reader.each(b, r.p.Structure, r.p.D, func(of *pattern) (err error) {
		if of.fresh {
			if r.last, err = r.p.view(of); err != nil {
				return err
			}
		}
		white := of.complete(r.x)
		r.x, white.Weights = white.X, nil
		for i := range white.N {
			linalg.Axpy(-1, r.last.own.Mean, white.Row(i))
			r.last.root.whiten(white.Row(i), false)
		}
		return f(r.last, white, of.first)
	})
}

// LogProb returns ln N(x | mean, WWᵀ + Ψ) for the present entries of each row of a block, in nats.
func (p *Parameters) LogProb(b blocks.Rows) ([]float64, error) {
	return Model{}.LogProb(b, p, nil)
}

// LogProb calls Parameters.LogProb of p.
func (Model) LogProb(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	dst, _, err := p.Scorer()(b, dst, nil)
	return dst, err
}

// Transform returns the (Thomson) regression scores of the rows of a block: the means of p(z|x), n×K. Missing entries
// (NaN) are integrated out.
func (p *Parameters) Transform(b blocks.Rows) (*mat.Dense, error) {
	_, mean, err := p.Scorer()(b, nil, nil)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(b.N, p.K, mean), nil
}

// Scorer returns a function that computes LogProb and Transform for one block after another, in one goroutine. It
// computes once what rows with the same missing entries share, and allocates nothing if the slices are large enough.
func (p *Parameters) Scorer() func(b blocks.Rows, logProb, mean []float64) ([]float64, []float64, error) {
	r := &views{p: p}
	return func(b blocks.Rows, logProb, mean []float64) ([]float64, []float64, error) {
		logProb, mean = linalg.Resize(logProb, b.N), linalg.Resize(mean, b.N*p.K)
		return logProb, mean, r.each(b, func(v *view, white blocks.Rows, first int) error {
			end := first + white.N
			logs, _, err := v.score(white, logProb[first:end:end], mean[first*p.K:end*p.K:end*p.K])
			if err != nil {
				return fmt.Errorf("factor: %w", blocks.FaultyRow(white.First, "%v", err))
			}
			for i := range logs {
				for _, logDet := range v.root.logDet {
					logs[i] -= logDet / 2
				}
			}
			return nil
		})
	}
}

// Covariance returns the covariance of p(z|x), K×K, for an x without missing entries.
func (p *Parameters) Covariance() (*mat.SymDense, error) {
	q, _, err := p.whitened()
	if err != nil {
		return nil, err
	}
	_, cov, err := q.Transform(mat.NewDense(1, p.D, nil))
	return cov, err
}

// Bartlett returns Bartlett's scores of the rows of a block, (WᵀΨ⁻¹W)⁻¹WᵀΨ⁻¹(x − mean), n×K: the z of highest
// likelihood. These scores are unbiased, but vary more than regression scores. It returns an error for a row with too
// few values to determine z.
func (p *Parameters) Bartlett(b blocks.Rows) (*mat.Dense, error) {
	r, scores := &views{p: p}, mat.NewDense(b.N, p.K, nil)
	return scores, r.each(b, func(v *view, white blocks.Rows, first int) error {
		var z mat.Dense
		if err := z.Solve(v.W(), mat.NewDense(white.N, white.D, white.X).T()); err != nil || white.D < p.K {
			return fmt.Errorf("factor: %w", blocks.FaultyRow(white.First,
				"has too few values for Bartlett's scores of %d factors: take regression scores", p.K))
		}
		scores.Slice(first, first+white.N, 0, p.K).(*mat.Dense).Copy(z.T())
		return nil
	})
}

// Fill returns the rows of a block, n×D, in which each missing entry is replaced by its mean given the row's other
// entries.
func (p *Parameters) Fill(b blocks.Rows) (*mat.Dense, error) {
	z, err := p.Transform(b)
	if err != nil {
		return nil, err
	}
	x, err := p.InverseTransform(z)
	if err != nil {
		return nil, err
	}
	b.Overlay(x)
	return x, nil
}

package factor

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/bpca"
)

// A view is the model of the columns that rows of one pattern show.
type view struct {
	*bpca.Parameters // of whitened rows
	root             *root
	show             []int // the columns
	own              *Parameters
	score            func(b framework.Rows, logProb, mean []float64) ([]float64, []float64, error) // whitened rows
}

// view is the model of the parts that a row shows.
func (p *Parameters) view(x []float64, row int) (*view, error) {
	parts := p.parts(p.D)
	seen, err := p.shown(parts, x, row)
	if err != nil {
		return nil, err
	}
	v := &view{own: &Parameters{K: p.K, Structure: Structure{Isotropic: p.Isotropic}}}
	if p.Isotropic {
		v.own.Noise = p.Noise
	}
	starts := make([]int, len(parts)) // of each part in Noise
	for g := 1; g < len(parts); g++ {
		starts[g] = starts[g-1] + len(parts[g-1])*len(parts[g-1])
	}
	for _, g := range seen {
		m := len(parts[g])
		if !p.Isotropic {
			v.own.Noise = append(v.own.Noise, p.Noise[starts[g]:starts[g]+m*m]...)
		}
		var block []int
		for _, j := range parts[g] {
			block = append(block, len(v.show))
			v.show = append(v.show, j)
			v.own.Mean = append(v.own.Mean, p.Mean[j])
			v.own.Loadings = append(v.own.Loadings, p.Loadings[j*p.K:(j+1)*p.K]...)
		}
		if p.Blocks != nil {
			v.own.Blocks = append(v.own.Blocks, block)
		}
	}
	v.own.D = len(v.show)
	if v.Parameters, v.root, err = v.own.whitened(); err != nil {
		return nil, err
	}
	v.score, err = v.Parameters.Scorer()
	return v, err
}

// A reader reads rows by the columns that they show, and keeps the model of the last ones.
type reader struct {
	p    *Parameters
	last *view
	row  []float64 // which shows those columns
	x    []float64 // whitened rows
}

// white are the rows from first to end, whitened, until the next call.
func (r *reader) white(b framework.Rows, first, end int) framework.Rows {
	v, d := r.last, len(r.last.show)
	r.x = linalg.Resize(r.x, (end-first)*d)
	for i := first; i < end; i++ {
		from, to := b.Row(i), r.x[(i-first)*d:(i-first+1)*d]
		for at, j := range v.show {
			to[at] = from[j]
		}
		linalg.Axpy(-1, v.own.Mean, to)
		v.root.whiten(to, false)
	}
	return framework.Rows{N: end - first, D: d, Stride: d, X: r.x}
}

// eachPattern calls f with the rows that miss the same entries and follow one another, from first to end.
func (r *reader) eachPattern(b framework.Rows, f func(v *view, first, end int) error) error {
	if b.D != r.p.D {
		return fmt.Errorf("factor: rows have %d columns, the model %d", b.D, r.p.D)
	}
	for i := range b.N {
		for j, v := range b.Row(i) {
			if math.IsInf(v, 0) {
				return fmt.Errorf("factor: %w", framework.NotFinite(b.First+i, j, v))
			}
		}
	}
	for first := 0; first < b.N; {
		end := first + 1
		for end < b.N && samePattern(b.Row(first), b.Row(end)) {
			end++
		}
		if row := b.Row(first); r.last == nil || !samePattern(row, r.row) {
			var err error
			if r.last, err = r.p.view(row, b.First+first); err != nil {
				return err
			}
			r.row = append(r.row[:0], row...)
		}
		if err := f(r.last, first, end); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// LogProb returns ln N(x | mean, WWᵀ + Ψ) for the present entries of each row of a block, in nats.
func (p *Parameters) LogProb(b framework.Rows) ([]float64, error) {
	return Model{}.LogProb(b, p, nil)
}

// LogProb calls Parameters.LogProb of p.
func (Model) LogProb(b framework.Rows, p *Parameters, dst []float64) ([]float64, error) {
	dst, _, err := p.Scorer()(b, dst, nil)
	return dst, err
}

// Transform returns the (Thomson) regression scores of the rows of a block: the means of p(z|x), n×K. Missing entries
// (NaN) are integrated out.
func (p *Parameters) Transform(b framework.Rows) (*mat.Dense, error) {
	_, mean, err := p.Scorer()(b, nil, nil)
	if err != nil {
		return nil, err
	}
	return mat.NewDense(b.N, p.K, mean), nil
}

// Scorer returns a function that computes LogProb and Transform for one block after another, in one goroutine. It
// computes once what rows with the same missing entries share, and allocates nothing if the slices are large enough.
func (p *Parameters) Scorer() func(b framework.Rows, logProb, mean []float64) ([]float64, []float64, error) {
	r := &reader{p: p}
	return func(b framework.Rows, logProb, mean []float64) ([]float64, []float64, error) {
		logProb, mean = linalg.Resize(logProb, b.N), linalg.Resize(mean, b.N*p.K)
		return logProb, mean, r.eachPattern(b, func(v *view, first, end int) error {
			logs, _, err := v.score(r.white(b, first, end), logProb[first:end:end], mean[first*p.K:end*p.K:end*p.K])
			if err != nil {
				return fmt.Errorf("factor: %w", framework.FaultyRow(b.First+first, "%v", err))
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
func (p *Parameters) Bartlett(b framework.Rows) (*mat.Dense, error) {
	r, scores := &reader{p: p}, mat.NewDense(b.N, p.K, nil)
	return scores, r.eachPattern(b, func(v *view, first, end int) error {
		x := r.white(b, first, end)
		var z mat.Dense
		if err := z.Solve(v.W(), mat.NewDense(x.N, x.D, x.X).T()); err != nil || len(v.show) < p.K {
			return fmt.Errorf("factor: %w", framework.FaultyRow(b.First+first,
				"has too few values for Bartlett's scores of %d factors: take regression scores", p.K))
		}
		scores.Slice(first, end, 0, p.K).(*mat.Dense).Copy(z.T())
		return nil
	})
}

// Fill returns the rows of a block, n×D, in which each missing entry is replaced by its mean given the row's other
// entries.
func (p *Parameters) Fill(b framework.Rows) (*mat.Dense, error) {
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

package factor

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
)

// A view is the model of the columns that rows of one pattern show.
type view struct {
	*bpca.Parameters // of whitened rows
	root             *root
	show             []int // the columns
	own              *Parameters
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
	v.Parameters, v.root, err = v.own.whitened()
	return v, err
}

// white are the rows from first to end, whitened.
func (v *view) white(b framework.Rows, first, end int) *mat.Dense {
	x := mat.NewDense(end-first, len(v.show), nil)
	for i := first; i < end; i++ {
		row := b.Row(i)
		for at, j := range v.show {
			x.Set(i-first, at, row[j])
		}
	}
	return v.own.rows(x, v.root)
}

// eachPattern calls f with the rows that miss the same entries and follow one another, from first to end.
func (p *Parameters) eachPattern(b framework.Rows, f func(v *view, first, end int) error) error {
	if b.D != p.D {
		return fmt.Errorf("factor: rows have %d columns, the model %d", b.D, p.D)
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
		v, err := p.view(b.Row(first), b.First+first)
		if err != nil {
			return err
		}
		if err := f(v, first, end); err != nil {
			return err
		}
		first = end
	}
	return nil
}

// LogProb is ln N(x | mean, WWᵀ + Ψ) of the entries that each row of a block shows, in nats.
func (p *Parameters) LogProb(b framework.Rows) ([]float64, error) {
	return Model{}.LogProb(b, p, nil)
}

// LogProb is that of [Parameters].
func (Model) LogProb(b framework.Rows, p *Parameters, dst []float64) ([]float64, error) {
	dst = dst[:0]
	return dst, p.eachPattern(b, func(v *view, first, end int) error {
		list, err := v.Parameters.LogProb(v.white(b, first, end))
		for _, l := range list {
			for _, logDet := range v.root.logDet {
				l -= logDet / 2
			}
			dst = append(dst, l)
		}
		return err
	})
}

// Transform returns the regression scores of the rows of a block, the means of p(z|x), n×K: Thomson's. Entries that are
// missing (NaN) are integrated out.
func (p *Parameters) Transform(b framework.Rows) (*mat.Dense, error) {
	return p.scores(b, func(v *view, x *mat.Dense) (*mat.Dense, error) {
		z, _, err := v.Parameters.Transform(x)
		return z, err
	})
}

// Covariance is that of p(z|x), K×K, where x misses no entry.
func (p *Parameters) Covariance() (*mat.SymDense, error) {
	q, _, err := p.whitened()
	if err != nil {
		return nil, err
	}
	_, cov, err := q.Transform(mat.NewDense(1, p.D, nil))
	return cov, err
}

// Bartlett returns Bartlett's scores of the rows of a block, (WᵀΨ⁻¹W)⁻¹WᵀΨ⁻¹(x − mean), n×K: the z with the highest
// likelihood, which are unbiased and vary more. It errs for rows that show too little to have them.
func (p *Parameters) Bartlett(b framework.Rows) (*mat.Dense, error) {
	return p.scores(b, func(v *view, x *mat.Dense) (*mat.Dense, error) {
		var z mat.Dense
		if err := z.Solve(v.W(), x.T()); err != nil || len(v.show) < p.K {
			return nil, fmt.Errorf("has too few values for Bartlett's scores of %d factors: take regression scores", p.K)
		}
		return mat.DenseCopyOf(z.T()), nil
	})
}

func (p *Parameters) scores(b framework.Rows, of func(v *view, x *mat.Dense) (*mat.Dense, error)) (*mat.Dense, error) {
	scores := mat.NewDense(b.N, p.K, nil)
	return scores, p.eachPattern(b, func(v *view, first, end int) error {
		z, err := of(v, v.white(b, first, end))
		if err != nil {
			return fmt.Errorf("factor: %w", framework.FaultyRow(b.First+first, "%v", err))
		}
		scores.Slice(first, end, 0, p.K).(*mat.Dense).Copy(z)
		return nil
	})
}

// Fill returns the rows of a block with their means given the entries that they show in the place of missing ones, n×D.
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

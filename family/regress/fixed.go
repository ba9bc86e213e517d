package regress

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/variances"
)

// sharing is a normal response with coefficients c that all classes share. With the class's own estimate (b̂, ĉ) and
// Q = Σ q(y − ŷ)² there, the least Σ q(y − lᵀu)² over b given c is
//
//	Q + (c − ĉ)ᵀS(c − ĉ),  S = G_cc − G_cb G_bb⁻¹ G_bc,  at b = b̂ − G_bb⁻¹ G_bc (c − ĉ).
type sharing struct{ linear }

// profile is what a class says of c.
type profile struct {
	n, squares float64
	schur      *mat.SymDense // S
	own        *mat.VecDense // ĉ
	follow     *mat.Dense    // G_bb⁻¹ G_bc
}

// mostAlternations bounds the alternation of c and the variances.
const mostAlternations = 1000

// Share alternates c = (Σ S/σ²)⁻¹ Σ Sĉ/σ² and the variances, which begin at the optimum for the anchors' c, so that the
// likelihood rises from there.
func (f sharing) Share(sums, anchors, params family.Table, w *family.Pooled) error {
	p, l := f.size(), f.Layout()
	classes, residual := make([]profile, params.K), make([]float64, params.K)
	var centre []float64
	c := mat.NewVecDense(len(f.fixed), nil)
	for k := range classes {
		var line []float64
		line, centre = f.parts(anchors.Row(k, l.Anchor))
		for i, j := range f.fixed {
			c.SetVec(i, line[j]) // the same in all
		}
		var err error
		if classes[k], err = f.profileOf(sums.Row(k, l.Sums), params.Row(k, p+1), centre); err != nil {
			return family.ClassError(k, err)
		}
	}
	floor := 0.0
	if w != nil && len(w.Floor) > 0 {
		floor = w.Floor[0]
	}
	last := math.Inf(1)
	for range mostAlternations {
		for k, one := range classes {
			residual[k] = max(floor, one.squaresAt(c)/one.n)
			if !(residual[k] > variances.Vanishing*w.Parameters[p]) && floor == 0 {
				err := fmt.Errorf("the rows lie on a line: %w; lower K, or allow a floor", framework.ErrDegenerate)
				return family.ClassError(k, err)
			}
		}
		step, err := shared(classes, residual, c)
		if err != nil {
			return err
		}
		// The likelihood is flat where c is still some 1e-8 of its deviation away: its own step says how far.
		if !(step > 1e-24) || step < 1e-12 && step >= last {
			break
		}
		last = step
	}
	for k, one := range classes {
		one.put(f.design, c, centre, params.Row(k, p+1))
		params.Row(k, p+1)[p] = max(floor, one.squaresAt(c)/one.n)
	}
	return nil
}

// profileOf makes the profile of a class from its own estimate.
func (f sharing) profileOf(sums, xi, centre []float64) (profile, error) {
	p := f.size()
	g := f.gram(sums[1:], p+1)
	line := make([]float64, p)
	f.toLine(xi, centre, line)
	own, cross := submatrix(g, f.own), mat.NewDense(len(f.own), len(f.fixed), nil)
	one := profile{
		n:       sums[0],
		squares: sums[0] * xi[p],
		schur:   submatrix(g, f.fixed),
		own:     mat.NewVecDense(len(f.fixed), nil),
		follow:  new(mat.Dense),
	}
	for i, a := range f.own {
		for j, b := range f.fixed {
			cross.Set(i, j, g.At(a, b))
		}
	}
	for j, b := range f.fixed {
		one.own.SetVec(j, line[b])
	}
	var chol mat.Cholesky
	if !chol.Factorize(own) {
		return one, dependent()
	}
	_ = chol.SolveTo(one.follow, cross) // badly conditioned at worst
	for i := range f.fixed {
		for j := i; j < len(f.fixed); j++ {
			one.schur.SetSym(i, j, one.schur.At(i, j)-mat.Dot(cross.ColView(i), one.follow.ColView(j)))
		}
	}
	return one, nil
}

// squaresAt is the least Σ q(y − lᵀu)² given c.
func (one profile) squaresAt(c *mat.VecDense) float64 {
	var gap mat.VecDense
	gap.SubVec(c, one.own)
	return one.squares + mat.Inner(&gap, one.schur, &gap)
}

// shared puts (Σ S/σ²)⁻¹ Σ Sĉ/σ² into c, and returns the square of the step in standard deviations of c.
func shared(classes []profile, variances []float64, c *mat.VecDense) (square float64, err error) {
	step := mat.VecDenseCopyOf(c)
	total, pull := mat.NewSymDense(c.Len(), nil), mat.NewVecDense(c.Len(), nil)
	for k, one := range classes {
		var scaled mat.SymDense
		scaled.ScaleSym(1/variances[k], one.schur)
		total.AddSym(total, &scaled)
		var part mat.VecDense
		part.MulVec(&scaled, one.own)
		pull.AddVec(pull, &part)
	}
	var chol mat.Cholesky
	if !chol.Factorize(total) {
		return 0, dependent()
	}
	_ = chol.SolveVecTo(c, pull)
	step.SubVec(c, step)
	return mat.Inner(step, total, step), nil
}

// put makes the coefficients of a class that go with c.
func (one profile) put(d design, c *mat.VecDense, centre, xi []float64) {
	line := make([]float64, d.size())
	d.toLine(xi, centre, line)
	var gap, move mat.VecDense
	gap.SubVec(c, one.own)
	move.MulVec(one.follow, &gap)
	for i, j := range d.own {
		line[j] -= move.AtVec(i)
	}
	for i, j := range d.fixed {
		line[j] = c.AtVec(i)
	}
	d.fromLine(line, centre, xi)
}

var _ family.Sharer = sharing{}

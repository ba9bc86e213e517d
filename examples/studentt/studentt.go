// Package studentt is a family with heavy tails: in every column Student's t, the scale mixture of normal distributions
//
//	x | u ~ N(μ, σ²/u),  u ~ Gamma(ν/2, ν/2),  q(u) = Gamma((ν+1)/2, (ν+δ)/2),  δ = (x−μ)²/σ².
//
// A row far out has a small u, and so says little about μ and σ² (Peel & McLachlan 2000). u is a latent variable of the
// family's own: of it the model around learns nothing but the entropy.
package studentt

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
)

// StudentT is the family, and its factor of one column: columns are independent within a class. A class has
//
//	params μ, σ², ν; anchor a; sums Σq, Σq E[u], Σq E[u](x−a), Σq E[u](x−a)², Σq E[ln u]
//	score  c, μ, 1/(νσ²), ν, lnΓ((ν+1)/2) with ln p(x) = c − (ν+1)/2·ln(1 + (x−μ)²/(νσ²))
type StudentT struct{ family.Real }

const fewest, most, begin = 0.5, 200, 8 // ν: at the end of its range a distribution is normal to any table

// Name is "student-t".
func (StudentT) Name() string { return "student-t" }

// On is independent columns.
func (f StudentT) On(columns int) ([]family.Factor, error) {
	return slices.Repeat([]family.Factor{f}, columns), nil
}

// Layout has one cell, of three parameters.
func (StudentT) Layout() family.Layout {
	return family.Layout{Columns: 1, Cells: 1, Free: 3, Sums: 5, Anchor: 1, Score: 5, Params: 3, Features: 1}
}

// AddScores adds the log density, of 0 where a value is missing.
func (StudentT) AddScores(o *family.Observed, scores family.Table, r []float64) {
	for k := range scores.K {
		score, to := scores.Row(k, 5), r[k*o.Padded():]
		for i, x := range o.X[:o.N] {
			if d := x - score[1]; !math.IsNaN(x) {
				to[i] += score[0] - (score[3]+1)/2*math.Log1p(score[2]*d*d)
			}
		}
	}
}

// AddSums adds expectations under q(u), and returns its entropy. Before there are scores all rows are as near as can
// be.
func (StudentT) AddSums(o *family.Observed, r []float64, scores, anchors, sums family.Table) (entropy float64) {
	for k := range sums.K {
		s, score, weights, anchor := sums.Row(k, 5), scores.Row(k, 5), r[k*o.Padded():], anchors.Row(k, 1)[0]
		nu := cmp.Or(score[3], begin)
		shape, digamma := (nu+1)/2, mathext.Digamma((nu+1)/2)
		for i, x := range o.X[:o.N] {
			if q, d, off := weights[i], x-score[1], x-anchor; q != 0 && !math.IsNaN(x) {
				rate := nu / 2 * (1 + score[2]*d*d)
				u, logRate := shape/rate, math.Log(rate)
				floats.AddScaled(s, q, []float64{1, u, u * off, u * off * off, digamma - logRate})
				entropy += q * (shape + score[4] + (1-shape)*digamma - logRate)
			}
		}
	}
	return entropy
}

// Estimate is μ = a + Σu(x−a)/Σu, σ² = Σu(x−μ)²/n, and ν where ln(ν/2) − ψ(ν/2) = Σ(u − ln u)/n − 1.
func (StudentT) Estimate(sums, anchor []float64, pooled *family.Pooled, xi []float64) error {
	n, u, shift := sums[0], sums[1], sums[2]/sums[1]
	xi[0], xi[1], xi[2] = anchor[0]+shift, (sums[3]-shift*sums[2])/n, degrees((u-sums[4])/n-1)
	switch {
	case pooled == nil && !(n > 0):
		return blocks.FaultyColumn(0, blocks.ErrNoValue)
	case pooled == nil && !(xi[1] > 1e-24*xi[0]*xi[0]):
		return blocks.FaultyColumn(0, blocks.ErrConstant)
	case pooled != nil && !(n > 0): // no row of the class has the column
		copy(xi, pooled.Parameters)
	case pooled != nil && !(xi[1] > 1e-12*pooled.Parameters[1]):
		return blocks.FaultyColumn(0, fmt.Errorf("has no spread left in a class: %w", framework.ErrDegenerate))
	}
	return nil
}

// degrees solves ln α − ψ(α) = s for 2α. In w = 1/α Newton's method comes down from 2s, as the left side is convex, and
// ≥ w/2.
func degrees(s float64) float64 {
	w := 2 * max(s, 1e-9)
	for range 10 {
		w -= (-math.Log(w) - mathext.Digamma(1/w) - s) / (mathext.Zeta(2, 1/w)/(w*w) - 1/w)
	}
	return min(most, max(fewest, 2/w))
}

// Score is of the log density; c = −ln B(ν/2, ½) − ½ ln νσ².
func (StudentT) Score(xi, score []float64) error {
	nu, scale := xi[2], xi[2]*xi[1]
	score[0], score[1], score[2], score[3] = -mathext.Lbeta(nu/2, 0.5)-math.Log(scale)/2, xi[0], 1/scale, nu
	score[4], _ = math.Lgamma((nu + 1) / 2)
	return nil
}

// Total is Σ q E[ln p(x, u)].
func (StudentT) Total(score, sums, anchor []float64) float64 {
	nu, off := score[3], score[1]-anchor[0]
	square := sums[3] + off*(off*sums[1]-2*sums[2])
	return sums[0]*(score[0]-score[4]+(nu+1)/2*math.Log(nu/2)) + (nu-1)/2*sums[4] - nu/2*(sums[1]+score[2]*square)
}

// AddPooled adds a part of the table.
func (f StudentT) AddPooled(weight float64, pooled *family.Pooled, anchor, sums []float64) {
	part := floats.ScaleTo(make([]float64, 5), weight/pooled.Sums[0], pooled.Sums)
	f.AddAbout(sums, anchor, part, pooled.Anchor)
}

// Center moves an anchor to μ.
func (StudentT) Center(sums, anchor []float64) { anchor[0] += sums[2] / sums[1] }

// Locate is μ.
func (StudentT) Locate(score, anchor []float64) { anchor[0] = score[1] }

// AddAbout adds sums about another anchor.
func (StudentT) AddAbout(sums, anchor, others, another []float64) {
	shift := another[0] - anchor[0]
	floats.Add(sums, others)
	floats.Add(sums[2:4], []float64{shift * others[1], shift * (2*others[2] + shift*others[1])})
}

// Information is that of a row of the t distribution (Lange, Little & Taylor 1989), u integrated out, in units of the
// table's σ: of (μ/s, σ²/s², ln(1 + 1/ν)). It grows like σ⁻⁶ as a class collapses, which so costs; ν's own tends to 1
// as ν → 0, to 7/2 as ν → ∞.
func (StudentT) Information(xi []float64, pooled *family.Pooled, dst []laplace.Block) []laplace.Block {
	v, nu := xi[1]/pooled.Parameters[1], xi[2]
	tail := (mathext.Zeta(2, nu/2)-mathext.Zeta(2, (nu+1)/2))/4 - (nu+5)/(2*nu*(nu+1)*(nu+3))
	location, both := (nu+1)/(nu+3)/v, nu/(nu+3)/v
	f := []float64{location, 0, 0, 0, both / (2 * v), both, 0, both, tail * nu * nu * (nu + 1) * (nu + 1)}
	return append(dst, laplace.NewDense(mat.NewSymDense(3, f)))
}

// Sample draws a value.
func (StudentT) Sample(xi []float64, rng *rand.Rand, x []float64) {
	x[0] = distuv.StudentsT{Mu: xi[0], Sigma: math.Sqrt(xi[1]), Nu: xi[2], Src: rng}.Rand()
}

package normal

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
)

// A bounded is a global step of a structure: counts n_k, scatters W_k, K×D×D, a floor and Σ_k before.
type bounded struct {
	form            Covariance
	d               int
	n               []float64
	scatters, floor []float64
	all             []float64 // covariance of the table
	covs            [][]float64
}

// collapsingClasses have columns in the units given, some of which, and some direction, hold less than the floor in some
// classes, or nothing.
func collapsingClasses(rng *rand.Rand, form Covariance, k int, units []float64) *bounded {
	d := len(units)
	b := &bounded{form: form, d: d, scatters: make([]float64, k*d*d)}
	for j := range d {
		b.floor = append(b.floor, units[j]*units[j]*math.Exp(rng.NormFloat64()-3))
	}
	for i := range k {
		b.n = append(b.n, 20*math.Exp(rng.NormFloat64()))
		root, scale := mat.NewDense(d, d, normals(rng, d*d)), make([]float64, d)
		for j := range scale {
			scale[j] = units[j] * math.Exp(0.7*rng.NormFloat64())
			if rng.IntN(3) == 0 {
				scale[j] *= float64(rng.IntN(2)) * 0.03
			}
		}
		var w mat.Dense
		w.Mul(root, root.T())
		w.Apply(func(a, c int, v float64) float64 { return b.n[i] * v * scale[a] * scale[c] / float64(d) }, &w)
		copy(linalg.Row(b.scatters, i, d*d), w.RawMatrix().Data)
		linalg.Mirror(d, linalg.Row(b.scatters, i, d*d))
		if form.letters()[2] == 'I' {
			for a := range d {
				for c := range d {
					if a != c {
						b.scatters[i*d*d+a*d+c] = 0
					}
				}
			}
		}
	}
	b.all = make([]float64, d*d) // above the floor
	for a := range d {
		b.all[a*d+a] = 2 * b.floor[a]
	}
	for i := range k {
		floats.AddScaled(b.all, 1/floats.Sum(b.n), linalg.Row(b.scatters, i, d*d))
	}
	for range k {
		b.covs = append(b.covs, slices.Clone(b.all))
	}
	return b
}

// step is the maximum, which it puts into covs.
func (b *bounded) step(t testing.TB) {
	m := newMaximum(structure{b.form, b.d}, len(b.n), &family.Pooled{Floor: b.floor, Parameters: append(make([]float64, b.d), b.all...)})
	m.n = b.n
	if b.form.letters()[2] != 'I' {
		require.NoError(t, m.covariances(b.scatters, b.covs))
		return
	}
	for k, cov := range b.covs {
		diagonalOf(linalg.Row(b.scatters, k, b.d*b.d), linalg.Row(m.scatter, k, b.d))
		diagonalOf(cov, linalg.Row(m.variance, k, b.d))
		copy(linalg.Row(m.least, k, b.d), m.floor)
	}
	m.variances()
	for k, cov := range b.covs {
		clear(cov)
		for j, v := range linalg.Row(m.variance, k, b.d) {
			cov[j*b.d+j] = v
		}
	}
}

// loss is Σ_k n_k ln|Σ_k| + tr Σ_k⁻¹W_k.
func (b *bounded) loss(t testing.TB, covs [][]float64) (sum float64) {
	for k, cov := range covs {
		inverse := slices.Clone(cov)
		chol, ok := linalg.NewCholesky(b.d, inverse)
		require.True(t, ok)
		sum += b.n[k] * chol.LogDet()
		chol.Invert()
		sum += floats.Dot(inverse, linalg.Row(b.scatters, k, b.d*b.d))
	}
	return sum
}

// slack is the least eigenvalue of F^−½Σ_kF^−½, which a class on its floor has 1 of.
func (b *bounded) slack(t testing.TB, covs [][]float64) float64 {
	least := math.Inf(1)
	for _, cov := range covs {
		root := make([]float64, b.d*b.d)
		_, ok := linalg.PrecisionRoot(b.d, cov, root)
		require.True(t, ok)
		near, ok := gaussian{d: b.d}.inMetric(root, b.floor)
		require.True(t, ok)
		least = min(least, 1/near.values[0])
	}
	return least
}

var withStructure = []Covariance{EII, EEI, VEI, EVI, VEE, EVE, VVE, EEV, VEV, EVV}

// TestStructuresStayAboveTheFloorAndNeverFall from the covariances before, whatever the units of the columns.
func TestStructuresStayAboveTheFloorAndNeverFall(t *testing.T) {
	for _, form := range withStructure {
		touched, worst := 0, math.Inf(-1)
		for seed := range uint64(60) {
			rng := seeded(seed)
			units := []float64{1, math.Exp(3 * rng.NormFloat64()), math.Exp(3 * rng.NormFloat64()), 1}
			b := collapsingClasses(rng, form, 3, units)
			b.step(t)
			for range 4 {
				next := collapsingClasses(rng, form, 3, units)
				next.floor, next.all, next.covs = b.floor, b.all, b.covs
				for i, v := range b.scatters { // a step on: most of the rows stay
					next.scatters[i] = 0.9*v + 0.1*next.scatters[i]
				}
				for k := range next.n {
					next.n[k] = 0.9*b.n[k] + 0.1*next.n[k]
				}
				before := next.loss(t, next.covs)
				next.step(t)
				after := next.loss(t, next.covs)
				worst = max(worst, (after-before)/floats.Sum(next.n))
				slack := next.slack(t, next.covs)
				require.Greater(t, slack, 1-1e-7, "%v, seed %d", form, seed)
				if slack < float64(b.d) {
					touched++
				}
				b = next
			}
		}
		t.Logf("%v: %d of 240 near the floor, largest rise of the loss a row %.3g", form, touched, worst)
		assert.Less(t, worst, 1e-9, form)
		assert.Greater(t, touched, 20, form)
	}
}

// near are covariances of the same structure near those of a step, above the floor.
func (b *bounded) near(t testing.TB, rng *rand.Rand, size float64) (covs [][]float64) {
	d, name := b.d, b.form.letters()
	noise := func() float64 { return size * rng.NormFloat64() }
	turn := func() *mat.Dense { // exp of a skew-symmetric matrix, or any for what is common and of no form
		skew, to := mat.NewDense(d, d, nil), mat.NewDense(d, d, nil)
		for i := range d {
			for j := range d {
				skew.Set(i, j, noise())
			}
		}
		if b.form != VEE {
			skew.Sub(mat.DenseCopyOf(skew), mat.DenseCopyOf(skew).T())
		}
		to.Exp(skew)
		return to
	}
	volume, common := noise(), turn()
	shape := make([]float64, d)
	for k, cov := range b.covs {
		if name[0] == 'V' {
			volume = noise()
		}
		if name[1] == 'V' || k == 0 {
			for j := range shape {
				shape[j] = noise()
			}
			floats.AddConst(-floats.Sum(shape)/float64(d), shape)
		}
		axes, values := identity(d), diagonalOf(cov, make([]float64, d))
		if name[2] != 'I' {
			e, ok := linalg.NewSymmetricEigen(d, slices.Clone(cov))
			require.True(t, ok)
			axes, values = e.Vectors(d), e.Values
		}
		for j := range values {
			values[j] *= math.Exp(volume)
			if b.form != EII && b.form != VEE {
				values[j] *= math.Exp(shape[j])
			}
		}
		if name[2] == 'V' {
			common = turn()
		}
		if name[2] != 'I' {
			axes.Mul(common, mat.DenseCopyOf(axes))
		}
		to := make([]float64, d*d)
		assemble(axes.RawMatrix().Data, values, to)
		covs = append(covs, to)
	}
	all := b.slack(t, covs)
	for _, cov := range covs {
		up := all
		if name[0] == 'V' {
			up = b.slack(t, [][]float64{cov})
		}
		floats.Scale(max(1, 1/up), cov)
	}
	return covs
}

func identity(d int) *mat.Dense {
	one := mat.NewDense(d, d, nil)
	for j := range d {
		one.Set(j, j, 1)
	}
	return one
}

// TestStructuresHaveTheConstrainedMaximum: nothing near it is above the floor and better, with axes along the columns and
// for VEE in any units, with axes of each class's own where the floor is the same in all columns.
func TestStructuresHaveTheConstrainedMaximum(t *testing.T) {
	for _, form := range []Covariance{EII, EEI, VEI, EVI, VEE, EEV, VEV, EVV} {
		on, least := 0, math.Inf(1)
		for seed := range uint64(40) {
			rng := seeded(seed)
			units := []float64{1, 1, 1}
			if form.letters()[2] == 'I' || form == VEE {
				units[0], units[1] = math.Exp(3*rng.NormFloat64()), math.Exp(3*rng.NormFloat64())
			}
			b := collapsingClasses(rng, form, 3, units)
			if form.letters()[2] == 'V' {
				linalg.Fill(b.floor, b.floor[0])
			}
			b.step(t)
			b.step(t) // where it is not yet settled
			best := b.loss(t, b.covs)
			if b.slack(t, b.covs) < 1+1e-7 {
				on++
			}
			for i := range 300 {
				least = min(least, b.loss(t, b.near(t, rng, math.Pow(10, -float64(1+i%4))))-best)
			}
		}
		t.Logf("%v: %d of 40 on the floor, nothing better by more than %.3g", form, on, -least)
		assert.Greater(t, least, -1e-8, form)
		assert.Greater(t, on, 2, form)
	}
}

// TestFloorsFarBelowLeaveStructuresAsTheyAre to the bit, in columns of very different units.
func TestFloorsFarBelowLeaveStructuresAsTheyAre(t *testing.T) {
	for _, form := range withStructure {
		for seed := range uint64(20) {
			rng := seeded(seed)
			b := collapsingClasses(rng, form, 3, []float64{1000, 0.3, 1})
			for k := range b.n {
				for a := range b.d {
					b.scatters[(k*b.d+a)*b.d+a] += 0.1 * b.n[k] * b.floor[a] / math.Exp(-3)
				}
			}
			linalg.Scale(1e-3, b.floor)
			without := *b
			without.floor, without.covs = nil, nil
			for _, cov := range b.covs {
				without.covs = append(without.covs, slices.Clone(cov))
			}
			b.step(t)
			without.step(t)
			require.Greater(t, b.slack(t, b.covs), float64(b.d))
			require.Equal(t, without.covs, b.covs, "%v, seed %d", form, seed)
		}
	}
}

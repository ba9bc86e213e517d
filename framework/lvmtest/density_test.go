package lvmtest_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/numeric"
	"github.com/latent-go/latent/models/mixture"
)

// regression is the right density, with every optional method, which mutants break one at a time: of rows (t, y), t is
// from N(0, 1) and y from N(a + bt, v), with a and b of a component and v shared. The sums are 1, t, y, t², ty and y².
type regression struct {
	logs      func(x, xi, theta []float64, v float64) float64
	guides    func(x, dXi, dTheta []float64)
	estimates func(rows numeric.Weighted, xi, theta []float64)
	informs   func(rows numeric.Weighted, dst *mat.SymDense)
	observes  func(x, t []float64)
	totals    func(rows numeric.Weighted, v float64) float64
	samples   func(x []float64)
	derives   func(d []float64)
	batches   func(dst []float64)
}

func (regression) Layout(int) numeric.Layout {
	return numeric.Layout{Columns: 2, Component: []numeric.Parameter{numeric.Real("intercept", 1), numeric.Real("slope", 1)},
		Shared: []numeric.Parameter{numeric.Positive("variance", 1)}}
}

func (d regression) LogProb(x, xi, theta []float64) float64 {
	e := x[1] - xi[0] - xi[1]*x[0]
	v := -x[0]*x[0]/2 - math.Log(2*math.Pi) - math.Log(theta[0])/2 - e*e/2/theta[0]
	if d.logs != nil {
		return d.logs(x, xi, theta, v)
	}
	return v
}

func (d regression) Gradient(x, xi, theta, dXi, dTheta []float64) {
	e := x[1] - xi[0] - xi[1]*x[0]
	dXi[0], dXi[1], dTheta[0] = e/theta[0], e*x[0]/theta[0], (e*e/theta[0]-1)/2/theta[0]
	if d.guides != nil {
		d.guides(x, dXi, dTheta)
	}
}

func (d regression) Statistics(int) int { return 6 }

func (d regression) Observe(x, t []float64) {
	copy(t, []float64{1, x[0], x[1], x[0] * x[0], x[0] * x[1], x[1] * x[1]})
	if d.observes != nil {
		d.observes(x, t)
	}
}

func (d regression) LogTotal(rows numeric.Weighted, xi, theta []float64) float64 {
	s := rows.Sums
	a, b := xi[0], xi[1]
	square := s[5] - 2*a*s[2] - 2*b*s[4] + a*a*rows.N + 2*a*b*s[1] + b*b*s[3]
	v := -s[3]/2 - rows.N*(math.Log(2*math.Pi)+math.Log(theta[0])/2) - square/2/theta[0]
	if d.totals != nil {
		return d.totals(rows, v)
	}
	return v
}

func (d regression) Estimate(rows numeric.Weighted, xi, theta []float64) error {
	s, n := rows.Sums, rows.N
	determinant := n*s[3] - s[1]*s[1]
	if !(determinant > 1e-9*n*s[3]) {
		return framework.ErrDegenerate
	}
	xi[0], xi[1] = (s[3]*s[2]-s[1]*s[4])/determinant, (n*s[4]-s[1]*s[2])/determinant
	if d.estimates != nil {
		d.estimates(rows, xi, theta)
	}
	return nil
}

func (d regression) Information(rows numeric.Weighted, _, theta []float64, dst *mat.SymDense) {
	dst.SetSym(0, 0, rows.N/theta[0])
	dst.SetSym(0, 1, rows.Sums[1]/theta[0])
	dst.SetSym(1, 1, rows.Sums[3]/theta[0])
	if d.informs != nil {
		d.informs(rows, dst)
	}
}

func (regression) Derived(int) int { return 1 }

// Derive keeps t².
func (d regression) Derive(x, kept []float64) {
	kept[0] = x[0] * x[0]
	if d.derives != nil {
		d.derives(kept)
	}
}

func (d regression) LogProbs(rows, xi, theta, dst []float64) {
	constant := math.Log(2*math.Pi) + math.Log(theta[0])/2
	for i := range dst {
		e := rows[3*i+1] - xi[0] - xi[1]*rows[3*i]
		dst[i] = -rows[3*i+2]/2 - constant - e*e/2/theta[0]
	}
	if d.batches != nil {
		d.batches(dst)
	}
}

func (d regression) Sample(xi, theta []float64, rng *rand.Rand, x []float64) {
	x[0] = rng.NormFloat64()
	x[1] = xi[0] + xi[1]*x[0] + math.Sqrt(theta[0])*rng.NormFloat64()
	if d.samples != nil {
		d.samples(x)
	}
}

func densityCase(d regression) lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics] {
	rng, x := rand.New(rand.NewPCG(1, 3)), mat.NewDense(40, 2, nil)
	for i := range 40 {
		t := rng.NormFloat64() + 0.5
		x.SetRow(i, []float64{t, 1 + float64(i%2*4) + 2*t + rng.NormFloat64()})
	}
	return lvmtest.Case[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{Tolerance: 1e-7,
		Model: mixture.Model{Family: numeric.Family{Density: d}}, Data: lvmtest.Matrix(x), K: []int{1, 2}}
}

func times(by float64) func(numeric.Weighted, *mat.SymDense) {
	return func(_ numeric.Weighted, dst *mat.SymDense) { dst.ScaleSym(by, dst) }
}

// TestDensitiesAreHeldToTheirLogDensity: the error names the method, without coordinates from the author.
func TestDensitiesAreHeldToTheirLogDensity(t *testing.T) {
	cached := math.NaN()
	for _, m := range []struct {
		name, method string
		wrong        regression
	}{
		{"nothing", "", regression{}},
		{"twice", "Information", regression{informs: times(2)}},
		{"minus", "Information", regression{informs: times(-1)}},
		{"cross term 0", "Information", regression{informs: func(_ numeric.Weighted, dst *mat.SymDense) { dst.SetSym(0, 1, 0) }}},
		{"swapped", "Information", regression{informs: func(_ numeric.Weighted, dst *mat.SymDense) {
			a, b := dst.At(0, 0), dst.At(1, 1)
			dst.SetSym(0, 0, b)
			dst.SetSym(1, 1, a)
		}}},
		{"of a row", "Information", regression{informs: func(w numeric.Weighted, dst *mat.SymDense) { dst.ScaleSym(1/w.N, dst) }}},
		{"of N − 1 rows", "Information", regression{informs: func(w numeric.Weighted, dst *mat.SymDense) { dst.ScaleSym((w.N-1)/w.N, dst) }}},
		{"of the table", "Information", regression{informs: func(w numeric.Weighted, dst *mat.SymDense) { dst.ScaleSym(40/w.N, dst) }}},
		{"without one entry", "Information", regression{informs: func(_ numeric.Weighted, dst *mat.SymDense) { dst.SetSym(1, 1, math.NaN()) }}},
		{"minus", "Gradient", regression{guides: func(_, dXi, _ []float64) { dXi[0] *= -1 }}},
		{"swapped", "Gradient", regression{guides: func(_, dXi, _ []float64) { dXi[0], dXi[1] = dXi[1], dXi[0] }}},
		{"without a factor t", "Gradient", regression{guides: func(x, dXi, _ []float64) { dXi[1] = dXi[0] }}},
		{"of ln v", "Gradient", regression{guides: func(_, _, dTheta []float64) { dTheta[0] *= 1.3 }}},
		{"nothing shared", "Gradient", regression{guides: func(_, _, dTheta []float64) { dTheta[0] = 0 }}},
		{"shrunk by a row", "Estimate", regression{estimates: func(w numeric.Weighted, xi, _ []float64) { xi[1] *= w.N / (w.N + 1) }}},
		{"minus", "Estimate", regression{estimates: func(_ numeric.Weighted, xi, _ []float64) { xi[1] *= -1 }}},
		{"without an intercept", "Estimate", regression{estimates: func(w numeric.Weighted, xi, _ []float64) { xi[0], xi[1] = 0, w.Sums[4]/w.Sums[3] }}},
		{"shared numbers changed", "Estimate", regression{estimates: func(_ numeric.Weighted, _, theta []float64) { theta[0] *= 1.01 }}},
		{"outside the range", "Estimate", regression{estimates: func(_ numeric.Weighted, xi, _ []float64) { xi[0] = math.Inf(1) }}},
		{"without a constant", "LogTotal", regression{totals: func(w numeric.Weighted, v float64) float64 { return v + w.N*math.Log(2*math.Pi)/2 }}},
		{"a constant of one row", "LogTotal", regression{totals: func(_ numeric.Weighted, v float64) float64 { return v + 1e-3 }}},
		{"minus", "LogTotal", regression{totals: func(_ numeric.Weighted, v float64) float64 { return -v }}},
		{"another product", "LogTotal", regression{observes: func(x, t []float64) { t[4] = x[0] + x[1] }}},
		{"swapped", "LogTotal", regression{observes: func(_, t []float64) { t[1], t[2] = t[2], t[1] }}},
		{"a number left out", "Observe", regression{observes: func(x, t []float64) { t[5] = math.NaN() }}},
		{"written to", "LogProb", regression{logs: func(x, _, _ []float64, v float64) float64 { x[1]++; return v }}},
		{"kept from another call", "LogProb", regression{logs: func(x, xi, _ []float64, v float64) float64 {
			last := cached
			if cached = v; last-last == 0 {
				return v + 1e-6*last
			}
			return v
		}}},
		{"off by one", "LogProbs", regression{batches: func(dst []float64) { copy(dst[1:], dst) }}},
		{"the last one left out", "LogProbs", regression{batches: func(dst []float64) { dst[len(dst)-1] = math.NaN() }}},
		{"another power", "LogProbs", regression{derives: func(d []float64) { d[0] *= d[0] }}},
		{"left out", "Derive", regression{derives: func(d []float64) { d[0] = math.NaN() }}},
		{"too wide", "Sample", regression{samples: func(x []float64) { x[1] *= 1.2 }}},
		{"shifted", "Sample", regression{samples: func(x []float64) { x[1] += 0.3 }}},
	} {
		o := lvmtest.RunSome(densityCase(m.wrong), "density")[0]
		if m.method == "" {
			assert.Empty(t, o.Failures)
			assert.Equal(t, []string{"lvmtest_test.regression is also Differentiable, Estimator, Informer, Additive, Batcher, Sampler"}, o.Notes)
			continue
		}
		if assert.NotEmpty(t, o.Failures, "%s %s", m.method, m.name) {
			assert.True(t, slices.ContainsFunc(o.Failures, func(f string) bool { return strings.Contains(f, m.method+" of lvmtest_test.regression") }),
				"%s %s: %v", m.method, m.name, o.Failures)
			t.Log(m.name, o.Failures[0])
		}
	}
}

// joint is the right density of continuous z, x = Wz + noise of variance v, with every optional method.
type joint struct {
	infers   func(mean []float64, cov *mat.SymDense)
	guides   func(dW, dNoise []float64)
	estimate func(w, noise []float64)
	informs  func(dst *mat.SymDense)
}

func (joint) Layout(columns int) numeric.Layout {
	return numeric.Layout{Component: []numeric.Parameter{numeric.Real("loadings", columns)}, Shared: []numeric.Parameter{numeric.Positive("noise", 1)}}
}

func (joint) LogJoint(x, z, w, noise []float64) float64 {
	v := -float64(len(z)+len(x))/2*math.Log(2*math.Pi) - floats.Dot(z, z)/2 - float64(len(x))/2*math.Log(noise[0])
	for _, e := range rest(x, z, w) {
		v -= e * e / 2 / noise[0]
	}
	return v
}

// rest is x − Wz.
func rest(x, z, w []float64) []float64 {
	e := slices.Clone(x)
	for k, v := range z {
		floats.AddScaled(e, -v, w[k*len(x):(k+1)*len(x)])
	}
	return e
}

func (d joint) Posterior(x, w, noise []float64, extra mat.Symmetric, mean []float64, cov *mat.SymDense) {
	k := len(mean)
	loadings := mat.NewDense(k, len(x), slices.Clone(w))
	precision := mat.NewSymDense(k, nil)
	precision.SymOuterK(1/noise[0], loadings)
	for i := range k {
		precision.SetSym(i, i, 1+precision.At(i, i))
	}
	precision.AddSym(precision, extra)
	var chol mat.Cholesky
	chol.Factorize(precision)
	_ = chol.InverseTo(cov)
	v := mat.NewVecDense(k, mean)
	v.MulVec(loadings, mat.NewVecDense(len(x), x))
	v.ScaleVec(1/noise[0], v)
	v.MulVec(cov, mat.VecDenseCopyOf(v))
	if d.infers != nil {
		d.infers(mean, cov)
	}
}

func (d joint) JointGradient(x, z, w, noise, dW, dNoise []float64) {
	e := rest(x, z, w)
	for k, v := range z {
		floats.ScaleTo(dW[k*len(x):(k+1)*len(x)], v/noise[0], e)
	}
	dNoise[0] = (floats.Dot(e, e)/noise[0] - float64(len(x))) / 2 / noise[0]
	if d.guides != nil {
		d.guides(dW, dNoise)
	}
}

func (d joint) EstimateJoint(rows numeric.Inferred, w, noise []float64) error {
	columns := len(w) / rows.K
	xz, xx := mat.NewDense(rows.K, columns, nil), 0.0
	for r := range rows.All() {
		xz.RankOne(xz, r.Weight, mat.NewVecDense(rows.K, r.Mean), mat.NewVecDense(columns, r.X))
		xx += r.Weight * floats.Dot(r.X, r.X)
	}
	loadings := mat.NewDense(rows.K, columns, w)
	if err := loadings.Solve(rows.SecondMoment(), xz); err != nil {
		return err
	}
	var cross mat.Dense
	cross.Mul(loadings, xz.T())
	noise[0] = (xx - mat.Trace(&cross)) / rows.N / float64(columns)
	if d.estimate != nil {
		d.estimate(w, noise)
	}
	return nil
}

func (d joint) InformationJoint(_ numeric.Inferred, w, noise []float64, dst *mat.SymDense) {
	for i := range dst.SymmetricDim() {
		dst.SetSym(i, i, 1/noise[0])
	}
	if d.informs != nil {
		d.informs(dst)
	}
}

func TestJointDensitiesAreHeldToTheirLogDensity(t *testing.T) {
	rng, x := rand.New(rand.NewPCG(1, 4)), mat.NewDense(30, 3, nil)
	for i := range 30 {
		a, b := rng.NormFloat64(), rng.NormFloat64()
		x.SetRow(i, []float64{2*a + rng.NormFloat64(), a + b + rng.NormFloat64(), 2*b + rng.NormFloat64()})
	}
	for _, m := range []struct {
		name, method string
		wrong        joint
	}{
		{"nothing", "", joint{}},
		{"mean of another sign", "Posterior", joint{infers: func(mean []float64, _ *mat.SymDense) { floats.Scale(-1, mean) }}},
		{"covariance of twice the size", "Posterior", joint{infers: func(_ []float64, cov *mat.SymDense) { cov.ScaleSym(2, cov) }}},
		{"cross term 0", "Posterior", joint{infers: func(_ []float64, cov *mat.SymDense) {
			if cov.SymmetricDim() > 1 {
				cov.SetSym(0, 1, 0)
			}
		}}},
		{"minus", "JointGradient", joint{guides: func(dW, _ []float64) { dW[1] *= -1 }}},
		{"half", "JointGradient", joint{guides: func(_, dNoise []float64) { dNoise[0] /= 2 }}},
		{"of N − 1 rows", "EstimateJoint", joint{estimate: func(_, noise []float64) { noise[0] *= 30. / 29 }}},
		{"shrunk", "EstimateJoint", joint{estimate: func(w, _ []float64) { floats.Scale(0.99, w) }}},
		{"twice", "InformationJoint", joint{informs: func(dst *mat.SymDense) { dst.ScaleSym(2, dst) }}},
		{"a cross term", "InformationJoint", joint{informs: func(dst *mat.SymDense) { dst.SetSym(0, 1, dst.At(0, 0)/2) }}},
	} {
		o := lvmtest.RunSome(lvmtest.Case[blocks.Rows, *numeric.ContinuousParameters, *numeric.Posteriors]{
			Model: numeric.Continuous{Density: m.wrong}, Data: lvmtest.Matrix(x), K: []int{1, 2},
		}, "density")[0]
		if m.method == "" {
			assert.Empty(t, o.Failures)
			assert.Equal(t, "the density is also Inferrer, JointDifferentiable, JointEstimator, JointInformer", o.Notes[0])
			continue
		}
		if assert.NotEmpty(t, o.Failures, "%s %s", m.method, m.name) {
			assert.True(t, slices.ContainsFunc(o.Failures, func(f string) bool { return strings.Contains(f, m.method+" of lvmtest_test.joint") }),
				"%s %s: %v", m.method, m.name, o.Failures)
		}
	}
}

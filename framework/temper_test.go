package framework_test

import (
	"bytes"
	"context"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mathext"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
)

// vague is poisson with a posterior: weights ~ Dirichlet(1, …, 1), rates ~ Gamma(1, 0.05).
// It has all that tempering has to get right: a tilt, pruning, and an expansion.
type vague struct{}

// beliefs are the posterior's hyperparameters, of the weights and of the rates.
type beliefs struct {
	Weights, Shapes, Rates []float64 `keep:"rows"`
}

const priorShape, priorRate = 1, 0.05

// measured are the statistics of poisson, which can be scaled.
type measured struct{ Counts counts }

func (s *measured) Observations() float64 { return s.Counts.Observations() }
func (s *measured) Merge(o *measured)     { s.Counts.Merge(&o.Counts) }

func (s *measured) Scale(factor float64) {
	s.Counts.N *= factor
	s.Counts.Const *= factor
	for k := range s.Counts.Nk {
		s.Counts.Nk[k] *= factor
		s.Counts.Sum[k] *= factor
	}
}

// expected are exp(E[ln ·]), and the expected rates.
func (p *beliefs) expected() (logs *rates, means []float64) {
	logs, means = &rates{make([]float64, len(p.Weights)), make([]float64, len(p.Weights))}, make([]float64, len(p.Weights))
	total := 0.0
	for _, a := range p.Weights {
		total += a
	}
	for k, a := range p.Weights {
		logs.Weights[k] = math.Exp(mathext.Digamma(a) - mathext.Digamma(total))
		logs.Rates[k] = math.Exp(mathext.Digamma(p.Shapes[k])) / p.Rates[k]
		means[k] = p.Shapes[k] / p.Rates[k]
	}
	return logs, means
}

// divergence is KL(q(Π)‖p(Π)).
func (p *beliefs) divergence() float64 {
	kl, total := 0.0, 0.0
	logs, means := p.expected()
	for k, a := range p.Weights {
		lg, _ := math.Lgamma(a)
		kl += (a-1)*math.Log(logs.Weights[k]) - lg
		total += a
		lg, _ = math.Lgamma(p.Shapes[k])
		kl += (p.Shapes[k]-priorShape)*math.Log(logs.Rates[k]) - (p.Rates[k]-priorRate)*means[k]
		kl += p.Shapes[k]*math.Log(p.Rates[k]) - lg - priorShape*math.Log(priorRate)
	}
	lg, _ := math.Lgamma(total)
	lgK, _ := math.Lgamma(float64(len(p.Weights)))
	return kl + lg - lgK
}

func (vague) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*beliefs, error) {
	p, err := poisson{}.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	q := &beliefs{make([]float64, k), make([]float64, k), make([]float64, k)}
	for i := range k {
		q.Weights[i], q.Shapes[i], q.Rates[i] = 10, 10*p.Rates[i], 10
	}
	return q, nil
}

func (vague) NewStatistics(p *beliefs) *measured {
	k := len(p.Weights)
	return &measured{counts{Nk: make([]float64, k), Sum: make([]float64, k)}}
}

func (vague) Prepare(p *beliefs, tilt *laplace.Tilt, s *measured) error {
	logs, means := p.expected()
	if err := (poisson{}).Prepare(logs, tilt, &s.Counts); err != nil {
		return err
	}
	for k, v := range means {
		s.Counts.score[k] += logs.Rates[k] - v
	}
	return nil
}

func (vague) Infer(b blocks.Rows, p *beliefs, s *measured) (float64, error) {
	logs, _ := p.expected()
	return poisson{}.Infer(b, logs, &s.Counts)
}

func (vague) Maximize(s *measured, p, dst *beliefs) (*beliefs, error) {
	if dst == nil {
		k := len(p.Weights)
		dst = &beliefs{make([]float64, k), make([]float64, k), make([]float64, k)}
	}
	for k, n := range s.Counts.Nk {
		dst.Weights[k], dst.Shapes[k], dst.Rates[k] = 1+n, priorShape+s.Counts.Sum[k], priorRate+n
	}
	return dst, nil
}

func (vague) LogJoint(s *measured, p *beliefs) float64 {
	logs, means := p.expected()
	v := -s.Counts.Const - p.divergence()
	for k, n := range s.Counts.Nk {
		v += n*(math.Log(logs.Weights[k])-means[k]) + s.Counts.Sum[k]*math.Log(logs.Rates[k])
	}
	return v
}

func (vague) Shape(p *beliefs) framework.Shape {
	k := len(p.Weights)
	return framework.Shape{K: k, Component: k, Shared: k - 1}
}

func (vague) BoundsEvidence() {}

func (vague) Curvature(s *measured, _ *beliefs, f *laplace.Curvature) error {
	return poisson{}.Curvature(&s.Counts, nil, f)
}

func (vague) Relevance(s *measured, _ *beliefs) ([]float64, error) {
	return poisson{}.Relevance(&s.Counts, nil)
}

func (vague) Keep(s *measured, p *beliefs, dims []int) (*measured, *beliefs, error) {
	k := len(p.Rates)
	return &measured{*framework.KeepAxes(&s.Counts, k, dims)}, framework.KeepAxes(p, k, dims), nil
}

// widening has an expansion, which changes the entropy by what the rows weigh and nothing else.
type widening struct{ vague }

func (widening) Expand(s *measured, p *beliefs, _ bool) (*beliefs, float64, error) {
	return p, s.Observations() / 1024, nil
}

type beliefsFit = framework.Result[*beliefs, *measured]

func tempered(t *testing.T, m framework.Model[blocks.Rows, *beliefs, *measured], src framework.Source[blocks.Rows], o framework.Options) *beliefsFit {
	t.Helper()
	res, err := framework.Fit(background, m, src, o)
	require.NoError(t, err)
	return res
}

// bound needs one pass more, at the final parameters.
var bound = framework.Criterion{Name: "bound", Needs: framework.Needs{Likelihood: true}, Value: func(e *framework.Evaluation) float64 { return e.LogLikelihood }}

// TestTemperedRowsAreRowsOfThatWeight: to a model, a tempered row is a row of weight α. Of a
// power of two even the bits are the same, through tilts, expansion, pruning and the final
// scores; of any other α all but rounding is.
func TestTemperedRowsAreRowsOfThatWeight(t *testing.T) {
	for _, alpha := range []float64{0.5, 0.125, 0.3} {
		x := mixed(400, 3)
		w := make([]float64, len(x))
		for i := range w {
			w[i] = alpha
		}
		weighted, err := table(x).WithWeights(w)
		require.NoError(t, err)
		for _, method := range []framework.Method{framework.EM, framework.FAB, framework.GFAB} {
			o := framework.Options{K: 6, Method: method, Restarts: 2, Also: []framework.Criterion{bound}}
			want := tempered(t, widening{}, weighted, o)
			o.Temper = alpha
			got := tempered(t, widening{}, table(x), o)
			assert.InEpsilon(t, alpha*400, got.N, 1e-13)
			assert.Equal(t, alpha, got.Temper)
			assert.Equal(t, 1.0, want.Temper)
			assert.Equal(t, method != framework.EM, len(got.Pruned) > 0, "%v", method)
			if alpha == 0.3 {
				require.Equal(t, want.Shape, got.Shape)
				assert.InEpsilon(t, want.Value, got.Value, 1e-10)
				assert.InEpsilon(t, want.Scores[1].Value, got.Scores[1].Value, 1e-10)
				assert.InDeltaSlice(t, want.Parameters.Rates, got.Parameters.Rates, 1e-3)
				continue
			}
			assert.Equal(t, want.Parameters, got.Parameters)
			assert.Equal(t, want.Evaluation, got.Evaluation)
			assert.Equal(t, want.Scores, got.Scores)
			assert.Equal(t, want.Trace, got.Trace)
			assert.Equal(t, want.Objective, got.Objective)
			assert.Equal(t, want.KTrace, got.KTrace)
			assert.Equal(t, want.Pruned, got.Pruned)
			assert.Equal(t, want.Restarts, got.Restarts)
			assert.Equal(t, want.Passes, got.Passes)
		}
	}
}

// TestTemperedBoundIsItsFormula takes α E[ln p(X,Z|Π)] + α H − KL from an untempered local
// step: E[ln p(X,Z|Π)] is what LogJoint rises by when the rows are counted.
func TestTemperedBoundIsItsFormula(t *testing.T) {
	src := table(mixed(200, 5))
	for _, alpha := range []float64{1, 0.7, 0.01, 1e-6} {
		res := tempered(t, vague{}, src, framework.Options{K: 4, Method: framework.EM, Temper: alpha, Tolerance: 1e-14})
		p := res.Parameters
		s, entropy, err := framework.LocalStep(background, vague{}, src, p, 1)
		require.NoError(t, err)
		rows := vague{}.LogJoint(s, p) + p.divergence()
		assert.InDelta(t, alpha*(rows+entropy)-p.divergence(), res.Value, 1e-9, "α = %v", alpha)
		require.Greater(t, entropy, 1.0, "its share in the bound is seen")

		plain, err := framework.Evaluate(background, vague{}, src, p, 1)
		require.NoError(t, err)
		assert.InDelta(t, rows+entropy-p.divergence(), plain.Bound(), 1e-9, "Evaluate does not temper")
	}
}

// TestSlopeOfTheTemperedBoundIsTheUntemperedPart: where q maximises the bound, only the factor α itself
// counts in its derivative, dL/dα = E[ln p(X,Z|Π)] + H(q(Z)) = (L + KL)/α.
func TestSlopeOfTheTemperedBoundIsTheUntemperedPart(t *testing.T) {
	src := table(mixed(200, 5))
	value := func(alpha float64) *beliefsFit {
		return tempered(t, vague{}, src, framework.Options{K: 3, Method: framework.EM, Temper: alpha, Tolerance: 1e-14})
	}
	const alpha, h = 0.6, 1e-3
	at := value(alpha)
	slope := (value(alpha+h).Value - value(alpha-h).Value) / (2 * h)
	assert.InEpsilon(t, (at.Value+at.Parameters.divergence())/alpha, slope, 1e-6)
}

// TestNoTemperIsTheLikelihoodItself, and a little is near it.
func TestNoTemperIsTheLikelihoodItself(t *testing.T) {
	src := table(mixed(300, 2))
	o := framework.Options{K: 5, Restarts: 2}
	want := tempered(t, vague{}, src, o)
	o.Temper = 1
	got := tempered(t, vague{}, src, o)
	assert.Equal(t, want.Parameters, got.Parameters)
	assert.Equal(t, want.Trace, got.Trace)
	o.Temper = 1 - 1e-9
	assert.InDelta(t, want.Value, tempered(t, vague{}, src, o).Value, 1e-4)
}

// TestTemperedAwayRowsLeaveThePrior: as α falls to 0 so do the bound and the divergence.
func TestTemperedAwayRowsLeaveThePrior(t *testing.T) {
	for _, alpha := range []float64{1e-6, 1e-9, 1e-12, 1e-100, 1e-300} {
		res := tempered(t, vague{}, table(mixed(300, 2)), framework.Options{K: 3, Method: framework.EM, Temper: alpha})
		assert.Equal(t, framework.Converged, res.Status, "α = %v after %d iterations", alpha, res.Iterations)
		for k := range 3 {
			assert.InDelta(t, 1, res.Parameters.Weights[k], 301*alpha)
			assert.InDelta(t, priorShape, res.Parameters.Shapes[k], 1e5*alpha)
		}
		assert.InDelta(t, 0, res.Value, 1e5*alpha+1e-14)
	}
}

func TestTemperedObjectiveNeverFallsWhileKStays(t *testing.T) {
	for _, method := range []framework.Method{framework.EM, framework.FAB, framework.GFAB} {
		for _, alpha := range []float64{0.9, 0.4, 0.05} {
			res := tempered(t, vague{}, table(mixed(500, 1)), framework.Options{K: 6, Method: method, Temper: alpha})
			assert.Zero(t, res.Fall)
			for i := 1; i < len(res.Objective); i++ {
				if res.KTrace[i] == res.KTrace[i-1] {
					assert.GreaterOrEqual(t, res.Objective[i], res.Objective[i-1]-1e-12*math.Abs(res.Objective[i]), "%v, α = %v, iteration %d", method, alpha, i+1)
				}
			}
		}
	}
}

// TestTemperedFitsHaveTheSameBits for any number of workers, and after a resume from any
// iteration, through pruning and its trials.
func TestTemperedFitsHaveTheSameBits(t *testing.T) {
	src := chopped{table(mixed(1500, 7))}
	o := framework.Options{K: 5, Temper: 0.3, Workers: 1, Restarts: 2, Tolerance: 1e-7}
	one := tempered(t, vague{}, src, o)
	require.NotEmpty(t, one.Pruned)
	for _, workers := range []int{2, 7} {
		o.Workers = workers
		other := tempered(t, vague{}, src, o)
		assert.Equal(t, one.Parameters, other.Parameters)
		assert.Equal(t, one.Trace, other.Trace)
		assert.Equal(t, one.Restarts, other.Restarts)
	}
	var saved [][]byte
	o.Recorder = func(e framework.Event) error {
		b, err := e.Checkpoint()
		saved = append(saved, bytes.Clone(b))
		return err
	}
	tempered(t, vague{}, src, o)
	o.Recorder = nil
	for i := 0; i < len(saved); i += 5 {
		o.Resume = saved[i]
		again := tempered(t, vague{}, src, o)
		require.Equal(t, one.Parameters, again.Parameters, "resumed at event %d", i)
		require.Equal(t, one.Trace, again.Trace)
		require.Equal(t, one.Pruned, again.Pruned)
	}
	o.Temper = 0.4
	_, err := framework.Fit(background, vague{}, src, o)
	assert.ErrorContains(t, err, "another fit")
}

func TestCancelledTemperedFitIsTempered(t *testing.T) {
	ctx, cancel := context.WithCancel(background)
	o := framework.Options{K: 3, Method: framework.EM, Temper: 0.25, Recorder: func(e framework.Event) error {
		if e.Iteration == 6 {
			cancel()
		}
		return nil
	}}
	src := table(mixed(400, 3))
	part, err := framework.Fit(ctx, vague{}, src, o)
	require.ErrorIs(t, err, context.Canceled)
	o.Recorder, o.MaxIterations = nil, 6
	want := tempered(t, vague{}, src, o)
	assert.Equal(t, want.Value, part.Value)
	assert.Equal(t, want.Parameters, part.Parameters)
	assert.Equal(t, 100.0, part.N)
	assert.Equal(t, 0.25, part.Temper)
}

func TestSelectTempers(t *testing.T) {
	src := table(mixed(300, 1))
	o := framework.Options{Method: framework.EM, Temper: 0.2, Restarts: 3}
	sel, err := framework.Select(background, vague{}, src, []int{1, 2, 3, 4}, o)
	require.NoError(t, err)
	for i, k := range sel.K {
		o.K = k
		assert.Equal(t, tempered(t, vague{}, src, o).Value, sel.Values[i][0])
	}
	assert.Equal(t, "ELBO", sel.Criteria[0].Name)
}

func TestTemperIsRefusedWhereItMeansNothing(t *testing.T) {
	src := table(mixed(50, 1))
	for _, alpha := range []float64{-0.5, -1e-300, 1 + 1e-15, 2, math.Inf(1), math.Inf(-1), math.NaN()} {
		_, err := framework.Fit(background, vague{}, src, framework.Options{K: 2, Method: framework.EM, Temper: alpha})
		assert.ErrorContains(t, err, "above 0 and at most 1", "α = %v", alpha)
	}
	o := framework.Options{K: 2, Method: framework.EM, Temper: 0.5}
	_, err := framework.Fit(background, poisson{}, src, o)
	assert.ErrorContains(t, err, "optional.Variational")
	_, err = framework.Fit(background, marked{}, src, o)
	assert.ErrorContains(t, err, "optional.Scaler")
	assert.ErrorContains(t, err, "*framework_test.counts")
	o.Criterion = framework.BIC
	_, err = framework.Fit(background, vague{}, src, o)
	assert.ErrorContains(t, err, "use ELBO")
	o.Criterion, o.Temper = framework.Criterion{}, math.Copysign(0, -1)
	_, err = framework.Fit(background, marked{}, src, o)
	assert.NoError(t, err)
}

// TestLostRowsAreReportedInTheirOwnWeight, not in that of tempered ones.
func TestLostRowsAreReportedInTheirOwnWeight(t *testing.T) {
	src := passes{chopped{table(mixed(2000, 1))}, new(int), func(pass int, yield func(blocks.Rows, error) bool, rest iter.Seq2[blocks.Rows, error]) {
		seen := 0
		for b, err := range rest {
			if seen++; pass > 8 && seen > 20 || !yield(b, err) {
				return
			}
		}
	}}
	_, err := framework.Fit(background, vague{}, src, framework.Options{K: 3, Method: framework.EM, Temper: 0.3})
	assert.ErrorContains(t, err, "weight 2000 in one pass and 1000 in the next")
}

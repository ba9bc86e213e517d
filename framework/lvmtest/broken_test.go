package lvmtest_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// The models here do something that no model may; the suite names the method.

// broken does in one way what is wrong: nil or an empty slice, NaN, an error.
type broken struct {
	toy
	way string
}

func (m broken) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*rates, error) {
	switch m.way {
	case "no Init":
		return nil, nil
	case "Init errs":
		return nil, errors.New("no start")
	}
	return m.toy.Init(ctx, src, k, rng)
}

func (m broken) NewStatistics(p *rates) *sums {
	if m.way == "no statistics" {
		return nil
	}
	return m.toy.NewStatistics(p)
}

func (m broken) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	if m.way == "Prepare errs" {
		return errors.New("no preparation")
	}
	return m.toy.Prepare(p, tilt, s)
}

func (m broken) Infer(b blocks.Rows, p *rates, s *sums) (float64, error) {
	h, err := m.toy.Infer(b, p, s)
	if m.way == "entropy is NaN" {
		h = math.NaN()
	}
	return h, err
}

func (m broken) Maximize(s *sums, p, dst *rates) (*rates, error) {
	switch m.way {
	case "no maximum":
		return nil, nil
	case "Maximize errs":
		return nil, errors.New("no maximum")
	}
	return m.toy.Maximize(s, p, dst)
}

func (m broken) LogJoint(s *sums, p *rates) float64 {
	if m.way == "joint is NaN" {
		return math.NaN()
	}
	return m.toy.LogJoint(s, p)
}

func (m broken) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	switch m.way {
	case "no blocks":
		return nil
	case "count is NaN":
		f.Matrix(0, mat.NewDiagDense(1, []float64{math.NaN()}), laplace.Identity(1))
		return nil
	case "information is NaN":
		f.Class(0, 1, laplace.Diagonal{math.NaN()})
		return nil
	}
	return m.toy.Curvature(s, p, f)
}

func (m broken) Charges(s *sums, p *rates) []optional.Charge {
	if m.way == "no charges" {
		return nil
	}
	list := m.toy.Charges(s, p)
	if m.way == "no data" {
		list[1].N = 0
	}
	return list
}

func (m broken) LabelEntropy(s *sums) float64 {
	if m.way == "labels are NaN" {
		return math.NaN()
	}
	return m.toy.LabelEntropy(s)
}

func (m broken) Relevance(s *sums, p *rates) ([]float64, error) {
	if m.way == "no relevance" {
		return nil, nil
	}
	values, err := m.toy.Relevance(s, p)
	if m.way == "last relevance is NaN" {
		values[len(values)-1] = math.NaN()
	}
	return values, err
}

func (m broken) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	t, q, err := m.toy.Keep(s, p, dims)
	switch m.way {
	case "no kept statistics":
		t = nil
	case "no kept parameters":
		q = nil
	case "too many kept":
		return s, p, nil
	}
	return t, q, err
}

func (m broken) Expand(s *sums, p *rates, charged bool) (*rates, float64, error) {
	switch m.way {
	case "no expansion":
		return nil, 0, nil
	case "expansion is NaN":
		return p, math.NaN(), nil
	}
	return m.toy.Expand(s, p, charged)
}

func (m broken) LogProb(b blocks.Rows, p *rates, dst []float64) ([]float64, error) {
	if m.way == "no densities" {
		return nil, nil
	}
	dst, err := m.toy.LogProb(b, p, dst)
	if m.way == "density is NaN" {
		dst[2] = math.NaN()
	}
	return dst, err
}

func (m broken) Responsibilities(b blocks.Rows, p *rates, dst []float64) ([]float64, error) {
	if m.way == "no responsibilities" {
		return []float64{}, nil
	}
	return m.toy.Responsibilities(b, p, dst)
}

// unkept has no q to keep, or none that can be kept, or encoded.
type unkept struct {
	coupled
	way string
}

// brokenLocal has nothing that encoding/gob would see.
type brokenLocal struct {
	*kept
	way string
}

func (q brokenLocal) Keep(dims []int) optional.Local {
	if q.way == "no copy" {
		return (*kept)(nil)
	}
	return brokenLocal{q.kept.Keep(dims).(*kept), q.way}
}

func (m unkept) NewLocal(ctx context.Context, src framework.Source[blocks.Rows], p *rates, rng *rand.Rand) (optional.Local, error) {
	q, err := m.coupled.NewLocal(ctx, src, p, rng)
	switch m.way {
	case "no q":
		return nil, nil
	case "nil q":
		return (*kept)(nil), nil
	case "NewLocal errs":
		return q, errors.New("no q")
	}
	return brokenLocal{q.(*kept), m.way}, err
}

func (m unkept) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	if m.way == "Update errs" {
		return errors.New("no update")
	}
	return m.coupled.Update(b, p, tilt, now.(brokenLocal).kept, next.(brokenLocal).kept)
}

func (m unkept) InferAt(b blocks.Rows, p *rates, q optional.Local, s *sums) (float64, error) {
	h, err := m.coupled.InferAt(b, p, q.(brokenLocal).kept, s)
	if m.way == "entropy is NaN" {
		h = math.NaN()
	}
	return h, err
}

// unrotated has no Signal, or does not rotate.
type unrotated struct {
	linear
	way string
}

func (m unrotated) Signal(s *moments, p *loadings) (*mat.SymDense, error) {
	switch m.way {
	case "no signal":
		return nil, nil
	case "signal of another size":
		return mat.NewSymDense(p.K+1, nil), nil
	}
	return m.linear.Signal(s, p)
}

func (m unrotated) Rotate(s *moments, p *loadings, basis *mat.Dense) (*moments, *loadings, error) {
	if m.way == "no rotation" {
		return nil, nil, nil
	}
	return m.linear.Rotate(s, p, basis)
}

// failures are the failures of a check.
func failures(t *testing.T, check string, outcomes []lvmtest.Outcome) string {
	i := slices.IndexFunc(outcomes, func(o lvmtest.Outcome) bool { return o.Check == check })
	require.GreaterOrEqual(t, i, 0, check)
	return strings.Join(outcomes[i].Failures, "\n")
}

func TestBrokenContractsAreNamedWithTheirMethod(t *testing.T) {
	for _, c := range []struct{ way, check, mention string }{
		{"no Init", "local step", "K = 1: Init returns nil and no error"},
		{"Init errs", "local step", "K = 1: Init: no start"},
		{"no statistics", "sums", "K = 1, at the start: NewStatistics returns nil and no error"},
		{"Prepare errs", "blocks", "Prepare: no preparation"},
		{"entropy is NaN", "order", "K = 1, at the start: the entropy of Infer is NaN"},
		{"no maximum", "global step", "K = 1, at the start: Maximize returns nil and no error"},
		{"Maximize errs", "global step", "K = 1, at the start: Maximize: no maximum"},
		{"joint is NaN", "global step", "K = 1, at the start: LogJoint is NaN"},
		{"no blocks", "curvature", "Curvature adds no blocks"},
		{"count is NaN", "counts", "ln|Count| of Curvature is NaN"},
		{"information is NaN", "counts", "ln|F| of Curvature is NaN"},
		{"no charges", "charges", "Charges returns none"},
		{"no data", "charges", "charge 2 counts 1 parameters, 1 of them free, from 0 of 60 observations"},
		{"labels are NaN", "responsibilities", "LabelEntropy is NaN"},
		{"no relevance", "relevance", "K = 1, at the start: Relevance returns 0 numbers, not 1"},
		{"last relevance is NaN", "relevance", "number 1 of Relevance is NaN"},
		{"no kept statistics", "idempotence", "Keep returns nil and no error"},
		{"no kept parameters", "projection", "Keep returns nil and no error"},
		{"too many kept", "idempotence", "Keep of 1 latent dimensions leaves K = 2"},
		{"no expansion", "expansion", "Expand returns nil and no error"},
		{"expansion is NaN", "expansion", "the change of H(q) of Expand is NaN"},
		{"no densities", "likelihood", "LogProb returns 0 numbers, not 60"},
		{"density is NaN", "likelihood", "number 3 of LogProb is NaN"},
		{"no responsibilities", "responsibilities", "Responsibilities returns 0 numbers, not 60"},
	} {
		m := small(right(broken{way: c.way}))
		assert.Contains(t, failures(t, c.check, lvmtest.Run(m)), c.mention, c.way)
	}
	for _, c := range []struct{ way, check, mention string }{
		{"no q", "update", "K = 1, at the start: NewLocal returns nil and no error"},
		{"nil q", "update", "K = 1, at the start: NewLocal returns nil and no error"},
		{"NewLocal errs", "update", "K = 1, at the start: NewLocal: no q"},
		{"no copy", "kept q", "Keep of lvmtest_test.brokenLocal returns nil and no error"},
		{"Update errs", "sums", "Update: no update"},
		{"entropy is NaN", "weights", "the entropy of InferAt is NaN"},
		{"not sent", "kept q", "encoding/gob of lvmtest_test.brokenLocal: "},
	} {
		m := small(right(unkept{way: c.way}))
		assert.Contains(t, failures(t, c.check, lvmtest.Run(m)), c.mention, c.way)
	}
	for way, mention := range map[string]string{
		"no signal":              "Signal returns nil and no error",
		"signal of another size": "Signal is of size 2 for 1 latent dimensions",
		"no rotation":            "K = 1, at the start: Rotate returns nil and no error",
	} {
		assert.Contains(t, failures(t, "rotation", lvmtest.Run(mixing(unrotated{way: way}))), mention, way)
	}
}

// small has rows and latent dimensions enough to break a contract.
func small(c toyCase) toyCase {
	c.K, c.Units, c.Sample, c.NoAllocations = []int{1, 2}, nil, nil, false
	all := c.Data
	c.Data = lvmtest.Data[blocks.Rows]{Rows: 60, Block: all.Block}
	return c
}

// panicking panics in one of its methods, from some parameters on.
type panicking struct {
	toy
	in    string
	steps int
}

func (m panicking) here(method string, p *rates) {
	if m.in == method && p.Steps >= m.steps {
		panic("no " + method)
	}
}

func (m panicking) LogJoint(s *sums, p *rates) float64 {
	m.here("LogJoint", p)
	return m.toy.LogJoint(s, p)
}

func (m panicking) Infer(b blocks.Rows, p *rates, s *sums) (float64, error) {
	m.here("Infer", p)
	return m.toy.Infer(b, p, s)
}

func (m panicking) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	if m.in == "Keep" {
		dims = []int{7}
	}
	return m.toy.Keep(s, p, dims)
}

// TestPanicsAreToldWithTheAuthorsStack: where the suite calls the model, where the engine does, on
// goroutines of its own, and where the model has called the library.
func TestPanicsAreToldWithTheAuthorsStack(t *testing.T) {
	for _, c := range []struct {
		model panicking
		check string
		frame string
	}{
		{panicking{in: "LogJoint"}, "global step", "here"},
		{panicking{in: "Infer", steps: 4}, "EM", "here"},
		{panicking{in: "Infer", steps: 4}, "workers", "here"},
		{panicking{in: "Keep"}, "idempotence", "framework.slicesOf"},
	} {
		text := failures(t, c.check, lvmtest.Run(small(right(c.model))))
		assert.Contains(t, text, "lvmtest_test.panicking."+c.model.in+" panicked: ", c.check)
		assert.Contains(t, text, "lvmtest_test.panicking."+c.model.in+"\n", c.check)
		assert.Contains(t, text, c.frame)
		assert.Regexp(t, `\n\t.*broken_test.go:\d+\n$`, text, "%s: the suite's own frames are left out", c.check)
	}
	mixed := small(right(panicking{in: "Infer", steps: 4}))
	mixed.Symmetry = func(*rates, *rand.Rand) *rates { panic("no form") }
	assert.Contains(t, failures(t, "symmetry", lvmtest.Run(mixed)), "panicked: no form")
}

// sampling is the outcome of the check of a sample.
func sampling(t *testing.T, sample func() (lvmtest.Data[blocks.Rows], error)) string {
	c := right(toy{})
	c.Sample = func(*rates, int, *rand.Rand) (lvmtest.Data[blocks.Rows], error) { return sample() }
	return failures(t, "sample", lvmtest.Run(c))
}

type table = lvmtest.Data[blocks.Rows]

func TestSampleThatDoesNotEndIsNamed(t *testing.T) {
	defer lvmtest.LimitSample(time.Millisecond)()
	never := make(chan int)
	defer close(never)
	text := sampling(t, func() (table, error) {
		<-never
		return table{}, nil
	})
	assert.Contains(t, text, "K = 3: Sample of 500 rows takes more than 1ms")
}

func TestSampleThatFailsIsNamed(t *testing.T) {
	assert.Contains(t, sampling(t, func() (table, error) { return table{}, errors.New("no rows") }), "K = 3: Sample: no rows")
	assert.Contains(t, sampling(t, func() (table, error) { return table{}, nil }), "K = 3: Sample of 500 rows returns 0")
	assert.Regexp(t, `K = 3: Sample: lvmtest_test\S* panicked: no draw\n\n(.*\n)*\t.*broken_test.go:\d+\n`,
		sampling(t, func() (table, error) { panic("no draw") }))
}

// absolutely starts at rates that are the same in all units.
type absolutely struct{ toy }

func (m absolutely) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*rates, error) {
	p, err := m.toy.Init(ctx, src, k, rng)
	for i := range p.Rates {
		p.Rates[i] = math.Pow(3, float64(i))
	}
	return p, err
}

// TestInitIsBlamedForUnitsWhereItMayBe: and not where fits begin alike.
func TestInitIsBlamedForUnitsWhereItMayBe(t *testing.T) {
	const blame = "or Init depends on units"
	text := failures(t, "units", lvmtest.Run(right(absolutely{})))
	assert.Contains(t, text, blame)
	text = failures(t, "units", lvmtest.Run(right(wholesale{})))
	assert.NotEmpty(t, text)
	assert.NotContains(t, text, blame)
}

// three is wrong where K = 3.
type three struct{ toy }

func (m three) Shape(p *rates) framework.Shape {
	s := m.toy.Shape(p)
	if s.K == 3 {
		s.K = 4
	}
	return s
}

func TestOneTwoAndThreeLatentDimensionsAreTheDefault(t *testing.T) {
	c := toyCase{Model: three{}, Data: right(toy{}).Data}
	assert.Contains(t, failures(t, "shape", lvmtest.Run(c)), "K = 3, at the start: Shape.K is 4")
	c.K = []int{1, 2}
	assert.Empty(t, failures(t, "shape", lvmtest.Run(c)))
}

// informed is the mode under a prior on the rates, which are Ξ.
type informed struct{ penalized }

func (informed) LogPrior(p *rates) (sum float64) {
	for _, v := range p.Rates {
		sum -= v * p.Unit
	}
	return sum
}

func TestCurvatureIsNotCheckedAtTheModeUnderAPriorOfIt(t *testing.T) {
	for _, o := range lvmtest.Run(right(informed{penalized{steep: 2}})) {
		if o.Check == "curvature" {
			assert.Equal(t, "lvmtest_test.informed has a prior of Ξ: E_q[ln p(X,Z|Π)] has no maximum at the mode", o.Skipped)
			assert.Empty(t, o.Failures)
		}
	}
}

// strayLabels takes statistics by value where labels are asked of a pointer.
type strayLabels struct{ toy }

func (strayLabels) LabelEntropy(sums) float64 { return 0 }

// A method with the name of an optional one and another signature is named by the checks that fit.
func TestMethodsThatMissTheirInterfaceAreNamed(t *testing.T) {
	assert.Contains(t, failures(t, "EM", lvmtest.Run(small(right(strayLabels{})))),
		"LabelEntropy of lvmtest_test.strayLabels is func(lvmtest_test.sums) float64")
}

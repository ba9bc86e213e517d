package framework_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// faulty violates one contract of the model that it embeds.
type faulty struct {
	poisson
	what string
}

func (m faulty) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*rates, error) {
	if m.what == "Init" {
		return nil, nil
	}
	return m.poisson.Init(ctx, src, k, rng)
}

func (m faulty) Infer(b blocks.Rows, p *rates, s *counts) (float64, error) {
	h, err := m.poisson.Infer(b, p, s)
	if m.what == "Infer" {
		h = math.NaN()
	}
	return h, err
}

func (m faulty) Maximize(s *counts, p, dst *rates) (*rates, error) {
	if m.what == "Maximize" {
		return nil, nil
	}
	return m.poisson.Maximize(s, p, dst)
}

func (m faulty) LogJoint(s *counts, p *rates) float64 {
	switch m.what {
	case "LogJoint":
		return math.NaN()
	case "LogJoint, infinite":
		return math.Inf(-1)
	}
	return m.poisson.LogJoint(s, p)
}

func (m faulty) Curvature(s *counts, p *rates, f *laplace.Curvature) error {
	if m.what == "Curvature" {
		f.Class(0, math.NaN(), unitInformation)
	}
	return m.poisson.Curvature(s, p, f)
}

func (m faulty) Relevance(s *counts, p *rates) ([]float64, error) {
	switch m.what {
	case "Relevance":
		return nil, nil
	case "Relevance, NaN":
		return []float64{math.NaN(), 1, 1}[:len(s.Nk)], nil
	}
	return m.poisson.Relevance(s, p)
}

func (m faulty) Keep(s *counts, p *rates, dims []int) (*counts, *rates, error) {
	t, q, err := m.poisson.Keep(s, p, dims)
	switch m.what {
	case "Keep":
		return nil, nil, nil
	case "Keep, statistics":
		return nil, q, nil
	case "Keep, all":
		return s, p, nil
	}
	return t, q, err
}

// TestContractsThatAreViolatedAreNamed: an error with the method and what is wrong with it, and
// no panic of the engine.
func TestContractsThatAreViolatedAreNamed(t *testing.T) {
	for what, text := range map[string]string{
		"Init":             "Init of framework_test.faulty: contract violated: returned nil parameters",
		"Infer":            "Infer of framework_test.faulty: contract violated: returned NaN",
		"Maximize":         "Maximize of framework_test.faulty: contract violated: returned nil parameters",
		"LogJoint":         "LogJoint of framework_test.faulty: contract violated: returned NaN",
		"Curvature":        "Curvature of framework_test.faulty: contract violated: returned NaN",
		"Relevance":        "Relevance of framework_test.faulty: contract violated: returned 0 numbers for 3 latent dimensions",
		"Relevance, NaN":   "Relevance of framework_test.faulty: contract violated: the relevance of latent dimension 1 is NaN",
		"Keep":             "Keep of framework_test.faulty: contract violated: returned nil parameters",
		"Keep, statistics": "Keep of framework_test.faulty: contract violated: returned nil statistics",
		"Keep, all":        "contract violated: returned parameters of K = 3; must keep 2 latent dimensions",
	} {
		_, err := framework.Fit(background, faulty{what: what}, table(mixed(300, 1)), framework.Options{K: 3})
		assert.ErrorIs(t, err, framework.ErrContract, what)
		assert.ErrorContains(t, err, text)
	}
}

func TestNonFiniteCriterionIsAnError(t *testing.T) {
	_, err := framework.Fit(background, faulty{what: "LogJoint, infinite"}, table(mixed(300, 1)), framework.Options{K: 3})
	assert.ErrorContains(t, err, "gFIC is -Inf at K = 3")
}

// heavy is a source of one's own with a negative weight.
type heavy struct{ *blocks.Table }

func (h heavy) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		for b, err := range h.Table.Blocks(ctx) {
			b.Weights = make([]float64, b.N)
			for i := range b.Weights {
				b.Weights[i] = 1
			}
			b.Weights[7] = -1
			if !yield(b, err) {
				return
			}
		}
	}
}

func TestNegativeWeightsOfASourceAreRefused(t *testing.T) {
	_, err := framework.Fit(background, poisson{}, heavy{table(mixed(300, 1))}, framework.Options{K: 2})
	assert.ErrorContains(t, err, "the weight of row 8 is -1")
}

// named says which component has no maximum, by position.
type named struct {
	poisson
	where string
	drop  int
}

func (m named) fault(k int) error {
	if k < 3 {
		return nil
	}
	return &framework.DegenerateError{Dimension: m.drop, Reason: errors.New("for a reason")}
}

func (m named) Prepare(p *rates, tilt *laplace.Tilt, s *counts) error {
	if m.where == "local" && tilt != nil {
		if err := m.fault(len(p.Rates)); err != nil {
			return err
		}
	}
	return m.poisson.Prepare(p, tilt, s)
}

func (m named) Maximize(s *counts, p, dst *rates) (*rates, error) {
	if m.where == "global" {
		if err := m.fault(len(p.Rates)); err != nil {
			return dst, err
		}
	}
	return m.poisson.Maximize(s, p, dst)
}

func (m named) Curvature(s *counts, p *rates, f *laplace.Curvature) error {
	if m.where == "curvature" {
		if err := m.fault(len(p.Rates)); err != nil {
			return err
		}
	}
	return m.poisson.Curvature(s, p, f)
}

// TestDegenerateErrorsAreAnsweredWhereverTheyComeFrom: the dimension that the error names goes,
// and the criterion before and after stands in the record.
func TestDegenerateErrorsAreAnsweredWhereverTheyComeFrom(t *testing.T) {
	for _, where := range []string{"local", "global", "curvature"} {
		for drop := range 3 {
			m := named{where: where, drop: drop}
			res, err := framework.Fit(background, m, table(mixed(300, 1)), framework.Options{K: 3})
			require.NoError(t, err, where)
			require.LessOrEqual(t, res.Shape.K, 2)
			first := res.Pruned[0]
			assert.Equal(t, "degenerate", first.Rule)
			assert.Equal(t, []int{drop}, first.Dimensions)
			assert.Equal(t, res.Trace[first.Iteration-1], first.After)
			if first.Iteration > 1 {
				assert.Equal(t, res.Trace[first.Iteration-2], first.Before)
			}
			_, err = framework.Fit(background, m, table(mixed(300, 1)), framework.Options{K: 3, FixedK: true})
			assert.ErrorIs(t, err, framework.ErrDegenerate, "with K fixed there is no answer")
			assert.ErrorContains(t, err, fmt.Sprintf("latent dimension %d: for a reason", drop+1))
		}
	}
}

// TestRemovalsOfTheObjectiveRuleRaiseTheCriterion as their record says.
func TestRemovalsOfTheObjectiveRuleRaiseTheCriterion(t *testing.T) {
	removals := 0
	for seed := range uint64(5) {
		res, err := framework.Fit(background, poisson{}, table(mixed(500, seed)), framework.Options{K: 7, Seed: seed})
		require.NoError(t, err)
		for _, p := range res.Pruned {
			if p.Rule == "objective" {
				removals++
				assert.Greater(t, p.After, p.Before)
				assert.NotEmpty(t, p.Dimensions)
			}
		}
	}
	assert.Positive(t, removals)
}

// timed are rows of which every one is a series of ten steps: the weights are estimated from the
// series, the rates from the steps.
type timed struct{ poisson }

func (timed) Charges(s *counts, p *rates) []optional.Charge {
	k := len(p.Rates)
	return []optional.Charge{
		{Parameters: k, Free: k, Latent: true, N: 10 * s.N},
		{Parameters: k - 1, Free: k - 1, N: s.N / 4},
	}
}

// TestChargesAreByTheirOwnUnits: BIC charges every number by its own N; in gFIC, whose F holds the
// counts, N cancels for Ξ, and only Θ is charged by its own.
func TestChargesAreByTheirOwnUnits(t *testing.T) {
	const n, k = 300, 3
	o := framework.Options{K: k, Method: framework.EM, Also: []framework.Criterion{framework.BIC, framework.GFIC, framework.FIC, framework.AIC, framework.BICEM}}
	plain, err := framework.Fit(background, poisson{}, table(mixed(n, 1)), o)
	require.NoError(t, err)
	sized, err := framework.Fit(background, timed{}, table(mixed(n, 1)), o)
	require.NoError(t, err)
	own := k*math.Log(10)/2 - (k-1)*math.Log(4)/2
	shared := -(k - 1) * math.Log(4) / 2
	for i, want := range []float64{own, own, shared, shared, 0, own} {
		assert.InDelta(t, want, plain.Scores[i].Value-sized.Scores[i].Value, 1e-9, plain.Scores[i].Criterion)
	}
}

// unsized are estimated from nothing.
type unsized struct{ poisson }

func (unsized) Charges(*counts, *rates) []optional.Charge {
	return []optional.Charge{{Parameters: 3, Free: 3}}
}

func TestChargesForNoDataAreAViolation(t *testing.T) {
	_, err := framework.Fit(background, unsized{}, table(mixed(300, 1)), framework.Options{K: 2})
	assert.ErrorIs(t, err, framework.ErrContract)
	assert.ErrorContains(t, err, "Charges of framework_test.unsized: contract violated: charges 3 parameters for N = 0; must be positive")
}

// mean field models bound the likelihood.
type bounding struct{ poisson }

func (bounding) BoundsLikelihood() {}

// labelled holds more than labels in its q: half of the entropy is theirs.
type labelled struct{ poisson }

func (labelled) LabelEntropy(s *counts) float64 { return 0.25 }

func TestScoresOfBoundsSayThatTheyAre(t *testing.T) {
	o := framework.Options{K: 2, Method: framework.EM, Also: []framework.Criterion{framework.BIC, framework.AIC}}
	for model, bound := range map[framework.Model[blocks.Rows, *rates, *counts]]bool{poisson{}: false, bounding{}: true} {
		res, err := framework.Fit(background, model, table(mixed(300, 1)), o)
		require.NoError(t, err)
		assert.Equal(t, []bool{false, bound, bound}, []bool{res.Scores[0].Bound, res.Scores[1].Bound, res.Scores[2].Bound})
	}
}

func TestICLSubtractsTheEntropyOfLabels(t *testing.T) {
	o := framework.Options{K: 2, Method: framework.EM, Also: []framework.Criterion{framework.BIC, framework.ICL}}
	for model, want := range map[framework.Model[blocks.Rows, *rates, *counts]]float64{poisson{}: math.NaN(), labelled{}: 0.25} {
		res, err := framework.Fit(background, model, table(mixed(300, 1)), o)
		require.NoError(t, err)
		e, err := framework.Evaluate(background, model, table(mixed(300, 1)), res.Parameters, 1)
		require.NoError(t, err)
		if math.IsNaN(want) {
			want = e.Entropy
		}
		assert.InDelta(t, want, res.Scores[1].Value-res.Scores[2].Value, 1e-9)
	}
}

func TestAddSumsAddsWhatIsASum(t *testing.T) {
	type sums struct {
		N       float64
		Nk      []float64
		K       int
		scratch []float64
	}
	into := &sums{1, []float64{1, 2}, 2, []float64{1}}
	framework.AddSums(into, &sums{10, []float64{10, 20}, 2, []float64{5}})
	assert.Equal(t, &sums{11, []float64{11, 22}, 2, []float64{1}}, into)
}

type kept struct {
	K       int       `keep:"count"`
	D       int       // stays
	Weights []float64 `keep:"weights"`
	Rows    []float64 `keep:"rows"`
	W       []float64 `keep:"columns"`
	ZZ      []float64 `keep:"both"`
	Names   []string  `keep:"rows"`
	Tilde   []float64 `keep:"both+1"`
	Mean    []float64
	scratch []float64
}

func TestKeepAxesKeepsWhatTheTagsSay(t *testing.T) {
	v := &kept{3, 2, []float64{0.5, 0.3, 0.2}, []float64{1, 2, 3, 4, 5, 6}, []float64{1, 2, 3, 4, 5, 6}, []float64{1, 2, 3, 4, 5, 6, 7, 8, 9}, []string{"a", "b", "c"}, []float64{0, 1, 2, 3, 10, 11, 12, 13, 20, 21, 22, 23, 30, 31, 32, 33}, []float64{7, 8}, []float64{1}}
	got := framework.KeepAxes(v, 3, []int{0, 2})
	assert.InDeltaSlice(t, []float64{5. / 7, 2. / 7}, got.Weights, 1e-15)
	got.Weights = nil
	assert.Equal(t, &kept{K: 2, D: 2, Rows: []float64{1, 2, 5, 6}, W: []float64{1, 3, 4, 6}, ZZ: []float64{1, 3, 7, 9}, Names: []string{"a", "c"}, Tilde: []float64{0, 1, 3, 10, 11, 13, 30, 31, 33}, Mean: []float64{7, 8}}, got)
	got.Mean[0], got.Rows[0] = 99, 99
	assert.Equal(t, 7., v.Mean[0], "no memory is shared")
	assert.Equal(t, 1., v.Rows[0])
	v.Weights = []float64{0, 0, 1}
	assert.Equal(t, []float64{0.5, 0.5}, framework.KeepAxes(v, 3, []int{0, 1}).Weights)
	assert.Panics(t, func() { framework.KeepAxes(&kept{Rows: []float64{1, 2}}, 3, []int{0}) })
}

// Methods that have the name of one of an optional interface, and are not it.
type (
	otherRelevance struct{ poisson }
	pointerLabels  struct{ poisson }
)

func (otherRelevance) Relevance(*counts) ([]float64, error) { return nil, nil }

func (*pointerLabels) LabelEntropy(*counts) float64 { return 0 }

func TestMethodsThatMissTheirInterfaceAreRefused(t *testing.T) {
	_, err := framework.Fit(background, otherRelevance{}, table(mixed(50, 1)), framework.Options{K: 2})
	require.ErrorIs(t, err, framework.ErrContract)
	assert.ErrorContains(t, err, "Relevance of framework_test.otherRelevance is func(*framework_test.counts) ([]float64, error)")
	_, err = framework.Fit(background, pointerLabels{}, table(mixed(50, 1)), framework.Options{K: 2})
	assert.ErrorContains(t, err, "LabelEntropy of framework_test.pointerLabels has a pointer receiver")
	_, err = framework.Fit(background, &pointerLabels{}, table(mixed(50, 1)), framework.Options{K: 2})
	assert.NoError(t, err)
}

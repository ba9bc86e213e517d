package lvmtest_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/pruning"
)

func TestTheRightModelPasses(t *testing.T) {
	lvmtest.Test(t, right(toy{}))
	assert.NoError(t, lvmtest.Check(right(toy{})))
	assert.ErrorContains(t, lvmtest.Check(right(halfway{})), "global step: ∇E_q[ln p(X,Z|Π)] = 0")
}

// TestEveryCheckHasAMutantThatItAloneCatches: and no check is skipped.
func TestEveryCheckHasAMutantThatItAloneCatches(t *testing.T) {
	caught := map[string]bool{}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			for _, o := range lvmtest.Run(m.c) {
				assert.Empty(t, o.Skipped, o.Check)
				if o.Check != m.check {
					assert.Empty(t, o.Failures, "%s fails too", o.Check)
					continue
				}
				caught[o.Check] = true
				assert.NotEmpty(t, o.Failures, o.Check)
				for _, f := range o.Failures {
					t.Log(o.Check, f)
				}
			}
		})
	}
	for _, o := range lvmtest.Run(right(toy{})) {
		assert.True(t, caught[o.Check], "no mutant for %s", o.Check)
	}
}

// bare is the toy with nothing but what EM needs.
type bare struct {
	framework.Model[framework.Rows, *rates, *sums]
}

// TestWhatIsMissingIsSkippedWithAReason: of the model's interfaces, and of the case's functions.
func TestWhatIsMissingIsSkippedWithAReason(t *testing.T) {
	full := right(toy{})
	skipped := func(c toyCase) (names []string) {
		for _, o := range lvmtest.Run(c) {
			assert.Empty(t, o.Failures, o.Check)
			if o.Skipped != "" {
				names = append(names, o.Check)
				assert.Regexp(t, `is not framework\.[A-Z]|is neither framework|^Case\.[A-Z]`, o.Skipped)
			}
		}
		return names
	}
	assert.Equal(t, []string{"curvature", "counts", "tilted local step", "q-step", "likelihood", "responsibilities", "expansion",
		"relevance", "projection", "idempotence", "symmetry", "units", "FAB", "gFAB", "allocations", "sample"},
		skipped(toyCase{Model: bare{toy{}}, Data: full.Data}))
	assert.Equal(t, []string{"curvature", "projection", "symmetry", "units", "allocations", "sample"},
		skipped(toyCase{Model: toy{}, Data: full.Data}))
	full.Stochastic = true
	assert.Equal(t, []string{"global step", "EM"}, skipped(full))
	for _, o := range lvmtest.Run(toyCase{Model: toy{}, Data: full.Data}) {
		if o.Check == "shape" || o.Check == "global step" {
			assert.Contains(t, strings.Join(o.Notes, "\n"), "Case.Free is not given")
		}
	}
}

// The models below do something that no model may; the suite names the method.

type panicking struct{ toy }

func (panicking) LogJoint(*sums, *rates) float64 { panic("no joint") }

type failing struct{ toy }

func (failing) Maximize(*sums, *rates, *rates) (*rates, error) {
	return nil, errors.New("no maximum")
}

type undefined struct{ toy }

func (undefined) LogJoint(*sums, *rates) float64 { return math.NaN() }

type startless struct{ toy }

func (startless) Init(context.Context, framework.Source[framework.Rows], int, *rand.Rand) (*rates, error) {
	return nil, errors.New("no start")
}

type unprepared struct{ toy }

func (unprepared) Prepare(*rates, *laplace.Tilt, *sums) error { return errors.New("no preparation") }

type keeping struct{ toy }

func (keeping) Project(s *sums, p *rates, _ pruning.Directions) (*sums, *rates, error) {
	return s, p, nil
}

func TestBrokenPromisesAreNamedWithTheirMethod(t *testing.T) {
	for _, c := range []struct {
		model   framework.Model[framework.Rows, *rates, *sums]
		check   string
		mention []string
	}{
		{panicking{}, "global step", []string{"panic: no joint", "LogJoint"}},
		{failing{}, "global step", []string{"K = 1, at the start: Maximize: no maximum"}},
		{undefined{}, "global step", []string{"K = 1", "LogJoint is NaN"}},
		{startless{}, "local step", []string{"K = 1: Init: no start"}},
		{unprepared{}, "blocks", []string{"Prepare: no preparation"}},
		{keeping{}, "idempotence", []string{"Project onto 1 directions leaves K = 2"}},
	} {
		outcomes := lvmtest.Run(right(c.model))
		i := slices.IndexFunc(outcomes, func(o lvmtest.Outcome) bool { return o.Check == c.check })
		require.GreaterOrEqual(t, i, 0, c.check)
		for _, mention := range c.mention {
			assert.Contains(t, strings.Join(outcomes[i].Failures, "\n"), mention, "%T", c.model)
		}
	}
}

func TestCasesThatAreNoneAreRefused(t *testing.T) {
	good := right(toy{})
	for mention, c := range map[string]toyCase{
		"Case.Model is nil":     {Data: good.Data},
		"Case.Data has 0 rows":  {Model: toy{}},
		"Case.K holds 0":        {Model: toy{}, Data: good.Data, K: []int{2, 0}},
		"must not be negative":  {Model: toy{}, Data: good.Data, Tolerance: -1},
		"Case.Data has 3 rows":  {Model: toy{}, Data: lvmtest.Data[framework.Rows]{Rows: 3, Block: good.Data.Block}},
		"Case.Data has 10 rows": {Model: toy{}, Data: lvmtest.Data[framework.Rows]{Rows: 10}},
	} {
		assert.ErrorContains(t, lvmtest.Check(c), mention)
	}
}

// Example checks a model whose global step stops half way to the maximum.
func Example() {
	// right holds data, coordinates and the like; see toy_test.go.
	var c lvmtest.Case[framework.Rows, *rates, *sums] = right(halfway{})
	for _, o := range lvmtest.Run(c) {
		if len(o.Failures) > 0 {
			fmt.Println(o.Name())
		}
	}
	// In a test of one's own, lvmtest.Test(t, c) makes each check a subtest.

	// Output:
	// global step: ∇E_q[ln p(X,Z|Π)] = 0, and no Π′ has a higher E_q[ln p(X,Z|Π′)]
}

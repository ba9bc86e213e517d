package lvmtest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
)

func TestTheRightModelPasses(t *testing.T) {
	lvmtest.Test(t, right(toy{}))
	assert.NoError(t, lvmtest.Check(right(toy{})))
	assert.ErrorContains(t, lvmtest.Check(right(halfway{})), "global step: ∇E_q[ln p(X,Z|Π)] = 0")
	for _, b := range breeds() {
		for _, o := range b.right() {
			assert.Empty(t, o.Failures, "%s: %s", b.name, o.Check)
		}
	}
}

// TestEveryCheckHasAMutantThatItAloneCatches: and every check is made that the right model gets.
func TestEveryCheckHasAMutantThatItAloneCatches(t *testing.T) {
	caught, made := map[string]bool{}, map[string]bool{}
	for _, b := range breeds() {
		skipped := map[string]bool{}
		for _, o := range b.right() {
			skipped[o.Check] = o.Skipped != ""
			made[o.Check] = made[o.Check] || o.Skipped == ""
		}
		for _, m := range b.mutants {
			t.Run(b.name+", "+m.name, func(t *testing.T) {
				for _, o := range m.run() {
					assert.Equal(t, skipped[o.Check], o.Skipped != "", "%s: %s", o.Check, o.Skipped)
					if !slices.Contains(strings.Split(m.check, ","), o.Check) {
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
	}
	caught["interfaces"] = true // by TestMethodsThatAreNoneAreErrors
	for check := range made {
		assert.True(t, made[check], "no model for %s", check)
		assert.True(t, caught[check], "no mutant for %s", check)
	}
}

// TestWhatModelAndDataAloneFind: all mistakes but those whose check needs a function of the case, which it says.
func TestWhatModelAndDataAloneFind(t *testing.T) {
	needs := map[string]string{
		"steep": "Case.Latent", "miscounted": "Case.Free", "drifting": "Case.Degenerate", "misordered": "Case.Degenerate",
		"favouring": "Case.Symmetry", "allocating": "Case.NoAllocations",
	}
	for _, m := range mixtures() {
		if m.alone == nil {
			continue
		}
		found, why := false, ""
		for _, o := range m.alone() {
			found = found || len(o.Failures) > 0
			why += o.Skipped + strings.Join(o.Notes, "\n")
		}
		need, known := needs[m.name]
		assert.Equal(t, !known, found, "%s: %s", m.name, why)
		assert.Contains(t, why, need, m.name)
	}
}

// A method that nobody calls ends the suite's fits, whatever they check.
func TestMethodsThatAreNoneAreErrors(t *testing.T) {
	for _, o := range lvmtest.RunSome(right(misnamed{}), "interfaces") {
		assert.Contains(t, strings.Join(o.Failures, "\n"), "LabelEntropy of lvmtest_test.misnamed is func(lvmtest_test.sums) float64")
	}
	o := lvmtest.RunSome(right(toy{}), "interfaces")[0]
	assert.Contains(t, o.Notes[0], "lvmtest_test.toy is also Curved, Projector, LogProber, Assigner, Charger, Splitter, Expander, LabelEntropy, Scaler")
}

// bare is the toy with nothing but what EM needs.
type bare struct {
	framework.Model[blocks.Rows, *rates, *sums]
}

// TestWhatIsMissingIsSkippedWithAReason: of the model's interfaces, and of the case's functions.
func TestWhatIsMissingIsSkippedWithAReason(t *testing.T) {
	full := right(toy{})
	skipped := func(c toyCase) (names []string) {
		for _, o := range lvmtest.Run(c) {
			assert.Empty(t, o.Failures, o.Check)
			if o.Skipped != "" {
				names = append(names, o.Check)
				assert.Regexp(t, `is not optional\.[A-Z]|^Case\.[A-Z]|no density of package numeric`, o.Skipped)
			}
		}
		return names
	}
	assert.Equal(t, []string{"density", "identifiability", "charges", "posterior step", "curvature", "counts", "tilted local step", "step under the prior", "q-step", "update", "kept q",
		"likelihood", "responsibilities", "expansion", "relevance", "rotation", "projection", "kept dimensions", "idempotence", "split", "symmetry", "FAB", "gFAB", "evidence", "allocations", "sample"},
		skipped(toyCase{Model: bare{toy{}}, Data: full.Data}))
	assert.Equal(t, []string{"density", "posterior step", "curvature", "step under the prior", "update", "kept q", "rotation", "projection", "symmetry", "evidence", "allocations", "sample"},
		skipped(toyCase{Model: toy{}, Data: full.Data}))
	full.Stochastic = true
	assert.Equal(t, []string{"density", "identifiability", "global step", "posterior step", "step under the prior", "update", "kept q", "rotation", "EM", "evidence"}, skipped(full))
	for _, o := range lvmtest.Run(toyCase{Model: toy{}, Data: full.Data}) {
		if o.Check == "shape" || o.Check == "global step" {
			assert.Contains(t, strings.Join(o.Notes, "\n"), "Case.Free is not given")
		}
	}
}

func TestCasesThatAreNoneAreRefused(t *testing.T) {
	good := right(toy{})
	for mention, c := range map[string]toyCase{
		"Case.Model is nil":     {Data: good.Data},
		"Case.Data has 0 rows":  {Model: toy{}},
		"Case.K holds 0":        {Model: toy{}, Data: good.Data, K: []int{2, 0}},
		"and Observations of 2": {Model: toy{}, Data: lvmtest.Data[blocks.Rows]{Rows: 10, Block: good.Data.Block, Observations: []float64{1, 1}}},
		"must not be negative":  {Model: toy{}, Data: good.Data, Tolerance: -1},
		"Case.Data has 3 rows":  {Model: toy{}, Data: lvmtest.Data[blocks.Rows]{Rows: 3, Block: good.Data.Block}},
		"Case.Data has 10 rows": {Model: toy{}, Data: lvmtest.Data[blocks.Rows]{Rows: 10}},
	} {
		assert.ErrorContains(t, lvmtest.Check(c), mention)
	}
}

// Example checks a model whose global step stops half way to the maximum.
func Example() {
	// right holds data, coordinates and the like; see toy_test.go.
	var c lvmtest.Case[blocks.Rows, *rates, *sums] = right(halfway{})
	for _, o := range lvmtest.Run(c) {
		if len(o.Failures) > 0 {
			fmt.Println(o.Name())
		}
	}
	// In a test of one's own, lvmtest.Test(t, c) makes each check a subtest.

	// Output:
	// global step: ∇E_q[ln p(X,Z|Π)] = 0, and no Π′ has a higher E_q[ln p(X,Z|Π′)]
}

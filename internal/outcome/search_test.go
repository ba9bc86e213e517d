package outcome

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// Each fall of the trace is counted under the reason that its iteration shows.
func TestFallsOfTheTraceAreExplained(t *testing.T) {
	r := &Report{restOfReport: restOfReport{Trace: []fitted.Number{-10, -11, -9, -9.5, -8, -8.25, -7}, KTrace: []int{5, 5, 4, 3, 3, 3, 3}}}
	r.Objective = []fitted.Number{-20, -19, -18, -17, -16, -15, -14}
	text := r.falls()
	assert.Contains(t, text, "none of more than 1 nats")
	assert.Contains(t, text, "2 times, while the objective that the iterations ascend rose")
	assert.Contains(t, text, "1 time, where K changed")
	r.Objective[5] = -16.5
	assert.Contains(t, r.falls(), "1 time, with the objective itself")
	r.Trace = []fitted.Number{-3, -3 - 1e-12, -2}
	assert.Empty(t, r.falls(), "rounding is no fall")
}

func TestSentencesNameCriteriaAsTheFieldDoes(t *testing.T) {
	for code, want := range map[string]string{"gfic": "gFIC", "bic": "BIC", "sbic": "sBIC", "exacticl": "exact ICL", "collapsed": "the collapsed evidence"} {
		assert.Equal(t, want, criterionCalled(code))
	}
}

// The words about K follow how far it is ahead, of all K that were fitted; of those that starts ended with there is no verdict.
func TestClarityOfK(t *testing.T) {
	r := &Report{}
	r.Criterion, r.Value, r.K, r.KMax = "bic", -100, 2, 4
	for next, want := range map[fitted.Number]string{-100.5: "hardly better than", -102: "somewhat better than", -104: "clearly better than", -106: "far better than"} {
		r.ByK = []SizeScore{{1, -300, true}, {2, -100, true}, {3, next, true}, {4, fitted.Number(math.NaN()), false}}
		assert.Contains(t, r.clarity(), "By BIC, K = 2 is "+want+" the next best, K = 3, which is "+report.Fixed(float64(-100-next), 2)+" nats lower.")
	}
	r.ByK[2].Value = -99
	assert.Contains(t, r.clarity(), "K = 3 is 1.00 nats higher by BIC")
	r.ByK = nil
	r.Restarts = []restart{{K: 2, Value: -100}, {K: 3, Value: -109}, {K: 3, Value: -107.25}, {K: 1, Value: fitted.Number(math.NaN())}}
	assert.Contains(t, r.clarity(), "has K = 3, and BIC is 7.25 nats lower")
	assert.Equal(t, []SizeScore{{2, -100, false}, {3, -107.25, false}}, r.sizes())
	r.Restarts = []restart{{K: 2, Value: -100}, {K: 2, Value: -101}, {K: 2, Value: fitted.Number(math.NaN())}}
	assert.Equal(t, "All 2 starts of 3 that did not fail came to K = 2, from at most 4.", r.clarity())
	r.KMax = 2
	assert.Contains(t, r.clarity(), "more may be better")
	r.Evidence = &Evidence{SizePosterior: []SizeProbability{{1, 0.02}, {2, 0.98}}, Credible: []int{2}}
	assert.Equal(t, "How sure K is, p(K|data): K = 2: 0.98, K = 1: 0.02; at least 90 %: K = 2. It is the most that was allowed (--kmax): "+
		"more may be better.", r.clarity())
	r.Settings.FixedK = true
	assert.Contains(t, r.clarity(), "K was given")
	r.K, r.Begun = 2, &Begun{K: 2}
	assert.Contains(t, r.clarity(), "K is that of the saved model (--from)")
}

func TestEveryPruningRuleIsExplained(t *testing.T) {
	r := &Report{}
	r.KMax = 5
	for i, rule := range []string{"objective", "eigenvalue", "degenerate"} {
		r.Pruned = append(r.Pruned, Pruned{Iteration: i + 1, K: 4 - i, Rule: rule, Relevance: []fitted.Number{0.5}})
	}
	var p text.Page
	p.Section(r.prunedSection(wording.MostRows)[0])
	for _, part := range []string{"objective: the smaller", "eigenvalue: it held at most one row's worth of data", "degenerate: it had collapsed: its rows were equal, or in line"} {
		assert.Contains(t, p.String(), part)
	}

	// Steps shown together name all their rules.
	r.KMax, r.Pruned = 100, nil
	for i := range 2 * wording.MostRows {
		r.Pruned = append(r.Pruned, Pruned{Iteration: i + 1, K: 99 - i, Rule: []string{"objective", "degenerate"}[i%2]})
	}
	p.Reset()
	p.Section(r.prunedSection(wording.MostRows)[0])
	assert.Contains(t, p.String(), "objective, degenerate")
}

func TestRelevanceThatIsNoneHasADash(t *testing.T) {
	assert.Equal(t, "–", AbridgedNumbers(fitted.Numbers([]float64{math.Inf(-1), math.NaN()})))
	assert.Equal(t, "0.5", AbridgedNumbers(fitted.Numbers([]float64{math.Inf(-1), 0.5})))
}

// More iterations are advised where they help, and only there.
func TestAdviceHelps(t *testing.T) {
	for _, c := range []struct {
		status    framework.Status
		tolerance float64
		want      string
	}{
		{framework.Converged, 1e-9, ""},
		{framework.IterationLimit, 1e-9, "raise --max-iter"},
		{framework.IterationLimit, 1e-16, "--tol 1e-16 is within the rounding error of the criterion: raise --tol"},
		{framework.Falling, 1e-9, "the objective fell: try another --seed, or more --restarts"},
		{framework.Cancelled, 1e-9, ""},
	} {
		assert.Equal(t, c.want, advice(c.status, c.tolerance, -1130, 272))
	}
}

package command

import (
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/report"
)

// Each fall of the trace is counted under the reason that its iteration shows.
func TestFallsOfTheTraceAreExplained(t *testing.T) {
	r := &fitReport{restOfReport: restOfReport{Trace: []number{-10, -11, -9, -9.5, -8, -8.25, -7}, KTrace: []int{5, 5, 4, 3, 3, 3, 3}}}
	r.Objective = []number{-20, -19, -18, -17, -16, -15, -14}
	text := r.falls()
	assert.Contains(t, text, "none of more than 1 nats")
	assert.Contains(t, text, "2 times, while the objective that the iterations ascend rose")
	assert.Contains(t, text, "1 time, where K changed")
	r.Objective[5] = -16.5
	assert.Contains(t, r.falls(), "1 time, with the objective itself")
	r.Trace = []number{-3, -3 - 1e-12, -2}
	assert.Empty(t, r.falls(), "rounding is no fall")
}

func TestMissingValuesAreCounted(t *testing.T) {
	p := pageOf(t, "--data", file(t, "g.csv", "a,b,c,w\n1,2,3,1\n2,,4,1\n3,1,5,2\n2,,5,1\n5,6,,1\n6,7,8,1\n"), "--family", "gaussian-diagonal", "--k", "1", "--weights", "w")
	assert.Equal(t, [][]string{{"column", "missing", "share of the rows"}, {"b", "2", "29 %"}, {"c", "1", "14 %"}}, p.shown["missing values by column"])
	assert.Contains(t, p.text, "14 % of the cells are missing, in 43 % of the rows.")
	assert.Contains(t, p.text, "1 column is complete.")
	p = pageOf(t)
	assert.NotContains(t, p.text, "Missing values")
}

func TestNamesFromRightToLeftAreIsolated(t *testing.T) {
	const name = "\u0645\u062f\u064a\u0646\u0629"
	assert.Equal(t, "\u2068"+name+"\u2069", isolated(name))
	assert.Equal(t, "plain", isolated("plain"))
	assert.True(t, strings.HasPrefix(capital("mixture"), "M"))
}

func TestSentencesNameCriteriaAsTheFieldDoes(t *testing.T) {
	for code, want := range map[string]string{"gfic": "gFIC", "bic": "BIC", "sbic": "sBIC", "exacticl": "exact ICL", "collapsed": "the collapsed evidence"} {
		assert.Equal(t, want, criterionCalled(code))
	}
}

// The words about K follow how far it is ahead, of all K that were fitted; of those that starts ended with there is no verdict.
func TestClarityOfK(t *testing.T) {
	r := &fitReport{}
	r.Criterion, r.Value, r.K, r.KMax = "bic", -100, 2, 4
	for next, want := range map[number]string{-100.5: "hardly better than", -102: "somewhat better than", -104: "clearly better than", -106: "far better than"} {
		r.ByK = []sizeScore{{1, -300, true}, {2, -100, true}, {3, next, true}, {4, number(math.NaN()), false}}
		assert.Contains(t, r.clarity(), "By BIC, K = 2 is "+want+" the next best, K = 3, which is "+report.Fixed(float64(-100-next), 2)+" nats lower.")
	}
	r.ByK[2].Value = -99
	assert.Contains(t, r.clarity(), "K = 3 is 1.00 nats higher by BIC")
	r.ByK = nil
	r.Restarts = []restart{{K: 2, Value: -100}, {K: 3, Value: -109}, {K: 3, Value: -107.25}, {K: 1, Value: number(math.NaN())}}
	assert.Contains(t, r.clarity(), "has K = 3, and BIC is 7.25 nats lower")
	assert.Equal(t, []sizeScore{{2, -100, false}, {3, -107.25, false}}, r.sizes())
	r.Restarts = []restart{{K: 2, Value: -100}, {K: 2, Value: -101}, {K: 2, Value: number(math.NaN())}}
	assert.Equal(t, "All 2 starts of 3 that did not fail came to K = 2, from at most 4.", r.clarity())
	r.KMax = 2
	assert.Contains(t, r.clarity(), "more may be better")
	r.evidenceView = &evidenceView{SizePosterior: []sizeProbability{{1, 0.02}, {2, 0.98}}, Credible: []int{2}}
	assert.Equal(t, "How sure K is, p(K|data): K = 2: 0.98, K = 1: 0.02; at least 90 %: K = 2. It is the most that was allowed (--kmax): "+
		"more may be better.", r.clarity())
	r.Settings.FixedK = true
	assert.Contains(t, r.clarity(), "K was given")
}

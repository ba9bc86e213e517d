package outcome

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/prior"
)

// mass is the posterior probability of the set of K that is reported.
const mass = 0.9

// doubtful is how much higher than the value of a fit, in nats, one of another K may be that its search passed: odds of
// twenty to one. A search by estimates that need not rise, as of CVB0, may pass one.
const doubtful = 3

// A SizeProbability is p(K|X) of one K.
type SizeProbability struct {
	K           int           `json:"k"`
	Probability fitted.Number `json:"probability"`
}

// sizePosterior is p(K|X) with the smallest set of 90 %.
func sizePosterior(ks []int, probabilities []float64) (list []SizeProbability, credible []int) {
	for i, v := range probabilities {
		list = append(list, SizeProbability{ks[i], fitted.Number(v)})
	}
	for _, i := range sizes.CredibleSet(probabilities, mass) {
		credible = append(credible, ks[i])
	}
	return list, credible
}

// howSure has the probabilities of 0.5 % and more, the largest first, and the set.
func howSure(posterior []SizeProbability, credible []int) string {
	list := slices.Clone(posterior)
	slices.SortStableFunc(list, func(a, b SizeProbability) int { return cmp.Compare(b.Probability, a.Probability) })
	var parts []string
	for i, p := range list {
		if i == 0 || p.Probability >= 0.005 {
			parts = append(parts, fmt.Sprintf("K = %d: %.2f", p.K, p.Probability))
		}
	}
	sizes := make([]string, len(credible))
	for i, k := range credible {
		sizes[i] = strconv.Itoa(k)
	}
	return fmt.Sprintf("%s; at least %.0f %%: K = %s", strings.Join(parts, ", "), 100*mass, strings.Join(sizes, ", "))
}

// Evidence is what a fit has in JSON whose criterion integrates the parameters out; the first three by the evidence.
type Evidence struct {
	Bound         *fitted.Number    `json:"evidence_bound,omitempty"` // E
	LogModes      *fitted.Number    `json:"ln_modes,omitempty"`       // ln M
	LogEvidence   *fitted.Number    `json:"log_evidence,omitempty"`   // E + ln M
	EvidencePrior priorView         `json:"prior"`
	SizePosterior []SizeProbability `json:"size_posterior,omitempty"`
	Credible      []int             `json:"credible,omitempty"`
}

// priorView says what the parameters' prior is, and what it is worth.
type priorView struct {
	Form       string        `json:"form"`
	Given      string        `json:"given,omitempty"` // the keys of --prior
	Rows       fitted.Number `json:"rows,omitempty"`
	Covariance fitted.Number `json:"covariance,omitempty"` // of a class, with axes in any direction
}

// evidencePrior says what the prior of the evidence is, nil for the default.
func (r *Report) evidencePrior(given prior.Prior) priorView {
	unit, _ := given.(prior.UnitInformation)
	v := priorView{Form: "unit information", Rows: fitted.Number(unit.RowsOr())}
	switch {
	case r.kind.Pairs:
		v = priorView{Form: "uniform"}
	case r.kind.Classes && !r.responds() && r.correlated() > 0:
		v.Covariance = fitted.Number(unit.CovarianceOr(r.correlated()))
	}
	return v
}

// certainty adds what the evidence says of the fit, and of the K that were compared: those that were fitted, or that
// the search met.
func (r *Report) certainty(f *Fit, given prior.Prior, size sizes.Prior) error {
	c, err := framework.CriterionByName(r.Criterion)
	if err != nil || !r.method().Integrates(c) || r.Settings.Temper != 0 {
		return nil // a criterion of an author says nothing of K
	}
	r.Evidence = &Evidence{EvidencePrior: priorView{Form: "conjugate", Given: r.Settings.Prior}}
	if r.byEvidence() {
		bound := r.Value
		r.Bound, r.EvidencePrior = &bound, r.evidencePrior(given)
		if modes := fitted.Number(f.Evaluation.LogModes); modes == modes {
			total := r.Value + modes
			r.LogModes, r.LogEvidence = &modes, &total
		}
	}
	if r.Settings.FixedK {
		return nil
	}
	scores := slices.Clone(r.ByK)
	for k, v := range f.Met {
		if r.ByK == nil && !math.IsInf(v, -1) {
			scores = append(scores, SizeScore{K: k, Value: fitted.Number(v)})
		}
	}
	if len(scores) < 2 {
		return nil
	}
	if best := slices.MaxFunc(scores, byValue); r.ByK == nil && best.Value > r.Value+doubtful {
		r.passed = best
		return nil
	}
	var ks []int
	var values, log []float64
	for _, one := range scores {
		if one.Value == one.Value {
			ks, values, log = append(ks, one.K), append(values, float64(one.Value)), append(log, size(one.K))
		}
	}
	probabilities, err := sizes.Posterior(values, log)
	r.SizePosterior, r.Credible = sizePosterior(ks, probabilities)
	return err
}

func (r *Report) byEvidence() bool { return r.Criterion == framework.Evidence.Name }

func byValue(a, b SizeScore) int { return cmp.Compare(a.Value, b.Value) }

// certaintyFacts says how sure K is, in a line of the text.
func (r *Report) certaintyFacts() [][2]string {
	if r.Evidence == nil {
		return nil
	}
	sure := "K was not compared to others"
	switch {
	case r.SizePosterior != nil:
		sure = howSure(r.SizePosterior, r.Credible)
	case r.passed.K > 0:
		sure = r.passing()
	}
	if r.SizePosterior != nil && strings.EqualFold(r.Criterion, framework.ExactICL.Name) {
		sure += "; of the best labels of each K"
	}
	if r.ByK == nil {
		if r.SizePosterior != nil {
			sure += "; of the K that the search met"
		}
		sure += ": latent " + r.selecting() + r.scoring() + " fits each"
	}
	return [][2]string{{"p(K|data)", sure}}
}

// scoring are the flags by which latent select has the criterion of the fit.
func (r *Report) scoring() string {
	if r.byEvidence() {
		return " --criteria evidence"
	}
	return " --method " + r.Method
}

// passing says that a search did not keep the best value that it met.
func (r *Report) passing() string {
	return fmt.Sprintf("in doubt: the search passed K = %d, with a value %.1f nats higher", r.passed.K,
		r.passed.Value-r.Value)
}

// evidenceFacts are further lines about it.
func (r *Report) evidenceFacts() (facts [][2]string) {
	if r.Evidence == nil {
		return nil
	}
	if r.LogEvidence != nil && *r.LogModes > 0 {
		text := fmt.Sprintf("%s nats with ln M = %.3f of equivalent modes",
			wording.Nats(float64(*r.LogEvidence)), float64(*r.LogModes))
		facts = append(facts, [2]string{"ln p(data|K)", text})
	}
	text := r.EvidencePrior.Form
	switch given := r.EvidencePrior.Given; {
	case given != "":
		text += ", " + given
	case !r.byEvidence():
		text += ", at its defaults (--prior; latent help " + r.Model + ")"
	}
	if r.EvidencePrior.Rows > 0 {
		text += ", worth " + wording.Readable(float64(r.EvidencePrior.Rows)) +
			wording.Either(r.EvidencePrior.Rows == 1, " row", " rows")
	}
	if c := r.EvidencePrior.Covariance; c > 0 {
		text += fmt.Sprintf(", of covariances %s", wording.Readable(float64(c)))
	}
	return append(facts, [2]string{"prior", text})
}

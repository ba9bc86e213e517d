package command

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/prior"
)

// mass is the posterior probability of the set of K that is reported.
const mass = 0.9

type sizeProbability struct {
	K           int    `json:"k"`
	Probability number `json:"probability"`
}

// sizePosterior is p(K|X) with the smallest set of 90 %.
func sizePosterior(ks []int, probabilities []float64) (list []sizeProbability, credible []int) {
	for i, v := range probabilities {
		list = append(list, sizeProbability{ks[i], number(v)})
	}
	for _, i := range sizes.CredibleSet(probabilities, mass) {
		credible = append(credible, ks[i])
	}
	return list, credible
}

// howSure has the probabilities of 0.5 % and more, the largest first, and the set.
func howSure(posterior []sizeProbability, credible []int) string {
	list := slices.Clone(posterior)
	slices.SortStableFunc(list, func(a, b sizeProbability) int { return cmp.Compare(b.Probability, a.Probability) })
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

// evidenceView is what a fit by the evidence has in JSON.
type evidenceView struct {
	Bound         number            `json:"evidence_bound"`         // E
	LogModes      *number           `json:"ln_modes,omitempty"`     // ln M
	LogEvidence   *number           `json:"log_evidence,omitempty"` // E + ln M
	EvidencePrior priorView         `json:"prior"`
	SizePosterior []sizeProbability `json:"size_posterior,omitempty"`
	Credible      []int             `json:"credible,omitempty"`
}

// priorView says what the parameters' prior is worth.
type priorView struct {
	Form       string `json:"form"`
	Rows       number `json:"rows,omitempty"`
	Covariance number `json:"covariance,omitempty"` // of a class, with axes in any direction
}

// evidencePrior says what the prior of the evidence is, nil for the default.
func (r *fitReport) evidencePrior(given prior.Prior) priorView {
	unit, _ := given.(prior.UnitInformation)
	v := priorView{Form: "unit information", Rows: number(unit.RowsOr())}
	switch {
	case r.kind.Pairs:
		v = priorView{Form: "uniform"}
	case r.kind.Classes && !r.responds() && r.correlated() > 0:
		v.Covariance = number(unit.CovarianceOr(r.correlated()))
	}
	return v
}

// certainty adds what the evidence says of the fit, and of the K that were compared: those that were fitted, or that
// the search met.
func (r *fitReport) certainty(f *outcome, given prior.Prior, size sizes.Prior) error {
	if !r.byEvidence() {
		return nil
	}
	r.evidenceView = &evidenceView{Bound: r.Value, EvidencePrior: r.evidencePrior(given)}
	if modes := number(f.Evaluation.LogModes); modes == modes {
		total := r.Value + modes
		r.LogModes, r.LogEvidence = &modes, &total
	}
	scores := slices.Clone(r.ByK)
	for k, v := range f.Met {
		if r.ByK == nil && !math.IsInf(v, -1) {
			scores = append(scores, sizeScore{K: k, Value: number(v)})
		}
	}
	if r.Settings.FixedK || len(scores) < 2 {
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

func (r *fitReport) byEvidence() bool { return r.Criterion == framework.Evidence.Name }

// certaintyFacts says how sure K is, in a line of the text.
func (r *fitReport) certaintyFacts() [][2]string {
	if r.evidenceView == nil {
		return nil
	}
	sure := "K was not compared to others"
	if r.SizePosterior != nil {
		sure = howSure(r.SizePosterior, r.Credible)
	}
	if r.ByK == nil {
		if r.SizePosterior != nil {
			sure += "; of the K that the search met"
		}
		sure += ": latent " + r.selecting() + " --criteria evidence fits each"
	}
	return [][2]string{{"p(K|data)", sure}}
}

// evidenceFacts are further lines about it.
func (r *fitReport) evidenceFacts() (facts [][2]string) {
	if r.evidenceView == nil {
		return nil
	}
	if r.LogEvidence != nil && *r.LogModes > 0 {
		text := fmt.Sprintf("%s nats with ln M = %.3f of equivalent modes",
			digits(float64(*r.LogEvidence)), float64(*r.LogModes))
		facts = append(facts, [2]string{"ln p(data|K)", text})
	}
	text := r.EvidencePrior.Form
	if r.EvidencePrior.Rows > 0 {
		text += ", worth " + readable(float64(r.EvidencePrior.Rows)) + moreOr(r.EvidencePrior.Rows == 1, " row", " rows")
	}
	if c := r.EvidencePrior.Covariance; c > 0 {
		text += fmt.Sprintf(", of covariances %s", readable(float64(c)))
	}
	return append(facts, [2]string{"prior", text})
}

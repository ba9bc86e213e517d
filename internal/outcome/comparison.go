package outcome

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// A Comparison is the object that --format json writes of families side by side.
type Comparison struct {
	Model     string          `json:"model"`
	Method    string          `json:"method"`
	Criterion string          `json:"criterion"`
	N         fitted.Number   `json:"n"`
	D         int             `json:"d"`
	Rows      int             `json:"rows"`
	KMin      int             `json:"kmin"`
	KMax      int             `json:"kmax"` // of the family with the most
	Seed      uint64          `json:"seed"`
	Seconds   fitted.Number   `json:"seconds"`
	Best      string          `json:"best"`
	K         int             `json:"k"`
	Second    string          `json:"second,omitempty"`
	Margin    fitted.Number   `json:"margin"` // of the best over the second, in nats; null where there is none
	Table     []ComparisonRow `json:"table"`  // the best first
	Warnings  []string        `json:"warnings"`
}

// A ComparisonRow is a family at its best K.
type ComparisonRow struct {
	Family        string        `json:"family"`
	K             int           `json:"k"`
	Value         fitted.Number `json:"value"`
	Behind        fitted.Number `json:"behind"` // the best, in nats
	LogLikelihood fitted.Number `json:"loglik"`
	Free          int           `json:"df"`
	Converged     bool          `json:"converged"`
	Error         string        `json:"error,omitempty"`

	KMax   int               `json:"-"` // that was fitted
	CheckK func(k int) error `json:"-"`
}

// Print writes the comparison for people.
func (t *Comparison) Print(p *text.Page, in *tables.Input) {
	p.Prose(0, "%s", in.Describe(float64(t.N)))
	p.Prose(0, "%s, each family at its best K from %d to %d, by %s; nats, larger is better", t.Model,
		t.KMin, t.KMax, t.Method)
	p.Line("")
	g := report.NewGrid("family", "K", t.Criterion, "behind", "log-likelihood", "parameters")
	g.Wrap("family")
	for _, r := range t.Table {
		if r.Error != "" {
			g.Row(r.Family, "failed", "", "", "", "")
			continue
		}
		k := strconv.Itoa(r.K)
		if !r.Converged {
			k = "! " + k
		}
		g.Row(r.Family, k, wording.Nats(float64(r.Value)), fmt.Sprintf("%.3f", float64(r.Behind)),
			wording.Nats(float64(r.LogLikelihood)), strconv.Itoa(r.Free))
	}
	p.Grid(g)
	p.Line("")
	for _, r := range t.Table {
		if r.Error != "" {
			p.Prose(2, "%s: %s", r.Family, r.Error)
		}
	}
	if t.Second == "" {
		p.Prose(0, "%s chooses %s with K = %d: no other family could be fitted", t.Criterion, t.Best, t.K)
	} else {
		p.Prose(0, "%s chooses %s with K = %d, %.3f nats ahead of %s with K = %d", t.Criterion, t.Best, t.K,
			float64(t.Margin), t.Second, t.Table[1].K)
	}
	if slices.ContainsFunc(t.Table, func(r ComparisonRow) bool { return r.Family == families.Poisson }) {
		p.Prose(0, "poisson gives probabilities of counts, and the others densities: the two are comparable if a "+
			"density hardly varies over a step of 1")
	}
	p.Line("time   %.3g s", float64(t.Seconds))
}

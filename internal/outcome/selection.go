package outcome

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// agree compares the components of one K with known classes.
func (t *Selection) agree(row *selectionRow, all *Scores, i int, in *tables.Input) error {
	if in.Known == nil {
		return nil
	}
	f, err := all.Open(i)
	if err != nil {
		return err
	}
	assigned, err := f.Parameters.(fitted.Classifier).Classify()
	if err != nil {
		return err
	}
	t.Label, row.AdjustedRand = in.Known.Column, &AgreementOf(in, assigned, row.K).AdjustedRand
	return nil
}

// A Selection is the object that --format json writes.
type Selection struct {
	Model    string         `json:"model"`
	Family   string         `json:"family"`
	Method   string         `json:"method"`
	N        fitted.Number  `json:"n"`
	D        int            `json:"d"`
	Rows     int            `json:"rows"`
	Columns  []data.Column  `json:"columns"`
	KMin     int            `json:"kmin"`
	KMax     int            `json:"kmax"`
	Seed     uint64         `json:"seed"`
	Seconds  fitted.Number  `json:"seconds"`
	Criteria []string       `json:"criteria"`
	Prior    string         `json:"size_prior"`
	Chosen   map[string]int `json:"chosen"` // K by criterion
	// Posterior is p(K|X) among the K compared, and Credible the smallest set of 90 %: with the first criterion that
	// integrates the parameters out.
	Posterior []SizeProbability `json:"posterior,omitempty"`
	Credible  []int             `json:"credible,omitempty"`
	Table     []selectionRow    `json:"table"`
	Tests     []ratioTest       `json:"tests,omitempty"` // with --bootstrap
	Label     string            `json:"label,omitempty"` // column of --label
	Warnings  []string          `json:"warnings"`

	What string `json:"-"` // the model's parts
}

// posterior fills in p(K|X) by criterion j.
func (t *Selection) posterior(all *Scores, j int, prior sizes.Prior) error {
	probabilities, err := all.SizePosterior(j, prior)
	if err != nil {
		return err
	}
	t.Posterior, t.Credible = sizePosterior(all.K, probabilities)
	return nil
}

type selectionRow struct {
	K      int                      `json:"k"`
	Values map[string]fitted.Number `json:"values"` // by criterion; null where there is none
	fitStatistics
	Converged bool   `json:"converged"`
	Status    string `json:"status"`
	Error     string `json:"error,omitempty"` // why a value is null

	AdjustedRand *fitted.Number `json:"adjusted_rand_index,omitempty"` // of the components and the classes of --label
}

// Fill has the criteria that were asked for, what each chooses, and a row for each K.
func (t *Selection) Fill(
	all *Scores, by fitted.Method, asked []framework.Criterion, in *tables.Input, prior sizes.Prior,
) error {
	for j, one := range asked {
		name := strings.ToLower(one.Name)
		t.Criteria = append(t.Criteria, name)
		best := all.BestUnder(j, prior)
		if best < 0 {
			return all.Without(one)
		}
		t.Chosen[name] = all.K[best]
		// EM chooses starts by the first
		if t.Posterior == nil && by.Integrates(one) && (j == 0 || t.Method != "em") {
			if err := t.posterior(all, j, prior); err != nil {
				return err
			}
		}
		if j == 0 {
			f, err := all.Open(best)
			if err != nil {
				return err
			}
			t.N = fitted.Number(f.N)
		}
	}
	for i, k := range all.K {
		end := all.Ends[i]
		row := selectionRow{
			K: k, Values: map[string]fitted.Number{}, fitStatistics: all.statistics(i), Converged: end.Converged,
			Status: end.status,
		}
		for j, name := range t.Criteria {
			row.Values[name] = fitted.Number(all.Values[i][j])
		}
		if end.err != nil {
			row.Error = in.Render(end.err)
		} else if err := t.agree(&row, all, i, in); err != nil {
			return err
		}
		t.Table = append(t.Table, row)
	}
	return nil
}

// Print shows criteria over K, each one's choice marked.
func (t *Selection) Print(p *text.Page, in *tables.Input) {
	p.Prose(0, "%s", in.Describe(float64(t.N)))
	p.Prose(0, "%s, %s, by %s; nats, larger is better, * marks each criterion's choice", t.Model, t.What, t.Method)
	for _, kind := range classes.ColumnFacts(t.Family, t.Columns) {
		p.Prose(2, "%s: %s", kind[0], kind[1])
	}
	if slices.ContainsFunc(t.Table, selectionRow.unfinished) {
		p.Line("! marks fits that did not converge: their values could still change")
	}
	for left := t.Criteria; len(left) > 0; {
		n, g := p.Widest(len(left), func(n int) *report.Grid { return t.grid(left[:n]) })
		p.Line("")
		p.Grid(g)
		left = left[n:]
	}
	p.Line("")
	for _, name := range t.Criteria {
		p.Prose(2, "%-6s chooses K = %d", name, t.Chosen[name])
	}
	if t.Posterior != nil {
		p.Prose(11, "p(K|data)  %s", howSure(t.Posterior, t.Credible))
	}
	for _, one := range t.testsSection() {
		p.Section(one)
	}
	if t.Label != "" {
		var list []string
		for _, row := range t.Table {
			if row.AdjustedRand != nil {
				list = append(list, fmt.Sprintf("K = %d: %.4f", row.K, float64(*row.AdjustedRand)))
			}
		}
		p.Line("")
		p.Prose(2, "adjusted Rand of components and column %q: %s", report.Printable(t.Label), strings.Join(list, ", "))
	}
	p.Line("time   %.3g s", float64(t.Seconds))
}

// grid has some of the criteria.
func (t *Selection) grid(criteria []string) *report.Grid {
	g := report.NewGrid(append([]string{"K"}, criteria...)...)
	for _, row := range t.Table {
		cells := []string{strconv.Itoa(row.K)}
		if row.unfinished() {
			cells[0] = "! " + cells[0]
		}
		for _, name := range criteria {
			mark := "  "
			if t.Chosen[name] == row.K {
				mark = " *"
			}
			cells = append(cells, wording.Nats(float64(row.Values[name]))+mark)
		}
		g.Row(cells...)
	}
	return g
}

// unfinished says whether a fit has values but did not converge; one that failed has none.
func (row selectionRow) unfinished() bool { return !row.Converged && row.Status != statusNone }

// AsTable has a row for each K: the criteria in their order, and what else every fit has.
func (t *Selection) AsTable() report.Table {
	further := tables.Without([]string{"loglik", "bic", "aic"}, tables.SetOf(t.Criteria))
	names := append([]string{"k"}, t.Criteria...)
	unknown := fitted.Number(math.NaN())
	list := report.Table{
		Columns: report.Columns(append(append(names, further...), "df", "entropy", "converged", "status")...),
	}
	if t.Label != "" {
		list.Columns = append(list.Columns, report.Columns("adjusted_rand_index")...)
	}
	for _, row := range t.Table {
		cells := []any{row.K}
		for _, name := range t.Criteria {
			cells = append(cells, row.Values[name])
		}
		for _, name := range further {
			cells = append(cells, map[string]fitted.Number{"loglik": row.LogLik, "bic": row.BIC, "aic": row.AIC}[name])
		}
		cells = append(cells, row.Df, row.Entropy, row.Converged, row.Status)
		if t.Label != "" {
			cells = append(cells, *cmp.Or(row.AdjustedRand, &unknown))
		}
		list.Add(cells...)
	}
	return list
}

// AsTable has a row for each family, the best first.
func (t *Comparison) AsTable() report.Table {
	list := report.Table{Columns: report.Columns("family", "k", t.Criterion, "loglik", "df", "converged", "error")}
	for _, row := range t.Table {
		free := float64(row.Free)
		if row.Error != "" {
			row.K, row.Value, row.LogLikelihood, free = 0, fitted.Number(math.NaN()), fitted.Number(math.NaN()), math.NaN()
		}
		list.Add(row.Family, row.K, row.Value, row.LogLikelihood, free, row.Converged, row.Error)
	}
	return list
}

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
	"github.com/latent-go/latent/internal/agreement"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Begun says what a fit began at, a saved model, and what has changed since: values are those of the rows of the fit.
type Begun struct {
	Model    string `json:"model"`    // its file
	Checksum string `json:"checksum"` // SHA-256 of that
	K        int    `json:"k"`
	// Value is the criterion, null where it has none without steps. The evidence, which integrates the parameters out, is
	// that of the latent variables by the saved parameters.
	Value      fitted.Number `json:"value"`
	LogLik     fitted.Number `json:"loglik"`
	Components []Moved       `json:"components,omitempty"` // those of the fit, in their order
	Lost       []Moved       `json:"lost,omitempty"`       // those of the saved model that none of the fit has the place of

	at fitted.Classifier // the saved model at the rows; nil of models without classes
}

// Moved is a component of the fit, and the one of the saved model that it was.
type Moved struct {
	Component int           `json:"component,omitempty"` // from 1; 0: it is lost
	Was       int           `json:"was,omitempty"`       // likewise; 0: it is new
	From      int           `json:"from,omitempty"`      // of one that is new: where most of its rows were
	Rows      fitted.Number `json:"rows,omitempty"`
	RowsThen  fitted.Number `json:"rows_then,omitempty"` // of these rows, by the saved model
	Kept      fitted.Number `json:"kept,omitempty"`      // the share of those that it still has
	Moves     []Move        `json:"moves,omitempty"`     // its numbers, those that moved most first
}

// A Move is that of a number of a component.
type Move struct {
	Column   string        `json:"column"`
	Quantity string        `json:"quantity"`
	Then     fitted.Number `json:"then"`
	Now      fitted.Number `json:"now"`
	// Size is how far that is: a mean in standard deviations of then, a probability as it is, another number by the
	// logarithm of the ratio.
	Size fitted.Number `json:"size"`
}

// Begin has what a saved model with k latent dimensions is of rows that it is to be fitted to.
func Begin(path, checksum string, k int, found fitted.Found, at framework.Evaluation,
	c framework.Criterion) *Begun {
	b := &Begun{Model: path, Checksum: checksum, K: k, Value: fitted.Number(math.NaN()),
		LogLik: fitted.Number(framework.AIC.Value(&at)) + fitted.Number(at.Shape.Identifiable())}
	if c.Value != nil && !c.Needs.Labeller && !c.Needs.Code {
		b.Value = fitted.Number(c.Value(&at))
	}
	b.at, _ = found.(fitted.Classifier)
	return b
}

// Compare says how the fit differs from where it began.
func (r *Report) Compare(b *Begun, in *tables.Input) error {
	r.Begun = b
	now, is := r.found.(fitted.Classifier)
	if !is || b.at == nil {
		return nil
	}
	before, err := b.at.Classify()
	if err != nil {
		return err
	}
	after, err := now.Classify()
	if err != nil {
		return err
	}
	table := agreement.CrossTable(before, after, in.Weights, b.K, r.K)
	was := agreement.Match(table)
	then, here := numbersOf(b.at.Table()), numbersOf(now.Table())
	lost := wording.UpTo(0, b.K-1)
	for k := range r.K {
		column := make([]float64, b.K)
		m := Moved{Component: k + 1}
		for i := range column {
			column[i] = table[i][k]
			m.Rows += fitted.Number(column[i])
		}
		if i := was[k]; i >= 0 {
			m.Was = i + 1
			for _, n := range table[i] {
				m.RowsThen += fitted.Number(n)
			}
			m.Kept = fitted.Number(table[i][k]) / m.RowsThen
			m.Moves = moves(then[i+1], here[k+1])
			lost = slices.DeleteFunc(lost, func(l int) bool { return l == i })
		} else {
			m.From = 1 + wording.ByValue(column, wording.UpTo(0, b.K-1))[0]
		}
		b.Components = append(b.Components, m)
	}
	for _, i := range lost {
		m := Moved{Was: i + 1}
		for _, n := range table[i] {
			m.RowsThen += fitted.Number(n)
		}
		b.Lost = append(b.Lost, m)
	}
	return nil
}

// numbersOf are the numbers of each component, from 1, of a table of classes: of each the column, the quantity and the
// value.
func numbersOf(t report.Table) map[int][]Move {
	list := map[int][]Move{}
	for _, row := range t.Rows {
		k := int(row[0].Value)
		list[k] = append(list[k], Move{Column: row[2].Text, Quantity: row[3].Text, Then: fitted.Number(row[4].Value)})
	}
	return list
}

// moves are those of the numbers of a component, the largest first; numbers that are not in both are left out.
func moves(then, now []Move) (list []Move) {
	for _, one := range then {
		same := func(m Move) bool { return m.Column == one.Column && m.Quantity == one.Quantity }
		at := slices.IndexFunc(now, same)
		if at < 0 {
			continue
		}
		one.Now = now[at].Then
		from, to := float64(one.Then), float64(one.Now)
		deviation := slices.IndexFunc(then, func(m Move) bool {
			return m.Column == one.Column && strings.HasPrefix(m.Quantity, "sd")
		})
		switch size := math.Abs(to - from); {
		case strings.HasPrefix(one.Quantity, "mean") && deviation >= 0:
			one.Size = fitted.Number(size / float64(then[deviation].Then))
		case 0 <= from && from <= 1 && 0 <= to && to <= 1:
			one.Size = fitted.Number(size)
		default:
			one.Size = fitted.Number(math.Abs(math.Log(to / from)))
		}
		list = append(list, one)
	}
	slices.SortStableFunc(list, func(a, b Move) int { return cmp.Compare(b.Size, a.Size) }) // NaN is the least
	return list[:min(len(list), wording.MostItems)]
}

// begunFact says where the fit began, in a line of the text.
func (r *Report) begunFact() [][2]string {
	if r.Begun == nil {
		return nil
	}
	return [][2]string{{"begun at", fmt.Sprintf("%s, SHA-256 %.12s…: %s", report.Printable(r.Begun.Model),
		r.Begun.Checksum, r.changed())}}
}

// changed says what became of K and of the criterion.
func (r *Report) changed() string {
	b := r.Begun
	said := fmt.Sprintf("K = %d, as before", r.K)
	if b.K != r.K {
		said = fmt.Sprintf("K went from %d to %d", b.K, r.K)
	}
	said += "; of these rows"
	for _, one := range []struct {
		name      string
		then, now fitted.Number
	}{{"log-likelihood", b.LogLik, r.LogLik}, {r.Criterion, b.Value, r.Value}} {
		if change := one.now - one.then; change-change == 0 {
			said += fmt.Sprintf(", %s %s → %s", one.name, wording.Nats(float64(one.then)), wording.Nats(float64(one.now)))
		}
	}
	return said + " nats"
}

// begunSection shows the components beside those of the saved model.
func (r *Report) begunSection() []report.Section {
	if r.Begun == nil {
		return nil
	}
	list := []report.Section{{Title: "Since the saved model", Text: wording.Capital(r.changed()) + "."}}
	if r.Begun.Components == nil {
		return list
	}
	table := report.Table{Caption: "components now and then", Open: true,
		Columns: report.Columns("component", "was", "rows", "rows then", "kept", "moved most")}
	for _, m := range slices.Concat(r.Begun.Components, r.Begun.Lost) {
		cells := []any{report.Missing, report.Missing, report.Missing, report.Missing, report.Missing, ""}
		if m.Component > 0 {
			cells[0], cells[2], cells[5] = strconv.Itoa(m.Component), m.Rows, fmt.Sprintf("new, of the rows of %d", m.From)
		}
		if m.Was > 0 {
			cells[1], cells[3], cells[5] = strconv.Itoa(m.Was), m.RowsThen, "lost"
		}
		if m.Component > 0 && m.Was > 0 {
			cells[4], cells[5] = report.Share(m.Kept), m.most()
		}
		table.Add(cells...)
	}
	list[0].Tables, list[0].Wide = []report.Table{table}, true
	list[0].Text += " Rows are those of this fit, by the components of both models: kept is the share of a component's " +
		"rows that it still has. A mean moves in standard deviations of before."
	return list
}

// most is the number of a component that has moved most.
func (m *Moved) most() string {
	if len(m.Moves) == 0 {
		return report.Missing
	}
	one := m.Moves[0]
	return fmt.Sprintf("%s of %s: %s → %s (%s)", report.Printable(one.Quantity), report.Printable(one.Column),
		report.Readable(float64(one.Then)), report.Readable(float64(one.Now)), report.Fixed(float64(one.Size), 2))
}

package command

import (
	"math"
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
)

// A savedTable is what latent select --out and latent fit --components write, row by row.
type savedTable struct {
	heads   []data.Head
	texts   []string
	numbers []float64
}

// save writes the table as CSV, or as Parquet by the name of the file.
func (t savedTable) save(s *session, path string) error {
	return s.emitTable(path, t.heads, func(to data.Writer) error { return to.Write(t.texts, t.numbers) })
}

// table has a row for each K: the criteria in their order, and what else every fit has.
func (t *selection) table() savedTable {
	list := savedTable{heads: []data.Head{{Name: "k", Cells: data.Integers}}}
	list.heads = append(list.heads, data.Heads(t.Criteria)...)
	further := without([]string{"loglik", "bic", "aic"}, setOf(t.Criteria))
	list.heads = append(list.heads, data.Heads(further)...)
	list.heads = append(list.heads, data.Head{Name: "df"}, data.Head{Name: "entropy"}, data.Head{Name: "converged", Cells: data.Texts}, data.Head{Name: "status", Cells: data.Texts})
	for _, row := range t.Table {
		list.numbers = append(list.numbers, float64(row.K))
		for _, name := range t.Criteria {
			list.numbers = append(list.numbers, float64(row.Values[name]))
		}
		for _, name := range further {
			list.numbers = append(list.numbers, float64(map[string]number{"loglik": row.LogLik, "bic": row.BIC, "aic": row.AIC}[name]))
		}
		list.numbers = append(list.numbers, float64(row.Df), float64(row.Entropy))
		list.texts = append(list.texts, strconv.FormatBool(row.Converged), row.Status)
	}
	return list
}

// table has a row for each family, the best first.
func (t *comparison) table() savedTable {
	list := savedTable{heads: slices.Concat([]data.Head{{Name: "family", Cells: data.Texts}, {Name: "k", Cells: data.Integers}}, data.Heads([]string{t.Criterion, "loglik", "df"}),
		[]data.Head{{Name: "converged", Cells: data.Texts}, {Name: "error", Cells: data.Texts}})}
	for _, row := range t.Table {
		list.texts = append(list.texts, row.Family, strconv.FormatBool(row.Converged), row.Error)
		if row.Error != "" {
			list.numbers = append(list.numbers, 0, math.NaN(), math.NaN(), math.NaN())
			continue
		}
		list.numbers = append(list.numbers, float64(row.K), float64(row.Value), float64(row.LogLikelihood), float64(row.Free))
	}
	return list
}

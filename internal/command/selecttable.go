package command

import (
	"cmp"
	"math"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/report"
)

// save writes a table as CSV, or as Parquet by the name of the file, with all digits.
func (s *session) save(path string, t report.Table) error {
	heads, texts, numbers := cellsOf(t)
	return s.emitTable(path, heads, func(to data.Writer) error { return to.Write(texts, numbers) })
}

// cellsOf are the columns of a table and its cells, row by row, as files have them.
func cellsOf(t report.Table) (heads []data.Head, texts []string, numbers []float64) {
	for _, column := range t.Columns {
		heads = append(heads, data.Head{Name: column.Name})
	}
	for _, row := range t.Rows {
		for j, cell := range row {
			switch cell.As {
			case report.Words:
				heads[j].Cells, texts = data.Texts, append(texts, cell.Text)
				continue
			case report.Counts:
				heads[j].Cells = data.Integers
			}
			numbers = append(numbers, cell.Value)
		}
	}
	return heads, texts, numbers
}

// table has a row for each K: the criteria in their order, and what else every fit has.
func (t *selection) table() report.Table {
	further := without([]string{"loglik", "bic", "aic"}, setOf(t.Criteria))
	names := append([]string{"k"}, t.Criteria...)
	unknown := number(math.NaN())
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
			cells = append(cells, map[string]number{"loglik": row.LogLik, "bic": row.BIC, "aic": row.AIC}[name])
		}
		cells = append(cells, row.Df, row.Entropy, row.Converged, row.Status)
		if t.Label != "" {
			cells = append(cells, *cmp.Or(row.AdjustedRand, &unknown))
		}
		list.Add(cells...)
	}
	return list
}

// table has a row for each family, the best first.
func (t *comparison) table() report.Table {
	list := report.Table{Columns: report.Columns("family", "k", t.Criterion, "loglik", "df", "converged", "error")}
	for _, row := range t.Table {
		free := float64(row.Free)
		if row.Error != "" {
			row.K, row.Value, row.LogLikelihood, free = 0, number(math.NaN()), number(math.NaN()), math.NaN()
		}
		list.Add(row.Family, row.K, row.Value, row.LogLikelihood, free, row.Converged, row.Error)
	}
	return list
}

package outcome

import (
	"cmp"
	"math"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/report"
)

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

package outcome

import (
	"fmt"

	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// gapsSection shows which columns have missing values, where there are any.
func (r *Report) gapsSection(in *tables.Input) []report.Section {
	if in.Pairs != nil { // pairs of names, all of which have a number
		return nil
	}
	missing, all := make([]float64, in.Cols()), 0.0
	gaps, incomplete := 0.0, 0.0
	for row := range in.Rows() {
		some := false
		n := in.Weight(row)
		for j := range missing {
			if v := in.Number(row, j); v != v {
				missing[j] += n
				gaps += n
				some = true
			}
		}
		all += n
		if some {
			incomplete += n
		}
	}
	if gaps == 0 {
		return nil
	}
	shown := wording.Largest(missing, wording.MostProfiles)
	table := report.Table{
		Caption: "missing values by column",
		Columns: report.Columns("column", "missing", "share of the rows"),
		Open:    true,
		High:    "missing",
	}
	whole := 0
	for _, j := range wording.ByValue(missing, shown) {
		if missing[j] == 0 {
			whole++
			continue
		}
		table.Add(in.Names[j], missing[j], report.Shaded(report.Share(missing[j]/all), missing[j]/all))
	}
	list := report.Single("Missing values", nil, table)
	list[0].Text = fmt.Sprintf(
		"%s of the cells are missing, in %s of the rows. The fit integrates them out: a row counts by the values "+
			"that it has.", report.Percentage(gaps/all/float64(in.Cols())), report.Percentage(incomplete/all),
	)
	if whole > 0 {
		list[0].Text += fmt.Sprintf(" %s complete.", wording.Are(whole, "column"))
	}
	list[0].Text += wording.LeftOut(in.Cols()-len(shown), "column", "with fewer missing values")
	return list
}

package command

import (
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/report"
)

// quantity is the name of a number of the column, with the unit of the means and deviations of dates.
func quantity(c data.Column, name string) string {
	switch {
	case c.Unit != "" && name == "mean":
		return name + " (" + c.Unit + ")"
	case c.Unit != "" && name == "sd":
		return name + " (days)"
	}
	return name
}

// table has a row for each number of each component: of columns with levels the probability of every level, of others
// the numbers that JSON has of them.
func (f *components) table() report.Table {
	list := report.Table{Columns: report.Columns("component", "weight", "column", "quantity", "value")}
	for k, c := range f.list {
		for j, s := range c.Columns {
			levels := levelNames(f.columns[j])
			if levels == nil {
				for _, name := range s.keys {
					list.Add(k+1, c.Weight, s.Name, quantity(f.columns[j], name), s.Values[name])
				}
				continue
			}
			for l, p := range s.probabilities(f.columns[j]) {
				list.Add(k+1, c.Weight, s.Name, "P("+levels[l]+")", p)
			}
		}
	}
	return list
}

package classes

import (
	"github.com/latent-go/latent/report"
)

// Table has a row for each number of each component: of columns with levels the probability of every level, of others
// the numbers that JSON has of them.
func (f *Components) Table() report.Table {
	list := report.Table{Columns: report.Columns("component", "weight", "column", "quantity", "value")}
	for k, c := range f.List {
		for j, s := range c.Columns {
			levels := levelNames(f.Columns[j])
			if levels == nil {
				for _, name := range s.Keys {
					list.Add(k+1, c.Weight, s.Name, quantity(f.Columns[j], name), s.Values[name])
				}
				continue
			}
			for l, p := range s.Probabilities(f.Columns[j]) {
				list.Add(k+1, c.Weight, s.Name, "P("+levels[l]+")", p)
			}
		}
	}
	return list
}

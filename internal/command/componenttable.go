package command

import "github.com/latent-go/latent/data"

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

// table has a row for each number of each component: of columns with levels the probability of every level, of others the
// numbers that JSON has of them.
func (f *components) table() savedTable {
	list := savedTable{heads: []data.Head{{Name: "component", Cells: data.Integers}, {Name: "weight"},
		{Name: "column", Cells: data.Texts}, {Name: "quantity", Cells: data.Texts}, {Name: "value"}}}
	for k, c := range f.list {
		add := func(column, quantity string, value float64) {
			list.texts = append(list.texts, column, quantity)
			list.numbers = append(list.numbers, float64(k+1), float64(c.Weight), value)
		}
		for j, s := range c.Columns {
			levels := levelNames(f.columns[j])
			if levels == nil {
				for _, name := range s.keys {
					add(s.Name, quantity(f.columns[j], name), float64(s.Values[name]))
				}
				continue
			}
			for l, p := range s.probabilities(f.columns[j]) {
				add(s.Name, "P("+levels[l]+")", p)
			}
		}
	}
	return list
}

package columns

import (
	"math"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// takeIndicators describes neighbouring columns of 0 and 1, or of FALSE and TRUE, of which exactly one is 1 in each
// row, as one variable ([family.Indicators]): they are the levels of a category, and of independent columns their
// dependence would be evidence for further components.
func (in Columns) takeIndicators(s *tables.Session, columns []data.Column, given *classes.ColumnFamilies) {
	if in.Rows() < fewestKnown {
		return
	}
	list := make([]indicator, len(columns))
	for j, c := range columns {
		if given.Family[c.Name] == "" {
			list[j] = in.indicatorOf(j, c)
		}
	}
	for first := 0; first < len(columns); first++ {
		last, sum := first, list[first].ones
		for sum > 0 && sum < list[first].rows && last+1 < len(columns) && list[last+1].ones > 0 {
			last++
			sum += list[last].ones
		}
		if last == first || sum != list[first].rows || !in.oneEach(list[first:last+1]) {
			continue
		}
		group := columns[first : last+1]
		for i := range group {
			group[i].Family, group[i].Block = families.Indicators, families.GroupOf(len(group))
			group[i].Reason = "one of them is 1 in each row"
		}
		var names []suspect
		for _, c := range group {
			names = append(names, suspect{name: c.Name})
		}
		s.Note("%s: taken together, as one of them is 1 in each row: %s: %s takes them apart", in.Name,
			wording.Abridged(names, ", ", func(c suspect) string { return wording.QuotedCell(c.name) }),
			as(families.Bernoulli, names, given))
		first = last
	}
}

// An indicator is a column of 0 and 1, or of FALSE and TRUE.
type indicator struct {
	column     int
	one        float64 // what stands for 1 there
	rows, ones int     // that are not missing, and that have it; 0 of other columns
}

func (in Columns) indicatorOf(j int, c data.Column) indicator {
	i := indicator{column: j, one: 1}
	switch {
	case classes.Truth(c) == 1: // as 1 is behind 0
		i.one = float64(slices.Index(in.Levels(c.Name), c.Levels[1]))
	case c.Family != families.Bernoulli || len(c.Levels) > 0:
		return i
	}
	for row := range in.Rows() {
		if v := in.Number(row, j); v == v {
			i.rows++
			if v == i.one {
				i.ones++
			}
		}
	}
	return i
}

// oneEach reports whether exactly one of the columns is 1 in each row, but where all are missing.
func (in Columns) oneEach(list []indicator) bool {
	for row := range in.Rows() {
		ones, missing := 0, 0
		for _, i := range list {
			switch v := in.Number(row, i.column); {
			case math.IsNaN(v):
				missing++
			case v == i.one:
				ones++
			}
		}
		if missing < len(list) && (ones != 1 || missing > 0) {
			return false
		}
	}
	return true
}

// indicate reports whether columns of numbers, as a list of names has them, are neighbours that takeIndicators takes
// together.
func (in Columns) indicate(names []string, columns []int) bool {
	var list []indicator
	for _, c := range slices.Sorted(slices.Values(columns)) {
		list = append(list, indicator{column: slices.Index(in.Names, names[c]), one: 1})
	}
	return len(list) > 1 && list[len(list)-1].column-list[0].column == len(list)-1 && in.oneEach(list)
}

package classes

import (
	"fmt"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// UnitOfDates is that of columns that were dates.
const UnitOfDates = "days since 1970-01-01"

// Spread is mean and standard deviation of the column for readers: of dates, the mean is a date.
func Spread[F ~float64](c data.Column, mean, sd F) report.Cell {
	cell := report.Spread(mean, sd)
	if c.Unit == UnitOfDates {
		cell.As = report.Dates
	}
	return cell
}

// Axis names the column and its unit.
func Axis(c data.Column) string {
	if c.Unit == "" {
		return report.Printable(c.Name)
	}
	return report.Printable(c.Name) + ", " + c.Unit
}

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

// levelNames are those of a column that has probabilities of levels; nil of one of numbers.
func levelNames(c data.Column) []string {
	if c.Family == families.Bernoulli && len(c.Levels) == 0 {
		return []string{"0", "1"}
	}
	return c.Levels
}

// Called is the column's name in a sentence.
func Called(c data.Column) string { return wording.Isolated(shortened(report.Printable(c.Name))) }

// shortened is a name that a sentence has room for.
func shortened(name string) string {
	const most = 40
	if letters := []rune(name); len(letters) > most {
		return string(letters[:most-1]) + "…"
	}
	return name
}

// Truth is the place of TRUE among the levels of a column of TRUE and FALSE; −1 in others.
func Truth(c data.Column) int {
	is := func(word string) func(string) bool {
		return func(level string) bool { return strings.EqualFold(level, word) }
	}
	if len(c.Levels) != 2 || !slices.ContainsFunc(c.Levels, is("false")) {
		return -1
	}
	return slices.IndexFunc(c.Levels, is("true"))
}

// inventory lists what the columns are, alike ones together: {"gaussian", "a, b"}, ….
func inventory(columns []data.Column) [][2]string {
	var kinds []string
	names := map[string][]string{}
	for _, c := range columns {
		kind := c.Family
		switch {
		case kind == families.Bernoulli && len(c.Levels) > 0:
			kind += fmt.Sprintf(", %.20q is 1 and %.20q is 0", c.Levels[1], c.Levels[0])
		case families.Named(kind).Levels > 0:
			kind += fmt.Sprintf(" of %d levels", len(c.Levels))
		}
		if reason, _, _ := strings.Cut(c.Reason, " ("); reason != "" {
			kind += " (" + reason + ")"
		}
		if names[kind] == nil {
			kinds = append(kinds, kind)
		}
		names[kind] = append(names[kind], wording.Isolated(report.Printable(c.Name)))
	}
	var list [][2]string
	for _, kind := range kinds {
		list = append(list, [2]string{kind, wording.Listed(names[kind], 40)})
	}
	return list
}

// ColumnFacts is the inventory of columns where the name of the model's family does not say it,
// or was not given.
func ColumnFacts(family string, columns []data.Column) [][2]string {
	kinds := inventory(columns)
	if family == families.Auto || len(kinds) > 1 ||
		slices.ContainsFunc(columns, func(c data.Column) bool { return len(c.Levels) > 0 }) {
		return kinds
	}
	return nil
}

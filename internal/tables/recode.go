package tables

import (
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/wording"
)

// TextColumns are the columns with cells that are no numbers.
func (in *Input) TextColumns() []string {
	return slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return in.Levels(name) == nil })
}

// A LevelError is about a cell that has none of the levels of a model.
type LevelError struct{ error }

// Recode gives the columns of a table the codes of a model's levels. places has the place
// in the table of each column.
func (in *Input) Recode(columns []data.Column, places []int, unseenMissing bool) error {
	var names, numeric []string
	var levels [][]string
	for j, c := range columns {
		name := in.Names[places[j]]
		if len(c.Levels) > 0 {
			names, levels = append(names, name), append(levels, c.Levels)
		} else if in.Levels(name) != nil {
			numeric = append(numeric, name)
		}
	}
	if err := in.TakeNumbers(numeric); err != nil {
		return err
	}
	if len(names) == 0 {
		return nil
	}
	t, err := in.Factors(names, levels, unseenMissing)
	if err != nil {
		return LevelError{err}
	}
	in.Table = t
	return nil
}

// Marking is the flag that reads the texts among the numbers of columns as missing, with a comma behind it; empty where
// there are none.
func (in *Input) Marking(names []string) string {
	var flags []string
	for _, name := range names {
		list, cells, numbers := in.Texts(name)
		if numbers <= cells || len(list) > wording.MostNoted {
			continue
		}
		for _, text := range list {
			if flag := "--na=" + wording.Word(strings.TrimSpace(text)); !slices.Contains(flags, flag) {
				flags = append(flags, flag)
			}
		}
	}
	if len(flags) == 0 || len(flags) > wording.MostNoted {
		return ""
	}
	return strings.Join(flags, " ") + " for a missing value, "
}

// Mark takes texts among numbers for missing values.
func (in *Input) Mark(texts []string) {
	in.marks = append(in.marks, Without(texts, SetOf(in.marks))...)
}

// TakeNumbers has columns of texts be numeric, those of marks being missing values.
func (in *Input) TakeNumbers(names []string) error {
	if len(names) == 0 {
		return nil
	}
	for _, name := range names {
		texts, _, _ := in.Texts(name) // none of a column of numbers
		if len(Without(texts, SetOf(in.marks))) > 0 {
			_, err := in.Column(name)
			return err
		}
	}
	t, err := in.Table.Numbers(names, slices.Repeat([][]string{in.marks}, len(names)))
	if err == nil {
		in.Table = t
	}
	return err
}

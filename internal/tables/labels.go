package tables

import (
	"fmt"
	"slices"

	"github.com/latent-go/latent/data"
)

// Labels are the known classes of --label.
type Labels struct {
	Column string
	Levels []string
	Codes  []int32 // of every row that was read; negative: not known
}

// TakeLabels takes the column of --label out of the table.
func (in *Input) TakeLabels(column string) error {
	if column == "" {
		return nil
	}
	levels, err := in.Occurring(column)
	if err != nil {
		return in.Wrap(fmt.Errorf("--label: %w", err))
	}
	if len(levels) < 2 {
		return in.Wrap(fmt.Errorf("--label: column %.60q has a single value, %.60q: labels need at least "+
			"two values", column, levels[0]))
	}
	t, err := in.Factor(column, levels, false)
	if err != nil {
		return in.Wrap(err)
	}
	in.Known = &Labels{column, levels, t.Codes(column)}
	if in.Label == column {
		in.Label = ""
	}
	in.Table, err = t.Drop(column)
	return in.Wrap(err)
}

// AsText reads some columns as texts, so that 01 and 1 differ, and the others as before.
func AsText(reading func(name string) data.Reading, columns ...string) func(name string) data.Reading {
	return func(name string) data.Reading {
		if slices.Contains(columns, name) {
			return data.ReadAsText
		}
		return reading(name)
	}
}

package tables

import (
	"fmt"

	"github.com/latent-go/latent/framework"
)

// TakeSequences takes the column of --sequence out of the table: rows with one value of it, one after the other, are a
// sequence.
func (in *Input) TakeSequences(column string) error {
	if column == "" {
		return nil
	}
	t, err := in.Factor(column, nil, false)
	if err != nil {
		return in.Wrap(fmt.Errorf("--sequence: %w", err))
	}
	levels, codes := t.Levels(column), t.Codes(column)
	ids := make([]string, len(codes))
	for row, code := range codes {
		if code < 0 {
			return in.Wrap(
				fmt.Errorf("--sequence: row %d has no value of column %.60q: every row belongs to a sequence", row+1, column),
			)
		}
		ids[row] = levels[code]
	}
	if in.Ends, err = framework.EndsOf(ids); err != nil {
		return in.Wrap(fmt.Errorf("--sequence: %w", err))
	}
	for _, end := range in.Ends {
		in.SequenceNames = append(in.SequenceNames, ids[end-1])
	}
	if in.Label == column {
		in.Label = ""
	}
	in.Table, err = in.Table.Drop(column)
	return in.Wrap(err)
}

// AsSequences are the rows as sequences, each with the weight that its rows have.
func (in *Input) AsSequences(rows *framework.Table) (*framework.SequenceTable, error) {
	x := rows.All()
	table, err := framework.FromIncomplete(x.X, x.N, x.D)
	if err != nil {
		return nil, err
	}
	s, err := framework.NewSequences(table, in.Ends)
	if err != nil || in.Weights == nil {
		return s, err
	}
	var weights []float64
	first := 0
	for _, end := range in.EndsOf(x.N) {
		for row := first; row < end; row++ {
			if in.Weights[row] != in.Weights[first] {
				return nil, fmt.Errorf("the weights of rows %d and %d, column %q, differ: a weight belongs to a whole sequence",
					first+1, row+1, in.WeightColumn)
			}
		}
		weights = append(weights, in.Weights[first])
		first = end
	}
	return s.WithWeights(weights)
}

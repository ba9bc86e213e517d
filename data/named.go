package data

// A Named is a table as a fit takes it: with the weights of its rows and the ends of its sequences.
type Named struct {
	*Table
	Weights []float64 // of the rows; nil: each counts once
	Ends    []int     // of each sequence the row after its last; nil: all rows are one sequence
}

// Weight returns the weight of a row.
func (t *Named) Weight(row int) float64 {
	if t.Weights == nil {
		return 1
	}
	return t.Weights[row]
}

// EndsOf returns the ends of the sequences of n rows of the table.
func (t *Named) EndsOf(n int) []int {
	if t.Ends == nil {
		return []int{n}
	}
	return t.Ends
}

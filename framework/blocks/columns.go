package blocks

// Columns are the given columns of the rows, from 0, in that order; a column may be given twice. They share the memory
// of b if they are adjacent; otherwise they have their own memory.
func (b Rows) Columns(columns []int) Rows {
	to := Rows{First: b.First, N: b.N, D: len(columns), Stride: len(columns), Weights: b.Weights}
	if b.Entries == nil && b.N > 0 && consecutive(columns) {
		to.X, to.Stride = b.X[columns[0]:(b.N-1)*b.Stride+columns[0]+to.D], b.Stride
		return to
	}
	to.X = make([]float64, b.N*to.D)
	for i := range b.N {
		row := b.Row(i)
		for j, c := range columns {
			to.X[i*to.D+j] = row[c]
		}
	}
	return to
}

func consecutive(columns []int) bool {
	for j, c := range columns {
		if c != columns[0]+j {
			return false
		}
	}
	return len(columns) > 0
}

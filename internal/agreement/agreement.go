// Package agreement compares two partitions of the same rows.
package agreement

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
)

// CrossTable sums the weights of the rows with label i of a and j of b, rows×cols; nil weights stand for 1. Labels run
// from 0, and rows with a negative one count nowhere. It panics where lengths differ or a label is too large.
func CrossTable(a, b []int, weights []float64, rows, cols int) [][]float64 {
	if len(a) != len(b) || weights != nil && len(weights) != len(a) {
		panic(fmt.Sprintf("agreement: %d and %d labels, %d weights", len(a), len(b), len(weights)))
	}
	table := make([][]float64, rows)
	for i := range table {
		table[i] = make([]float64, cols)
	}
	for n, i := range a {
		if i < 0 || b[n] < 0 {
			continue
		}
		w := 1.0
		if weights != nil {
			w = weights[n]
		}
		table[i][b[n]] += w
	}
	return table
}

// AdjustedRand is the index of Rand, the share of pairs of rows that two partitions both put together or both apart,
// corrected for chance: 1 where the partitions are the same, 0 on average where they are drawn with the same sizes
// (Hubert & Arabie 1985, Journal of Classification 2, 193–218, eq. 5). It is taken from their cross-table, and NaN
// where that holds less than two rows.
func AdjustedRand(table [][]float64) float64 {
	var within, total float64 // pairs in one cell; rows
	var byRow, byCol float64  // pairs in one class of either partition
	var cols []float64
	for _, row := range table {
		if cols == nil {
			cols = make([]float64, len(row))
		}
		for _, n := range row {
			within += pairs(n)
		}
		floats.Add(cols, row)
		byRow += pairs(floats.Sum(row))
		total += floats.Sum(row)
	}
	for _, n := range cols {
		byCol += pairs(n)
	}
	if !(total >= 2) {
		return math.NaN()
	}
	expected, most := byRow/pairs(total)*byCol, (byRow+byCol)/2
	if most == expected { // both all in one class, or every row in its own
		return 1
	}
	return (within - expected) / (most - expected)
}

// pairs is the number of pairs among n rows.
func pairs(n float64) float64 { return n * (n - 1) / 2 }

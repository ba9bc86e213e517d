package agreement

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
)

// Match returns for each column of a cross-table the row that it is, −1 for none: pairs hold as much in all as they
// can, and each holds at least half of its row or of its column.
func Match(table [][]float64) []int {
	rows, cols := len(table), len(table[0])
	n := max(rows, cols)
	cost, held := make([][]float64, n), make([]float64, cols)
	for j := range cost { // columns are assigned to rows
		cost[j] = make([]float64, n)
		for i := range min(rows, n) {
			if j < cols {
				cost[j][i] = -table[i][j]
				held[j] += table[i][j]
			}
		}
	}
	places := Assign(cost)[:cols]
	for j, i := range places {
		if i >= rows || table[i][j] == 0 || 2*table[i][j] < min(held[j], floats.Sum(table[i])) {
			places[j] = -1
		}
	}
	return places
}

// Assign returns for each row of a square matrix its column in the assignment of least cost, by the Hungarian method
// with shortest augmenting paths (Kuhn 1955; Jonker & Volgenant 1987), in O(n³).
func Assign(cost [][]float64) []int {
	n := len(cost)
	rowPrice, columnPrice := make([]float64, n), make([]float64, n+1) // dual variables; column n stands for none
	rowOf := slices.Repeat([]int{-1}, n+1)
	for i := range n {
		augment(cost, i, rowPrice, columnPrice, rowOf)
	}
	columns := make([]int, n)
	for j, i := range rowOf[:n] {
		columns[i] = j
	}
	return columns
}

// augment assigns row i too, along the shortest path of reassignments to a free column.
func augment(cost [][]float64, i int, rowPrice, columnPrice []float64, rowOf []int) {
	n := len(cost)
	slack, before, visited := slices.Repeat([]float64{math.Inf(1)}, n), make([]int, n), make([]bool, n+1)
	at := n
	rowOf[n] = i
	for rowOf[at] >= 0 {
		visited[at] = true
		row, next := rowOf[at], -1
		for j := range n {
			if visited[j] {
				continue
			}
			if d := cost[row][j] - rowPrice[row] - columnPrice[j]; d < slack[j] {
				slack[j], before[j] = d, at
			}
			if next < 0 || slack[j] < slack[next] {
				next = j
			}
		}
		step := slack[next]
		for j := range n + 1 {
			if visited[j] {
				rowPrice[rowOf[j]] += step
				columnPrice[j] -= step
			} else {
				slack[j] -= step
			}
		}
		at = next
	}
	for at != n {
		rowOf[at] = rowOf[before[at]]
		at = before[at]
	}
}

package evidence

import (
	"maps"
	"math"
	"slices"
)

// tables hold the factors of the terms of the sum, relative to those of empty components, which have
// the factor 1.
type tables struct {
	patterns []placed
	slots    int     // components that can be used at once, min(K, N)
	rows     int     // N
	levels   [][]int // by column, the levels that occur, ascending
	offsets  []int   // by column, the first of its cells
	cells    int     // pairs of column and level that occur
	others   []int   // the cells that the last pattern does not use

	factorial []float64 // ln n!
	size      []float64 // ln of Γ(a+n)/Γ(a) Π_m Γ(L_m b)/Γ(L_m b+n)
	cell      []float64 // ln of Γ(b+n)/Γ(b)
	selfLog   []float64 // n ln n

	logPrior float64   // ln Γ(Ka)/Γ(Ka+N)
	labels   []float64 // by κ: ln of how many more ways K labels offer than slots labels do
}

// placed is a pattern with the cells that its copies add to, one in each column.
type placed struct {
	copies int
	cells  []int // ascending
}

func newTables(m Mixture, patterns []pattern) *tables {
	t := &tables{slots: m.slots(patterns)}
	for _, p := range patterns {
		t.rows += p.copies
	}
	t.index(len(m.Levels), patterns)

	t.factorial = rising(1, t.rows)
	t.cell = rising(m.Beta, t.rows)
	t.size = rising(m.Alpha, t.rows)
	sameLevels := map[int]int{}
	for _, levels := range m.Levels {
		sameLevels[levels]++
	}
	for _, levels := range slices.Sorted(maps.Keys(sameLevels)) {
		columns := float64(sameLevels[levels])
		for n, v := range rising(float64(levels)*m.Beta, t.rows) {
			t.size[n] -= columns * v
		}
	}
	t.selfLog = make([]float64, t.rows+1)
	for n := 2; n <= t.rows; n++ {
		t.selfLog[n] = float64(n) * math.Log(float64(n))
	}
	t.logPrior = -rising(float64(m.K)*m.Alpha, t.rows)[t.rows]

	t.labels = make([]float64, t.slots+1)
	for i := range t.slots {
		t.labels[i+1] = t.labels[i] + math.Log(float64(m.K-i)/float64(t.slots-i))
	}
	return t
}

// index numbers the pairs of column and level that occur.
func (t *tables) index(columns int, patterns []pattern) {
	t.levels, t.offsets = make([][]int, columns), make([]int, columns)
	for j := range columns {
		seen := map[int]int{}
		for _, p := range patterns {
			seen[p.row[j]]++
		}
		t.offsets[j], t.levels[j] = t.cells, slices.Sorted(maps.Keys(seen))
		t.cells += len(seen)
	}
	for _, p := range patterns {
		q := placed{copies: p.copies, cells: make([]int, columns)}
		for j, levels := range t.levels {
			l, _ := slices.BinarySearch(levels, p.row[j])
			q.cells[j] = t.offsets[j] + l
		}
		t.patterns = append(t.patterns, q)
	}
	last := t.patterns[len(t.patterns)-1].cells
	for i := range t.cells {
		if _, found := slices.BinarySearch(last, i); !found {
			t.others = append(t.others, i)
		}
	}
}

// rising returns ln Γ(a+i)/Γ(a) = Σ_{j<i} ln(a+j) for i = 0, …, n. A difference of two
// ln Γ would lose all digits for a large a; the compensated sum keeps them.
func rising(a float64, n int) []float64 {
	table := make([]float64, n+1)
	sum, lost := 0.0, 0.0
	for i := range n {
		term := math.Log(a+float64(i)) - lost
		next := sum + term
		lost = (next - sum) - term
		sum = next
		table[i+1] = sum
	}
	return table
}

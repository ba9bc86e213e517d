package evidence

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/combin"
)

// pattern is a distinct row.
type pattern struct {
	row    []int
	copies int // at least 1
}

// patterns checks the rows and groups equal ones, the rarest first: the sum's inner
// loop runs over the copies of the last.
func (m Mixture) patterns(rows []int, counts []float64) ([]pattern, error) {
	if err := m.check(); err != nil {
		return nil, err
	}
	columns := len(m.Levels)
	n := len(rows) / columns
	switch {
	case len(rows) != n*columns:
		panic(badRows)
	case counts != nil && len(counts) != n:
		panic(badCounts)
	}
	all, err := m.weighted(rows, counts)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(p, q pattern) int { return slices.Compare(p.row, q.row) })
	distinct := all[:0]
	for _, p := range all {
		if last := len(distinct) - 1; last >= 0 && slices.Equal(distinct[last].row, p.row) {
			distinct[last].copies += p.copies
		} else {
			distinct = append(distinct, p)
		}
	}
	slices.SortStableFunc(distinct, func(p, q pattern) int { return cmp.Compare(p.copies, q.copies) })
	return distinct, nil
}

// weighted lists the rows that occur, one by one.
func (m Mixture) weighted(rows []int, counts []float64) ([]pattern, error) {
	columns := len(m.Levels)
	all := make([]pattern, 0, len(rows)/columns)
	total := 0.0
	for i := range len(rows) / columns {
		row := rows[i*columns : (i+1)*columns]
		for j, code := range row {
			if code < 0 || code >= m.Levels[j] {
				return nil, fmt.Errorf("evidence: row %d, column %d: code %d is not in 0 to %d", i+1, j+1, code, m.Levels[j]-1)
			}
		}
		count := 1.0
		if counts != nil {
			count = counts[i]
		}
		if !(count >= 0) || count != math.Trunc(count) {
			return nil, fmt.Errorf("evidence: row %d: count %v is not a non-negative integer", i+1, count)
		}
		if total += count; total > maxRows {
			return nil, fmt.Errorf("evidence: more than %d rows up to row %d: exact sums stop there; take "+
				"fewer rows, or sample with AIS", maxRows, i+1)
		}
		if count > 0 {
			all = append(all, pattern{row, int(count)})
		}
	}
	if len(all) == 0 {
		return nil, errors.New("evidence: no rows")
	}
	return all, nil
}

// logAllocations is ln C(copies + slots − 1, slots − 1), the ways to assign copies of
// one row to the components.
func logAllocations(copies, slots int) float64 {
	return combin.LogGeneralizedBinomial(float64(copies+slots-1), float64(slots-1))
}

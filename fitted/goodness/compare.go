package goodness

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
)

// Groups of statistics, each with p-values of its own.
const (
	patterns = iota
	associations
	likelihood
	outlier
	residuals
	groups
)

var groupNames = [groups]string{"patterns", "pairs", "likelihood", "outlier", "residuals"}

// A comparison is a statistic beside those of the draws.
type comparison struct {
	value, mean, sd float64 // of the table, and of the draws
	p, adjusted     float64 // 1 where it is the same in all tables
	z               float64 // by which statistics are ordered
}

// compare compares statistics with those of the draws. Both sides of a statistic count where two says so. shape makes
// statistics alike, so that the largest of them may be any.
func compare(
	observed []float64, drawn [][]float64, two func(j int) bool, shape func(j int, v float64) float64,
) []comparison {
	list := make([]comparison, len(observed))
	tables := len(drawn) + 1
	scores := make([][]float64, tables) // of each table; NaN where it lacks a statistic
	for b := range scores {
		scores[b] = make([]float64, len(observed))
	}
	column, plain := make([]float64, tables), make([]float64, 0, tables)
	for j, v := range observed {
		c := &list[j]
		c.value, c.p = v, math.NaN()
		plain = plain[:0]
		column[0] = shape(j, v)
		for b, one := range drawn {
			if column[b+1] = shape(j, one[j]); one[j] == one[j] {
				plain = append(plain, one[j])
			}
		}
		c.mean, c.sd = stat.MeanStdDev(plain, nil)
		mean, sd := stat.MeanStdDev(slices.DeleteFunc(slices.Clone(column), math.IsNaN), nil)
		for b, s := range column {
			z := (s - mean) / sd
			if s == s && (sd == 0 || sd != sd) {
				z = 0
			}
			if two(j) {
				z = math.Abs(z)
			}
			scores[b][j] = z
		}
		c.z = scores[0][j]
	}
	most := make([]float64, tables)
	for b, of := range scores {
		most[b] = math.Inf(-1)
		for _, z := range of {
			if z > most[b] {
				most[b] = z
			}
		}
	}
	share := func(z float64, of func(b int) float64) float64 {
		n := 0
		for b := range tables {
			if of(b) >= z {
				n++
			}
		}
		return float64(n) / float64(tables)
	}
	for j := range list {
		if c := &list[j]; c.z == c.z {
			c.p = share(c.z, func(b int) float64 { return scores[b][j] })
			c.adjusted = share(c.z, func(b int) float64 { return most[b] })
		} else {
			c.adjusted = math.NaN()
		}
	}
	return list
}

// least is the comparison with the smallest adjusted p-value, and of those the one farthest from the draws; negative
// where there is none.
func least(list []comparison) int {
	at := -1
	for j, c := range list {
		if c.adjusted == c.adjusted && (at < 0 || c.adjusted < list[at].adjusted ||
			c.adjusted == list[at].adjusted && c.z > list[at].z) {
			at = j
		}
	}
	return at
}

// holm adjusts p-values for their number (Holm 1979).
func holm(p []float64) []float64 {
	order := make([]int, len(p))
	sorted := slices.Clone(p)
	floats.Argsort(sorted, order)
	adjusted, last := make([]float64, len(p)), 0.0
	for rank, i := range order {
		last = max(last, min(1, float64(len(p)-rank)*p[i]))
		adjusted[i] = last
	}
	return adjusted
}

package goodness

import (
	"math"
	"strconv"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/report"
)

// Distances compare the squared Mahalanobis distances of rows from their classes with the χ² distribution that they
// have under the model. The class of a row is not known: each class counts as its probability, given the row. So the
// distribution is the expected one however much classes overlap, which that of distances from the most probable class
// is not, as rows far from one class are assigned to another.
type Distances struct {
	Columns  int       `json:"columns"`  // that are normal
	Distance Statistic `json:"distance"` // Kolmogorov–Smirnov, from χ²
	// Largest is the largest squared distance of a row from its most probable class; of a row with gaps, that of a row
	// without which is as far out (Wilson & Hilferty 1931).
	Largest   Statistic       `json:"largest"`
	Row       string          `json:"row"` // that row
	Quantiles []fitted.Number `json:"quantiles"`
	Expected  []fitted.Number `json:"expected_quantiles"` // those of χ²
}

// lengths are the distances of rows from classes.
type lengths struct {
	columns int       // the most of a row
	squared []float64 // of rows and classes, as of rows with all columns, ascending
	weights []float64
	largest float64 // from the most probable class of a row
	row     int
}

// negligible are probabilities of classes that no statistic shows.
const negligible = 1e-9

// distances are those of a sample; nil if there are none.
func (c *checker) distances(m fitted.Model, s *scored) *lengths {
	d, is := m.(fitted.Distancer)
	if !is {
		return nil
	}
	squared, columns := d.Distances(s.Rows)
	if squared == nil {
		return nil
	}
	l := &lengths{row: -1}
	for _, n := range columns {
		l.columns = max(l.columns, n)
	}
	for i, n := range columns {
		if n == 0 {
			continue
		}
		best, most := 0.0, -1.0
		for k, v := range squared[i*c.k : (i+1)*c.k] {
			r := 1.0
			if s.r != nil {
				r = s.r[i*c.k+k]
			}
			v = alike(v, n, l.columns)
			if r > most {
				best, most = v, r
			}
			if r > negligible {
				l.squared, l.weights = append(l.squared, v), append(l.weights, r)
			}
		}
		if l.row < 0 || best > l.largest {
			l.largest, l.row = best, i
		}
	}
	if l.row < 0 {
		return nil
	}
	stat.SortWeighted(l.squared, l.weights)
	return l
}

// alike is the number that is as far out in χ² with all degrees of freedom as v is with n of them: cube roots of v/n
// are near to normal.
func alike(v float64, n, all int) float64 {
	if n == all {
		return v
	}
	mean := func(n int) (mean, sd float64) { return 1 - 2/(9*float64(n)), math.Sqrt(2 / (9 * float64(n))) }
	m, sd := mean(n)
	to, by := mean(all)
	return float64(all) * math.Pow(max(0, to+by*(math.Cbrt(v/float64(n))-m)/sd), 3)
}

// most is the largest distance.
func (l *lengths) most() float64 {
	if l == nil {
		return math.NaN()
	}
	return l.largest
}

// fromChi2 is the largest distance of the distribution function from that of χ².
func (l *lengths) fromChi2() float64 {
	if l == nil {
		return math.NaN()
	}
	law, total, below, most := distuv.ChiSquared{K: float64(l.columns)}, 0.0, 0.0, 0.0
	for _, w := range l.weights {
		total += w
	}
	for i, v := range l.squared {
		p := law.CDF(v)
		most = max(most, p-below/total)
		below += l.weights[i]
		most = max(most, below/total-p)
	}
	return most
}

// distanceResult compares the distances of the table.
func (c *checker) distanceResult(all [groups][]comparison, l *lengths) *Distances {
	if l == nil {
		return nil
	}
	d := &Distances{Columns: l.columns, Distance: all[likelihood][2].statistic(), Largest: all[outlier][1].statistic(),
		Row: c.name(c.origin[l.row])}
	for percent := range 99 {
		p := float64(percent+1) / 100
		d.Quantiles = append(d.Quantiles, fitted.Number(stat.Quantile(p, stat.Empirical, l.squared, l.weights)))
		d.Expected = append(d.Expected, fitted.Number(distuv.ChiSquared{K: float64(l.columns)}.Quantile(p)))
	}
	return d
}

// name is that of a row of the table as it came.
func (c *checker) name(row int) string {
	if c.o.Name != nil {
		return c.o.Name(row)
	}
	return strconv.Itoa(row + 1)
}

func (r *Result) distanceSection() []report.Section {
	d := r.Distances
	if d == nil {
		return nil
	}
	table := statistics("distances of rows from their classes", "statistic")
	table.Add(append([]any{"distance from chi²"}, d.Distance.cells()...)...)
	table.Add(append([]any{"largest, row " + report.Printable(d.Row)}, d.Largest.cells()...)...)
	chart := report.Chart{Title: "Distances from the classes", XName: "expected by the model",
		About: "Percentiles of the squared Mahalanobis distances of rows over those of the chi² distribution with " +
			strconv.Itoa(d.Columns) + " degrees of freedom. A row counts in each class as its probability there. Above the " +
			"line on the right, rows are farther out than expected: tails are heavier, or rows are wrong."}
	return percentiles(chart, "squared distance", d.Expected, d.Quantiles, table)
}

package goodness

import (
	"context"
	"encoding/binary"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
)

// ---- Patterns of codes

// A pattern is a complete row of codes, and how many rows there are of it.
type pattern struct {
	row   int // the first of them
	count float64
}

// patterns are those of the complete rows, in the order of the rows.
func (c *checker) patterns(s *scored) (list []pattern) {
	seen := map[string]int{}
	var key []byte
	for i := range s.N {
		row := s.Row(i)[:c.described]
		if slices.ContainsFunc(row, math.IsNaN) {
			continue
		}
		key = key[:0]
		for _, v := range row {
			key = binary.AppendUvarint(key, uint64(v))
		}
		at, is := seen[string(key)]
		if !is {
			at = len(list)
			seen[string(key)] = at
			list = append(list, pattern{row: i})
		}
		list[at].count++
	}
	return list
}

// patternStatistics are G² and X². Patterns that no row has are all that the others leave of N. What is known of the
// class of a row is no part of its pattern.
func (c *checker) patternStatistics(ctx context.Context, m fitted.Model, s *scored) ([]float64, error) {
	if !c.coded {
		return nil, nil
	}
	list := c.patterns(s)
	n, g, x, left := 0.0, 0.0, 0.0, 1.0
	log := make([]float64, 0, len(list))
	for _, one := range list {
		n += one.count
		log = append(log, s.log[one.row])
	}
	if c.input.Known > 0 {
		free := &sample{Rows: blocks.Rows{N: len(list), D: s.D, Stride: s.D}}
		for _, one := range list {
			free.X = append(append(free.X, s.Row(one.row)[:c.described]...), math.NaN())
		}
		of, err := c.score(ctx, m, free)
		if err != nil {
			return nil, err
		}
		log = of.log
	}
	for i, one := range list {
		p := math.Exp(log[i])
		e := n * p
		g += 2 * one.count * (math.Log(one.count/n) - log[i])
		x += (one.count - e) * (one.count - e) / e
		left -= p
	}
	return []float64{g, x + n*max(0, left)}, nil
}

// ---- ln p of rows

// likelihoodStatistics are how far the distribution function of ln p is from that of the model, at most, the share of
// the rows in the lower tail of that, and how far the distribution of distances is from χ²; NaN without distances.
func likelihoodStatistics(s *scored, expected *reference, l *lengths) []float64 {
	sorted := slices.Clone(s.log)
	slices.Sort(sorted)
	below, _ := slices.BinarySearch(sorted, expected.tail)
	return []float64{stat.KolmogorovSmirnov(sorted, nil, expected.log, nil), float64(below) / float64(s.N), l.fromChi2()}
}

// ---- Steps of sequences

// A stepStatistic is one of a column of sequences.
type stepStatistic struct {
	column int
	what   string
}

const (
	lagged     = "correlation of pseudo-residuals with the step before"
	distance   = "distance of pseudo-residuals from normal"
	correlated = "correlation of values with the step before"
)

// stepStatistics lists what residualStatistics has.
func (c *checker) stepStatistics() (list []stepStatistic) {
	for j := range c.described {
		list = append(list, stepStatistic{j, lagged}, stepStatistic{j, distance}, stepStatistic{j, correlated})
	}
	return list
}

// residualStatistics are those of each column of sequences; NaN where there are no pseudo-residuals.
func (c *checker) residualStatistics(m fitted.Model, s *sample) ([]float64, error) {
	if s.ends == nil {
		return nil, nil
	}
	b := blocks.Sequences{Steps: s.Rows, Ends: s.ends}
	var all []float64
	if has, is := m.(fitted.PseudoResidualer); is {
		var err error
		if all, err = has.PseudoResiduals(b); err != nil {
			all = nil // a family without a distribution function
		}
	}
	if all == nil {
		all = slices.Repeat([]float64{math.NaN()}, s.N*c.described)
	}
	var list []float64
	for j := range c.described {
		values := math.NaN()
		if c.levels[j] == 0 {
			values = b.LagOne(s.X[j:], s.D, meanOf(s, j))
		}
		list = append(list, b.LagOne(all[j:], c.described, 0), fromUniform(uniform(all[j:], c.described)), values)
	}
	return list, nil
}

// uniform is Φ of the numbers so far apart that are there, sorted.
func uniform(x []float64, apart int) (u []float64) {
	for t := 0; t < len(x); t += apart {
		if v := x[t]; v == v {
			u = append(u, distuv.UnitNormal.CDF(v))
		}
	}
	slices.Sort(u)
	return u
}

func meanOf(s *sample, j int) float64 {
	sum, n := 0.0, 0.0
	for i := range s.N {
		if v := s.Row(i)[j]; v == v {
			sum += v
			n++
		}
	}
	return sum / n
}

// fromUniform is the largest distance of sorted numbers from the uniform distribution.
func fromUniform(u []float64) float64 {
	if len(u) == 0 {
		return math.NaN()
	}
	most, n := 0.0, float64(len(u))
	for i, v := range u {
		most = max(most, v-float64(i)/n, float64(i+1)/n-v)
	}
	return most
}

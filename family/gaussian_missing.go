package family

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Missing values of a covariance matrix are latent variables of the family's own: rows are grouped by the pattern of
// columns that they have. With P the precision of a class, m and o the columns missing and present,
//
//	x_m | x_o ~ N(μ_m + B(x_o−μ_o), C),  C = P_mm⁻¹,  B = −C P_mo,  and x_o has the precision P_oo + P_om B.
//
// The conditional mean completes the sums of a row, and C those of its squares (Little & Rubin, Statistical Analysis with
// Missing Data, section 11.2).

// gaps are the rows of a chunk by pattern, and what patterns need of classes, from one chunk to the next.
type gaps struct {
	patterns []*pattern // of the chunk
	known    map[string]*pattern
	key      []byte
	x, r     []float64 // rows of a pattern, column-major, and their log densities or weights
	part     []float64 // locations
}

// A pattern is a set of columns that rows have.
type pattern struct {
	seen, gone []int
	rows       []int32
	classes    []conditional
}

// conditional is what a class says of the missing columns given the others.
type conditional struct {
	of     []float64 // R of the class, RᵀR = P
	root   []float64 // upper triangular, rootᵀroot the precision of the columns present
	slope  []float64 // B, missing×present
	cov    []float64 // C
	logDet float64   // ln|C|
}

// mostPatterns bounds the patterns that are kept.
const mostPatterns = 512

// observeGaps groups the rows by their patterns.
func (o *Observed) observeGaps(b framework.Rows, at, first, n, d int) error {
	if err := o.numbers(b, at, first, n, d); err != nil || o.Complete {
		return err
	}
	if o.gaps == nil || len(o.gaps.known) > mostPatterns {
		o.gaps = &gaps{known: map[string]*pattern{}}
	}
	g := o.gaps
	g.patterns = g.patterns[:0]
	for _, p := range g.known {
		p.rows = p.rows[:0]
	}
	for i := range n {
		g.key = g.key[:0]
		for _, v := range o.Row(i, d) {
			missing := byte(0)
			if v != v {
				missing = 1
			}
			g.key = append(g.key, missing)
		}
		p := g.known[string(g.key)]
		if p == nil {
			p = &pattern{}
			for j, missing := range g.key {
				if missing == 0 {
					p.seen = append(p.seen, j)
				} else {
					p.gone = append(p.gone, j)
				}
			}
			g.known[string(g.key)] = p
		}
		if len(p.rows) == 0 {
			g.patterns = append(g.patterns, p)
		}
		p.rows = append(p.rows, int32(i))
	}
	return nil
}

// gather puts the rows of a pattern, from the columns that it has, into x, and says how many they are with those that fill up.
func (g *gaps) gather(o *Observed, p *pattern) (x []float64, padded int) {
	padded = simd.Padded(len(p.rows))
	g.x = linalg.Resize(g.x, max(1, len(p.seen))*padded)
	for i, j := range p.seen {
		simd.Gather(at(g.x, i, padded), at(o.X, j, o.Padded()), 1, o.Padded(), p.rows)
	}
	return g.x, padded
}

// given is the conditional of a class with root R, computed where it is not known.
func (p *pattern) given(k, d int, root []float64) *conditional {
	for len(p.classes) <= k {
		p.classes = append(p.classes, conditional{})
	}
	c := &p.classes[k]
	if slices.Equal(c.of, root) {
		return c
	}
	c.of = append(c.of[:0], root...)
	precision := make([]float64, d*d)
	linalg.MulSerial(true, false, 1, linalg.General(d, d, root), linalg.General(d, d, root), 0, linalg.General(d, d, precision))
	part := func(rows, columns []int) []float64 {
		m := make([]float64, len(rows)*len(columns))
		for a, i := range rows {
			for b, j := range columns {
				m[a*len(columns)+b] = precision[i*d+j]
			}
		}
		return m
	}
	missing, present := len(p.gone), len(p.seen)
	c.cov, c.slope, c.root, c.logDet = part(p.gone, p.gone), make([]float64, missing*present), part(p.seen, p.seen), 0
	if missing > 0 {
		chol, ok := linalg.NewCholesky(missing, c.cov)
		if !ok {
			c.logDet = nan
			return c
		}
		c.logDet = -chol.LogDet()
		chol.Invert()
	}
	if missing > 0 && present > 0 {
		cross := part(p.gone, p.seen)
		linalg.MulSerial(false, false, -1, linalg.General(missing, missing, c.cov), linalg.General(missing, present, cross), 0, linalg.General(missing, present, c.slope))
		linalg.MulSerial(true, false, 1, linalg.General(missing, present, cross), linalg.General(missing, present, c.slope), 1, linalg.General(present, present, c.root))
	}
	if present > 0 {
		if _, ok := linalg.NewCholesky(present, c.root); !ok {
			c.logDet = nan
		}
	}
	return c
}

// addScoresByPattern is AddScores for rows with missing values.
func (g gaussian) addScoresByPattern(o *Observed, scores Table, r []float64) {
	d, n, gaps := g.d, o.Padded(), o.gaps
	o.Work = linalg.Resize(o.Work, simd.ScoresWork(d))
	for _, p := range gaps.patterns {
		x, padded := gaps.gather(o, p)
		gaps.r, gaps.part = linalg.Resize(gaps.r, padded), linalg.Resize(gaps.part, d)
		for j := range scores.K {
			score := scores.Row(j, 1+d+d*d)
			m, root := g.split(score, 1)
			c := p.given(j, d, root)
			constant := score[0] + (float64(len(p.gone))*math.Log(2*math.Pi)+c.logDet)/2
			linalg.Fill(gaps.r, 0)
			if len(p.seen) == 0 {
				linalg.Fill(gaps.r, constant)
			} else {
				for i, a := range p.seen {
					gaps.part[i] = m[a]
				}
				simd.GaussianScores(gaps.r, x, len(p.seen), padded, constant, gaps.part[:len(p.seen)], c.root, o.Work)
			}
			to := at(r, j, n)
			for i, row := range p.rows {
				to[row] += gaps.r[i]
			}
		}
	}
}

// addSumsByPattern is AddSums for rows with missing values. Before there are scores, which is when the table is summed up as
// one class, a missing value says nothing of its column's mean, and lies at the anchor.
func (g gaussian) addSumsByPattern(o *Observed, r []float64, scores, anchors, sums Table) (entropy float64) {
	d, n, gaps := g.d, o.Padded(), o.gaps
	for _, p := range gaps.patterns {
		x, padded := gaps.gather(o, p)
		gaps.r = linalg.Resize(gaps.r, padded)
		o.Work = linalg.Resize(o.Work, d*padded+simd.MomentsWork(d, padded))
		whole, work := o.Work[:d*padded], o.Work[d*padded:]
		for j := range sums.K {
			to, anchor := sums.Row(j, 1+2*d+d*d), anchors.Row(j, d)
			m, root := g.split(scores.Row(j, 1+d+d*d), 1)
			weights, total := gaps.r, 0.0
			clear(weights)
			for i, row := range p.rows {
				weights[i] = at(r, j, n)[row]
				total += weights[i]
			}
			if total == 0 {
				continue
			}
			for i, a := range p.seen {
				copy(at(whole, a, padded), at(x, i, padded))
			}
			first, second := g.split(to, 1)
			values := to[1+d+d*d:]
			say := p.seen
			if root[0] == 0 { // no scores yet
				for _, a := range p.gone {
					linalg.Fill(at(whole, a, padded), anchor[a])
				}
			} else {
				entropy += total * p.complete(p.given(j, d, root), m, x, whole, total, second, d, padded)
				say = nil
				floats.AddConst(total, values)
			}
			for _, a := range say {
				values[a] += total
			}
			simd.GaussianMoments(first, second, whole, d, padded, anchor, weights, work)
			to[0] += total
		}
	}
	return entropy
}

// complete puts the conditional means of the missing columns into whole, d×padded, adds their covariance, total times, to
// second, and returns the entropy of a row's.
func (p *pattern) complete(c *conditional, m, x, whole []float64, total float64, second []float64, d, padded int) float64 {
	present, missing := len(p.seen), len(p.gone)
	for a, to := range p.gone {
		column := at(whole, to, padded)
		linalg.Fill(column, m[to])
		for i, from := range p.seen {
			slope := c.slope[a*present+i]
			for row, v := range at(x, i, padded) {
				column[row] += slope * (v - m[from])
			}
		}
		for b := a; b < missing; b++ {
			second[to*d+p.gone[b]] += total * c.cov[a*missing+b]
		}
	}
	return (float64(missing)*(1+math.Log(2*math.Pi)) + c.logDet) / 2
}

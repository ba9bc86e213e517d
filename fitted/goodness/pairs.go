package goodness

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// What is looked at of two columns.
const (
	bivariate = "bivariate residual" // of codes: X² of the table of their levels over its degrees of freedom
	within    = "correlation within classes"
	marginal  = "correlation"
)

// A pair is a statistic of two columns.
type pair struct {
	a, b int // columns
	what string
}

// pairs are the pairs of columns that are looked at.
type pairs struct {
	c      *checker
	all    int    // pairs of all columns
	chosen []int  // columns; others are left out
	list   []pair // those of codes first
	coded  int    // how many are of codes

	// columns and indicators of all levels but the first, where there are numbers beside codes, in which correlations are
	// taken: where each column begins, and how many there are
	at    map[int]int
	width int
	scale []float64 // of each pair of list from coded on: what gaps take from a correlation
}

const (
	mostColumns = 200           // that are looked at in pairs
	leastOfMany = 10            // of a table with many rows
	mostCounted = 4_000_000_000 // pairs of cells that are looked at in all tables
)

// newPairs chooses columns: all, or as many at random as there is time for.
func (c *checker) newPairs() *pairs {
	p := &pairs{c: c, all: c.described * (c.described - 1) / 2, at: map[int]int{}}
	most := float64(mostCounted) / float64(c.table.N) / float64(c.o.Draws+1)
	columns := min(mostColumns, max(leastOfMany, int(math.Sqrt(2*most))))
	mixed := slices.Contains(c.levels[:c.described], 0)
	for _, j := range rand.New(rand.NewPCG(c.o.Seed, 0)).Perm(c.described) {
		wide := 1
		if mixed && c.levels[j] > 0 {
			wide = c.levels[j] - 1
		}
		if c.described <= columns || len(p.chosen) < columns && p.width+wide <= 2*columns {
			p.chosen, p.width = append(p.chosen, j), p.width+wide
		}
	}
	slices.Sort(p.chosen)
	p.width = 0
	for _, j := range p.chosen {
		if p.at[j] = p.width; mixed {
			p.width += max(1, c.levels[j]-1)
		}
	}
	var others []pair
	for i, b := range p.chosen {
		for _, a := range p.chosen[:i] {
			switch coded := c.levels[a] > 0 && c.levels[b] > 0; {
			case c.levels[a] == 1 || c.levels[b] == 1:
			case coded:
				p.list = append(p.list, pair{a, b, bivariate})
			case c.k > 1:
				others = append(others, pair{a, b, within}, pair{a, b, marginal})
			default:
				others = append(others, pair{a, b, marginal})
			}
		}
	}
	p.coded, p.list = len(p.list), append(p.list, others...)
	p.scale = slices.Repeat([]float64{1}, len(others))
	for i, one := range others {
		if !c.gaps {
			break
		}
		var a, b, both float64
		for row := range c.table.N {
			x := c.table.Row(row)
			hasA, hasB := x[one.a] == x[one.a], x[one.b] == x[one.b]
			if hasA {
				a++
			}
			if hasB {
				b++
			}
			if hasA && hasB {
				both++
			}
		}
		p.scale[i] = math.Sqrt(a*b) / both
	}
	return p
}

// ---- Codes

// addCells counts the cells of pairs of codes.
func (c *checker) addCells(cells [][]float64, s *sample) [][]float64 {
	if cells == nil {
		cells = make([][]float64, c.pairs.coded)
		for i, one := range c.pairs.list[:c.pairs.coded] {
			cells[i] = make([]float64, c.levels[one.a]*c.levels[one.b])
		}
	}
	codes := map[int][]int32{}
	for _, j := range c.pairs.chosen {
		if c.levels[j] == 0 {
			continue
		}
		column := make([]int32, s.N)
		for i := range column {
			column[i] = -1
			if v := s.Row(i)[j]; v == v {
				column[i] = int32(v)
			}
		}
		codes[j] = column
	}
	for i, one := range c.pairs.list[:c.pairs.coded] {
		count, width, b := cells[i], int32(c.levels[one.b]), codes[one.b]
		for row, a := range codes[one.a] {
			if a >= 0 && b[row] >= 0 {
				count[a*width+b[row]]++
			}
		}
	}
	return cells
}

// shares makes probabilities of counts, to each of which it adds a part of a row.
func shares(cells [][]float64, part float64) {
	for _, one := range cells {
		floats.AddConst(part, one)
		floats.Scale(1/floats.Sum(one), one)
	}
}

// Up to so many numbers are scored for the cells of pairs: once, or for each refit.
const mostExact, mostExactRefit = 40_000_000, 2_000_000

// exactCells are the probabilities of the cells of pairs of codes, by rows in which all other columns are missing; nil
// where the model takes no such rows, or there are too many.
func (c *checker) exactCells(m fitted.Model) ([][]float64, error) {
	most, numbers := mostExact, 0
	if c.o.Refit != nil {
		most = mostExactRefit
	}
	cells := make([][]float64, c.pairs.coded)
	for i, one := range c.pairs.list[:c.pairs.coded] {
		cells[i] = make([]float64, c.levels[one.a]*c.levels[one.b])
		numbers += len(cells[i]) * c.table.D
	}
	if in := c.input; !in.Gaps || in.Sequence || in.Given > 0 || m.Layout().Note != "" || numbers > most {
		return nil, nil
	}
	scorer, err := m.NewScorer()
	if err != nil {
		return nil, err
	}
	var x, dst []float64
	for i, one := range c.pairs.list[:c.pairs.coded] {
		n, d := len(cells[i]), c.table.D
		x, dst = linalg.Resize(x, n*d), linalg.Resize(dst, n*c.width)
		linalg.Fill(x, math.NaN())
		for cell := range n {
			x[cell*d+one.a], x[cell*d+one.b] = float64(cell/c.levels[one.b]), float64(cell%c.levels[one.b])
		}
		if err := scorer.Score(blocks.Rows{N: n, D: d, Stride: d, X: x}, dst); err != nil {
			return nil, err
		}
		for cell := range n {
			cells[i][cell] = math.Exp(dst[cell*c.width+c.log])
		}
		if math.Abs(floats.Sum(cells[i])-1) > 1e-6 { // what the model says is no probability
			return nil, nil
		}
	}
	return cells, nil
}

// ratio is X² of counts over its degrees of freedom. What is expected has the odds ratios of the model's shares and the
// margins of the counts, as a fit by maximum likelihood has those of its table. Without that, tables drawn from a fit
// would differ from it in their margins as well, which the fitted one does not. It overwrites expected.
func ratio(count, share, expected []float64, rows, columns int) float64 {
	copy(expected, share)
	for range mostScalings { // iterative proportional fitting (Deming & Stephan 1940)
		change := 0.0
		for i := range rows {
			change = max(change, scale(count, expected, i*columns, 1, columns))
		}
		for j := range columns {
			change = max(change, scale(count, expected, j, columns, rows))
		}
		if change < rounding {
			break
		}
	}
	sum := 0.0
	for i, e := range expected {
		if e > 0 {
			sum += (count[i] - e) * (count[i] - e) / e
		}
	}
	return sum / float64((rows-1)*(columns-1))
}

const mostScalings = 100

// scale gives n expected counts, each so far from the one before, the sum of the counts, and returns by how much.
func scale(count, expected []float64, first, apart, n int) float64 {
	seen, sum := 0.0, 0.0
	for i := range n {
		seen, sum = seen+count[first+i*apart], sum+expected[first+i*apart]
	}
	if sum == 0 {
		return 0
	}
	for i := range n {
		expected[first+i*apart] *= seen / sum
	}
	return math.Abs(seen/sum - 1)
}

// ---- Numbers

// statistics are those of the pairs of a table.
func (p *pairs) statistics(s *scored, expected *reference) []float64 {
	list := make([]float64, 0, len(p.list))
	if p.coded > 0 {
		var memory []float64
		for i, count := range p.c.addCells(nil, s.sample) {
			memory = linalg.Resize(memory, len(count))
			list = append(list, ratio(count, expected.cells[i], memory, p.c.levels[p.list[i].a], p.c.levels[p.list[i].b]))
		}
	}
	for i, z := range p.correlations(s) {
		list = append(list, z-expected.z[i])
	}
	return list
}

// correlations are those of the pairs that are not of codes, as artanh r (Fisher 1915).
func (p *pairs) correlations(s *scored) (list []float64) {
	if p.coded == len(p.list) {
		return nil
	}
	pooled, all := p.scatter(s)
	for i, one := range p.list[p.coded:] {
		of := all
		if one.what == within {
			of = pooled
		}
		list = append(list, math.Atanh(max(rounding-1, min(1-rounding, p.correlation(of, one)*p.scale[i]))))
	}
	return list
}

// scatter are the sums of squares and products of columns about their means in the classes, which the probabilities of
// the classes weight, and about their means. A missing value has what its row's classes expect.
func (p *pairs) scatter(s *scored) (pooled, all blas64.Symmetric) {
	n, m, k := s.N, p.width, p.c.k
	r := s.r
	if r == nil {
		r = slices.Repeat([]float64{1}, n)
	}
	z := linalg.General(n, m, make([]float64, n*m))
	mean, rows := make([]float64, m), make([]float64, m)
	for i := range n {
		row := s.Row(i)
		for _, j := range p.chosen {
			at, v := z.Data[i*m+p.at[j]:], row[j]
			switch levels := p.c.levels[j]; {
			case levels == 0:
				at[0] = v
			case v != v:
				linalg.Fill(at[:levels-1], v)
			case v >= 1:
				at[int(v)-1] = 1
			}
		}
		for l, v := range z.Data[i*m : (i+1)*m] {
			if v == v {
				rows[l]++
				mean[l] += (v - mean[l]) / rows[l]
			}
		}
	}
	for i := range n {
		floats.Sub(z.Data[i*m:(i+1)*m], mean)
	}
	if p.c.gaps {
		fill(z, r, k)
	}
	sums, weights := linalg.General(k, m, make([]float64, k*m)), make([]float64, k)
	linalg.MulSerial(true, false, 1, linalg.General(n, k, r), z, 0, sums)
	for i := range n {
		floats.Add(weights, r[i*k:(i+1)*k])
	}
	all = blas64.Symmetric{N: m, Stride: m, Uplo: blas.Upper, Data: make([]float64, m*m)}
	linalg.AddGram(1, z, all)
	pooled = all
	pooled.Data = slices.Clone(all.Data)
	total := make([]float64, m)
	for l, w := range weights {
		of := sums.Data[l*m : (l+1)*m]
		if floats.Add(total, of); w > 0 {
			blas64.Syr(-1/w, blas64.Vector{N: m, Inc: 1, Data: of}, pooled)
		}
	}
	blas64.Syr(-1/float64(n), blas64.Vector{N: m, Inc: 1, Data: total}, all)
	for l := range m { // a column that is constant within classes has rounding errors
		if own := &pooled.Data[l*(m+1)]; *own < rounding*all.Data[l*(m+1)] {
			*own = 0
		}
	}
	return pooled, all
}

const rounding = 1e-10

// fill replaces missing numbers by the means of the classes, weighted by their probabilities.
func fill(z blas64.General, r []float64, k int) {
	m := z.Cols
	sums, weights := make([]float64, k*m), make([]float64, k*m)
	for i := range z.Rows {
		for l, v := range z.Data[i*m : (i+1)*m] {
			if v != v {
				continue
			}
			for class, q := range r[i*k : (i+1)*k] {
				sums[class*m+l] += q * v
				weights[class*m+l] += q
			}
		}
	}
	for i, w := range weights {
		sums[i] /= max(w, math.SmallestNonzeroFloat64)
	}
	for i := range z.Rows {
		for l, v := range z.Data[i*m : (i+1)*m] {
			if v != v {
				sum := 0.0
				for class, q := range r[i*k : (i+1)*k] {
					sum += q * sums[class*m+l]
				}
				z.Data[i*m+l] = sum
			}
		}
	}
}

// correlation is that of two columns; of more than two levels, the multiple one. It is NaN where a column is constant.
func (p *pairs) correlation(of blas64.Symmetric, one pair) float64 {
	at := func(i, j int) float64 { return of.Data[min(i, j)*of.Stride+max(i, j)] }
	a, b := p.at[one.a], p.at[one.b]
	wide, other := p.c.levels[one.a]-1, b
	if p.c.levels[one.b] > p.c.levels[one.a] {
		a, wide, other = b, p.c.levels[one.b]-1, a
	}
	if wide < 2 {
		return at(a, other) / math.Sqrt(positive(at(a, a))*positive(at(other, other)))
	}
	cov, inner := make([]float64, wide), make([]float64, wide*wide)
	for i := range wide {
		cov[i] = at(a+i, other)
		for j := range wide {
			inner[i*wide+j] = at(a+i, a+j)
		}
	}
	chol, ok := linalg.NewCholesky(wide, inner)
	if !ok {
		return math.NaN()
	}
	chol.HalfSolveRight(linalg.General(1, wide, cov))
	return math.Sqrt(linalg.Dot(cov, cov) / positive(at(other, other)))
}

// positive is a sum of squares, NaN where there is nothing but rounding.
func positive(v float64) float64 {
	if v > 0 {
		return v
	}
	return math.NaN()
}

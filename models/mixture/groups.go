package mixture

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/linalg"
)

// Groups joins the components into groups (see package grouping), because several components describe a class of rows
// that does not have the shape of one component. It makes one pass over the rows. workers is the number of goroutines
// (0: one a processor); any number gives the same bits. If the family has no [Model.Terrain], as for codes, the
// overlap of the posteriors alone decides.
func (m Model) Groups(ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, workers int) (
	*grouping.Tree, error) {
	o, err := grouping.Over(ctx, src, workers, func() (grouping.Scorer, error) { return m.Scorer(p) })
	if err != nil {
		return nil, err
	}
	terrain, err := m.Terrain(p, o)
	if err != nil {
		return nil, err
	}
	return grouping.Join(o, terrain)
}

const (
	// pathPoints is the number of points at which the density is taken on a way between two components, with its ends.
	pathPoints = 65
	// leastShared is the overlap below which no way between two components is looked for: it is far below
	// grouping.LeastOverlap.
	leastShared = 1e-4
)

// Terrain returns ln f at the location of each component and at the lowest of 65 points on the ridge line between
// each two that share rows,
//
//	x(a) = ((1−a) S₁⁻¹ + a S₂⁻¹)⁻¹ ((1−a) S₁⁻¹ m₁ + a S₂⁻¹ m₂),   0 ≤ a ≤ 1,
//
// which contains all modes and saddles of a mixture of the two (Ray & Lindsay 2005, Annals of Statistics 33, theorem
// 1). The same holds for t distributions and all other densities that depend on the distance alone, because their
// gradients are also along S⁻¹(x−m). f is the density of the whole mixture, with noise. If S has no inverse in
// floating point, the path is straight. It returns nil for families without location and scatter
// (family.Plan.Ellipse).
func (m Model) Terrain(p *Parameters, o *grouping.Overlap) (grouping.Terrain, error) {
	pl, err := m.plan(p)
	if err != nil || p.K > grouping.MostComponents {
		return nil, err
	}
	places := make([]place, p.K)
	for k := range places {
		var ok bool
		if places[k].location, places[k].scatter, ok = pl.Ellipse(p.Component(k)); !ok {
			return nil, nil
		}
	}
	score, err := m.Scorer(p)
	if err != nil {
		return nil, err
	}
	t, rows := make(grouping.Terrain, p.K*p.K), blocks.Rows{D: p.D, Stride: p.D}
	linalg.Fill(t, math.Inf(-1))
	for _, one := range places {
		rows.X, rows.N = append(rows.X, one.location...), rows.N+1
	}
	peaks, _, err := score(rows, nil, nil)
	if err != nil {
		return nil, err
	}
	peaks = append([]float64(nil), peaks...)
	rows.N, rows.X = pathPoints, make([]float64, pathPoints*p.D)
	for k, peak := range peaks {
		t[k*p.K+k] = peak
		var way func(to place, points []float64)
		for l := range k {
			if o.Between(k, l) < leastShared {
				continue
			}
			if way == nil {
				way = places[k].ways()
			}
			way(places[l], rows.X)
			heights, _, err := score(rows, nil, nil)
			if err != nil {
				return nil, err
			}
			t[k*p.K+l] = min(floats.Min(heights), peak, peaks[l])
			t[l*p.K+k] = t[k*p.K+l]
		}
	}
	return t, nil
}

// A place is where a component is.
type place struct {
	location []float64
	scatter  mat.Symmetric // a *mat.DiagDense where columns are independent
}

// ways puts the points of the ridge line to another place into the rows of points. In the coordinates y in which S₁ is
// I and S₂ the diagonal Λ each coordinate goes its own way, y_j = w₂μ_j/λ_j / (w₁ + w₂/λ_j), from 0 to μ_j. The weights
// are w₁ = (1−b)v₁ and w₂ = b v₂, with v the variance of each along the line between the locations, so that points of
// equal distances in b are about evenly spaced where the two have different sizes. Where S₁ or S₂ is singular to
// working precision the way is straight.
func (from place) ways() func(to place, points []float64) {
	d := len(from.location)
	diagonal, _ := from.scatter.(*mat.DiagDense)
	var root *mat.TriDense // R with RᵀR = S₁⁻¹
	if dense, ok := from.scatter.(*mat.SymDense); ok {
		root = mat.NewTriDense(d, mat.Upper, nil)
		if _, ok := linalg.PrecisionRoot(d, dense.RawSymmetric().Data, root.RawTriangular().Data); !ok {
			root = nil
		}
	}
	shift := mat.NewVecDense(d, nil)
	return func(to place, points []float64) {
		floats.SubTo(shift.RawVector().Data, to.location, from.location)
		c := coordinates{mu: shift}
		switch {
		case diagonal != nil:
			c.alongColumns(diagonal, to.scatter)
		case root != nil:
			c.alongAxes(root, to.scatter)
		}
		c.ridge(from.location, points)
	}
}

// coordinates are those of a ridge line: x − m₁ = By.
type coordinates struct {
	mu     *mat.VecDense
	lambda []float64  // nil if the way is straight
	scale  []float64  // the diagonal of B, where it is that
	back   *mat.Dense // B, where it is not
}

// alongColumns takes the columns in units of their standard deviations.
func (c *coordinates) alongColumns(one *mat.DiagDense, other mat.Symmetric) {
	d := c.mu.Len()
	lambda, mu, scale := make([]float64, d), mat.NewVecDense(d, nil), make([]float64, d)
	for j := range d {
		lambda[j] = other.At(j, j) / one.At(j, j)
		if !(lambda[j] > 0) || math.IsInf(lambda[j], 1) {
			return
		}
		scale[j] = math.Sqrt(one.At(j, j))
		mu.SetVec(j, c.mu.AtVec(j)/scale[j])
	}
	c.mu, c.lambda, c.scale = mu, lambda, scale
}

// alongAxes takes y = VᵀR(x − m₁), with the eigenvectors V of RS₂Rᵀ.
func (c *coordinates) alongAxes(root *mat.TriDense, other mat.Symmetric) {
	d := c.mu.Len()
	var half, whole mat.Dense
	half.Mul(root, other)
	whole.Mul(&half, root.T())
	both := mat.NewSymDense(d, nil)
	for a := range d {
		for b := a; b < d; b++ {
			both.SetSym(a, b, (whole.At(a, b)+whole.At(b, a))/2)
		}
	}
	var axes mat.EigenSym
	if !axes.Factorize(both, true) || !(axes.Values(nil)[0] > 0) {
		return
	}
	var vectors, back mat.Dense
	axes.VectorsTo(&vectors)
	if _, ill := back.Solve(root, &vectors).(mat.Condition); ill && math.IsInf(mat.Norm(&back, 1), 1) {
		return
	}
	var scaled, mu mat.VecDense
	scaled.MulVec(root, c.mu)
	mu.MulVec(vectors.T(), &scaled)
	c.mu, c.lambda, c.back = &mu, axes.Values(nil), &back
}

// ridge puts the points of the way, from the location m, into the rows of points.
func (c *coordinates) ridge(m, points []float64) {
	d := len(m)
	n := len(points) / d
	one, other := 0.0, 0.0 // 1/v, but for the length of the line
	for j, l := range c.lambda {
		one += c.mu.AtVec(j) * c.mu.AtVec(j)
		other += c.mu.AtVec(j) * c.mu.AtVec(j) / l
	}
	y := mat.NewVecDense(d, nil)
	for i := range n {
		b := float64(i) / float64(n-1)
		x := mat.NewVecDense(d, points[i*d:(i+1)*d])
		if c.lambda == nil {
			x.AddScaledVec(mat.NewVecDense(d, m), b, c.mu)
			continue
		}
		first, second := (1-b)*other, b*one // in proportion to w₁ and w₂
		for j, l := range c.lambda {
			y.SetVec(j, 0)
			if down := first*l + second; down > 0 {
				y.SetVec(j, second*c.mu.AtVec(j)/down)
			}
		}
		if c.back == nil {
			floats.MulTo(x.RawVector().Data, c.scale, y.RawVector().Data)
		} else {
			x.MulVec(c.back, y)
		}
		x.AddVec(x, mat.NewVecDense(d, m))
	}
}

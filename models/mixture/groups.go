package mixture

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/linalg"
)

// Groups joins the components into groups (see package grouping): a class of rows that has not the shape of a component
// is described by several. It makes one pass over the rows; the bits are the same for any number of workers, 0 being one
// a processor. Where the family has no [Model.Terrain], as for codes, the overlap of the posteriors decides alone.
func (m Model) Groups(ctx context.Context, src framework.Source[framework.Rows], p *Parameters, workers int) (
	*grouping.Tree, error) {
	o, err := grouping.Over(ctx, src, workers, func() (func(b framework.Rows) ([]float64, error), error) {
		score, err := m.Scorer(p)
		var logProb, r []float64
		return func(b framework.Rows) ([]float64, error) {
			logProb, r, err = score(b, logProb, r)
			return r, err
		}, err
	})
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

// Terrain is ln f at the location of each component and at the lowest of 65 points on the ridge line between each two
// that share rows,
//
//	x(a) = ((1−a) S₁⁻¹ + a S₂⁻¹)⁻¹ ((1−a) S₁⁻¹ m₁ + a S₂⁻¹ m₂),   0 ≤ a ≤ 1,
//
// on which all modes and saddles of a mixture of the two lie (Ray & Lindsay 2005, Annals of Statistics 33, theorem 1; of
// t distributions as of all whose density falls with the distance alone, as their gradients are along S⁻¹(x−m), too). f is
// the density of the whole mixture, with noise. Where S has no inverse in floating point the way is straight. It is nil
// for families without location and scatter (family.Plan.Ellipse).
func (m Model) Terrain(p *Parameters, o *grouping.Overlap) (grouping.Terrain, error) {
	pl, err := m.plan(p)
	if err != nil || p.K > grouping.MostComponents {
		return nil, err
	}
	places := make([]place, p.K)
	for k := range places {
		location, scatter, ok := pl.Ellipse(p.Component(k))
		if !ok {
			return nil, nil
		}
		places[k] = newPlace(location, scatter)
	}
	score, err := m.Scorer(p)
	if err != nil {
		return nil, err
	}
	t, rows := make(grouping.Terrain, p.K*p.K), framework.Rows{D: p.D, Stride: p.D}
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
		for l := range k {
			if o.Between(k, l) < leastShared {
				continue
			}
			places[k].way(places[l], rows.X)
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

// A place is where a component is. root is R with RᵀR = S⁻¹, nil where S has no inverse.
type place struct {
	location []float64
	scatter  *mat.SymDense
	root     *mat.TriDense
}

func newPlace(location []float64, scatter *mat.SymDense) place {
	d := len(location)
	root := make([]float64, d*d)
	at := place{location: location, scatter: scatter}
	if _, ok := linalg.PrecisionRoot(d, scatter.RawSymmetric().Data, root); ok {
		at.root = mat.NewTriDense(d, mat.Upper, root)
	}
	return at
}

// way puts the points of the ridge line to another place into the rows of points. In the coordinates y = VᵀR(x − m₁), in
// which S₁ is I and S₂ the diagonal Λ, each coordinate goes its own way, y_j = w₂μ_j/λ_j / (w₁ + w₂/λ_j). The weights
// are w₁ = (1−b)v₁ and w₂ = b v₂, with v the variance of each along the line between the locations, so that points of
// equal b are about evenly spaced where the two have different sizes.
func (from place) way(to place, points []float64) {
	d := len(from.location)
	n := len(points) / d
	shift := mat.NewVecDense(d, nil)
	floats.SubTo(shift.RawVector().Data, to.location, from.location)
	var axes mat.EigenSym
	if from.root == nil || to.root == nil || !from.alike(to, &axes) {
		for i := range n {
			floats.AddScaledTo(points[i*d:(i+1)*d], from.location, float64(i)/float64(n-1), shift.RawVector().Data)
		}
		return
	}
	var vectors, back mat.Dense
	var mu, scaled mat.VecDense
	axes.VectorsTo(&vectors)
	lambda := axes.Values(nil)
	scaled.MulVec(from.root, shift)
	mu.MulVec(vectors.T(), &scaled)
	// x − m₁ = R⁻¹Vy
	if err := back.Solve(from.root, &vectors); err != nil {
		if _, ill := err.(mat.Condition); !ill {
			panic(err) // the root is triangular without zeros on its diagonal
		}
	}
	first, second := 0.0, 0.0 // 1/v, of the length of the line
	for j, l := range lambda {
		first += mu.AtVec(j) * mu.AtVec(j)
		second += mu.AtVec(j) * mu.AtVec(j) / l
	}
	y := mat.NewVecDense(d, nil)
	for i := range n {
		b := float64(i) / float64(n-1)
		one, other := (1-b)*second, b*first // in proportion to w₁ and w₂
		for j, l := range lambda {
			y.SetVec(j, 0)
			if down := one*l + other; down > 0 {
				y.SetVec(j, other*mu.AtVec(j)/down)
			}
		}
		x := mat.NewVecDense(d, points[i*d:(i+1)*d])
		x.MulVec(&back, y)
		x.AddVec(x, mat.NewVecDense(d, from.location))
	}
}

// alike decomposes RS₂Rᵀ, the scatter of the other in coordinates in which the own one is I.
func (from place) alike(to place, axes *mat.EigenSym) bool {
	d := len(from.location)
	var half, whole mat.Dense
	half.Mul(from.root, to.scatter)
	whole.Mul(&half, from.root.T())
	both := mat.NewSymDense(d, nil)
	for a := range d {
		for b := a; b < d; b++ {
			both.SetSym(a, b, (whole.At(a, b)+whole.At(b, a))/2)
		}
	}
	return axes.Factorize(both, true) && axes.Values(nil)[0] > 0
}

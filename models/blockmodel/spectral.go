package blockmodel

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
)

// An embedding gives each node a point, in which nodes of one block are close: the coordinates of its row, and in a
// directed graph of its column, in the singular vectors of the largest singular values, times these. Of a symmetric
// matrix they are the eigenvectors of the largest eigenvalues by size, so that blocks are seen whose nodes keep apart
// (Rohe, Chatterjee & Yu 2011).
type embedding struct {
	// of D^−½ A D^−½, D the degrees and their mean (Qin & Rohe 2013), in place of the matrix A of the weights
	laplacian bool
	k         int // coordinates
}

const (
	// products is the number of products with the matrix and its transpose.
	products = 30
	// oversampling is the number of directions that are iterated beside those asked for.
	oversampling = 8
)

// points are the coordinates of the nodes, of the first k singular vectors or of all there are, row-major. They are
// computed once.
func (g *Graph) points(e embedding) (x []float64, width int) {
	g.spectral.Lock()
	defer g.spectral.Unlock()
	e.k = min(e.k, g.nodes)
	x, known := g.spectral.known[e]
	if !known {
		x = g.embed(e)
		if g.spectral.known == nil {
			g.spectral.known = map[embedding][]float64{}
		}
		g.spectral.known[e] = x
	}
	return x, len(x) / g.nodes
}

// embed iterates a subspace under AAᵀ, from a random one with a fixed seed.
func (g *Graph) embed(e embedding) []float64 {
	n, b := g.nodes, min(g.nodes, e.k+oversampling)
	from, to := g.scales(e.laplacian)
	forward := scaled{g.out, from, to}
	back := forward
	if g.kind == Directed {
		back = scaled{g.in, to, from}
	}
	rng := rand.New(rand.NewPCG(1, uint64(n)))
	u, w := mat.NewDense(n, b, nil), mat.NewDense(n, b, nil)
	for i := range u.RawMatrix().Data {
		u.RawMatrix().Data[i] = rng.NormFloat64()
	}
	for range products {
		linalg.Orthonormalize(u)
		back.mul(w, u)
		forward.mul(u, w)
	}
	linalg.Orthonormalize(u)
	back.mul(w, u)
	gram := mat.NewSymDense(b, nil)
	gram.SymOuterK(1, w.T())
	eigen, ok := linalg.NewSymmetricEigen(b, gram.RawSymmetric().Data)
	if !ok { // weights beyond the range of their squares
		return make([]float64, n)
	}
	basis := eigen.Vectors(e.k)
	var column, row mat.Dense
	column.Mul(w, basis)
	if g.kind != Directed {
		return column.RawMatrix().Data
	}
	row.Mul(u, basis)
	both := make([]float64, 0, 2*n*e.k)
	for i := range n {
		for j, v := range row.RawRowView(i) {
			both = append(both, v*math.Sqrt(max(0, eigen.Values[j])))
		}
		both = append(both, column.RawRowView(i)...)
	}
	return both
}

// scales are what rows and columns of the matrix are multiplied by.
func (g *Graph) scales(laplacian bool) (from, to []float64) {
	from = make([]float64, g.nodes)
	if !laplacian {
		linalg.Fill(from, 1)
		return from, from
	}
	of := func(l Links, dst []float64) []float64 {
		for i := range dst {
			_, weights := l.Of(i)
			dst[i] = floats.Sum(weights)
		}
		mean := floats.Sum(dst) / float64(len(dst))
		for i, d := range dst {
			dst[i] = 1 / math.Sqrt(d+mean)
			if mean == 0 {
				dst[i] = 1
			}
		}
		return dst
	}
	if from = of(g.out, from); g.kind == Directed {
		return from, of(g.in, make([]float64, g.nodes))
	}
	return from, from
}

// scaled is a sparse matrix whose rows and columns are multiplied by numbers.
type scaled struct {
	Links
	rows, columns []float64
}

// mul puts the product with x into dst, both of n rows.
func (s scaled) mul(dst, x *mat.Dense) {
	d, v := dst.RawMatrix(), x.RawMatrix()
	clear(d.Data)
	for i, scale := range s.rows {
		row := blas64.Vector{N: d.Cols, Inc: 1, Data: d.Data[i*d.Stride:]}
		nodes, weights := s.Of(i)
		for e, j := range nodes {
			blas64.Axpy(scale*weights[e]*s.columns[j], blas64.Vector{N: v.Cols, Inc: 1, Data: v.Data[int(j)*v.Stride:]}, row)
		}
	}
}

// starts are the kinds of starts, one after the other.
var starts = []func(g *Graph, k int, rng *rand.Rand) []int{
	func(g *Graph, k int, rng *rand.Rand) []int { return g.cluster(embedding{true, k}, k, rng) },
	func(g *Graph, k int, rng *rand.Rand) []int { return g.cluster(embedding{false, k}, k, rng) },
	func(g *Graph, k int, rng *rand.Rand) []int {
		label := make([]int, g.nodes)
		for i := range label {
			label[i] = rng.IntN(g.share(k, g.side(i)))
		}
		return label
	},
}

// share is the number of k blocks that a set of nodes has at the start.
func (g *Graph) share(k, side int) int {
	if g.kind != Bipartite {
		return k
	}
	first := min(max((k+1)/2, g.leastOf(0)), k-g.leastOf(1))
	return first + side*(k-2*first)
}

// begin draws labels of at most k blocks, from 0 in each set of nodes: the start of the given number, which decides of
// what kind it is.
func (g *Graph) begin(start, k int, rng *rand.Rand) []int {
	block := starts[start%len(starts)](g, k, rng)
	g.pin(block)
	return block
}

// cluster groups the nodes of each set by k-means of their points.
func (g *Graph) cluster(e embedding, k int, rng *rand.Rand) []int {
	x, width := g.points(e)
	var label []int
	for side := range g.sides() {
		at, n := side*g.first, g.members(side)
		label = append(label, family.KMeansLabels(x[at*width:(at+n)*width], n, width, min(n, g.share(k, side)), rng)...)
	}
	return label
}

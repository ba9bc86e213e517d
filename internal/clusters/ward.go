package clusters

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Ward's clustering takes 3n²·width steps: of wardRows points in few columns, and of as many fewer as wardSteps allows
// in many, but of fewestWard.
const (
	wardRows   = 1000
	fewestWard = 256
	wardSteps  = 1e8
)

// Hierarchical assigns points to k clusters by Ward's clustering of a sample of them, where that has enough for each,
// and else by k-means. Points that are not in the sample go to the nearest centre.
func (c *Points) Hierarchical(k int, rng *rand.Rand) (label []int) {
	most := max(fewestWard, min(wardRows, int(math.Sqrt(wardSteps/3/float64(c.width)))))
	switch {
	case 4*k > min(most, c.n):
		return c.Lloyd(c.Seeds(k, rng))
	case c.n <= most:
		return cut(c.ward(), c.n, k)
	}
	weights, x := make([]float64, most), make([]float64, most*c.width)
	for i, from := range rng.Perm(c.n)[:most] {
		weights[i] = c.weights[from]
		c.point(from, linalg.Row(x, i, c.width))
	}
	few := New(weights, c.width, most)
	few.Set(0, most, x)
	means, _ := few.means(cut(few.ward(), most, k), k)
	return c.Nearest(means)
}

// A merger is that of the clusters which two points are in.
type merger struct {
	a, b   int
	height float64 // by how much it raises the sum of squared distances from the centres
}

// ward merges clusters, at first one of each point, until one is left, those first that raise the weighted sum of
// squared distances from the centres least (Ward 1963), and returns the n−1 mergers in ascending order of height. It
// finds them by chains of nearest neighbours, which end at two clusters that are nearest to each other: as no merger
// brings others nearer to each other, these merge at some time in any case (Murtagh 1983; Müllner 2011, section 3.2).
func (c *Points) ward() []merger {
	n, d, side := c.n, c.width, simd.Padded(c.n)
	x, w, gap := make([]float64, side*d), slices.Clone(c.weights[:side]), make([]float64, side) // of clusters
	far, ones := slices.Repeat([]float64{math.Inf(1)}, side), slices.Repeat([]float64{1}, side)
	member, place := make([]int, n), make([]int, n) // a point of each cluster, and where its cluster is
	centre := make([]float64, d)
	for i := range n {
		member[i], place[i] = i, i
		c.point(i, centre)
		for j, v := range centre {
			x[j*side+i] = v
		}
	}
	list, chain := make([]merger, 0, n-1), []int(nil)
	for left := n; left > 1; {
		if len(chain) == 0 {
			chain = append(chain, member[0])
		}
		tip := place[chain[len(chain)-1]]
		for j := range centre {
			centre[j] = x[j*side+tip]
		}
		simd.Nearer(gap, far, x, d, side, centre, ones)
		next, least := -1, math.Inf(1)
		rise := func(i int) float64 { return gap[i] * (w[i] / (w[i] + w[tip])) * w[tip] }
		if len(chain) > 1 { // of neighbours that are as near, the one before, so that the chain ends
			next = place[chain[len(chain)-2]]
			least = rise(next)
		}
		for i := range left {
			if v := rise(i); i != tip && (next < 0 || v < least) {
				next, least = i, v
			}
		}
		if len(chain) < 2 || member[next] != chain[len(chain)-2] {
			chain = append(chain, member[next])
			continue
		}
		chain = chain[:len(chain)-2]
		list = append(list, merger{member[tip], member[next], least})
		left--
		share := w[next] / (w[next] + w[tip])
		w[tip] += w[next]
		for j := range centre {
			of := x[j*side:]
			of[tip] += share * (of[next] - of[tip])
			of[next] = of[left] // the last takes the empty place
		}
		w[next], member[next] = w[left], member[left]
		place[member[next]] = next
	}
	slices.SortStableFunc(list, func(a, b merger) int { return cmp.Compare(a.height, b.height) })
	return list
}

// cut labels n points by the k clusters, from 0, that are left before the last mergers.
func cut(list []merger, n, k int) (label []int) {
	parent := make([]int, n)
	for i := range parent {
		parent[i] = i
	}
	root := func(i int) int {
		for parent[i] != i {
			parent[i] = parent[parent[i]]
			i = parent[i]
		}
		return i
	}
	for _, m := range list[:n-k] {
		parent[root(m.a)] = root(m.b)
	}
	number := map[int]int{}
	for i := range n {
		r := root(i)
		if _, ok := number[r]; !ok {
			number[r] = len(number)
		}
		label = append(label, number[r])
	}
	return label
}

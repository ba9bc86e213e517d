package grouping

import (
	"fmt"
	"math"
	"slices"
)

const (
	// LeastOverlap and LeastRidge are what two groups need to be proposed as one.
	LeastOverlap, LeastRidge = 0.11, 0.7
	// LeastAlone is the overlap that they need if the density between them is not known.
	LeastAlone = 0.25
	// MostComponents is the largest K that Join accepts: for K = 1000 the sums take 4 MB for each part of the rows.
	MostComponents = 1000
)

// A Terrain holds the logarithm of the density f of all components, K×K. The diagonal has it at each component's
// peak. Entry (k, l) has it at the lowest point of a path from k to l, or −Inf if no path was searched for.
type Terrain []float64

// A Joining is one step of the hierarchy: two groups become one.
type Joining struct {
	Groups  [2][]int // the components of each group, ascending from 0; the group with the first component comes first
	Overlap float64  // overlap of their posteriors, 0 to 1
	Ridge   float64  // ridge of the density between them, 0 to 1; NaN if it is not known
}

// Close reports whether the two groups are proposed as one.
func (j Joining) Close() bool {
	if math.IsNaN(j.Ridge) {
		return j.Overlap >= LeastAlone
	}
	return j.Overlap >= LeastOverlap && j.Ridge >= LeastRidge
}

// A Tree is the hierarchy of groups of K components: K − 1 joins, the closest groups first.
type Tree struct {
	K      int
	Joined []Joining
}

// Join builds the hierarchy. Each step joins the pair of groups with the largest overlap among those that are
// [Joining.Close]; if there is none, the pair with the largest overlap × ridge. Without a terrain (nil) the overlap
// alone decides. If several pairs are equal, the first groups are joined. It returns an error if K is larger than
// [MostComponents], and if the terrain is not K×K.
func Join(o *Overlap, terrain Terrain) (*Tree, error) {
	k := len(o.Rows)
	switch {
	case k > MostComponents:
		return nil, fmt.Errorf("grouping: %d components; must be at most %d", k, MostComponents)
	case terrain != nil && len(terrain) != k*k:
		return nil, fmt.Errorf("grouping: the terrain has %d numbers for %d components; must have K×K", len(terrain), k)
	}
	t := &Tree{K: k}
	g := newMerging(o, terrain)
	for range k - 1 {
		t.Joined = append(t.Joined, g.join())
	}
	return t, nil
}

// Proposed returns the number of groups before the first join of groups that are not Close, but at least 2 if K ≥ 2.
func (t *Tree) Proposed() int {
	for i, j := range t.Joined {
		if left := t.K - i; left == 2 || !j.Close() {
			return left
		}
	}
	return t.K
}

// Cut returns the partition into that many groups: the components of each, ascending from 0, the groups in the order
// of their first components. It returns an error if there are fewer components.
func (t *Tree) Cut(groups int) ([][]int, error) {
	if groups < min(1, t.K) || groups > t.K {
		return nil, fmt.Errorf("grouping: %d groups of %d components: choose 1 to %d", groups, t.K, t.K)
	}
	list := make([][]int, t.K)
	for k := range list {
		list[k] = []int{k}
	}
	for _, j := range t.Joined[:t.K-groups] {
		into, from := j.Groups[0][0], j.Groups[1][0]
		list[into], list[from] = merged(list[into], list[from]), nil
	}
	return slices.DeleteFunc(list, func(g []int) bool { return g == nil }), nil
}

// Pool sums the posteriors q of rows, rows×K, over the components of each group, in dst, which grows if it is too
// short: rows×len(groups).
func Pool(dst, q []float64, k int, groups [][]int) []float64 {
	dst = dst[:0]
	for row := 0; row < len(q); row += k {
		for _, g := range groups {
			sum := 0.0
			for _, c := range g {
				sum += q[row+c]
			}
			dst = append(dst, sum)
		}
	}
	return dst
}

// merged are the components of two groups, ascending.
func merged(a, b []int) []int {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return all
}

// merging are the groups that are left, each at the place of its first component.
type merging struct {
	k       int
	groups  [][]int // nil of those that are gone
	rows    []float64
	both    []float64 // K×K
	terrain Terrain   // of groups: the highest peaks and passes; nil if it is not known
}

func newMerging(o *Overlap, terrain Terrain) *merging {
	k := len(o.Rows)
	g := &merging{k: k, groups: make([][]int, k), rows: slices.Clone(o.Rows), both: make([]float64, k*k),
		terrain: slices.Clone(terrain)}
	for a := range k {
		g.groups[a] = []int{a}
		for b := range k {
			g.both[a*k+b] = o.Both(a, b)
		}
	}
	return g
}

// between is what joining two groups would be; their components are for join to add.
func (g *merging) between(a, b int) Joining {
	j := Joining{Overlap: share(g.both[a*g.k+b], g.rows[a], g.rows[b]), Ridge: math.NaN()}
	if t := g.terrain; t != nil {
		peak := min(t[a*g.k+a], t[b*g.k+b])
		j.Ridge = 0
		if pass := t[a*g.k+b]; pass > math.Inf(-1) && peak > math.Inf(-1) {
			j.Ridge = math.Exp(min(0, pass-peak))
		}
	}
	return j
}

// join merges the two groups that belong together most.
func (g *merging) join() (best Joining) {
	first, second := -1, -1
	for a := range g.k {
		for b := a + 1; b < g.k && g.groups[a] != nil; b++ {
			if g.groups[b] == nil {
				continue
			}
			if j := g.between(a, b); first < 0 || better(j, best) {
				best, first, second = j, a, b
			}
		}
	}
	best.Groups = [2][]int{g.groups[first], g.groups[second]}
	g.groups[first], g.groups[second] = merged(g.groups[first], g.groups[second]), nil
	g.rows[first] += g.rows[second]
	k := g.k
	for c := range k {
		if c == first || c == second {
			continue
		}
		sum := g.both[first*k+c] + g.both[second*k+c]
		g.both[first*k+c], g.both[c*k+first] = sum, sum
		if t := g.terrain; t != nil {
			pass := max(t[first*k+c], t[second*k+c])
			t[first*k+c], t[c*k+first] = pass, pass
		}
	}
	if t := g.terrain; t != nil {
		t[first*k+first] = max(t[first*k+first], t[second*k+second])
	}
	return best
}

// better says whether a join comes before another.
func better(a, b Joining) bool {
	if a.Close() != b.Close() {
		return a.Close()
	}
	if va, vb := a.Overlap*a.Ridge, b.Overlap*b.Ridge; !a.Close() && (va > vb || va < vb) { // neither is NaN
		return va > vb
	}
	return a.Overlap > b.Overlap
}

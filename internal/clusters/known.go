package clusters

import "slices"

// Hold keeps known rows in their clusters, whose centres begin at the means of these rows and come first. held has the
// cluster of each row that is known, and numbers below 0 for others; nil: no row is known.
func (c *Points) Hold(held []int) {
	if held == nil || slices.Max(held) < 0 {
		return
	}
	c.held = held
	k := slices.Max(held) + 1
	of := slices.Clone(held)
	for i, j := range of {
		if j < 0 {
			of[i] = k
		}
	}
	means, _ := c.means(of, k+1)
	c.fixed = means[:k*c.width]
}

// Around are the rows, in this order, that k clusters begin around: known ones of the clusters that are known, then
// others.
func (c *Points) Around(order []int, k int) (seeds []int) {
	for j := range len(c.fixed) / c.width {
		if at := slices.IndexFunc(order, func(i int) bool { return c.held[i] == j }); at >= 0 {
			seeds = append(seeds, order[at])
		}
	}
	for _, i := range order {
		if len(seeds) < k && (c.held == nil || c.held[i] < 0) {
			seeds = append(seeds, i)
		}
	}
	return seeds
}

// Match renames clusters of rows so that each known one is that with most of its rows.
func (c *Points) Match(label []int) {
	Match(label, c.held, len(c.fixed)/c.width, func(i int) float64 { return c.weights[i] })
}

// Match renames clusters so that each of the first, which some rows are held in, is that with most of these rows by
// their weight. held is negative for the others.
func Match(label, held []int, first int, weight func(i int) float64) {
	for j := range first {
		most, best := 0.0, j
		for of := j; of <= slices.Max(label); of++ {
			n := 0.0
			for i, l := range label {
				if l == of && held[i] == j {
					n += weight(i)
				}
			}
			if n > most {
				most, best = n, of
			}
		}
		for i, l := range label {
			switch l {
			case best:
				label[i] = j
			case j:
				label[i] = best
			}
		}
	}
}

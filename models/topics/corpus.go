package topics

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
)

// A corpus is all documents in memory.
type corpus struct {
	blocks []blocks.Rows
	first  []int     // of each block, its first document in order
	words  []float64 // tokens of each word, weighted
	tokens float64
	rows   int
}

var (
	errWords = errors.New("topics: the documents have no words")
	errDense = errors.New("topics: documents must be sparse rows of counts: make them by blocks.FromSparse")
)

// read gathers all blocks, and refuses what no document can be.
func (m Model) read(ctx context.Context, src framework.Source[blocks.Rows]) (*corpus, error) {
	c := &corpus{}
	for b, err := range src.Blocks(ctx) {
		if err == nil {
			err = ctx.Err()
		}
		if err == nil {
			err = b.Check()
		}
		if err == nil && b.Entries == nil {
			err = errDense
		}
		if err != nil {
			return nil, err
		}
		if c.words == nil {
			c.words = make([]float64, b.D)
		}
		for i := range b.N {
			columns, counts := b.Entries.Row(i)
			for e, w := range columns {
				n := count(counts, e)
				if !(n >= 0) || math.IsInf(n, 1) || !m.fractional && n != math.Trunc(n) {
					return nil, &blocks.DataError{
						Row: b.First + i, Column: w, Value: n, Reason: errors.New("a count is a whole number, 0 or more"),
					}
				}
				c.words[w] += b.Weight(i) * n
				c.tokens += b.Weight(i) * n
			}
		}
		c.blocks, c.first = append(c.blocks, b), append(c.first, c.rows)
		c.rows += b.N
	}
	if !(c.tokens > 0) {
		return nil, errWords
	}
	return c, nil
}

// blockOf is the block of document i.
func (c *corpus) blockOf(i int) int {
	at, found := slices.BinarySearch(c.first, i)
	if !found {
		at--
	}
	return at
}

// document is a row of the corpus.
func (c *corpus) document(i int) (columns []int, counts []float64) {
	at := c.blockOf(i)
	return c.blocks[at].Entries.Row(i - c.first[at])
}

// seeds draws k documents, each with a probability of 1 less its squared cosine with the nearest of those before,
// weighted like its row; any with words where there are fewer different ones.
func (c *corpus) seeds(k int, rng *rand.Rand) []int {
	chances, present := make([]float64, c.rows), make([]float64, c.rows)
	for b, block := range c.blocks {
		for i := range block.N {
			columns, counts := block.Entries.Row(i)
			if total(columns, counts) > 0 {
				present[c.first[b]+i] = block.Weight(i)
			}
		}
	}
	copy(chances, present)
	var chosen []int
	near, seed := make([]float64, len(c.words)), make([]float64, c.rows)
	for len(chosen) < k {
		i := categorical.Draw(chances, rng)
		if i < 0 {
			i = categorical.Draw(present, rng)
		}
		chosen = append(chosen, i)
		columns, counts := c.document(i)
		for e, w := range columns {
			near[w] = count(counts, e)
		}
		length := norm(columns, counts)
		for j := range seed {
			if chances[j] > 0 {
				columns, counts := c.document(j)
				product := 0.0
				for e, w := range columns {
					product += count(counts, e) * near[w]
				}
				cosine := product / (length * norm(columns, counts))
				seed[j] = max(seed[j], cosine*cosine)
				chances[j] = present[j] * max(0, 1-seed[j]-tiny)
			}
		}
		for _, w := range columns {
			near[w] = 0
		}
	}
	return chosen
}

// tiny is what rounding leaves of 0.
const tiny = 1e-12

// count is that of entry e of a row, 1 where the row has none.
func count(counts []float64, e int) float64 {
	if counts == nil {
		return 1
	}
	return counts[e]
}

// total is the number of tokens of a row.
func total(columns []int, counts []float64) (sum float64) {
	if counts == nil {
		return float64(len(columns))
	}
	for _, n := range counts {
		sum += n
	}
	return sum
}

// norm is the length of the vector of counts.
func norm(columns []int, counts []float64) float64 {
	if counts == nil {
		return math.Sqrt(float64(len(columns)))
	}
	return math.Sqrt(linalg.Dot(counts, counts))
}

package topics

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
)

// mostDrawn bounds the tokens that are drawn, and those that are divided.
const mostDrawn = 1 << 28

// entries gathers rows of counts.
type entries struct {
	start, columns []int
	counts         []float64
}

// add adds a row: the words of its tokens, which it sorts.
func (e *entries) add(tokens []int) {
	if e.start == nil {
		e.start = []int{0}
	}
	slices.Sort(tokens)
	for i, w := range tokens {
		if i == 0 || w != tokens[i-1] {
			e.columns, e.counts = append(e.columns, w), append(e.counts, 0)
		}
		e.counts[len(e.counts)-1]++
	}
	e.start = append(e.start, len(e.columns))
}

func (e *entries) table(words int, weights []float64) (*blocks.SparseTable, error) {
	t, err := blocks.FromSparse(e.start, e.columns, e.counts, words)
	if err != nil || weights == nil {
		return t, err
	}
	return t.WithWeights(weights)
}

// Halves divides the tokens of each document at random into two halves, of which observed gets the larger. Each
// document draws from its own stream, (seed, row), so that its halves do not depend on other documents.
func Halves(documents *blocks.SparseTable, seed uint64) (observed, scored *blocks.SparseTable, err error) {
	var halves [2]entries
	rows := documents.All()
	var tokens []int
	for i := range rows.N {
		columns, counts := rows.Entries.Row(i)
		tokens = tokens[:0]
		for e, w := range columns {
			n := count(counts, e)
			if !(n >= 0 && n <= mostDrawn-float64(len(tokens))) || n != math.Trunc(n) {
				return nil, nil, &blocks.DataError{
					Row:    i,
					Column: w,
					Value:  n,
					Reason: fmt.Errorf("a count is a whole number, 0 or more, and a document has at most %d tokens", mostDrawn),
				}
			}
			tokens = append(tokens, slices.Repeat([]int{w}, int(n))...)
		}
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		rng.Shuffle(len(tokens), func(a, b int) { tokens[a], tokens[b] = tokens[b], tokens[a] })
		middle := (len(tokens) + 1) / 2
		halves[0].add(tokens[:middle])
		halves[1].add(tokens[middle:])
	}
	if observed, err = halves[0].table(rows.D, rows.Weights); err == nil {
		scored, err = halves[1].table(rows.D, rows.Weights)
	}
	return observed, scored, err
}

// Sample draws documents with the given numbers of tokens from the expected topics.
func (Model) Sample(p *Parameters, lengths []int, rng *rand.Rand) (*blocks.SparseTable, error) {
	cumulative := make([][]float64, p.K)
	for w, phi := 0, p.Topics(nil); w < len(phi); w += p.K {
		for k, v := range phi[w : w+p.K] {
			if w > 0 {
				v += cumulative[k][w/p.K-1]
			}
			cumulative[k] = append(cumulative[k], v)
		}
	}
	var drawn entries
	var tokens []int
	theta, gamma := make([]float64, p.K), distuv.Gamma{Alpha: p.Alpha, Beta: 1, Src: rng}
	for _, n := range lengths {
		for k := range theta {
			theta[k] = gamma.Rand()
		}
		if floats.Sum(theta) == 0 { // of a small α all may underflow, and one topic has the document
			theta[rng.IntN(p.K)] = 1
		}
		tokens = tokens[:0]
		for range n {
			k := categorical.Draw(theta, rng)
			u := rng.Float64() * cumulative[k][p.Words-1]
			tokens = append(tokens, min(p.Words-1, sort.SearchFloat64s(cumulative[k], u)))
		}
		drawn.add(tokens)
	}
	return drawn.table(p.Words, nil)
}

// Resample draws documents as long as those of src. A document of weight w becomes w documents. It returns an error
// for weights that are not whole numbers, and for more than 2²⁸ tokens.
func (m Model) Resample(
	ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, rng *rand.Rand,
) (framework.Source[blocks.Rows], error) {
	var lengths []int
	sum := 0.0
	for b, err := range src.Blocks(ctx) {
		if err == nil {
			err = p.reads(b)
		}
		if err != nil {
			return nil, err
		}
		for i := range b.N {
			w := b.Weight(i)
			if w != math.Trunc(w) {
				return nil, fmt.Errorf("topics: the weight of %w",
					blocks.FaultyRow(b.First+i, "is %v; must be a whole number, to draw documents", w))
			}
			columns, counts := b.Entries.Row(i)
			n := total(columns, counts)
			if sum += w * n; sum > mostDrawn || w > mostDrawn {
				return nil, errors.New("topics: the documents have more than 2²⁸ tokens, too many to draw")
			}
			lengths = append(lengths, slices.Repeat([]int{int(n)}, int(w))...)
		}
	}
	return m.Sample(p, lengths, rng)
}

package topics

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

const (
	// splitIterations bounds those of the two topics that a topic is divided into: the fit's own go on from there.
	splitIterations = 15
	// splitDocuments is the number of documents that a topic is divided by.
	splitDocuments = 2000
	// leastShare is the number of tokens of a topic below which a word of a document is none of its.
	leastShare = 1e-3
)

var errUndivided = fmt.Errorf("topics: two topics explain the tokens no better than one: %w", framework.ErrDegenerate)

// Split divides topic k: it fits two topics to the expected tokens of topic k in a sample of the documents, and
// divides each word's count in their ratio.
func (m Model) Split(
	ctx context.Context, src framework.Source[blocks.Rows], s *Statistics, p *Parameters, k int, rng *rand.Rand,
) (*Parameters, float64, error) {
	part, scale, err := m.tokensOf(ctx, src, p, k, rng)
	if err != nil {
		return nil, 0, err
	}
	inner := Model{Alpha: p.Alpha, Beta: p.Beta, fractional: true}
	o := framework.Options{
		K: 2, Method: framework.EM, MaxIterations: splitIterations, Seed: rng.Uint64(), Workers: 1, NoMoves: true,
	}
	two, err := framework.Fit(ctx, inner, part, o)
	if err != nil {
		return nil, 0, err
	}
	o.K = 1
	one, err := framework.Fit(ctx, inner, part, o)
	if err != nil {
		return nil, 0, err
	}
	q := &Parameters{
		K:      p.K + 1,
		Words:  p.Words,
		Counts: make([]float64, p.Words*(p.K+1)),
		Tokens: make([]float64, p.K+1),
		Alpha:  p.Alpha,
		Beta:   p.Beta,
	}
	differ := false
	for w := range p.Words {
		row := q.Counts[w*q.K : (w+1)*q.K]
		copy(row, p.Counts[w*p.K:(w+1)*p.K])
		halves := two.Parameters.Counts[2*w : 2*w+2]
		second := 0.5
		if sum := halves[0] + halves[1]; sum > 0 {
			second = halves[1] / sum
		}
		differ = differ || row[k] > 0 && second != 0.5
		row[p.K] = row[k] * second
		row[k] -= row[p.K]
	}
	if !differ {
		return nil, 0, errUndivided
	}
	columnSums(q.Tokens, q.Counts)
	return q, scale * (two.Value - one.Value), nil
}

// tokensOf are the expected tokens of topic k in a sample of the documents, and how many times as many there are in
// all.
func (m Model) tokensOf(
	ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, k int, rng *rand.Rand,
) (*blocks.SparseTable, float64, error) {
	all, err := m.read(ctx, src)
	if err != nil {
		return nil, 0, err
	}
	sample := rng.Perm(all.rows)
	sample = sample[:min(len(sample), splitDocuments)]
	slices.Sort(sample)
	start, words, shares, weights := []int{0}, []int(nil), []float64(nil), []float64(nil)
	phi, mine := p.Topics(nil), make([]float64, p.K)
	var q []float32
	for _, d := range sample {
		columns, counts := all.document(d)
		if weight := all.weight(d); weight > 0 {
			q = append(q[:0], make([]float32, len(columns)*p.K)...)
			foldIn(columns, counts, phi, p.Alpha, mine, q, roundsOfStart, 0)
			for e, w := range columns {
				if share := count(counts, e) * float64(q[e*p.K+k]); share > leastShare {
					words, shares = append(words, w), append(shares, share)
				}
			}
			if len(words) > start[len(start)-1] {
				start, weights = append(start, len(words)), append(weights, weight)
			}
		}
	}
	if len(start) < 2 {
		return nil, 0, errUndivided
	}
	part, err := blocks.FromSparse(start, words, shares, p.Words)
	if err == nil {
		part, err = part.WithWeights(weights)
	}
	return part, float64(all.rows) / float64(len(sample)), err
}

// weight is that of a document.
func (c *corpus) weight(i int) float64 {
	at := c.blockOf(i)
	return c.blocks[at].Weight(i - c.first[at])
}

var _ optional.Splitter[framework.Source[blocks.Rows], *Parameters, *Statistics] = Model{}

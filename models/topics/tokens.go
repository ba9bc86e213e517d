package topics

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
)

// Tokens holds q(z) for the documents of a fit. The tokens of one word in one document share one q. It is stored,
// because subtracting a token from its word's count requires the token's q, which for a rare word is most of the
// count. Single precision halves the memory. Sums are taken over the stored values, so that statistics and q match
// exactly.
type Tokens struct {
	K         int
	Start     []int     // document d has the entries Start[d] to Start[d+1]−1
	Q         []float32 // of each entry, entries×K
	Documents []float64 // n_dk, expected tokens of each topic in each document, documents×K
}

// Keep restricts q to the topics dims. Tokens of dropped topics are in no topic.
func (q *Tokens) Keep(dims []int) optional.Local {
	kept := &Tokens{K: len(dims), Start: slices.Clone(q.Start)}
	if len(dims) == q.K {
		kept.Q, kept.Documents = slices.Clone(q.Q), slices.Clone(q.Documents)
		return kept
	}
	kept.Q = columns(q.Q, q.K, dims)
	kept.Documents = columns(q.Documents, q.K, dims)
	return kept
}

// columns are some of a matrix of k columns.
func columns[F float32 | float64](x []F, k int, dims []int) []F {
	kept := make([]F, 0, len(x)/k*len(dims))
	for i := 0; i < len(x); i += k {
		for _, j := range dims {
			kept = append(kept, x[i+j])
		}
	}
	return kept
}

func (q *Tokens) document(d int) []float64 { return q.Documents[d*q.K : (d+1)*q.K] }

// entries are q of a document.
func (q *Tokens) entries(d int) []float32 { return q.Q[q.Start[d]*q.K : q.Start[d+1]*q.K] }

// NewLocal returns q of all documents, computed from the topics of p.
func (m Model) NewLocal(
	ctx context.Context, src framework.Source[blocks.Rows], p *Parameters, _ *rand.Rand,
) (optional.Local, error) {
	all, err := m.read(ctx, src)
	if err != nil {
		return nil, err
	}
	q := &Tokens{K: p.K, Start: make([]int, 1, all.rows+1)}
	for _, b := range all.blocks {
		for i := range b.N {
			columns, _ := b.Entries.Row(i)
			q.Start = append(q.Start, q.Start[len(q.Start)-1]+len(columns))
		}
	}
	q.Q, q.Documents = make([]float32, q.Start[all.rows]*p.K), make([]float64, all.rows*p.K)
	phi := p.Topics(nil)
	for n, b := range all.blocks {
		for i := range b.N {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			columns, counts := b.Entries.Row(i)
			d := all.first[n] + i
			foldIn(columns, counts, phi, p.Alpha, q.document(d), q.entries(d), roundsOfStart, 0)
		}
	}
	return q, nil
}

// mostOnStack is the number of topics up to which an Update allocates nothing.
const mostOnStack = 256

// Update runs one round of CVB0 over the documents of a block,
//
//	q_dwk ∝ (α + n_dk − q_dwk)(β + n_wk − q_dwk)/(Vβ + n_k − q_dwk),
//
// where one token is subtracted from each count. n_dk uses the q updated so far, entry after entry; n_wk and n_k use
// the previous q.
func (m Model) Update(b blocks.Rows, p *Parameters, _ *laplace.Tilt, now, next optional.Local) error {
	before, after, k := now.(*Tokens), next.(*Tokens), p.K
	var stack [mostOnStack]float64
	weights := stack[:min(k, mostOnStack)]
	if k > mostOnStack {
		weights = make([]float64, k)
	}
	floor := float64(p.Words) * p.Beta
	for i := range b.N {
		columns, counts := b.Entries.Row(i)
		d := b.First + i
		mine := after.document(d)
		copy(mine, before.document(d))
		simd.Reassign(after.entries(d), before.entries(d), columns, counts, p.Alpha, p.Beta, floor, mine, p.Counts, p.Tokens,
			weights)
	}
	return nil
}

// Rounds of [foldIn], and what of a document's tokens may still change topic in the last of them.
const (
	roundsOfStart   = 5
	roundsOfOthers  = 500
	settledDocument = 1e-9
)

// foldIn is CVB0 of a document whose tokens are not in the topics phi, V×K: n_dk goes into mine, q into q, entries×K.
// From equal probabilities of all topics it makes rounds until less than the share tolerance of the tokens changes
// topic.
func foldIn(
	columns []int, counts, phi []float64, alpha float64, mine []float64, q []float32, rounds int, tolerance float64,
) {
	k, all := len(mine), total(columns, counts)
	clear(mine)
	for round := range rounds {
		moved := 0.0
		for e, w := range columns {
			n, old, words := count(counts, e), q[e*k:(e+1)*k], phi[w*k:(w+1)*k]
			sum := 0.0
			for j, o := range old {
				rest := mine[j] - min(n, 1)*float64(o)
				if round == 0 {
					rest = 0
				}
				sum += (alpha + max(0, rest)) * words[j]
			}
			for j, o := range old {
				rest, was := mine[j]-min(n, 1)*float64(o), float64(o)
				if round == 0 {
					rest, was = 0, 0
				}
				v := float32((alpha + max(0, rest)) * words[j] / sum)
				change := n * (float64(v) - was)
				old[j] = v
				mine[j] += change
				moved += math.Abs(change)
			}
		}
		if round > 0 && moved <= 2*tolerance*all {
			return
		}
	}
}

// InferAt adds the documents' expected statistics under q to s and returns the entropy of q, in nats.
func (m Model) InferAt(
	b blocks.Rows, p *Parameters, local optional.Local, s *Statistics,
) (entropy float64, err error) {
	q := local.(*Tokens)
	for i := range b.N {
		columns, counts := b.Entries.Row(i)
		entropy += s.add(columns, counts, b.Weight(i), q.entries(b.First+i))
	}
	return entropy, nil
}

// Infer adds documents that are not part of a fit, with q computed from the topics of p.
func (m Model) Infer(b blocks.Rows, p *Parameters, s *Statistics) (entropy float64, err error) {
	if err := p.reads(b); err != nil {
		return 0, err
	}
	if len(s.phi) == 0 {
		s.phi = p.Topics(s.phi)
	}
	for i := range b.N {
		columns, counts := b.Entries.Row(i)
		s.fresh = append(s.fresh[:0], make([]float32, len(columns)*p.K)...)
		foldIn(columns, counts, s.phi, p.Alpha, s.mine, s.fresh, roundsOfOthers, settledDocument)
		entropy += s.add(columns, counts, b.Weight(i), s.fresh)
	}
	return entropy, nil
}

// reads checks that a block holds documents of the vocabulary.
func (p *Parameters) reads(b blocks.Rows) error {
	switch {
	case b.Entries == nil:
		return errDense
	case b.D != p.Words:
		return fmt.Errorf("topics: the documents are counts of %d words, and the model has %d", b.D, p.Words)
	}
	return nil
}

package topics

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// Topics returns the probabilities of the words in each topic, φ_wk = (β + n_wk)/(Vβ + n_k), V×K, in dst if it is
// large enough.
func (p *Parameters) Topics(dst []float64) []float64 {
	dst = linalg.Resize(dst, len(p.Counts))
	for w := 0; w < len(dst); w += p.K {
		for k, all := range p.Tokens {
			dst[w+k] = (p.Beta + p.Counts[w+k]) / (float64(p.Words)*p.Beta + all)
		}
	}
	return dst
}

// Shares returns each topic's share of all tokens, K.
func (p *Parameters) Shares() []float64 {
	shares, all := slices.Clone(p.Tokens), 0.0
	for _, n := range shares {
		all += n
	}
	linalg.Scale(1/all, shares)
	return shares
}

// A Word is a word of a topic.
type Word struct {
	Column      int     // column of the table, from 0
	Probability float64 // φ_wk
	Lift        float64 // φ_wk/p_w, where p_w is the word's share of all tokens
	Relevance   float64 // λ ln φ_wk + (1 − λ) ln(φ_wk/p_w), in nats
}

// TopWords returns the n most relevant words of topic k, in descending order (Sievert & Shirley 2014, section 3.1):
// with λ = 1 the most probable words, with λ = 0 those of the highest lift, which are often rare. Sievert and Shirley
// found that people recognise topics best with λ = 0.6. Words without tokens are left out.
func (p *Parameters) TopWords(k, n int, lambda float64) []Word {
	var words []Word
	all := 0.0
	for _, tokens := range p.Tokens {
		all += tokens
	}
	for w := range p.Words {
		row, tokens := p.Counts[w*p.K:(w+1)*p.K], 0.0
		for _, v := range row {
			tokens += v
		}
		if !(tokens > 0) {
			continue
		}
		phi := (p.Beta + row[k]) / (float64(p.Words)*p.Beta + p.Tokens[k])
		lift := phi / (tokens / all)
		words = append(words, Word{w, phi, lift, lambda*math.Log(phi) + (1-lambda)*math.Log(lift)})
	}
	slices.SortStableFunc(words, func(a, b Word) int { return cmp.Compare(b.Relevance, a.Relevance) })
	return words[:min(n, len(words))]
}

// Proportions returns the expected θ_dk = (α + n_dk)/(Kα + n_d) of the documents of the fit, documents×K, in dst if
// it is large enough.
func (q *Tokens) Proportions(p *Parameters, dst []float64) []float64 {
	dst = append(dst[:0], q.Documents...)
	for i := 0; i < len(dst); i += q.K {
		proportions(dst[i:i+q.K], p.Alpha)
	}
	return dst
}

// proportions turns expected counts of a document into θ.
func proportions(mine []float64, alpha float64) {
	sum := 0.0
	for k := range mine {
		mine[k] += alpha
		sum += mine[k]
	}
	linalg.Scale(1/sum, mine)
}

// Proportions returns the expected θ of documents that are not part of the fit, documents×K, in dst if it is large
// enough. Their tokens do not change the topics. A document without words gets equal proportions.
func (m Model) Proportions(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	return m.Scorer(p)(b, dst)
}

// Scorer returns a function that computes [Model.Proportions] for one block after another, in one goroutine. It
// computes once what blocks share, and allocates nothing if dst is large enough.
func (Model) Scorer(p *Parameters) func(b blocks.Rows, dst []float64) ([]float64, error) {
	var phi []float64
	var q []float32
	return func(b blocks.Rows, dst []float64) ([]float64, error) {
		if err := p.reads(b); err != nil {
			return nil, err
		}
		if phi == nil {
			phi = p.Topics(nil)
		}
		dst = linalg.Resize(dst, b.N*p.K)
		for i := range b.N {
			columns, counts := b.Entries.Row(i)
			mine := dst[i*p.K : (i+1)*p.K]
			q = slices.Grow(q[:0], len(columns)*p.K)[:len(columns)*p.K]
			foldIn(columns, counts, phi, p.Alpha, mine, q, roundsOfOthers, settledDocument)
			proportions(mine, p.Alpha)
		}
		return dst, nil
	}
}

// LogPredictive returns Σ ln Σ_k θ_dk φ_wk over the tokens of each document of scored, in nats. The θ of document d
// comes from row d of observed; both must have as many rows.
func (m Model) LogPredictive(observed, scored blocks.Rows, p *Parameters) ([]float64, error) {
	if observed.N != scored.N {
		return nil, fmt.Errorf("topics: %d observed documents, but %d scored ones", observed.N, scored.N)
	}
	theta, err := m.Proportions(observed, p, nil)
	if err == nil {
		err = p.reads(scored)
	}
	if err != nil {
		return nil, err
	}
	phi, logs := p.Topics(nil), make([]float64, scored.N)
	for i := range logs {
		columns, counts := scored.Entries.Row(i)
		for e, w := range columns {
			if n := count(counts, e); n > 0 {
				logs[i] += n * math.Log(linalg.Dot(theta[i*p.K:(i+1)*p.K], phi[w*p.K:(w+1)*p.K]))
			}
		}
	}
	return logs, nil
}

// Perplexity returns exp(−Σ ln p/tokens) for document completion (Wallach, Murray, Salakhutdinov & Mimno 2009,
// section 5.1): Halves divides each document's tokens, and one half is predicted from the other. It returns an error
// if no document has two tokens.
func (m Model) Perplexity(
	ctx context.Context, documents *blocks.SparseTable, p *Parameters, seed uint64,
) (float64, error) {
	observed, scored, err := Halves(documents, seed)
	if err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	rows := scored.All()
	logs, err := m.LogPredictive(observed.All(), rows, p)
	if err != nil {
		return 0, err
	}
	sum, tokens := 0.0, 0.0
	for i, l := range logs {
		columns, counts := rows.Entries.Row(i)
		sum += rows.Weight(i) * l
		tokens += rows.Weight(i) * total(columns, counts)
	}
	if !(tokens > 0) {
		return 0, errors.New("topics: no document has two tokens, of which one could be scored given the other")
	}
	return math.Exp(-sum / tokens), nil
}

// Check returns an error for invalid parameters, such as those of a damaged file.
func (p *Parameters) Check() error {
	switch {
	case p == nil || p.K < 1 || p.Words < 1:
		return errors.New("topics: the parameters have no topics or no words")
	case len(p.Tokens) != p.K || len(p.Counts) != p.K*p.Words:
		return fmt.Errorf("topics: %d counts and %d sums of them for %d topics and %d words; must be %d and %d",
			len(p.Counts), len(p.Tokens), p.K, p.Words, p.K*p.Words, p.K)
	case !concentrated(p.Alpha) || !concentrated(p.Beta):
		return fmt.Errorf("topics: α is %v and β is %v; must be from %v to %v", p.Alpha, p.Beta,
			leastConcentration, mostConcentration)
	}
	sums := make([]float64, p.K)
	for _, n := range p.Counts {
		if !(n >= 0) || math.IsInf(n, 1) {
			return fmt.Errorf("topics: an expected count is %v; must not be negative", n)
		}
	}
	columnSums(sums, p.Counts)
	for k, sum := range sums {
		if !(math.Abs(p.Tokens[k]-sum) <= 1e-6*(1+sum)) {
			return fmt.Errorf("topics: topic %d has %v tokens, but its words sum to %v", k+1, p.Tokens[k], sum)
		}
	}
	return nil
}

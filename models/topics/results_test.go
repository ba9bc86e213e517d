package topics

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tier"
)

// From 20 topics, ten of ten are found, from several seeds of documents and starts, and so they are from five. The
// nearest found topic is within 0.11 in total variation of each true one (0.10 at most here), which is what 5000 tokens
// a topic leave uncertain of 500 words.
func TestTenTopicsAreFound(t *testing.T) {
	for seed := range tier.Of[uint64](0, 2, 6) { // TestBarsAreFound is one at the desk
		x, phi := law{10, 500, 500, 100, 0.1, 0.1}.simulate(seed)
		o := framework.Options{K: 20, Method: framework.PrunedEM, Seed: seed, NoMoves: true}
		if seed == 0 {
			o.K, o.DoubleTo = 6, 12
		}
		res := fitted(t, Model{Beta: 0.1}, x, o)
		assert.Equal(t, 10, res.Shape.K, "seed %d", seed)
		for k, d := range distances(phi, res.Parameters) {
			assert.Less(t, d, 0.11, "seed %d, topic %d", seed, k+1)
		}
	}
}

// A fit that begins with too few topics divides them.
func TestTopicsAreDivided(t *testing.T) {
	x, phi := law{4, 60, 80, 60, 0.1, 0.1}.simulate(1)
	start := func(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*Parameters, error) {
		p, err := Model{}.Init(ctx, src, 1, rng) // all other topics are empty, and go at once
		q := &Parameters{K: k, Words: p.Words, Counts: make([]float64, k*p.Words), Tokens: make([]float64, k), Alpha: p.Alpha, Beta: p.Beta}
		for w, n := range p.Counts {
			q.Counts[w*k] = n
		}
		q.Tokens[0] = p.Tokens[0]
		return q, err
	}
	o := framework.Options{K: 6, Method: framework.PrunedEM}
	res, err := framework.FitFrom(context.Background(), Model{Beta: 0.1}, x, start, o)
	require.NoError(t, err)
	assert.Equal(t, 4, res.Shape.K, "%v %v", res.Pruned, res.Split)
	for _, d := range distances(phi, res.Parameters) {
		assert.Less(t, d, 0.12)
	}
}

func TestConcentrationsAreEstimated(t *testing.T) {
	x, _ := law{5, 200, 400, 60, 0.3, 0.05}.simulate(1)
	res := fitted(t, Model{Alpha: 1, Beta: 1, Estimate: true}, x, framework.Options{K: 5, Method: framework.EM, NoMoves: true})
	assert.InEpsilon(t, 0.3, res.Parameters.Alpha, 0.2) // 0.299
	assert.InEpsilon(t, 0.05, res.Parameters.Beta, 0.6) // 0.076: a q that is spread out looks like a flat topic
	t.Logf("α %.4f, β %.4f", res.Parameters.Alpha, res.Parameters.Beta)
	fixed := fitted(t, Model{Alpha: 1, Beta: 1}, x, framework.Options{K: 5, Method: framework.EM, NoMoves: true})
	assert.Greater(t, res.Value, fixed.Value+100)
}

// The held-out half is scored by what the topics and the other half say: near the truth, and far from all words alike.
func TestPerplexity(t *testing.T) {
	l := law{5, 200, 400, 60, 0.1, 0.1}
	x, phi := l.simulate(1)
	rows := x.All()
	train, err := blocks.FromSparse(rows.Entries.Start[:301], rows.Entries.Columns[:rows.Entries.Start[300]], rows.Entries.Values[:rows.Entries.Start[300]], 200)
	require.NoError(t, err)
	var held entries
	for i := 300; i < 400; i++ {
		columns, counts := rows.Entries.Row(i)
		var tokens []int
		for e, w := range columns {
			for range int(counts[e]) {
				tokens = append(tokens, w)
			}
		}
		held.add(tokens)
	}
	test, err := held.table(200, nil)
	require.NoError(t, err)
	m, ctx := Model{Beta: 0.1}, context.Background()
	truth := &Parameters{K: 5, Words: 200, Counts: make([]float64, 1000), Tokens: make([]float64, 5), Alpha: 0.1, Beta: 1e-6}
	for k, topic := range phi {
		for w, v := range topic {
			truth.Counts[w*5+k] = 1e6 * v
			truth.Tokens[k] += 1e6 * v
		}
	}
	score := func(p *Parameters) float64 {
		v, err := m.Perplexity(ctx, test, p, 1)
		require.NoError(t, err)
		again, err := m.Perplexity(ctx, test, p, 1)
		require.NoError(t, err)
		assert.Equal(t, v, again)
		return v
	}
	five := fitted(t, m, train, framework.Options{K: 8, Method: framework.PrunedEM, NoMoves: true})
	one := fitted(t, m, train, framework.Options{K: 1, Method: framework.EM})
	best, ours, bad := score(truth), score(five.Parameters), score(one.Parameters)
	t.Logf("perplexity: truth %.2f, fit %.2f (K = %d), one topic %.2f", best, ours, five.Shape.K, bad)
	assert.Equal(t, 5, five.Shape.K)
	assert.Less(t, ours, 1.05*best)
	assert.Greater(t, bad, 2*ours)

	observed, scored, err := Halves(test, 1)
	require.NoError(t, err)
	a, b := observed.All(), scored.All()
	for i := range held.start[1:] {
		_, whole := test.All().Entries.Row(i)
		_, first := a.Entries.Row(i)
		_, second := b.Entries.Row(i)
		n, m := total(nil, whole), total(nil, first)
		assert.Equal(t, math.Ceil(n/2), m)
		assert.Equal(t, n-m, total(nil, second))
	}
}

func TestTopWordsAndProportions(t *testing.T) {
	x := documents(t, 5, []int{0, 0, 1, 1, 4}, []int{0, 1, 1, 4}, []int{2, 2, 3, 4}, []int{2, 3, 3, 4}, nil)
	m := Model{}
	res := fitted(t, m, x, framework.Options{K: 2, Method: framework.EM})
	p, q := res.Parameters, res.Local.(*Tokens)
	assert.InDelta(t, 1, p.Shares()[0]+p.Shares()[1], 1e-12)
	theta := q.Proportions(p, nil)
	first := 0
	if theta[1] > theta[0] {
		first = 1
	}
	assert.Greater(t, theta[first], 0.9)
	assert.Greater(t, theta[2*2+1-first], 0.9)
	assert.Equal(t, []float64{0.5, 0.5}, theta[8:], "no words")
	words := p.TopWords(first, 3, 1)
	assert.Equal(t, 1, words[0].Column)
	assert.InDelta(t, (p.Beta+p.Counts[1*2+first])/(5*p.Beta+p.Tokens[first]), words[0].Probability, 1e-15)
	assert.InDelta(t, words[0].Probability/(4./17), words[0].Lift, 1e-6)
	assert.InDelta(t, math.Log(words[0].Probability), words[0].Relevance, 1e-12)
	assert.Equal(t, 4, p.TopWords(first, 5, 0)[2].Column, "what both have has a low lift")
	assert.Len(t, p.TopWords(first, 100, 0.6), 5)
	fresh, err := m.Proportions(x.All(), p, nil)
	require.NoError(t, err)
	assert.InDeltaSlice(t, theta, fresh, 0.05)
	var back Parameters
	text, err := json.Marshal(p)
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, *p, back)
}

func TestSampleIsLikeTheParameters(t *testing.T) {
	x, _ := law{3, 20, 50, 40, 0.2, 0.3}.simulate(1)
	m := Model{Alpha: 0.2, Beta: 0.3}
	res := fitted(t, m, x, framework.Options{K: 3, Method: framework.EM})
	drawn, err := m.Resample(context.Background(), x, res.Parameters, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	assert.Equal(t, 50, drawn.Rows())
	again := fitted(t, m, drawn, framework.Options{K: 3, Method: framework.EM})
	assert.Equal(t, res.N, again.N)
	large, err := m.Sample(res.Parameters, make([]int, 3), rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	assert.Empty(t, large.All().Entries.Columns)
	p := framework.KeepAxes(res.Parameters, 3, []int{0, 1, 2})
	p.Alpha = 1e-6
	lone, err := m.Sample(p, []int{2000}, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	theta, err := m.Proportions(lone.All(), p, nil)
	require.NoError(t, err)
	assert.Greater(t, max(theta[0], theta[1], theta[2]), 0.99)
}

func TestBadDocuments(t *testing.T) {
	ctx := context.Background()
	fit := func(x framework.Source[blocks.Rows], m Model) error {
		_, err := framework.Fit(ctx, m, x, framework.Options{K: 3, Method: framework.PrunedEM})
		return err
	}
	sparse := func(d int, counts ...float64) *blocks.SparseTable {
		columns := make([]int, len(counts))
		for i := range columns {
			columns[i] = i
		}
		x, err := blocks.FromSparse([]int{0, len(counts)}, columns, counts, d)
		require.NoError(t, err)
		return x
	}
	assert.ErrorContains(t, fit(sparse(2, 1, 1.5), Model{}), "row 1, column 2 is 1.5: a count is a whole number")
	assert.ErrorContains(t, fit(sparse(2, 1, -1), Model{}), "row 1, column 2 is -1: a count is a whole number")
	assert.ErrorContains(t, fit(sparse(2, 0, 0), Model{}), "the documents have no words")
	assert.ErrorContains(t, fit(sparse(2, 1, 1), Model{Alpha: -1}), "Alpha is -1")
	assert.ErrorContains(t, fit(sparse(2, 1, 1), Model{Beta: math.NaN()}), "Beta is NaN")
	dense, err := blocks.FromSlice([]float64{1, 2, 3, 4}, 2, 2)
	require.NoError(t, err)
	assert.ErrorContains(t, fit(dense, Model{}), "blocks.FromSparse")

	for name, x := range map[string]*blocks.SparseTable{
		"one document": sparse(3, 2, 0, 1), "one word": sparse(1, 7), "one token": sparse(2, 1), "a word that never occurs": sparse(9, 1, 2, 3),
		"an empty document": documents(t, 3, []int{0, 0, 1}, nil, []int{1, 2}),
	} {
		res := fitted(t, Model{}, x, framework.Options{K: 3, Method: framework.PrunedEM})
		assert.Equal(t, framework.Converged, res.Status, name)
		one := fitted(t, Model{}, x, framework.Options{K: 1, Method: framework.PrunedEM})
		assert.GreaterOrEqual(t, res.Value, one.Value-1e-6, name)
	}
	p := fitted(t, Model{}, sparse(3, 2, 0, 1), framework.Options{K: 1, Method: framework.EM}).Parameters
	_, err = Model{}.Proportions(sparse(2, 1).All(), p, nil)
	assert.ErrorContains(t, err, "counts of 2 words, and the model has 3")
	_, err = Model{}.Perplexity(ctx, documents(t, 3, []int{1}, nil), p, 1)
	assert.ErrorContains(t, err, "no document has two tokens")
}

// The tests' Update is the package's: more topics than the stack has room for take the same path.
func TestManyTopics(t *testing.T) {
	x, _ := law{3, 30, 20, 20, 0.2, 0.2}.simulate(1)
	res := fitted(t, Model{}, x, framework.Options{K: mostOnStack + 2, Method: framework.EM, MaxIterations: 3})
	assert.Equal(t, mostOnStack+2, res.Shape.K)
	assert.False(t, math.IsNaN(res.Value))
}

// TestFlatDocumentsHaveOneTopic: words that are as even as those of one topic have no more, although equal topics could share it.
func TestFlatDocumentsHaveOneTopic(t *testing.T) {
	for seed := range uint64(3) {
		x, _ := law{1, 50, 20, 100, 1, 1e6}.simulate(seed)
		res := fitted(t, Model{Estimate: true}, x, framework.Options{K: 20, Method: framework.PrunedEM, Seed: seed, NoMoves: true})
		assert.Equal(t, 1, res.Shape.K, "seed %d", seed)
		assert.Greater(t, res.Parameters.Beta, 100.0)
	}
}

// Of few short documents, twenty topics lose all tokens to one; fits that then begin with fewer find the three. (Without them K is 1.)
func TestFewShortDocuments(t *testing.T) {
	for seed := range uint64(3) {
		rng := rand.New(rand.NewPCG(seed, 5))
		tokens := make([][]int, 15)
		for d := range tokens {
			for range 12 {
				topic := d % 3
				if rng.Float64() < 0.15 {
					topic = rng.IntN(3)
				}
				tokens[d] = append(tokens[d], 12*topic+rng.IntN(12))
			}
		}
		x := documents(t, 36, tokens...)
		m := Model{Estimate: true}
		res := fitted(t, m, x, framework.Options{K: 20, Method: framework.PrunedEM, Restarts: 5})
		three := fitted(t, m, x, framework.Options{K: 3, FixedK: true, Method: framework.PrunedEM, Restarts: 5})
		t.Logf("K = %d: %.3f, and %.3f with three", res.Shape.K, res.Value, three.Value)
		assert.Equal(t, 3, res.Shape.K)
		assert.GreaterOrEqual(t, res.Value, three.Value-0.01)
	}
}

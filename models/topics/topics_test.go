package topics

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

func fitted(t *testing.T, m Model, x framework.Source[blocks.Rows], o framework.Options) *framework.Result[*Parameters, *Statistics] {
	t.Helper()
	res, err := framework.Fit(context.Background(), m, x, o)
	require.NoError(t, err)
	return res
}

// documents makes a table of the words of each.
func documents(t *testing.T, words int, tokens ...[]int) *blocks.SparseTable {
	t.Helper()
	var rows entries
	for _, d := range tokens {
		rows.add(slices.Clone(d))
	}
	x, err := rows.table(words, nil)
	require.NoError(t, err)
	return x
}

func lgamma(x float64) float64 {
	v, _ := math.Lgamma(x)
	return v
}

// logJoint is ln p(X,Z) of the tokens' words, documents and topics, by its formula.
func logJoint(words, docs, topics []int, v, k int, alpha, beta float64) float64 {
	inDoc, inTopic, all := map[[2]int]float64{}, map[[2]int]float64{}, make([]float64, k)
	length := map[int]float64{}
	for i, w := range words {
		inDoc[[2]int{docs[i], topics[i]}]++
		inTopic[[2]int{w, topics[i]}]++
		all[topics[i]]++
		length[docs[i]]++
	}
	sum := 0.0
	for _, n := range length {
		sum += lgamma(float64(k)*alpha) - lgamma(float64(k)*alpha+n)
	}
	for _, n := range inDoc {
		sum += lgamma(alpha+n) - lgamma(alpha)
	}
	for _, n := range all {
		sum += lgamma(float64(v)*beta) - lgamma(float64(v)*beta+n)
	}
	for _, n := range inTopic {
		sum += lgamma(beta+n) - lgamma(beta)
	}
	return sum
}

// Of up to 8 tokens and two topics, all assignments are summed over: the evidence, and E_q[ln p(X,Z)] of the q of a
// fit. The estimate of the latter is what the criterion consists of.
func TestEvidenceAgreesWithEnumeration(t *testing.T) {
	const v, k = 4, 2
	for name, tokens := range map[string][][]int{
		"two themes":   {{0, 0, 1}, {2, 3, 3}, {0, 1}},
		"one document": {{0, 0, 1, 2, 3, 3}},
		"repeated":     {{0, 0, 0, 0}, {3, 3, 3, 3}},
		"all words":    {{0, 1, 2, 3}, {0, 1, 2, 3}},
		"rare words":   {{0}, {1}, {2}, {3}, {0, 1}},
	} {
		for _, beta := range []float64{0.01, 0.1, 1} {
			x := documents(t, v, tokens...)
			m := Model{Alpha: 0.5, Beta: beta}
			res := fitted(t, m, x, framework.Options{K: k, Method: framework.EM, NoMoves: true, Tolerance: 1e-13})
			q := res.Local.(*Tokens)
			var words, docs []int
			var mine [][]float32
			for d := range tokens {
				columns, counts := x.All().Entries.Row(d)
				for e, w := range columns {
					for range int(counts[e]) {
						words, docs = append(words, w), append(docs, d)
						mine = append(mine, q.entries(d)[e*k:(e+1)*k])
					}
				}
			}
			z, evidence, expected, entropy := make([]int, len(words)), math.Inf(-1), 0.0, 0.0
			for code := range 1 << len(words) {
				chance := 1.0
				for i := range z {
					z[i] = code >> i & 1
					chance *= float64(mine[i][z[i]])
				}
				l := logJoint(words, docs, z, v, k, m.Alpha, beta)
				evidence = max(evidence, l) + math.Log1p(math.Exp(-math.Abs(evidence-l)))
				if chance > 0 {
					expected += chance * l
					entropy -= chance * math.Log(chance)
				}
			}
			assert.InDelta(t, entropy, res.Evaluation.Entropy, 1e-6, name)
			assert.InDelta(t, expected, res.Evaluation.LogJoint, 0.09, "%s, β = %v", name, beta) // 0.081 at most
			assert.Less(t, res.Value, evidence, "%s, β = %v", name, beta)
			t.Logf("%s, β = %v: evidence %.4f, collapsed %.4f (%.4f); E ln p %.4f, estimated %.4f (%.4f), entropy %.3f", name, beta, evidence, res.Value, res.Value-evidence, expected, res.Evaluation.LogJoint, res.Evaluation.LogJoint-expected, entropy)
		}
	}
}

// One topic has every token, and the evidence is that of Dirichlet-multinomial words.
func TestOneTopicIsExact(t *testing.T) {
	x, _ := law{3, 40, 60, 30, 0.2, 0.2}.simulate(1)
	weights := make([]float64, 60)
	for i := range weights {
		weights[i] = float64(i % 3)
	}
	x, err := x.WithWeights(weights)
	require.NoError(t, err)
	res := fitted(t, Model{Beta: 0.3}, x, framework.Options{K: 1, Method: framework.PrunedEM})
	words, all := make([]float64, 40), 0.0
	rows := x.All()
	for i := range rows.N {
		columns, counts := rows.Entries.Row(i)
		for e, w := range columns {
			words[w] += rows.Weight(i) * counts[e]
			all += rows.Weight(i) * counts[e]
		}
	}
	want := lgamma(40*0.3) - lgamma(40*0.3+all)
	for _, n := range words {
		want += lgamma(0.3+n) - lgamma(0.3)
	}
	assert.InEpsilon(t, want, res.Value, 1e-12)
	assert.Equal(t, framework.Collapsed.Name, res.Criterion)
	for w, phi := range res.Parameters.Topics(nil) {
		assert.InDelta(t, (0.3+words[w])/(40*0.3+all), phi, 1e-15)
	}
}

// naive is a round of CVB0 with one loop over tokens for every count.
func naive(x blocks.Rows, p *Parameters, before *Tokens) []float32 {
	k := p.K
	type token struct{ d, e, w int }
	var tokens []token
	for d := range x.N {
		columns, counts := x.Entries.Row(d)
		for e, w := range columns {
			for range int(counts[e]) {
				tokens = append(tokens, token{d, before.Start[d] + e, w})
			}
		}
	}
	q := slices.Clone(before.Q)
	for i, me := range tokens {
		if i > 0 && tokens[i-1].e == me.e {
			continue // the tokens of a word in a document share one q
		}
		list := make([]float64, k)
		for j := range k {
			mine, word, topic := p.Alpha, p.Beta, float64(p.Words)*p.Beta
			for o, other := range tokens {
				if o == i {
					continue
				}
				old := float64(before.Q[other.e*k+j])
				if other.d == me.d {
					mine += float64(q[other.e*k+j]) // in the document, those that have come before are new
				}
				if other.w == me.w {
					word += old
				}
				topic += old
			}
			list[j] = mine * word / topic
		}
		sum := 0.0
		for _, v := range list {
			sum += v
		}
		for j, v := range list {
			q[me.e*k+j] = float32(v / sum)
		}
	}
	return q
}

func TestUpdateIsThatOfTokensOneByOne(t *testing.T) {
	x, _ := law{3, 15, 12, 20, 0.3, 0.3}.simulate(2)
	const k = 4
	m := Model{Alpha: 0.2, Beta: 0.05}
	res := fitted(t, m, x, framework.Options{K: k, Method: framework.EM, MaxIterations: 3, NoMoves: true})
	before := res.Local.(*Tokens)
	after := before.Keep([]int{0, 1, 2, 3}).(*Tokens)
	require.NoError(t, m.Update(x.All(), res.Parameters, nil, before, after))
	differ := 0
	for i, want := range naive(x.All(), res.Parameters, before) {
		if math.Abs(float64(want)-float64(after.Q[i])) > 1e-12 {
			differ++ // where rounding to single precision goes the other way
		}
		assert.InDelta(t, want, after.Q[i], 6e-8)
	}
	assert.LessOrEqual(t, differ, len(after.Q)/1000)
	s := m.NewStatistics(res.Parameters)
	require.NoError(t, m.Prepare(res.Parameters, nil, s))
	_, err := m.InferAt(x.All(), res.Parameters, after, s)
	require.NoError(t, err)
	sums := make([]float64, 15*k)
	rows := x.All()
	for d := range rows.N {
		columns, counts := rows.Entries.Row(d)
		mine := make([]float64, k)
		for e, w := range columns {
			for j := range k {
				v := counts[e] * float64(after.entries(d)[e*k+j])
				sums[w*k+j] += v
				mine[j] += v
			}
		}
		assert.InDeltaSlice(t, mine, after.document(d), 1e-12)
	}
	assert.InDeltaSlice(t, sums, s.Counts, 1e-12)
}

// Documents that are equal count like one of their weight.
func TestEqualDocumentsAreWeights(t *testing.T) {
	x, _ := law{3, 30, 40, 25, 0.2, 0.2}.simulate(3)
	rows := x.All()
	var all entries
	weights := make([]float64, rows.N)
	for i := range rows.N {
		weights[i] = float64(1 + i%3)
		columns, counts := rows.Entries.Row(i)
		for range 1 + i%3 {
			var tokens []int
			for e, w := range columns {
				tokens = append(tokens, slices.Repeat([]int{w}, int(counts[e]))...)
			}
			all.add(tokens)
		}
	}
	repeated, err := all.table(30, nil)
	require.NoError(t, err)
	weighted, err := x.WithWeights(weights)
	require.NoError(t, err)
	distinct := repeated.Distinct()
	require.Equal(t, weighted.All(), distinct.All())
	start := func(ctx context.Context, _ framework.Source[blocks.Rows], k int, rng *rand.Rand) (*Parameters, error) {
		return Model{}.Init(ctx, x, k, rng)
	}
	for _, m := range []Model{{}, {Estimate: true}} {
		o := framework.Options{K: 5, Method: framework.EM, MaxIterations: 40, NoMoves: true}
		a, err := framework.FitFrom(context.Background(), m, repeated, start, o)
		require.NoError(t, err)
		b, err := framework.FitFrom(context.Background(), m, weighted, start, o)
		require.NoError(t, err)
		assert.InEpsilon(t, a.Value, b.Value, 1e-9)
		assert.InDeltaSlice(t, a.Parameters.Counts, b.Parameters.Counts, 1e-3) // single precision, over 40 iterations
	}
}

// Another order of words, of documents or of topics gives the same fit.
func TestLabelsChangeNothing(t *testing.T) {
	x, _ := law{3, 30, 40, 25, 0.2, 0.2}.simulate(4)
	rng := rand.New(rand.NewPCG(1, 1))
	words, topics := rng.Perm(30), []int{2, 0, 3, 1}
	rows := x.All()
	var other entries
	for i := range rows.N {
		columns, counts := rows.Entries.Row(i)
		var tokens []int
		for e, w := range columns {
			tokens = append(tokens, slices.Repeat([]int{words[w]}, int(counts[e]))...)
		}
		other.add(tokens)
	}
	y, err := other.table(30, nil)
	require.NoError(t, err)
	m := Model{}
	start := func(ctx context.Context, _ framework.Source[blocks.Rows], k int, rng *rand.Rand) (*Parameters, error) {
		return m.Init(ctx, x, k, rng)
	}
	relabelled := func(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*Parameters, error) {
		p, err := start(ctx, src, k, rng)
		q := framework.KeepAxes(p, k, topics)
		for w, to := range words {
			for j, from := range topics {
				q.Counts[to*k+j] = p.Counts[w*k+from]
			}
		}
		return q, err
	}
	o := framework.Options{K: 4, Method: framework.EM, Tolerance: 1e-10, NoMoves: true}
	a, err := framework.FitFrom(context.Background(), m, x, start, o)
	require.NoError(t, err)
	b, err := framework.FitFrom(context.Background(), m, y, relabelled, o)
	require.NoError(t, err)
	assert.InEpsilon(t, a.Value, b.Value, 1e-5) // words are updated in another order
	for w, to := range words {
		for j, from := range topics {
			assert.InDelta(t, a.Parameters.Counts[w*4+from], b.Parameters.Counts[to*4+j], 0.01)
		}
	}
}

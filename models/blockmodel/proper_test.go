package blockmodel

import (
	"context"
	"maps"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/laplace"
)

// evident fits by the evidence, which never falls.
func evident(t *testing.T, m Model, g *Graph, o framework.Options) *framework.Result[*Parameters, *Statistics] {
	o.Criterion = framework.Evidence
	res, err := framework.Fit(context.Background(), m, g, o)
	require.NoError(t, err)
	assert.Zero(t, res.Fall)
	return res
}

// Zachary's club has four blocks: the evidence by K, of a derivation by hand in another program (docs/theory/evidence.md, section 8; of three
// blocks, where that ended at −204.48, a higher maximum), and by gFAB from the default. gFIC, which leaves out ½ ln 2π a number, has two.
// Six and seven blocks are five and empty ones, which cost ln((N + K − 1)/(K − 1)).
func TestEvidenceOfKarate(t *testing.T) {
	g := karate(t)
	var labels []int
	for i, want := range []float64{-229.51, -202.35, -203.30, -198.90, -199.61} {
		res := evident(t, Model{}, g, framework.Options{K: i + 1, FixedK: true, Restarts: 30})
		assert.InDelta(t, want, res.Value, 0.006)
		labels = res.Local.(*Posterior).Labels()
	}
	for i, want := range []float64{-201.67, -203.57} {
		assert.InDelta(t, want, evident(t, Model{Labels: labels}, g, framework.Options{K: i + 6, FixedK: true}).Value, 0.006)
	}
	res := evident(t, Model{}, g, framework.Options{K: BlocksEach, Restarts: 10})
	assert.Equal(t, 4, res.Shape.K)
	assert.InDelta(t, -198.90, res.Value, 0.006)
}

// At given labels the evidence is the exact integrated likelihood under the same prior, and at any q at most ln p(X|K), the sum of these over
// all labels.
func TestEvidenceBoundsTheSumOverAllLabels(t *testing.T) {
	for name, g := range everyKind(t, 3) {
		k := 2 * g.sides()
		labels := make([]int, g.nodes)
		for i := range labels {
			labels[i] = i%2 + 2*g.side(i)
		}
		m := Model{Labels: labels}
		p, err := m.Init(context.Background(), g, k, nil)
		require.NoError(t, err, name)
		q, err := m.NewLocal(context.Background(), g, p, nil)
		require.NoError(t, err, name)
		s := m.NewStatistics(p)
		for b, err := range g.Blocks(context.Background()) {
			require.NoError(t, err, name)
			_, err = m.InferAt(b, p, q, s)
			require.NoError(t, err, name)
		}
		mode, err := m.MaximizePosterior(s, p, nil)
		require.NoError(t, err, name)
		var f laplace.Curvature
		f.ResetPrior(s.Observations())
		require.NoError(t, m.Curvature(s, mode, &f))
		followed, information := f.Integral()
		assert.Zero(t, information, name)
		assert.InDelta(t, naive(g, p.flat(), labels), m.LogJoint(s, mode)+followed, 1e-9, name)

		var all []float64
		words(g, p, &Posterior{K: k, Q: make([]float64, g.nodes*k)}, func(label []int, _ float64) {
			value, used := naive(g, p.flat(), label), map[int]int{}
			for i, k := range label {
				used[k] = g.side(i)
			}
			blocks := slices.Collect(maps.Values(used))
			for side := range g.sides() {
				if i := slices.Index(blocks, side); !slices.Contains(blocks[i+1:], side) { // naive knows of no second block without nodes
					value -= math.Log1p(float64(g.members(side)))
				}
			}
			all = append(all, value)
		})
		sum := floats.LogSumExp(all)
		res := evident(t, Model{}, g, framework.Options{K: k, FixedK: true, Restarts: 10})
		assert.Less(t, res.Value, sum, name)
		assert.Greater(t, res.Value, sum-4, name)
		t.Logf("%s: E is %.2f below ln p(X|K)", name, sum-res.Value)
	}
}

package mixture

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
)

// A component is divided by a mixture of two that is fitted to its rows, each weighed by the component's
// responsibility for it: the partial EM of Ueda, Nakano, Ghahramani & Hinton (2000), for which no family
// has to do anything. With the responsibilities of the others as they are, ln p(X) rises by what two
// components gain over one on these rows.

const (
	// splitIterations bounds the iterations of the mixture of two: the fit's own go on from there.
	splitIterations = 10
	// splitStarts is the number of its starts.
	splitStarts = 1
	// leastShare is the responsibility below which a row is none of the component's.
	leastShare = 1e-3
)

var errUnpromising = fmt.Errorf("mixture: two components explain the rows no better than one: %w",
	framework.ErrDegenerate)

// Split divides component k with the rows of a sample (see [optional.Splitter]).
func (m Model) Split(
	ctx context.Context, src framework.Source[blocks.Rows], s *Statistics, p *Parameters, k int, rng *rand.Rand,
) (*Parameters, float64, error) {
	halves, gain, err := divided(ctx, src, m.Family, s.N, p.D, k, rng, func(rows blocks.Rows) ([]float64, error) {
		return m.Responsibilities(rows, p, nil)
	})
	if err != nil {
		return nil, 0, err
	}
	return m.Grown(p, k, halves.Parameters), gain, nil
}

// Grown returns p with component k replaced by the two components of halves, the second of which becomes the last
// component.
func (m Model) Grown(p *Parameters, k int, halves *Parameters) *Parameters {
	q := (&Parameters{K: p.K + 1, D: p.D, Pooled: p.Pooled}).like(nil, m.mustPlan(p))
	copy(q.Weights, p.Weights)
	copy(q.Components, p.Components)
	for j, at := range []int{k, p.K} {
		q.Weights[at] = p.Weights[k] * halves.Weights[j]
		copy(q.Component(at), halves.Component(j))
	}
	known.Of(q.plan).Divide(p.Component(k), q.Component(k), q.Component(p.K))
	return q
}

// Split divides component k as [Model.Split] does; each half gets the posterior given its rows.
func (m Variational) Split(
	ctx context.Context, src framework.Source[blocks.Rows], s *Statistics, p *Posterior, k int, rng *rand.Rand,
) (*Posterior, float64, error) {
	halves, gain, err := divided(ctx, src, m.Family, s.N, p.D, k, rng, func(rows blocks.Rows) ([]float64, error) {
		return m.Responsibilities(rows, p, nil)
	})
	if err != nil {
		return nil, 0, err
	}
	b := m.mustBayes(p)
	q := &Posterior{K: p.K + 1, D: p.D, Weights: append([]float64(nil), p.Weights...), Pooled: p.Pooled, bayes: b}
	q.Weights = append(q.Weights, 0)
	size := b.Size().Hyper
	q.Components = append(append([]float64(nil), p.Components...), make([]float64, size)...)
	two := make([]float64, 2*size)
	b.Update(halves.Statistics.Classes, two)
	for j, at := range []int{k, p.K} {
		q.Weights[at] = b.alpha + s.Nk[k]*halves.Statistics.Nk[j]/halves.Statistics.N
		copy(q.Components[at*size:(at+1)*size], two[j*size:])
	}
	known.Of(b.Plan).DividePosterior(at(p.Components, k, size), at(q.Components, k, size), at(q.Components, p.K, size))
	return q, gain, nil
}

// divided fits a mixture of two to the rows of component k, of a table of n rows in all, and returns how many
// nats it gains over one component.
func divided(
	ctx context.Context, src framework.Source[blocks.Rows], f family.Family, n float64, d, k int, rng *rand.Rand,
	responsibilities func(rows blocks.Rows) ([]float64, error),
) (*framework.Result[*Parameters, *Statistics], float64, error) {
	rows, err := family.DrawRows(ctx, src, d, rng)
	if err != nil {
		return nil, 0, err
	}
	q, err := responsibilities(rows)
	if err != nil {
		return nil, 0, err
	}
	return Halves(ctx, f, rows, q, k, n, rng)
}

// Halves fits a mixture of two components to the rows of class k. rows is a weighted sample of a table of n rows, and
// q has the probabilities of each class, rows×K. It returns the fit and its gain over one class in the whole table,
// in nats, less the gain that two classes have by chance. It is the partial EM of an [optional.Splitter] for any
// model whose rows have classes.
func Halves(
	ctx context.Context, f family.Family, rows blocks.Rows, q []float64, k int, n float64, rng *rand.Rand,
) (*framework.Result[*Parameters, *Statistics], float64, error) {
	of, err := shareOf(rows, q, k, n)
	if err != nil {
		return nil, 0, err
	}
	if of, is := f.(known.Family); is {
		f = of.OfPart()
	}
	m := Model{Family: f, Start: [...]family.Start{family.KMeans, family.Seeded}[framework.DivisionOf(ctx)]}
	o := framework.Options{
		K:             2,
		Method:        framework.EM,
		Criterion:     framework.ELBO,
		MaxIterations: splitIterations,
		Restarts:      splitStarts,
		Seed:          rng.Uint64(),
		Workers:       1,
		NoMoves:       true,
	}
	two, err := framework.Fit(ctx, m, of, o)
	if err != nil {
		return nil, 0, err
	}
	whole := two.Parameters.Pooled
	one := &Parameters{K: 1, D: rows.D, Weights: []float64{1}, Components: whole.Parameters, Pooled: whole}
	logProb, err := m.LogProb(of.All(), one, nil)
	if err != nil {
		return nil, 0, err
	}
	// Where one component is right, two gain about a nat for each of their further parameters, on the sample.
	extra := m.Shape(two.Parameters).Total() - m.Shape(one).Total()
	gain := two.Value - linalg.Dot(of.All().Weights, logProb) - float64(extra)*n/floats.Sum(rows.Weights)
	if two.Parameters.plan.Searches() && gain < 0 {
		return nil, 0, errUnpromising // every step is dear
	}
	return two, gain, nil
}

// shareOf are the rows of component k, of which a table of n rows in all has so many more as they weigh less.
func shareOf(rows blocks.Rows, q []float64, k int, n float64) (*blocks.Table, error) {
	scale, components := n/floats.Sum(rows.Weights), len(q)/rows.N
	var x, weights []float64
	for i, w := range rows.Weights {
		if share := q[i*components+k]; share > leastShare {
			x, weights = append(x, rows.Row(i)...), append(weights, scale*w*share)
		}
	}
	if len(weights) < 2 {
		return nil, errors.New("mixture: a component of one row cannot be divided")
	}
	t, err := blocks.FromIncomplete(x, len(weights), rows.D)
	if err != nil {
		return nil, err
	}
	return t.WithWeights(weights)
}

var (
	_ optional.Splitter[framework.Source[blocks.Rows], *Parameters, *Statistics] = Model{}
	_ optional.Splitter[framework.Source[blocks.Rows], *Parameters, *Statistics] = MAP{}
	_ optional.Splitter[framework.Source[blocks.Rows], *Posterior, *Statistics]  = Variational{}
)

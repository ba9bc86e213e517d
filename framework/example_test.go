package framework_test

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
)

// must ends an example at an error, which a program would handle.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// Ten rows in two groups: the fit begins with four components and keeps those that the data need.
func Example() {
	x := []float64{1.2, 3.1, 0.8, 2.7, 1.0, 3.3, 1.5, 2.9, 0.9, 3.0, 6.1, 7.9, 5.8, 8.4, 6.3, 8.0, 5.9, 8.2, 6.2, 7.7}
	table := must(blocks.FromSlice(x, 10, 2))
	m := mixture.Model{Family: normal.Family{Covariance: normal.Spherical}}
	res := must(framework.Fit(context.Background(), m, table, framework.Options{K: 4, Also: []framework.Criterion{framework.BIC}}))
	fmt.Println("components:", res.Shape.K, "weights:", res.Parameters.Weights, res.Status)
	// Output: components: 2 weights: [0.5 0.5] converged
}

// Spherical classes, whose volumes are equal or vary, compared by the evidence.
func ExampleFitBest() {
	x := []float64{1.2, 3.1, 0.8, 2.7, 1.0, 3.3, 1.5, 2.9, 0.9, 3.0, 6.1, 7.9, 5.8, 8.4, 6.3, 8.0, 5.9, 8.2, 6.2, 7.7}
	table := must(blocks.FromSlice(x, 10, 2))
	models := []framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]{
		mixture.Model{Family: normal.Family{Covariance: normal.EII}}, mixture.Model{Family: normal.Family{Covariance: normal.VII}},
	}
	o := framework.Options{K: 4, Criterion: framework.Evidence}
	best := must(framework.FitBest(context.Background(), models, table, framework.Evidence, o))
	other := best.Compared[1-best.Model]
	fmt.Printf("model %d with K = %d, %.1f nats ahead of the other with K = %d\n", best.Model, best.Shape.K, other.Behind, other.K)
	// Output: model 0 with K = 2, 7.0 nats ahead of the other with K = 2
}

// Two rows of a table, and two of the same table backwards: they are the same.
func ExampleDrawRows() {
	for _, x := range [][]float64{{1, 2, 3, 5, 8, 13, 21, 34}, {34, 21, 13, 8, 5, 3, 2, 1}} {
		table := must(blocks.FromSlice(x, len(x), 1))
		rows := must(framework.DrawRows(context.Background(), table, 2, rand.New(rand.NewPCG(1, 2))))
		fmt.Println(rows.X, rows.Weights)
	}
	// Output:
	// [2 13] [1 1]
	// [2 13] [1 1]
}

// The sum of a table, in the pass that a draw of two of its rows needs anyway.
func ExampleNewDraw() {
	ctx := context.Background()
	table := must(blocks.FromSlice([]float64{1, 2, 3, 5, 8, 13, 21, 34}, 8, 1))
	sum := framework.Ask(nil, func() (*float64, error) { return new(float64), nil },
		func(s *float64, rows blocks.Rows) error {
			for i := range rows.N {
				*s += rows.Row(i)[0]
			}
			return nil
		},
		func(into, from *float64) error {
			*into += *from
			return nil
		})
	draw := framework.NewDraw(ctx, table, 2, rand.New(rand.NewPCG(1, 2)))
	if err := framework.SurveyAll(ctx, table, 1, append(draw.Next(), sum)...); err != nil {
		panic(err)
	}
	fmt.Println(must(draw.Rows(ctx)).X, *sum.Sum)
	// Output: [2 13] 87
}

// A fit from known parameters: those of another fit, or of somebody's judgement.
func ExampleFitFrom() {
	ctx := context.Background()
	table := must(blocks.FromSlice([]float64{2, 3, 1, 2, 2, 14, 15, 11, 17, 13}, 10, 1))
	m := mixture.Model{Family: family.Poisson{}}
	start := func(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*mixture.Parameters, error) {
		p, err := m.Init(ctx, src, k, rng)
		if err == nil {
			copy(p.Components, []float64{1, 20})
		}
		return p, err
	}
	res := must(framework.FitFrom(ctx, m, table, start, framework.Options{K: 2, Method: framework.EM}))
	again := must(framework.Evaluate(ctx, m, table, res.Parameters, 1))
	fmt.Printf("means %.2f, log-likelihood %.3f nats\n", res.Parameters.Components, again.LogLikelihood)
	// Output: means [2.00 13.99], log-likelihood -25.784 nats
}

// Every criterion by its name, as options and the command know it.
func ExampleCriteria() {
	for _, c := range framework.Criteria() {
		fmt.Print(c.Name, " ")
	}
	// Output: evidence Completed gFIC FIC BICEM BIC AIC ICL ELBO Collapsed ExactICL DNML sBIC Slope
}

// Two sequences, of three and of two steps, in one table; as independent rows they are its steps.
func ExampleStepsOf() {
	table := must(blocks.FromSlice([]float64{1, 2, 9, 8, 1}, 5, 1))
	src := must(blocks.NewSequences(table, []int{3, 5}))
	steps := must(framework.StepsOf(context.Background(), src))
	m := hmm.Model{Family: family.Poisson{}}
	res := must(framework.Fit(context.Background(), m, src, framework.Options{K: 1, Method: framework.EM}))
	fmt.Println(src.Rows(), "sequences of", steps.Rows(), "steps, of mean", res.Parameters.Component(0)[0])
	// Output: 2 sequences of 5 steps, of mean 4.2
}

// Some columns of a table, of which those that repeat are counted once.
func ExampleColumnsOf() {
	ctx := context.Background()
	table := must(blocks.FromSlice([]float64{1, 0, 2, 0, 3, 1, 4, 0, 5, 1}, 5, 2))
	codes := framework.Condense(ctx, framework.ColumnsOf(table, []int{1}))
	for b, err := range codes.Blocks(ctx) {
		if err != nil {
			panic(err)
		}
		for i := range b.N {
			fmt.Println(b.Row(i), "times", b.Weight(i))
		}
	}
	// Output:
	// [0] times 3
	// [1] times 2
}

// halves makes each pass in two halves, as two other machines would.
type halves struct {
	model mixture.Model
	rows  framework.Source[blocks.Rows]
}

func (h halves) Step(ctx context.Context, at framework.State[*mixture.Parameters], shards int) ([][]byte, error) {
	first, err := framework.Share(ctx, h.model, h.rows, at, 0, shards/2, shards, 1)
	if err != nil {
		return nil, err
	}
	second, err := framework.Share(ctx, h.model, h.rows, at, shards/2, shards, shards, 1)
	return [][]byte{second, first}, err
}

// The passes of a fit may be made anywhere: the result has the bits of one process.
func ExampleElsewhere() {
	x := []float64{1.2, 3.1, 0.8, 2.7, 1.0, 3.3, 1.5, 2.9, 0.9, 3.0, 6.1, 7.9, 5.8, 8.4, 6.3, 8.0, 5.9, 8.2, 6.2, 7.7}
	table := must(blocks.FromSlice(x, 10, 2))
	m := mixture.Model{Family: normal.Family{Covariance: normal.Spherical}}
	here := must(framework.Fit(context.Background(), m, table, framework.Options{K: 4}))
	there := must(framework.Fit(context.Background(), m, framework.Elsewhere(table, halves{m, table}), framework.Options{K: 4}))
	fmt.Println(here.Value == there.Value, there.Shape.K)
	// Output: true 2
}

// A search that is no fit of the engine keeps its progress in a checkpoint, which only the same search of the same rows goes on from.
func ExampleNewSearch() {
	type settings struct{ Seed uint64 }
	table := must(blocks.FromSlice([]float64{1, 2, 3, 4}, 4, 1))
	saved := must(framework.NewSearch(settings{Seed: 1}, table).Checkpoint([]int{0, 0, 1}))
	var labels []int
	err := framework.NewSearch(settings{Seed: 1}, table).Resume(saved, &labels)
	fmt.Println(labels, err)
	err = framework.NewSearch(settings{Seed: 2}, table).Resume(saved, &labels)
	fmt.Println(err != nil)
	// Output:
	// [0 0 1] <nil>
	// true
}

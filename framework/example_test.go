package framework_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
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
	table := must(framework.FromSlice(x, 10, 2))
	m := mixture.Model{Family: normal.Family{Covariance: normal.Spherical}}
	res := must(framework.Fit(context.Background(), m, table, framework.Options{K: 4, Also: []framework.Criterion{framework.BIC}}))
	fmt.Println("components:", res.Shape.K, "weights:", res.Parameters.Weights, res.Status)
	// Output: components: 2 weights: [0.5 0.5] converged
}

// Spherical classes, whose volumes are equal or vary, compared by the evidence.
func ExampleFitBest() {
	x := []float64{1.2, 3.1, 0.8, 2.7, 1.0, 3.3, 1.5, 2.9, 0.9, 3.0, 6.1, 7.9, 5.8, 8.4, 6.3, 8.0, 5.9, 8.2, 6.2, 7.7}
	table := must(framework.FromSlice(x, 10, 2))
	models := []framework.Model[framework.Rows, *mixture.Parameters, *mixture.Statistics]{
		mixture.Model{Family: normal.Family{Covariance: normal.EII}}, mixture.Model{Family: normal.Family{Covariance: normal.VII}},
	}
	o := framework.Options{K: 4, Criterion: framework.Evidence}
	best := must(framework.FitBest(context.Background(), models, table, framework.Evidence, o))
	other := best.Compared[1-best.Model]
	fmt.Printf("model %d with K = %d, %.1f nats ahead of the other with K = %d\n", best.Model, best.Shape.K, other.Behind, other.K)
	// Output: model 0 with K = 2, 7.0 nats ahead of the other with K = 2
}

// A matrix of gonum is a table; its rows are not copied.
func ExampleFromMatrix() {
	x := mat.NewDense(3, 2, []float64{1, 2, 3, 4, 5, 6})
	table := must(framework.FromMatrix(x))
	fmt.Println(table.Dims())
	// Output: 3 2
}

func ExampleFromSlice() {
	table := must(framework.FromSlice([]float32{1, 2, 3, 4, 5, 6}, 3, 2)) // float32 is converted once
	fmt.Println(table.Dims())
	_, err := framework.FromSlice([]float64{1, 2, math.NaN(), 4}, 2, 2)
	fmt.Println(err)
	// Output:
	// 3 2
	// framework: row 2, column 1 is NaN: remove the row or the column, or fill the entry in
}

// NaN is a missing entry, which models integrate out where they can.
func ExampleFromIncomplete() {
	table := must(framework.FromIncomplete([]float64{1, 2, 1, 3, math.NaN(), 2, 11, 9, 12, math.NaN(), 10, 9}, 6, 2))
	m := mixture.Model{Family: family.Poisson{}}
	res := must(framework.Fit(context.Background(), m, table, framework.Options{K: 3}))
	q := must(m.Responsibilities(table.All(), res.Parameters, nil))
	fmt.Println(mixture.Labels(q, res.Shape.K))
	// Output: [0 0 0 1 1 1]
}

// Two rows of a table, and two of the same table backwards: they are the same.
func ExampleDrawRows() {
	for _, x := range [][]float64{{1, 2, 3, 5, 8, 13, 21, 34}, {34, 21, 13, 8, 5, 3, 2, 1}} {
		table := must(framework.FromSlice(x, len(x), 1))
		rows := must(framework.DrawRows(context.Background(), table, 2, rand.New(rand.NewPCG(1, 2))))
		fmt.Println(rows.X, rows.Weights)
	}
	// Output:
	// [2 13] [1 1]
	// [2 13] [1 1]
}

// Three documents over a vocabulary of 1000 words: what is 0 takes no memory.
func ExampleFromSparse() {
	table := must(framework.FromSparse([]int{0, 2, 3, 5}, []int{7, 999, 3, 7, 8}, []float64{2, 1, 4, 1, 1}, 1000))
	fmt.Println(table.Rows(), "rows")
	// Output: 3 rows
}

// Baskets of goods are lists of what is in them.
func ExampleFromOnes() {
	table := must(framework.FromOnes([][]int{{0, 3}, {1}, {0, 3}, {}}, 4))
	fmt.Println(table.Rows(), "rows, of which", table.Distinct().Rows(), "differ")
	// Output: 4 rows, of which 3 differ
}

// Two sequences, of three and of two steps, in one table; as independent rows they are its steps.
func ExampleNewSequences() {
	table := must(framework.FromSlice([]float64{1, 2, 9, 8, 1}, 5, 1))
	src := must(framework.NewSequences(table, []int{3, 5}))
	steps := must(framework.StepsOf(context.Background(), src))
	m := hmm.Model{Family: family.Poisson{}}
	res := must(framework.Fit(context.Background(), m, src, framework.Options{K: 1, Method: framework.EM}))
	fmt.Println(src.Rows(), "sequences of", steps.Rows(), "steps, of mean", res.Parameters.Component(0)[0])
	// Output: 2 sequences of 5 steps, of mean 4.2
}

// A fit from known parameters: those of another fit, or of somebody's judgement.
func ExampleFitFrom() {
	ctx := context.Background()
	table := must(framework.FromSlice([]float64{2, 3, 1, 2, 2, 14, 15, 11, 17, 13}, 10, 1))
	m := mixture.Model{Family: family.Poisson{}}
	start := func(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*mixture.Parameters, error) {
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

// Some columns of a table, of which those that repeat are counted once.
func ExampleColumnsOf() {
	ctx := context.Background()
	table := must(framework.FromSlice([]float64{1, 0, 2, 0, 3, 1, 4, 0, 5, 1}, 5, 2))
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
	rows  framework.Source[framework.Rows]
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
	table := must(framework.FromSlice(x, 10, 2))
	m := mixture.Model{Family: normal.Family{Covariance: normal.Spherical}}
	here := must(framework.Fit(context.Background(), m, table, framework.Options{K: 4}))
	there := must(framework.Fit(context.Background(), m, framework.Elsewhere(table, halves{m, table}), framework.Options{K: 4}))
	fmt.Println(here.Value == there.Value, there.Shape.K)
	// Output: true 2
}

// A search that is no fit of the engine keeps its progress in a checkpoint, which only the same search of the same rows goes on from.
func ExampleNewSearch() {
	type settings struct{ Seed uint64 }
	table := must(framework.FromSlice([]float64{1, 2, 3, 4}, 4, 1))
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

package mixture_test

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/evidence"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// faithful is a table of eruptions and waiting times of a geyser.
func faithful() *blocks.Table {
	geyser, err := data.Load("faithful")
	if err != nil {
		panic(err)
	}
	x, rows, cols, err := geyser.Matrix()
	if err != nil {
		panic(err)
	}
	table, err := blocks.FromSlice(x, rows, cols)
	if err != nil {
		panic(err)
	}
	return table
}

// From at most ten components gFAB keeps the two that the data need.
func Example() {
	m, table := mixture.Model{Family: normal.Family{}}, faithful()
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 10})
	if err != nil {
		panic(err)
	}
	p, err := m.Canonical(res.Parameters)
	if err != nil {
		panic(err)
	}
	numbers, err := m.Numbers(p)
	if err != nil {
		panic(err)
	}
	for k, weight := range p.Weights {
		fmt.Printf("%.2f of the rows:", weight)
		for i, v := range p.Component(k)[:2] {
			fmt.Printf(" %s of column %d %.2f", numbers[i].Name, numbers[i].From, v)
		}
		fmt.Println()
	}
	// Output:
	// 0.64 of the rows: mean of column 0 4.29 mean of column 1 79.96
	// 0.36 of the rows: mean of column 0 2.04 mean of column 1 54.49
}

// One fit compares covariance structures by the evidence: the best of them has the fit that framework.Fit would make of it alone.
func ExampleModel_structures() {
	names, forms := normal.Structures()
	var models []framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics]
	for _, form := range forms {
		models = append(models, mixture.Model{Family: normal.Family{Covariance: form}})
	}
	best, err := framework.FitBest(context.Background(), models, faithful(), framework.Evidence, framework.Options{K: 10, Restarts: 10, Criterion: framework.Evidence})
	if err != nil {
		panic(err)
	}
	fmt.Printf("%s with K = %d\n", names[best.Model], best.Shape.K)
	for i, one := range best.Compared {
		if i != best.Model && one.Behind < 4 {
			fmt.Printf("%.1f nats ahead of %s with K = %d\n", one.Behind, names[i], one.K)
		}
	}
	// Output:
	// EEE with K = 3
	// 3.4 nats ahead of VVE with K = 2
	// 3.9 nats ahead of VVV with K = 2
}

// A fitted mixture is a distribution of package distmv, and so are its components; responsibilities are a matrix.
func ExampleModel_Distribution() {
	m, table := mixture.Model{Family: normal.Family{}}, faithful()
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 2, Method: framework.EM})
	if err != nil {
		panic(err)
	}
	p, err := m.Canonical(res.Parameters)
	if err != nil {
		panic(err)
	}
	law, err := m.Distribution(p, rand.NewPCG(1, 2))
	if err != nil {
		panic(err)
	}
	fmt.Printf("ln p(4 minutes, 80 minutes) = %.2f\n", law.LogProb([]float64{4, 80}))
	fmt.Println(len(law.Rand(nil)), "numbers drawn")

	var of [2]*distmv.Normal
	for k := range of {
		component, err := law.Component(k)
		if err != nil {
			panic(err)
		}
		of[k] = component.(*distmv.Normal)
	}
	fmt.Printf("divergence %.1f nats\n", distmv.KullbackLeibler{}.DistNormal(of[0], of[1]))

	q, err := law.Responsibilities(mat.NewDense(2, 2, []float64{4, 80, 2, 50}))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.3f\n", mat.Formatted(q))
	// Output:
	// ln p(4 minutes, 80 minutes) = -3.40
	// 2 numbers drawn
	// divergence 39.0 nats
	// ⎡1.000  0.000⎤
	// ⎣0.000  1.000⎦
}

// The evidence of two components by annealed importance sampling, with a standard error.
func ExampleNewAnnealer() {
	ctx := context.Background()
	table, err := blocks.FromSlice([]float64{2, 3, 1, 2, 2, 14, 15, 11, 17, 13}, 10, 1)
	if err != nil {
		panic(err)
	}
	for k := 1; k <= 2; k++ {
		target, err := mixture.NewAnnealer(ctx, mixture.Variational{Family: family.Poisson{}}, table, k)
		if err != nil {
			panic(err)
		}
		estimate, err := evidence.AIS(ctx, target, evidence.AISOptions{Seed: 1})
		if err != nil {
			panic(err)
		}
		fmt.Printf("K = %d: ln p(X|K) = %.1f ± %.1f nats\n", k, estimate.LogEvidence, estimate.StandardError)
	}
	// Output:
	// K = 1: ln p(X|K) = -46.5 ± 0.0 nats
	// K = 2: ln p(X|K) = -30.5 ± 0.2 nats
}

// A table of mixed types: a measurement, a count and a yes/no answer.
func ExampleProduct() {
	x := []float64{
		1.1, 2, 0, 0.7, 1, 0, 1.4, 3, 0, 0.9, 2, 1, 1.2, 1, 0, 0.8, 2, 0,
		5.2, 9, 1, 4.7, 12, 1, 5.5, 10, 1, 4.9, 8, 1, 5.1, 11, 0, 4.8, 9, 1,
	}
	table, err := blocks.FromSlice(x, 12, 3)
	if err != nil {
		panic(err)
	}
	m := mixture.Model{Family: family.Product{family.Of{Family: normal.Family{Covariance: normal.Diagonal}, Width: 1}, family.Poisson{}, family.Bernoulli{}}}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 4})
	if err != nil {
		panic(err)
	}
	q, err := m.Responsibilities(table.All(), res.Parameters, nil)
	if err != nil {
		panic(err)
	}
	labels := mixture.Labels(q, res.Shape.K)
	fmt.Println(res.Shape.K, labels[0] == labels[5], labels[0] != labels[6])
	// Output: 2 true true
}

// Three skewed classes, each of which takes more than one normal component.
func ExampleModel_Groups() {
	ctx, rng := context.Background(), rand.New(rand.NewPCG(1, 1))
	var x []float64
	for i := range 900 {
		x = append(x, rng.ExpFloat64()+float64(6*(i%3)), rng.ExpFloat64()+rng.NormFloat64())
	}
	table, err := blocks.FromSlice(x, 900, 2)
	if err != nil {
		panic(err)
	}
	m := mixture.Model{Family: normal.Family{}}
	res, err := framework.Fit(ctx, m, table, framework.Options{K: 10})
	if err != nil {
		panic(err)
	}
	tree, err := m.Groups(ctx, table, res.Parameters, 0)
	if err != nil {
		panic(err)
	}
	groups, err := tree.Cut(tree.Proposed())
	if err != nil {
		panic(err)
	}
	fmt.Printf("%d components form %d groups: %v\n", res.Parameters.K, len(groups), groups)
	// Output: 7 components form 3 groups: [[0 6] [1 4] [2 3 5]]
}

// A missing waiting time of the geyser is filled in by its mean given the eruption, or drawn.
func ExampleModel_Fill() {
	m := mixture.Model{Family: normal.Family{}}
	res, err := framework.Fit(context.Background(), m, faithful(), framework.Options{K: 2, FixedK: true})
	if err != nil {
		panic(err)
	}
	b := blocks.Rows{N: 2, D: 2, Stride: 2, X: []float64{2, math.NaN(), 4.5, math.NaN()}}
	means, err := m.Fill(b, res.Parameters, nil)
	if err != nil {
		panic(err)
	}
	drawn, err := m.Fill(b, res.Parameters, rand.New(rand.NewPCG(1, 2)))
	if err != nil {
		panic(err)
	}
	fmt.Printf("%.1f\n%.1f\n", means, drawn)
	// Output:
	// [2.0 54.3 4.5 81.1]
	// [2.0 55.4 4.5 74.9]
}

// Of a tenth of the irises the species is known. Two of the species overlap, and without labels a mixture takes them for
// one component.
func ExampleModel_Label() {
	iris, err := data.Load("iris")
	if err != nil {
		panic(err)
	}
	species, codes := iris.Levels("Species"), iris.Codes("Species")
	iris, err = iris.Drop("Species")
	if err != nil {
		panic(err)
	}
	x, n, d, err := iris.Matrix()
	if err != nil {
		panic(err)
	}
	var rows []float64
	for i := range n {
		known := math.NaN()
		if i%10 == 0 {
			known = float64(codes[i])
		}
		rows = append(append(rows, x[i*d:(i+1)*d]...), known)
	}
	table, err := blocks.FromIncomplete(rows, n, d+1)
	if err != nil {
		panic(err)
	}
	m := mixture.Model{Family: known.Labelled(normal.Family{}, len(species))}
	res, err := framework.Fit(context.Background(), m, table, framework.Options{K: 5})
	if err != nil {
		panic(err)
	}
	for k, weight := range res.Parameters.Weights {
		fmt.Printf("%s: %.2f\n", species[m.Label(res.Parameters, k)], weight)
	}
	// Output:
	// setosa: 0.33
	// versicolor: 0.35
	// virginica: 0.31
}

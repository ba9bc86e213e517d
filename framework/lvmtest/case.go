package lvmtest

import (
	"context"
	"iter"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// A Case is a model with data to test it on, and with functions that the model's interfaces do not provide. Model and
// Data are required; every other field is optional, and without it the checks that need it are skipped.
type Case[B, P any, S framework.Statistics[S]] struct {
	Model framework.Model[B, P, S]
	Data  Data[B]
	K     []int  // numbers of latent dimensions to check; nil stands for 1, 2 and 3
	Least int    // fewest latent dimensions that the model has; 0 stands for 1
	Seed  uint64 // of starts, permutations and perturbations

	// Free gives the D_Π free coordinates of Π over which the global step maximises.
	Free Coordinates[P, S]
	// Latent gives the coordinates of Ξ that the model documents for its curvature, in the
	// order of the blocks of F, with Θ held fixed.
	Latent Coordinates[P, S]
	// Symmetry returns parameters of the same distribution of x in another form: the
	// components in another order, the latent space rotated.
	Symmetry func(p P, rng *rand.Rand) P
	// Units are the same rows in other units.
	Units []Units[B]
	// Degenerate makes one latent direction of Z degenerate (paper G, section 2.1): it returns the statistics of such a Z,
	// matching parameters, and the part of LogJoint of that direction alone, such as the log density of N rows at 0 under
	// the prior of z (0 for the components of a mixture). It may overwrite s and p.
	Degenerate func(s S, p P) (flat S, q P, own float64)
	// Sample draws n rows from the model, in less than 10 s.
	Sample func(p P, n int, rng *rand.Rand) (Data[B], error)
	// SampleRows is the number of rows to draw; 0 stands for 2000.
	SampleRows int
	// SampleK is the number of latent dimensions of the model to draw from; 0 stands for
	// the largest of K.
	SampleK int

	// Unweighted says that rows, such as the nodes of a graph, have no weights: checks of weights are skipped.
	Unweighted bool
	// Partial says that the global step is a step from p towards the maximum, such as a round of conditional
	// maximisations, whose repetition leads to the maximum.
	Partial bool
	// Stochastic says that the global step is a random step, such as one along a
	// gradient from draws: it need not reach a maximum or raise the objective, and both checks are skipped.
	Stochastic bool
	// NoAllocations requires that repeated local and global steps allocate nothing. Parallel tests and models of package
	// numeric cannot set it.
	NoAllocations bool
	// Tolerance is the relative error of log densities, 0 stands for 1e-9. Numbers that must be equal may differ by the
	// tolerance; quantities that must not fall may fall by 1/1000 of it; numeric gradients and Hessians have errors of
	// 1e-6, times √(Tolerance/1e-9). A model with numeric steps needs a larger tolerance.
	Tolerance float64
}

// Coordinates describe parameters around p by a vector: x is p itself, and at returns the
// parameters with other coordinates near x, sharing no memory with p; outside the parameter space LogJoint is not
// finite. The coordinates may depend on the statistics of p, for example through the unit of the data.
type Coordinates[P, S any] func(s S, p P) (x []float64, at func(x []float64) P)

// Data are the rows of a test. The suite needs only one function, which makes a block of given rows; re-blocking,
// permuting, splitting and weighting follow.
type Data[B any] struct {
	Rows int
	// Observations are their numbers in each row, such as the time steps of a sequence; nil stands for 1 in each.
	Observations []float64
	// Block makes a block of the rows with the given indices, in that order; the first is row first of the source. weights
	// are frequencies, one for each row, nil if all are 1.
	Block func(rows []int, weights []float64, first int) B
}

// Units are data in other units: x → Ax + b with LogDet = ln|det A| for an observation, such as a
// row, which lowers ln p(X) by N·LogDet nats.
type Units[B any] struct {
	Name   string
	Data   Data[B]
	LogDet float64
}

// Matrix makes Data of a table, one row an observation. NaN stands for a missing value.
func Matrix(x mat.Matrix) Data[blocks.Rows] {
	n, d := x.Dims()
	return Data[blocks.Rows]{Rows: n, Block: func(rows []int, weights []float64, first int) blocks.Rows {
		b := blocks.Rows{First: first, N: len(rows), D: d, Stride: d, X: make([]float64, len(rows)*d), Weights: weights}
		for i, r := range rows {
			mat.Row(b.Row(i), r, x)
		}
		return b
	}}
}

// Sequences makes Data of a table whose rows are the steps of sequences: sequence i ends before row ends[i].
func Sequences(x mat.Matrix, ends []int) Data[blocks.Sequences] {
	_, d := x.Dims()
	all := blocks.Sequences{Ends: ends}
	data := Data[blocks.Sequences]{Rows: all.Len()}
	for i := range ends {
		first, end := all.Bounds(i)
		data.Observations = append(data.Observations, float64(end-first))
	}
	data.Block = func(rows []int, weights []float64, first int) blocks.Sequences {
		b := blocks.Sequences{First: first, Weights: weights, Steps: blocks.Rows{D: d, Stride: d}}
		for _, i := range rows {
			for t, end := all.Bounds(i); t < end; t++ {
				b.Steps.X = append(b.Steps.X, mat.Row(nil, t, x)...)
			}
			b.Steps.N += int(data.Observations[i])
			b.Ends = append(b.Ends, b.Steps.N)
		}
		return b
	}
	return data
}

// Rescaled is a change of units for a table: column j times scale[j].
func Rescaled(name string, x mat.Matrix, scale []float64) Units[blocks.Rows] {
	y := mat.DenseCopyOf(x) // not a product of matrices: NaN times 0 is NaN
	y.Apply(func(_, j int, v float64) float64 { return v * scale[j] }, y)
	logDet := 0.0
	for _, s := range scale {
		logDet += math.Log(math.Abs(s))
	}
	return Units[blocks.Rows]{Name: name, Data: Matrix(y), LogDet: logDet}
}

// Affine is a change of units for a table: every row x becomes ax, with a a square matrix of
// as many rows as x has columns.
func Affine(name string, x, a mat.Matrix) Units[blocks.Rows] {
	var y mat.Dense
	y.Mul(x, a.T())
	logDet, _ := mat.LogDet(a)
	return Units[blocks.Rows]{Name: name, Data: Matrix(&y), LogDet: logDet}
}

// An arrangement says which rows a source gives, how often, and in which blocks.
type arrangement struct {
	order   []int
	weights []float64 // one for each of order, nil for 1
	block   int       // rows a block; 0 for one block
	first   int       // index of the first row in the source
}

// arranged makes a source.
func (d Data[B]) arranged(a arrangement) *source[B] {
	s := &source[B]{rows: len(a.order)}
	size := a.block
	if size == 0 {
		size = len(a.order)
	}
	for first := 0; first < len(a.order); first += size {
		end := min(first+size, len(a.order))
		var w []float64
		if a.weights != nil {
			w = a.weights[first:end]
		}
		s.blocks = append(s.blocks, d.Block(a.order[first:end], w, a.first+first))
	}
	return s
}

// all gives every row once, in blocks of a size (0: one block).
func (d Data[B]) all(block int) *source[B] {
	return d.arranged(arrangement{order: upTo(d.Rows), block: block})
}

// singles gives rows in any order and number in blocks of their own, each of which says where its
// row stands in the table.
func (d Data[B]) singles(order []int) *source[B] {
	s := &source[B]{rows: len(order)}
	for _, i := range order {
		s.blocks = append(s.blocks, d.Block([]int{i}, nil, i))
	}
	return s
}

// observations is the number of observations in a row.
func (d Data[B]) observations(row int) float64 {
	if d.Observations == nil {
		return 1
	}
	return d.Observations[row]
}

func upTo(n int) []int {
	list := make([]int, n)
	for i := range list {
		list[i] = i
	}
	return list
}

// A source holds its blocks in memory.
type source[B any] struct {
	rows   int
	blocks []B
}

func (s *source[B]) Rows() int { return s.rows }

func (s *source[B]) Blocks(context.Context) iter.Seq2[B, error] {
	return func(yield func(B, error) bool) {
		for _, b := range s.blocks {
			if !yield(b, nil) {
				return
			}
		}
	}
}

// Package fitted loads models that latent fit has saved, and scores rows with them. It contains no models itself:
// models come as [Definition] values, the built-in ones from package builtin, others from their authors.
package fitted

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/report"
)

// A Model holds fitted parameters. It may be read concurrently.
type Model interface {
	Input() Input
	Layout() Layout
	// NewScorer returns a Scorer, which one goroutine may use at a time.
	NewScorer() (Scorer, error)
}

// An Input says which rows a model takes: numbers and codes of levels for the columns of its file.
type Input struct {
	Gaps     bool // entries may be missing, NaN
	Sequence bool // rows are the steps of one sequence, in their order
	Known    int  // 1 + the place of a column that may be missing, of known classes; 0: there is none
	Optional int  // number of first columns that may be missing even without Gaps, such as the response of a regression
	// Given is the number of last columns that the model conditions on: it describes the other columns given these,
	// and a [ConditionalSampler] draws rows for given values of them.
	Given int
}

// Described is the number of columns, the first of so many, that the model describes: neither known classes nor columns
// that it conditions on.
func (i Input) Described(columns int) int {
	if i.Known > 0 {
		columns--
	}
	return columns - i.Given
}

// A Layout names the numbers that a model computes for a row. CSV has a column for each. In JSON the numbers between
// First and Last are one list.
type Layout struct {
	First     []string       // names of numbers before the list
	List      string         // the list's name in JSON
	Items     []string       // the list's names in CSV
	Last      []string       // names of numbers after the list
	Constants map[string]any // further values in JSON, the same for all rows
	Classes   []string       // the labels of classes that are known in part, "" of others; nil: there are none
	Note      string         // a caution about the numbers, such as that one is a lower bound; empty: none
}

// Names returns the names of all numbers of a row, in their order.
func (l Layout) Names() []string { return slices.Concat(l.First, l.Items, l.Last) }

// Width returns how many numbers a row has.
func (l Layout) Width() int { return len(l.First) + len(l.Items) + len(l.Last) }

// LogLikelihood returns the place of ln p of the row among its numbers, or a negative number if there is none.
func (l Layout) LogLikelihood() int {
	return slices.IndexFunc(l.Names(), func(name string) bool { return strings.HasPrefix(name, "log_") })
}

// A Scorer computes the numbers that the Layout names for each row of a block, in dst, rows×Width. It returns an
// error for codes and numbers outside the model's range, a [blocks.DataError] if they are in one row. For a model
// of sequences, the block is one sequence.
type Scorer interface {
	Score(b blocks.Rows, dst []float64) error
}

// What a Scorer of sequences has beside, and a Model may.
type (
	// A SequenceScorer scores the sequences of a block in one call; dst has one sequence after another.
	SequenceScorer interface {
		ScoreSequences(b blocks.Sequences, dst []float64) error
	}
	// A Sampler draws rows. NewSampler returns a function that draws n rows, n×D row-major, and the component of
	// each, from 0, if the model has components. The rows of a sequence continue where those of the previous call
	// ended.
	Sampler interface {
		NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error)
	}
	// A SequenceSampler draws sequences of given lengths, one after another.
	SequenceSampler interface {
		SampleSequences(lengths []int, rng *rand.Rand) (x []float64, err error)
	}
	// A Forecaster forecasts the h steps after each sequence of a block: h Forecasts for one sequence after another.
	Forecaster interface {
		Forecast(b blocks.Sequences, h int) ([]Forecast, error)
	}
	// A ConditionalSampler draws rows given the values of the columns that Input.Given counts.
	ConditionalSampler interface {
		SampleGiven(b blocks.Rows, rng *rand.Rand) (x []float64, labels []int, err error)
	}
	// A PseudoResidualer returns the pseudo-residuals of sequences, Φ⁻¹(P(X_t ≤ x_t|x_1…x_t−1)), for each step and each
	// column but those that Input.Given counts; NaN for missing values. It returns an error if a family has no
	// distribution function.
	PseudoResidualer interface {
		PseudoResiduals(b blocks.Sequences) ([]float64, error)
	}
	// A Distancer returns the squared Mahalanobis distances of the rows of a block from K classes, rows×K, over the
	// columns that are normal and present, and for each row the number of these. squared is nil if no column is normal.
	Distancer interface {
		Distances(b blocks.Rows) (squared []float64, columns []int)
	}
	// A Filler returns the rows of a block, rows×D, with missing entries filled in given the other entries: by their
	// means, in columns of codes by the most probable one, if rng is nil, and otherwise by a draw. For a model of
	// sequences, the block is one sequence.
	Filler interface {
		Fill(b blocks.Rows, rng *rand.Rand) ([]float64, error)
	}
	// A ListScorer scores each object of a list of pairs, such as a document, and all objects together.
	ListScorer interface {
		ScoreList(ctx context.Context, list *Pairs) (*ListScores, error)
	}
	// A ListSampler draws a list of records below a header, such as the edges of a graph of n nodes or the words of n
	// documents. With labels each record also names what it was drawn from, such as its topic, if the list can have
	// labels.
	ListSampler interface {
		// ListFacts reports whether a list can have labels, and says what the model does not describe of it; the note may
		// be empty.
		ListFacts() (labels bool, note string)
		SampleList(ctx context.Context, n int, labels bool, rng *rand.Rand, write func(record ...string) error) error
	}
	// A Refitter knows how far its parameters may be from the truth: it draws tables like the rows from the model, refits
	// it to each, and describes how the numbers of the refits vary (see [bootstrap.StandardErrors]).
	Refitter interface {
		Refit(ctx context.Context, r Refitting) (*bootstrap.Estimates, error)
	}
	// A Prior scores rows from the columns that Input.Given counts alone.
	Prior interface {
		NewPriorScorer() (Scorer, error)
	}
)

// A Forecast is what is expected of a step.
type Forecast struct {
	Latent   []float64   // numbers that the Items of the layout name; nil of models of classes
	Classes  []float64   // the probabilities of the classes, which the Items name; nil of other models
	Mean, SD []float64   // of each column; NaN if it has none
	Levels   [][]float64 // of each column the probabilities of its levels; nil: there are no columns of levels
}

// ListScores are the scores of a list of pairs.
type ListScores struct {
	Table  report.Table // a row for each object, which starts with its name
	Fields any          // the same for JSON, a struct
	About  string       // one line about all objects
	Notes  []string     // remarks about the list
}

// ErrNoLikelihood is the error of LogProb if the layout has no log-likelihood, as for graphs and for documents.
var ErrNoLikelihood = errors.New("fitted: the model has no likelihood of a row")

// Package fitted is a model as latent fit has saved it: its file, and what it says of rows. It knows no model: those
// come as [Definition] values, the built-in ones from package builtin, an author's from the author.
package fitted

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/report"
)

// A Model is fitted parameters, which goroutines may read at the same time.
type Model interface {
	Input() Input
	Layout() Layout
	// NewScorer makes what scores rows in one goroutine at a time.
	NewScorer() (Scorer, error)
}

// An Input says which rows a model takes: those of the columns of its file, numbers and codes of levels.
type Input struct {
	Gaps     bool // entries may be missing, NaN
	Sequence bool // rows are the steps of one sequence, in their order
	Optional int  // the first columns that may be missing whatever Gaps says, such as the response of a regression
	// Given is how many of the last columns rows are drawn for as they are: a model of what the others are, given these.
	Given int
}

// A Layout names the numbers that a model gives of a row: those of CSV, the ones between First and Last in JSON as one
// list.
type Layout struct {
	First     []string       // names of numbers before the list
	List      string         // the list's name in JSON
	Items     []string       // its names in CSV
	Last      []string       // names of numbers after it
	Constants map[string]any // further values that JSON has, the same for all rows
	Note      string         // what the numbers are not, that one might take them for; empty: there is nothing to note
}

// Names are those of all numbers of a row, in their order.
func (l Layout) Names() []string { return slices.Concat(l.First, l.Items, l.Last) }

// Width is how many numbers a row has.
func (l Layout) Width() int { return len(l.First) + len(l.Items) + len(l.Last) }

// A Scorer says what the Layout names of each row of a block, in dst, rows×Width: codes and numbers that are out of the
// model's range are errors, [framework.DataError] where they are of one row. Of a model of sequences, the block is one.
type Scorer interface {
	Score(b framework.Rows, dst []float64) error
}

// What a Scorer of sequences has beside, and a Model may.
type (
	// A SequenceScorer scores several sequences at once, the steps of one after those of another.
	SequenceScorer interface {
		ScoreSequences(b framework.Sequences, dst []float64) error
	}
	// A Sampler draws rows. NewSampler makes what draws n of them, rows×D row-major, and the component of each, from 0,
	// where there are such. Rows of a sequence go on where those of the call before ended.
	Sampler interface {
		NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error)
	}
	// A SequenceSampler draws sequences of given lengths, their steps one after the other.
	SequenceSampler interface {
		SampleSequences(lengths []int, rng *rand.Rand) (x []float64, err error)
	}
	// A ConditionalSampler draws rows whose columns of [Input].Given are taken as they are.
	ConditionalSampler interface {
		SampleGiven(b framework.Rows, rng *rand.Rand) (x []float64, labels []int, err error)
	}
	// A Filler has the rows of a block with their missing entries filled in by their means given the others, rows×D.
	Filler interface {
		Fill(b framework.Rows) ([]float64, error)
	}
	// A ListScorer says of each of the things that a list of pairs is about, such as documents, what a [Scorer] does
	// of a row, and what it can of all of them.
	ListScorer interface {
		ScoreList(ctx context.Context, list *Pairs) (*ListScores, error)
	}
	// A ListSampler draws a list of records below a head, such as the edges of a graph of n nodes, or the words of n
	// documents; labels adds what they were drawn from, where a list can have it.
	ListSampler interface {
		// ListFacts says whether a list can have labels, and what of it the model does not describe, or nothing.
		ListFacts() (labels bool, note string)
		SampleList(ctx context.Context, n int, labels bool, rng *rand.Rand, write func(record ...string) error) error
	}
	// A Prior scores rows that have the columns of [Input].Given alone.
	Prior interface {
		NewPriorScorer() (Scorer, error)
	}
)

// ListScores are what a model says of a list of pairs.
type ListScores struct {
	Table  report.Table // a row for each thing, which begins with its name
	Fields any          // the same in JSON, a struct
	About  string       // what is said of all of them, a line
	Notes  []string     // remarks about the list
}

// ErrNoLikelihood is the error of LogProb where the layout has no log-likelihood: of pairs of nodes, and of documents.
var ErrNoLikelihood = errors.New("fitted: the model has no likelihood of a row")

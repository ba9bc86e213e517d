package main

import (
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/htmlreport"
)

// A model is a value of --model: all that the command has to know of it.
type model interface {
	// data is the embedded data set that is the default of --data.
	data() string
	// families are the values of --family, methods those of --method: the first is the
	// default, except that selecting is the default method of latent select.
	families() []string
	methods() []string
	selecting() string
	// criteria judge a method's fits, its own first.
	criteria(method string) []framework.Criterion
	// check refuses flags that do not go together, before any data are read.
	check(f *modelFlags) error
	// needsAll tells whether the model has no place for missing values.
	needsAll(f *modelFlags) bool
	// finds tells whether a method finds K in one fit; the others take every K by itself.
	finds(method string) bool
	// informed tells whether a method has a place for --prior.
	informed(method string) bool
	// starts is the default of --restarts.
	starts(rows int) int
	// bind readies the model for the rows of a table.
	bind(s *session, f *modelFlags, in *input) (estimator, error)
	// load makes a saved model ready for use.
	load(m *modelFile) (learned, error)
}

// models are the values of --model.
var models = map[string]model{"bpca": bpcaModel{}, "mixture": mixtureModel{}, "bernmix": mixtureModel{bernoulli: true}, "vbmf": vbmfModel{}}

// An estimator is a model ready for one table.
type estimator interface {
	// what names the model's parts for people, such as "gaussian noise".
	what() string
	// described are the columns.
	described() []column
	// largest is the default of kmax.
	largest() int
	// checkSize refuses K beyond what the columns allow.
	checkSize(k int) error
	// telling says whether a criterion tells anything of fits to this table.
	telling(c framework.Criterion) bool
	engine
}

// A finding is what a fit found, of the kind that its model has.
type finding interface {
	// fill adds the model's own keys.
	fill(s *summary) error
	// facts are lines of the report, print the tables below them.
	facts() [][2]string
	print(p *page)
	// sections draw the model on the page of --report.
	sections(in *input) ([]htmlreport.Section, error)
}

// A learned model is one that was saved, to be applied to rows and to draw some.
type learned interface {
	// needsAll tells whether the model has no place for missing values.
	needsAll() bool
	// recode gives a table the codes of the model's levels. places has the place in it of
	// each of the model's columns; unseenMissing takes other levels for missing values.
	recode(in *input, places []int, unseenMissing bool) error
	// values are the table as numbers.
	values(s *session, in *input) (x []float64, rows int, err error)
	// layout names the numbers of a row that judge returns.
	layout() (layout, error)
	judge(rows framework.Rows) ([]float64, error)
	// sample draws rows, and the component of each where the model is labelled.
	labelled() bool
	sample(n int, rng *rand.Rand) (x []float64, labels []int, err error)
}

package fitted

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sync"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
)

// A Fitted is a saved model. It is safe for concurrent use.
type Fitted struct {
	File  File
	Model Model

	layout Layout
	names  []string
	input  Input
	log    int       // place of the log-likelihood among the numbers of a row; negative: there is none
	pool   sync.Pool // of *worker

	coders  []coder // of the columns
	decimal byte    // what decimals follow: a comma, or else a point
	missing []string
}

// A worker is what one goroutine needs at a time.
type worker struct {
	Scorer
	numbers []float64
}

// ready makes what scoring needs.
func (f *Fitted) ready() error {
	f.layout, f.input = f.Model.Layout(), f.Model.Input()
	f.names = f.layout.Names()
	f.log = f.layout.LogLikelihood()
	return f.readCoders()
}

// Columns returns the columns of a row, in their order.
func (f *Fitted) Columns() []data.Column { return f.File.Columns }

// Score computes the numbers that the Layout names for a row, and puts them into dst. They agree with those of latent
// predict to 1e-12. A row has the numbers of the model's columns in their order, with codes from 0 for levels and NaN
// for missing values. For a model of sequences, a row is one sequence, step after step, and dst gets the Layout's
// numbers for each step.
//
// Score is safe for concurrent use: each call takes a scorer from a pool, so that nothing is allocated once the pool
// has one for each goroutine.
func (f *Fitted) Score(row, dst []float64) error {
	w, err := f.worker()
	if err != nil {
		return err
	}
	defer f.pool.Put(w)
	return f.score(w, row, dst)
}

// LogProb returns ln p(row) in nats. For a regression it is the log density of the response given the other columns;
// for a model of sequences, that of the whole sequence. It is safe for concurrent use.
func (f *Fitted) LogProb(row []float64) (float64, error) {
	if f.log < 0 {
		return 0, ErrNoLikelihood
	}
	w, err := f.worker()
	if err != nil {
		return 0, err
	}
	defer f.pool.Put(w)
	width := len(f.names)
	steps := 1
	if f.input.Sequence {
		steps = len(row) / max(1, len(f.File.Columns))
	}
	w.numbers = slices.Grow(w.numbers[:0], steps*width)[:steps*width]
	if err := f.score(w, row, w.numbers); err != nil {
		return 0, err
	}
	sum := 0.0
	for step := range steps {
		sum += w.numbers[step*width+f.log]
	}
	return sum, nil
}

func (f *Fitted) worker() (*worker, error) {
	if w, ok := f.pool.Get().(*worker); ok {
		return w, nil
	}
	s, err := f.Model.NewScorer()
	return &worker{Scorer: s}, err
}

func (f *Fitted) score(w *worker, row, dst []float64) error {
	d, width := len(f.File.Columns), len(f.names)
	n := 1
	if f.input.Sequence {
		n = len(row) / d
	}
	switch {
	case n < 1 || len(row) != n*d:
		what := "a row"
		if f.input.Sequence {
			what = "a sequence"
		}
		return fmt.Errorf("fitted: %s of %d numbers does not match a model of %d columns", what, len(row), d)
	case len(dst) != n*width:
		return fmt.Errorf("fitted: dst has length %d; the model returns %d numbers for each row or step, %d in all",
			len(dst), width, n*width)
	}
	for i, v := range row {
		if v-v != 0 || len(f.File.Columns[i%d].Levels) > 0 {
			if err := f.checkCell(i, v); err != nil {
				return err
			}
		}
	}
	if err := w.Score(blocks.Rows{N: n, D: d, Stride: d, X: row}, dst); err != nil {
		return f.named(err)
	}
	return f.checkNumbers(dst)
}

// checkCell says what is wrong with number i of a row.
func (f *Fitted) checkCell(i int, v float64) error {
	j := i % len(f.File.Columns)
	c := &f.File.Columns[j]
	var reason error
	switch levels := len(c.Levels); {
	case math.IsNaN(v) && (f.input.Gaps || j < f.input.Optional):
	case math.IsNaN(v):
		reason = errMissing
	case math.IsInf(v, 0):
		reason = blocks.ErrNotFinite
	case levels > 0 && (v != math.Trunc(v) || v < 0 || v >= float64(levels)):
		reason = fmt.Errorf("the codes of its levels are whole numbers from 0 to %d", levels-1)
	}
	if reason == nil {
		return nil
	}
	return f.named(&blocks.DataError{Row: i / len(f.File.Columns), Column: j, Value: v, Reason: reason})
}

var errMissing = errors.New("the model needs it")

// A rowError is an error about a row with the name of the column, and without the number of a row that is alone.
type rowError struct {
	text string
	error
}

func (e rowError) Error() string { return e.text }
func (e rowError) Unwrap() error { return e.error }

// named is an error about the row, or about a step of the sequence.
func (f *Fitted) named(err error) error {
	fault, ok := errors.AsType[*blocks.DataError](err)
	if !ok || fault.Row < 0 || fault.Column >= len(f.File.Columns) {
		return fmt.Errorf("fitted: %w", err)
	}
	where, is := "the row", ""
	if f.input.Sequence {
		where = fmt.Sprintf("step %d", fault.Row+1)
	}
	if fault.Column >= 0 {
		is = fmt.Sprintf(" is %v:", fault.Value)
		if math.IsNaN(fault.Value) {
			is = " is missing:"
		}
		name := fmt.Sprintf("column %q", f.File.Columns[fault.Column].Name)
		if f.input.Sequence {
			name = where + ", " + name
		}
		where = name
	}
	return rowError{fmt.Sprintf("fitted: %s%s %v", where, is, fault.Reason), err}
}

// checkNumbers refuses numbers that are none.
func (f *Fitted) checkNumbers(dst []float64) error {
	for i, v := range dst {
		if v-v != 0 {
			return fmt.Errorf("fitted: %s", OutOfRange(f.layout, i, v))
		}
	}
	return nil
}

// OutOfRange returns the text of an error about number i of a score, whose value v is not finite.
func OutOfRange(l Layout, i int, v float64) string {
	return fmt.Sprintf("has the %s %v: its numbers are out of the range of the model's", l.Names()[i%l.Width()], v)
}

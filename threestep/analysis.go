package threestep

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/wording"
)

// Corrections are those of an [Analysis], in its order.
var Corrections = []Correction{BCH, ML, Uncorrected}

// A Column is an outcome with its name, and the names of its levels.
type Column struct {
	Name   string
	Levels []string
	Outcome
}

// A Covariate is a column of a logit, or several: the indicators of a column's levels from the second on.
type Covariate struct {
	Name    string
	Columns []string
}

// An Analysis is the third step of some columns under all corrections.
type Analysis struct {
	Part       string // the word for a class
	Outcomes   []Column
	Covariates []Covariate
	X          []float64 // the columns of all covariates, rows×width
	Weights    []float64 // of the rows; nil: each counts once
	How        Assignment

	Classification *Classification
	Distal         [][]*Distal // of each outcome by Corrections; nil where there is no estimate
	Logit          []*Logit    // by Corrections
	Draws          int         // of Refit; 0: standard errors are without the uncertainty of the first step
	Warnings       []error     // why there are no estimates, and which rows have no part in others
}

// Keep keeps some rows, in the order given.
func (a *Analysis) Keep(rows []int) {
	pick := func(list []float64, width int) (kept []float64) {
		if list == nil {
			return nil
		}
		for _, i := range rows {
			kept = append(kept, list[i*width:(i+1)*width]...)
		}
		return kept
	}
	a.Weights, a.X = pick(a.Weights, 1), pick(a.X, len(a.columns()))
	for i := range a.Outcomes {
		a.Outcomes[i].Values = pick(a.Outcomes[i].Values, 1)
	}
}

// Estimate estimates everything by the probabilities of the classes, rows×K. Reasons why a correction has no estimate
// become warnings; they are an error if no correction has one.
func (a *Analysis) Estimate(ctx context.Context, posteriors []float64, k int) (err error) {
	if a.Classification, err = Classify(posteriors, k, a.Weights, a.How); err != nil {
		return err
	}
	a.Distal, a.Logit, a.Warnings = nil, nil, nil
	for _, o := range a.Outcomes {
		list, err := each(a, fmt.Sprintf("column %q", o.Name), func(how Correction) (*Distal, error) {
			return a.Classification.Outcome(ctx, o.Outcome, how)
		})
		if err != nil {
			return err
		}
		a.Distal = append(a.Distal, list)
		a.noteGaps(fmt.Sprintf("column %q", o.Name), o.Values, 1)
		a.doubt(o.Name, list)
	}
	if len(a.Covariates) > 0 {
		a.Logit, err = each(a, "covariates", func(how Correction) (*Logit, error) {
			g, err := a.Classification.Covariates(a.X, len(a.columns()), how)
			if fault, is := errors.AsType[*blocks.DataError](err); is && fault.Column >= 0 {
				err = fmt.Errorf("column %q: %w", a.columns()[fault.Column], fault.Reason)
			}
			return g, err
		})
		a.noteGaps("covariates", a.X, len(a.columns()))
	}
	return cmp.Or(ctx.Err(), err)
}

// mostMoved is the part of the rows that may change class with the outcome (Asparouhov & Muthén 2014, section 3).
const mostMoved = 0.2

// doubt says where a correction of an outcome fails.
func (a *Analysis) doubt(name string, by []*Distal) {
	for i, d := range by {
		switch {
		case d == nil:
		case d.Kind == Categorical && (floats.Min(d.Values) < -1e-9 || floats.Max(d.Values) > 1+1e-9):
			a.Warnings = append(a.Warnings, fmt.Errorf("column %q, %s: some shares are outside 0 to 1, as weights can be "+
				"negative: ML has none such", name, Corrections[i]))
		case floats.HasNaN(d.Values):
			a.Warnings = append(a.Warnings, fmt.Errorf("column %q, %s: a class has no standard deviation, as weights can be "+
				"negative: ML has one", name, Corrections[i]))
		case d.Moved > mostMoved:
			a.Warnings = append(a.Warnings, fmt.Errorf("column %q, %s: %s of the rows change class with the outcome: the "+
				"classes are no longer those of the model; BCH keeps them", name, Corrections[i], wording.Percent(d.Moved)))
		}
	}
}

// noteGaps says how many rows have no part in estimates.
func (a *Analysis) noteGaps(what string, x []float64, width int) {
	left := 0
	for row := range slices.Chunk(x, width) {
		if floats.HasNaN(row) {
			left++
		}
	}
	if left > 0 {
		a.Warnings = append(a.Warnings, fmt.Errorf("%s: %s with missing values left out of these estimates", what,
			wording.Counted(left, "row")))
	}
}

// each estimates by all corrections.
func each[E any](a *Analysis, what string, estimate func(how Correction) (*E, error)) ([]*E, error) {
	var list []*E
	var faults []error
	for _, how := range Corrections {
		e, err := estimate(how)
		if err != nil {
			faults = append(faults, err)
			a.Warnings = append(a.Warnings, fmt.Errorf("%s, %s: %w", what, how, err))
			e = nil
		}
		list = append(list, e)
	}
	if len(faults) == len(Corrections) {
		return nil, fmt.Errorf("%s: %w", what, faults[0])
	}
	return list, nil
}

// columns are the names of the columns of X.
func (a *Analysis) columns() (list []string) {
	for _, c := range a.Covariates {
		list = append(list, c.Columns...)
	}
	return list
}

// estimates are all in one order, nil where there is none.
func (a *Analysis) estimates() (list []*Estimates) {
	for _, d := range slices.Concat(a.Distal...) {
		if d == nil {
			list = append(list, nil)
		} else {
			list = append(list, &d.Estimates)
		}
	}
	for _, g := range a.Logit {
		if g == nil {
			list = append(list, nil)
		} else {
			list = append(list, &g.Estimates)
		}
	}
	return list
}

// numbers are all values by other probabilities of the classes; NaN for those that do not exist by these.
func (a *Analysis) numbers(ctx context.Context, posteriors []float64) (list []float64) {
	other := *a
	err := other.Estimate(ctx, posteriors, a.Classification.K)
	others := other.estimates()
	for i, e := range a.estimates() {
		switch {
		case e == nil:
		case err != nil || others[i] == nil:
			for range e.Values {
				list = append(list, math.NaN())
			}
		default:
			list = append(list, others[i].Values...)
		}
	}
	return list
}

// Refit adds the uncertainty of the first step to the standard errors: the third step is made by each of the refits of
// the model that found the classes (see [fitted.Refitter]). It sets Numbers and the weights of r. It returns an error
// for a model that cannot be refitted; standard errors are then those of the third step.
func (a *Analysis) Refit(ctx context.Context, m fitted.Model, r fitted.Refitting) (*bootstrap.Estimates, error) {
	refitter, is := m.(fitted.Refitter)
	if !is {
		return nil, errors.New("threestep: the model cannot be refitted")
	}
	r.Rows.Weights = a.Weights
	r.Numbers = func(posteriors []float64) []float64 { return a.numbers(ctx, posteriors) }
	drawn, err := refitter.Refit(ctx, r)
	if err != nil {
		return nil, err
	}
	first := 0
	a.Draws, _ = drawn.Draws.Dims()
	for _, e := range a.estimates() {
		if e != nil {
			e.AddFirstStep(drawn.Draws.Slice(0, a.Draws, first, first+len(e.Values)))
			first += len(e.Values)
		}
	}
	return drawn, nil
}

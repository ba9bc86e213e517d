package outcome

import (
	"errors"
	"fmt"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/progress"
	"github.com/latent-go/latent/internal/tables"
)

// Level is that of the intervals and, from above, of the tests: 1 − level.
const Level = 0.95

// Refits say what became of the draws.
type Refits struct {
	Draws       int `json:"draws"`       // asked for
	Failed      int `json:"failed"`      // left out
	Unconverged int `json:"unconverged"` // kept
}

// NewRefits counts draws, and notes those that failed or did not converge.
func NewRefits(s *tables.Session, in *tables.Input, o bootstrap.Options, outcome bootstrap.Outcome,
	where string) Refits {
	r := Refits{o.Draws, len(outcome.Failed), outcome.Unconverged}
	if r.Failed > 0 {
		s.Note("%d of %d draws of the bootstrap%s failed and are left out: %s", r.Failed, r.Draws, where,
			in.Render(outcome.Failed[0].Err))
	}
	if r.Unconverged > 0 {
		s.Note("%d of %d draws of the bootstrap%s did not converge: raise --max-iter or --tol", r.Unconverged, r.Draws, where)
	}
	return r
}

// ---- Standard errors of a fit

// AddErrors adds standard errors to the components or the loadings.
func (r *Report) AddErrors(s *tables.Session, status *progress.Line, in *tables.Input, o bootstrap.Options) error {
	Watch(status, &o, "standard errors")
	outcome, err := r.found.(fitted.Bootstrapper).Bootstrap(s, o)
	if err != nil {
		return err
	}
	r.Bootstrap = new(Refits)
	*r.Bootstrap = NewRefits(s, in, o, outcome, "")
	return r.take()
}

// ---- Tests of K against K + 1

// A ratioTest is a likelihood ratio test of K against K + 1.
type ratioTest struct {
	K         int           `json:"k"`
	Statistic fitted.Number `json:"statistic"`
	PValue    fitted.Number `json:"p_value"`
	Refits
}

// Test tests every K but the last, up to the first that is not rejected.
func (t *Selection) Test(s *tables.Session, status *progress.Line, in *tables.Input, of fitted.Problem[fitted.Found],
	o bootstrap.Options) error {
	engine, ok := of.(fitted.Tester)
	if !ok {
		return errors.New("--bootstrap: the model has no likelihood ratio")
	}
	for k := t.KMin; k < t.KMax; k++ {
		Watch(status, &o, fmt.Sprintf("K = %d against %d", k, k+1))
		r, err := engine.Ratio(s, k, o)
		if err != nil {
			return err
		}
		t.Tests = append(t.Tests,
			ratioTest{k, fitted.Number(r.Statistic), fitted.Number(r.PValue),
				NewRefits(s, in, o, r.Outcome, fmt.Sprintf(" at K = %d", k))})
		if r.PValue > 1-Level {
			break
		}
	}
	return nil
}

// Watch shows the draws that are made.
func Watch(l *progress.Line, o *bootstrap.Options, what string) {
	o.Progress, o.Fit.Recorder = l.Draws(what, o.Draws), nil
}

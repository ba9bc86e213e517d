package command

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/progress"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// level is that of the intervals and, from above, of the tests: 1 − level.
const level = 0.95

// checkBootstrap refuses --bootstrap where it makes no sense.
func (f *modelFlags) checkBootstrap(draws *int, testing bool) error {
	switch {
	case draws == nil:
		return nil
	case !f.model().Classes && (testing || !f.model().method(f.Method).Bootstrap):
		return misused("--bootstrap requires a mixture: a %s model has no components", f.Model)
	case f.Method == methodVB || f.Method == methodCVB0:
		return misused("--bootstrap cannot be used with %s, which has a posterior of the parameters: leave it out, "+
			"or take --method gfab or em", f.by())
	}
	return nil
}

// drawing are the options of a bootstrap whose fits have the options o.
func (f *modelFlags) drawing(draws int, o framework.Options) bootstrap.Options {
	return bootstrap.Options{Draws: draws, Level: level, Seed: f.Seed, Workers: f.Workers, Fit: o}
}

// refits say what became of the draws.
type refits struct {
	Draws       int `json:"draws"`       // asked for
	Failed      int `json:"failed"`      // left out
	Unconverged int `json:"unconverged"` // kept
}

// newRefits counts draws, and notes those that failed or did not converge.
func newRefits(s *tables.Session, in *tables.Input, o bootstrap.Options, outcome bootstrap.Outcome, where string) refits {
	r := refits{o.Draws, len(outcome.Failed), outcome.Unconverged}
	if r.Failed > 0 {
		s.Note("%d of %d draws of the bootstrap%s failed and are left out: %s", r.Failed, r.Draws, where,
			in.Render(outcome.Failed[0].Err))
	}
	if r.Unconverged > 0 {
		s.Note("%d of %d draws of the bootstrap%s did not converge: raise --max-iter or --tol", r.Unconverged, r.Draws, where)
	}
	return r
}

// watch shows the draws that are made.
func watch(l *progress.Line, o *bootstrap.Options, what string) {
	began := time.Now()
	o.Progress = func(done int) {
		l.Show(false, func() string {
			return fmt.Sprintf("%s  draw %d of %d  %s", what, done, o.Draws,
				progress.Left(time.Since(began), float64(done)/float64(o.Draws)))
		})
	}
	o.Fit.Recorder = nil
}

// ---- Standard errors of a fit

// bootstrap adds standard errors to the components or the loadings.
func (r *fitReport) bootstrap(s *tables.Session, status *progress.Line, in *tables.Input, o bootstrap.Options) error {
	watch(status, &o, "standard errors")
	outcome, err := r.found.(fitted.Bootstrapper).Bootstrap(s, o)
	if err != nil {
		return err
	}
	r.Bootstrap = new(refits)
	*r.Bootstrap = newRefits(s, in, o, outcome, "")
	return r.take()
}

// ---- Tests of K against K + 1

// A ratioTest is a likelihood ratio test of K against K + 1.
type ratioTest struct {
	K         int    `json:"k"`
	Statistic number `json:"statistic"`
	PValue    number `json:"p_value"`
	refits
}

// test tests every K but the last, up to the first that is not rejected.
func (t *selection) test(s *tables.Session, status *progress.Line, in *tables.Input, of fitted.Problem[fitted.Found], o bootstrap.Options) error {
	engine, ok := of.(fitted.Tester)
	if !ok {
		return errors.New("--bootstrap: the model has no likelihood ratio")
	}
	for k := t.KMin; k < t.KMax; k++ {
		watch(status, &o, fmt.Sprintf("K = %d against %d", k, k+1))
		r, err := engine.Ratio(s, k, o)
		if err != nil {
			return err
		}
		t.Tests = append(t.Tests,
			ratioTest{k, number(r.Statistic), number(r.PValue), newRefits(s, in, o, r.Outcome, fmt.Sprintf(" at K = %d", k))})
		if r.PValue > 1-level {
			break
		}
	}
	return nil
}

func (t *selection) printTests(p *text.Page) {
	if len(t.Tests) == 0 {
		return
	}
	p.Line("")
	p.Prose(0, "Likelihood ratio tests by bootstrap, up to the first p-value above %.2g:", 1-level)
	g := report.NewGrid("K", "against", "statistic", "p-value", "draws")
	for _, one := range t.Tests {
		g.Row(strconv.Itoa(one.K), strconv.Itoa(one.K+1), digits(float64(one.Statistic)),
			fmt.Sprintf("%.3g", float64(one.PValue)), strconv.Itoa(one.Draws-one.Failed))
	}
	p.Grid(g)
}

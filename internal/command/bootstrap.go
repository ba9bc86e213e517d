package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
)

// level is that of the intervals and, from above, of the tests: 1 − level.
const level = 0.95

// checkBootstrap refuses --bootstrap where it makes no sense.
func (f *modelFlags) checkBootstrap(draws *int, testing bool) error {
	switch {
	case draws == nil:
		return nil
	case !f.model().classes && (testing || !f.model().method(f.Method).Bootstrap):
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
func newRefits(s *session, in *input, o bootstrap.Options, outcome bootstrap.Outcome, where string) refits {
	r := refits{o.Draws, len(outcome.Failed), outcome.Unconverged}
	if r.Failed > 0 {
		s.note("%d of %d draws of the bootstrap%s failed and are left out: %s", r.Failed, r.Draws, where,
			in.render(outcome.Failed[0].Err))
	}
	if r.Unconverged > 0 {
		s.note("%d of %d draws of the bootstrap%s did not converge: raise --max-iter or --tol", r.Unconverged, r.Draws, where)
	}
	return r
}

// watch shows the draws that are made.
func (l *statusLine) watch(o *bootstrap.Options, what string) {
	began := time.Now()
	o.Progress = func(done int) {
		l.show(false, func() string {
			return fmt.Sprintf("%s  draw %d of %d  %s", what, done, o.Draws,
				left(time.Since(began), float64(done)/float64(o.Draws)))
		})
	}
	o.Fit.Recorder = nil
}

// ---- Standard errors of a fit

// drawn is the standard error of a number and its interval.
func drawn(n bootstrap.Number) (e number, interval []number) {
	return number(n.Error), []number{number(n.Low), number(n.High)}
}

// bootstrap adds standard errors to the components or the loadings.
func (r *fitReport) bootstrap(s *session, status *statusLine, in *input, o bootstrap.Options) error {
	status.watch(&o, "standard errors")
	outcome, err := r.found.bootstrap(s, o)
	if err != nil {
		return err
	}
	r.Bootstrap = new(refits)
	*r.Bootstrap = newRefits(s, in, o, outcome, "")
	r.fields = r.found.fields
	r.Params, err = encode(r.found.params)
	return err
}

func isCovariance(name string) bool { return strings.HasSuffix(name, "covariance") }

func isVariance(name string) bool { return strings.HasSuffix(name, "variance") && !isCovariance(name) }

// bootstrap puts standard errors beside the numbers of the components as they are reported.
func (f *components) bootstrap(
	ctx context.Context, m framework.Model[framework.Rows, *mixture.Parameters, *mixture.Statistics],
	table *framework.Table, o bootstrap.Options,
) (bootstrap.Outcome, error) {
	e, err := drawnComponents(ctx, f, m, table, f.params, (*mixture.Parameters).Vector, o)
	if err != nil {
		return bootstrap.Outcome{}, err
	}
	for k := range f.list {
		weight, interval := drawn(e.Numbers[k])
		f.list[k].Drawn, f.list[k].Interval = &weight, interval
	}
	return e.Outcome, nil
}

// drawnComponents draws tables like src and refits m, whose parameters as a list end with those of the components, to
// which it gives what the draws say.
func drawnComponents[B, P any, S framework.Statistics[S]](
	ctx context.Context, f *components, m framework.Model[B, P, S], src framework.Source[B], at P,
	vector func(P) []float64, o bootstrap.Options,
) (*bootstrap.Estimates, error) {
	numbers, err := f.model.Numbers(f.params)
	if err != nil {
		return nil, err
	}
	first := len(vector(at)) - len(f.params.Components)
	reported := func(p P) []float64 { // standard deviations in place of variances
		v := slices.Clone(vector(p))
		for i := range v[first:] {
			if isVariance(numbers[i%len(numbers)].Name) {
				v[first+i] = math.Sqrt(v[first+i])
			}
		}
		return v
	}
	e, err := bootstrap.StandardErrors(ctx, m, src, at, reported, o)
	if err != nil {
		return nil, err
	}
	for k := range f.list {
		f.list[k].attach(numbers, e.Numbers[first+k*len(numbers):])
	}
	f.drawn = true
	return e, nil
}

// attach gives the values of the columns what the draws say, in the order of [mixture.Model.Summarize].
func (c *component) attach(numbers []family.Number, draws []bootstrap.Number) {
	for i, n := range numbers {
		if isCovariance(n.Name) || n.Name == numberOfFactors {
			continue
		}
		for j := n.From; j <= n.To; j++ {
			s := &c.Columns[j]
			if s.Drawn == nil {
				s.Drawn, s.Intervals = map[string]number{}, map[string][]number{}
			}
			key := s.keys[len(s.Drawn)]
			s.Drawn[key], s.Intervals[key] = drawn(draws[i])
		}
	}
}

// printDrawn shows the first number of each column with its standard error: of levels, the most probable.
func (f *components) printDrawn(p *page, rows []component) {
	p.line("")
	p.prose(0, "Estimates ± standard errors by bootstrap (--format json has intervals):")
	n, _ := p.widest(len(f.order), func(n int) *grid { return f.drawnGrid(rows, f.order[:n]) })
	shown := f.order[:n]
	if n == len(f.order) {
		shown = slices.Sorted(slices.Values(shown))
	}
	p.grid(f.drawnGrid(rows, shown))
}

func (f *components) drawnGrid(rows []component, columns []int) *grid {
	heads := []string{f.noun, "weight"}
	for _, j := range columns {
		legend, _ := rows[0].Columns[j].shownDrawn(f.columns[j])
		heads = append(heads, short(f.columns[j].Name)+"\n"+legend)
	}
	g := newGrid(heads...)
	for k, c := range rows {
		cells := []string{strconv.Itoa(k + 1), readable(float64(c.Weight))}
		if c.Drawn != nil {
			cells[1] += fmt.Sprintf(" ± %.2g", float64(*c.Drawn))
		}
		for _, j := range columns {
			_, cell := c.Columns[j].shownDrawn(f.columns[j])
			cells = append(cells, cell)
		}
		g.row(cells...)
	}
	return g
}

// shownDrawn is the number that stands for a column with its standard error: the head of its table column, and a cell.
func (s columnSummary) shownDrawn(c data.Column) (legend, cell string) {
	legend, _ = s.shown(c)
	key, level := s.keys[0], ""
	switch at := truth(c); {
	case c.Family == families.Categorical && at >= 0:
		key = c.Levels[at]
	case c.Family == families.Categorical:
		for _, other := range s.keys {
			if s.Values[other] > s.Values[key] {
				key = other
			}
		}
		level = short(key) + " "
	case len(s.keys) > 1:
		legend = key
	}
	v, e := float64(s.Values[key]), float64(s.Drawn[key])
	if slices.Contains([]string{families.Bernoulli, families.Categorical, families.Multinomial}, c.Family) {
		return legend, fmt.Sprintf("%s%.3f ± %.3f", level, v, e)
	}
	return legend, fmt.Sprintf("%.4g ± %.2g", v, e)
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
func (t *selection) test(s *session, status *statusLine, in *input, of *task, o bootstrap.Options) error {
	engine, ok := of.engine.(interface {
		ratio(ctx context.Context, k int, o bootstrap.Options) (*bootstrap.Ratio, error)
	})
	if !ok {
		return errors.New("--bootstrap: the model has no likelihood ratio")
	}
	for k := t.KMin; k < t.KMax; k++ {
		status.watch(&o, fmt.Sprintf("K = %d against %d", k, k+1))
		r, err := engine.ratio(s, k, o)
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

func (e *iterated[B, P, S]) ratio(ctx context.Context, k int, o bootstrap.Options) (*bootstrap.Ratio, error) {
	return bootstrap.LikelihoodRatio(ctx, e.Model, e.Source, k, o)
}

func (t *selection) printTests(p *page) {
	if len(t.Tests) == 0 {
		return
	}
	p.line("")
	p.prose(0, "Likelihood ratio tests by bootstrap, up to the first p-value above %.2g:", 1-level)
	g := newGrid("K", "against", "statistic", "p-value", "draws")
	for _, one := range t.Tests {
		g.row(strconv.Itoa(one.K), strconv.Itoa(one.K+1), digits(float64(one.Statistic)),
			fmt.Sprintf("%.3g", float64(one.PValue)), strconv.Itoa(one.Draws-one.Failed))
	}
	p.grid(g)
}

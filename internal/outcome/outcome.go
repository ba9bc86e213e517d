// Package outcome says what a fit, fits over K and fits of several families came to, whatever the model: one object for
// JSON and for model files, and from it the same in text and as a page.
package outcome

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// An Fit is that of a fit, whatever the model's parameters are.
type Fit struct {
	*framework.Result[fitted.Found, struct{}]
	status string
}

// Scores are the criteria over K, and the fits behind them.
type Scores struct {
	*framework.Selection[fitted.Found, struct{}]
	Ends    []ending // of the fits
	Bounded bool     // the likelihood is a lower bound
	Open    func(i int) (*Fit, error)
}

// statistics are those of the fit at K[i], NaN where it failed.
func (all *Scores) statistics(i int) fitStatistics {
	values := map[string]float64{}
	for j, c := range all.Criteria {
		values[c.Name] = all.Values[i][j]
	}
	s := statistics(all.Ends[i].evaluation, values)
	if all.Ends[i].status == statusNone {
		s.Df, s.Entropy, s.LogLik = fitted.Number(math.NaN()), fitted.Number(math.NaN()), fitted.Number(math.NaN())
	}
	return s
}

// An ending says how a fit ended.
type ending struct {
	status     string
	Converged  bool
	advice     string // where it did not converge
	err        error  // why it has no values, or lacks one of them
	evaluation framework.Evaluation
}

// ended says whether a fit came to its end.
func ended(s framework.Status) bool {
	return s == framework.Converged || s == framework.Solved || s == framework.OnePass
}

// advice is what flags can do about a fit that did not converge, if anything: more iterations are of no use where the
// tolerance, in nats a row, is within the rounding error of the criterion, or where the objective falls.
func advice(status framework.Status, tolerance, value, n float64) string {
	const rounding = 4 * 0x1p-52
	switch {
	case status == framework.IterationLimit && tolerance <= rounding*math.Abs(value)/n:
		return fmt.Sprintf("--tol %g is within the rounding error of the criterion: raise --tol", tolerance)
	case status == framework.IterationLimit:
		return "raise --max-iter"
	case status == framework.Falling:
		return "the objective fell: try another --seed, or more --restarts"
	}
	return ""
}

const statusNone = "failed"

// Remark notes which of the fits compared did not get to their end.
func (all *Scores) Remark(s *tables.Session, in *tables.Input) {
	var failed []string
	var reason error
	open, remedies := map[string][]string{}, []string(nil) // K by what to do about it
	for i, end := range all.Ends {
		k := strconv.Itoa(all.K[i])
		switch {
		case end.status == statusNone:
			failed = append(failed, k)
			if reason == nil {
				reason = end.err
			}
		case !end.Converged:
			remedy := cmp.Or(end.advice, end.status)
			if open[remedy] == nil {
				remedies = append(remedies, remedy)
			}
			open[remedy] = append(open[remedy], k)
		}
	}
	for _, remedy := range remedies {
		s.Note("%d of the %d fits did not converge: %s (K = %s)", len(open[remedy]), len(all.K), remedy,
			strings.Join(open[remedy], ", "))
	}
	if len(failed) > 0 {
		s.Note("%d of the %d fits failed (K = %s): %s", len(failed), len(all.K),
			strings.Join(failed, ", "), in.Render(reason))
	}
}

// Without is why no fit has a value of a criterion. That all fits failed is said before.
func (all *Scores) Without(c framework.Criterion) error {
	for _, fit := range all.Fits {
		if fit == nil {
			continue
		}
		for _, score := range fit.Scores {
			if score.Criterion == c.Name && score.Err != nil {
				return fmt.Errorf("%s has no value: %w", strings.ToLower(c.Name), score.Err)
			}
		}
	}
	return fmt.Errorf("%s has no value at any K", strings.ToLower(c.Name))
}

// Of is a fit with how it ended.
func Of(res *framework.Result[fitted.Found, struct{}], m fitted.Method) *Fit {
	return &Fit{res, cmp.Or(m.Search, res.Status.String())}
}

// ScoresOf are the criteria of a selection, and how its fits ended.
func ScoresOf(sel *framework.Selection[fitted.Found, struct{}], o framework.Options, m fitted.Method) *Scores {
	s := &Scores{Selection: sel}
	for i, fit := range sel.Fits {
		if fit == nil {
			s.Ends = append(s.Ends, ending{status: statusNone, err: sel.Errs[i]})
			continue
		}
		end := ending{status: fit.Status.String(), Converged: ended(fit.Status), evaluation: fit.Evaluation,
			advice: advice(fit.Status, cmp.Or(o.Tolerance, framework.DefaultTolerance), fit.Value, fit.N)}
		for _, score := range fit.Scores {
			s.Bounded = s.Bounded || score.Bound
			end.err = errors.Join(end.err, score.Err)
		}
		if end.Converged {
			end.status = cmp.Or(m.Search, end.status)
		}
		s.Ends = append(s.Ends, end)
	}
	return s
}

// NoteBound is said of models whose q is an approximation even at its best.
const NoteBound = "log-likelihood, bic, aic and icl use a lower bound of the likelihood (mean field)"

// Interrupted says how far a cancelled fit had come; other errors stay.
func Interrupted(err error, f *Fit) error {
	switch {
	case !errors.Is(err, context.Canceled):
		return err
	case f == nil:
		return fmt.Errorf("%w before the fit was complete", faults.ErrInterrupted)
	}
	return fmt.Errorf("%w after %d iterations at K = %d, %s %s", faults.ErrInterrupted, f.Iterations, f.Shape.K,
		strings.ToLower(f.Criterion), wording.Nats(f.Value))
}

package framework

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// The maximum of a likelihood cannot fall as K grows, but the best of several starts can. Where it does, a selection divides
// a latent dimension of the smaller fit, and goes on from there: a likelihood that is at least as high is near. Elsewhere
// it leaves the starts alone, as the highest maxima of a likelihood are spurious (see fit.moves).

// mostRaises is the number of divisions that are followed up at one K.
const mostRaises = 3

// raise adds runs to the fits by EM whose likelihood is below that of a fit with one latent dimension less.
func (w *sweep[B, P, S]) raise(ctx context.Context, ks []int) error {
	order := dimensions(len(ks))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ks[i], ks[j]) })
	for at, i := range order {
		if at == 0 || ks[order[at-1]] != ks[i]-1 {
			continue
		}
		smaller, f := w.fits[order[at-1]], w.fits[i]
		if smaller == nil || f == nil || !f.bare() || f.can.splitter == nil {
			continue
		}
		if err := f.raise(ctx, smaller); err != nil {
			return err
		}
	}
	return nil
}

// raise divides the latent dimensions of a smaller fit, one after the other, until the likelihood is as high as there. A fit
// that is resumed has some of these runs.
func (f *fit[B, P, S]) raise(ctx context.Context, smaller *fit[B, P, S]) error {
	from := smaller.best()
	if from < 0 || !f.fallsShort(smaller) {
		return nil
	}
	origin := smaller.runs[from]
	divisions, err := origin.divisions(ctx, origin.best())
	if err != nil {
		return err
	}
	for n := len(f.runs) - f.options.Restarts; n < min(mostRaises, len(divisions)) && f.fallsShort(smaller); n++ {
		f.add([]progress[P, S]{{
			From:      f.options.K,
			Current:   &point[P, S]{K: f.options.K, P: divisions[n].p, Value: math.Inf(-1), Objective: math.Inf(-1)},
			NextTrial: f.options.Prune.Objective.TrialToleranceOr(),
		}})
		f.execute(ctx, f.due())
	}
	return nil
}

// fallsShort reports whether a fit has ended with an objective below that of a smaller one.
func (f *fit[B, P, S]) fallsShort(smaller *fit[B, P, S]) bool {
	here := f.best()
	if here < 0 || slices.ContainsFunc(f.runs, func(r *run[B, P, S]) bool { return r.at.Status == Running }) {
		return false
	}
	there, n := smaller.runs[smaller.best()].best(), f.runs[here].best().Evaluation.N
	return f.runs[here].best().Objective < there.Objective-f.options.Tolerance*n
}

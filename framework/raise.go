package framework

import (
	"cmp"
	"context"
	"math"
	"slices"
)

// The maximum of a likelihood cannot fall as K grows, but the best of several starts can. Where it does, a selection
// divides a latent dimension of the smaller fit, and goes on from there: a likelihood that is at least as high is near.
// Elsewhere it leaves the starts alone, as the highest maxima of a likelihood are spurious (see fit.moves).

// Of fits that climb the evidence the starts at each K miss what a fit that drops latent dimensions on its way finds
// (of the geyser's chain by 52 nats at K = 5), and a selection goes on from both neighbours of each K: from the larger
// fit without its weakest latent dimension, K descending, and then from the smaller one with its most promising
// division, K ascending.

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

// exchange adds runs from the neighbours of each K to fits that climb the evidence.
func (w *sweep[B, P, S]) exchange(ctx context.Context, ks []int) error {
	order := dimensions(len(ks))
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(ks[j], ks[i]) })
	for range 2 {
		for at, i := range order[min(1, len(order)):] {
			if from, to := w.fits[order[at]], w.fits[i]; from != nil && to != nil && to.options.climbs() {
				if err := to.follow(ctx, from); err != nil {
					return err
				}
			}
		}
		slices.Reverse(order)
	}
	return nil
}

// follow adds a run from the best state of a fit with one latent dimension more or less. A fit that is resumed may have
// it.
func (f *fit[B, P, S]) follow(ctx context.Context, neighbour *fit[B, P, S]) error {
	k, of := f.options.K, neighbour.best()
	if of < 0 || f.best() < 0 || !f.ended() || !neighbour.ended() || ctx.Err() != nil ||
		slices.ContainsFunc(f.runs, func(r *run[B, P, S]) bool { return r.at.Neighbour == neighbour.options.K }) {
		return nil
	}
	var starts []*point[P, S]
	var err error
	switch origin := neighbour.runs[of]; origin.best().K {
	case k + 1:
		starts, err = origin.withoutWeakest()
	case k - 1:
		starts, err = origin.divided(ctx)
	}
	if err != nil {
		return fatal(ctx, err)
	}
	for _, to := range starts {
		f.add([]progress[P, S]{{
			From:      k,
			Neighbour: neighbour.options.K,
			Goal:      math.Inf(-1),
			Current:   &point[P, S]{K: k, P: to.P, Q: to.Q, Value: math.Inf(-1), Objective: math.Inf(-1)},
			NextTrial: f.options.Prune.Objective.TrialToleranceOr(),
		}})
	}
	f.infer(ctx)
	return nil
}

// withoutWeakest are the best state without one of its weakest latent dimensions.
func (r *run[B, P, S]) withoutWeakest() (starts []*point[P, S], err error) {
	at, relevance, order, err := r.canonical(r.best())
	if err != nil {
		return nil, err
	}
	order = free(order, relevance)
	slices.Reverse(order)
	for _, weak := range order[:min(mostMerges, len(order))] {
		one, err := r.project(at, []int{weak}, "objective", relevance[weak:weak+1])
		if err != nil {
			return nil, err
		}
		starts = append(starts, one)
	}
	return starts, nil
}

// divided is the best state with its most promising division.
func (r *run[B, P, S]) divided(ctx context.Context) (starts []*point[P, S], err error) {
	if r.can.splitter == nil {
		return nil, nil
	}
	divisions, err := r.divisions(ctx, r.best())
	for _, d := range divisions[:min(1, len(divisions))] {
		starts = append(starts, &point[P, S]{K: r.best().K + 1, P: d.p})
	}
	return starts, err
}

// raise divides the latent dimensions of a smaller fit, one after the other, until the likelihood is as high as there.
// A fit that is resumed has some of these runs.
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
			Passed:    true,
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
	if here < 0 || !f.ended() || !smaller.ended() {
		return false
	}
	there, n := smaller.runs[smaller.best()].best(), f.runs[here].best().Evaluation.N
	return f.runs[here].best().Objective < there.Objective-f.options.Tolerance*n
}

// ended reports whether no run was interrupted: what one that goes on later would lead to is not known.
func (f *fit[B, P, S]) ended() bool {
	return !slices.ContainsFunc(f.runs, func(r *run[B, P, S]) bool { return r.at.Status == Running })
}

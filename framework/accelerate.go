package framework

import (
	"cmp"
	"context"
	"math"
	"slices"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
)

// Accelerated EM. An iteration is a map S → S' of expected statistics: the global step
// makes parameters of S, and the local step at them S'. Near a maximum it is linear, with
// factors near 1 in the directions that EM is slow in. From a few of its steps Anderson's
// method predicts where they lead (Walker & Ni 2011; for EM, Henderson & Varadhan 2019). The
// steps are compared in the metric of the complete data, in which that linear map is
// symmetric, and which LogJoint provides (docs/theory/gfab.md, section 6). So a model only
// has to provide statistics that can be scaled.
const (
	// memory is the number of earlier steps that an extrapolation uses besides the last.
	memory = 3
	// leapBelow is the change, in nats per row, below which iterations are extrapolated; where
	// directions may be pruned, that below which the objective rule tries it. Before
	// convergence it saves little, and more often changes which maximum, and which K, is found.
	leapBelow = 1e-3
	// leapRidge regularises the Gram matrix where steps are parallel to rounding.
	leapRidge = 1e-8
	// leapStretch is how many times its first-order length an extrapolation may have.
	// A longer one leads to statistics near the boundary of their range, or beyond it.
	leapStretch = 4
	// leapHalvings is how often an extrapolation without parameters, or too long, is halved.
	leapHalvings = 5
)

// A path is what extrapolation remembers of the iterations at the present K.
type path[P, S any] struct {
	// Points are the two ends of the last steps, of the oldest first: step i leads from
	// Points[2i] to Points[2i+1]. A plain step begins where the one before it ended, and
	// is twice the same pointer there, one after an extrapolation elsewhere.
	Points []*point[P, S]
	// Joint holds E_q[ln p(X,Z|Π)] with the statistics of one point (rows) and the
	// parameters of another (columns).
	Joint [2 * (memory + 1)][2 * (memory + 1)]float64
}

// inner is (S_a − S_b)·(η_c − η_d): the product of two differences of statistics in the
// metric of the complete data, where η are the natural parameters that go with S.
func (h *path[P, S]) inner(a, b, c, d int) float64 {
	return (h.Joint[a][c] - h.Joint[a][d]) - (h.Joint[b][c] - h.Joint[b][d])
}

// steps is the number of steps.
func (h *path[P, S]) steps() int { return len(h.Points) / 2 }

// product of the steps i and j, which is symmetric only to first order.
func (h *path[P, S]) product(i, j int) float64 {
	return (h.inner(2*i+1, 2*i, 2*j+1, 2*j) + h.inner(2*j+1, 2*j, 2*i+1, 2*i)) / 2
}

// between is the product of the way from the end of step i to that of i+1 and from that of j to
// that of j+1.
func (h *path[P, S]) between(i, j int) float64 {
	return h.inner(2*i+3, 2*i+1, 2*j+3, 2*j+1)
}

// An extrapolation is the end of the last step plus Σ shift[i] (end of step i+1 − end of step i).
type extrapolation struct {
	shift  [memory]float64
	square float64 // of its length beyond the end of the last step
	uphill float64 // its product with the last step

	gram  [memory * memory]float64 // scratch
	scale [memory]float64
}

// find makes e the combination of the steps' ends whose own step would be shortest if the
// map were linear (Anderson's method), and reports whether there is one.
func (h *path[P, S]) find(e *extrapolation) (ok bool) {
	last := h.steps() - 1
	// Where the differences are linearly dependent, the oldest are left out.
	for first := 0; first < last && !ok; first++ {
		ok = h.solve(e, first, last)
	}
	if !ok {
		return false
	}
	// The last step points uphill (Fisher's identity). An extrapolation against it leads
	// back to a saddle point that EM is leaving, and its opposite away from there.
	e.uphill = 0
	for i, v := range e.shift[:last] {
		e.uphill += v * h.inner(2*last+1, 2*last, 2*i+3, 2*i+1)
	}
	if e.uphill < 0 {
		e.uphill = -e.uphill
		linalg.Scale(-1, e.shift[:])
	}
	e.square = 0
	for i, v := range e.shift[:last] {
		for j, w := range e.shift[:last] {
			e.square += v * w * h.between(i, j)
		}
	}
	return e.square > 0
}

// ahead is an optimistic estimate of the gain that is left where the steps lead: half the product
// with the last step, which is the gradient, as for a quadratic function.
func (h *path[P, S]) ahead(e *extrapolation) (gain float64, ok bool) {
	if h.steps() < 2 || !h.find(e) {
		return 0, false
	}
	return optimism * e.uphill / 2, true
}

// solve finds the shifts from the differences of the steps from first on.
func (h *path[P, S]) solve(e *extrapolation, first, last int) (ok bool) {
	difference := func(i, j int) float64 {
		return (h.product(i+1, j+1) - h.product(i+1, j)) - (h.product(i, j+1) - h.product(i, j))
	}
	n := last - first
	clear(e.shift[:])
	gram, scale, shift := e.gram[:n*n], e.scale[:n], e.shift[first:last]
	for i := range n {
		square := difference(first+i, first+i)
		if !(square > 0) {
			return false
		}
		scale[i] = math.Sqrt(square)
	}
	for i := range n {
		for j := range n {
			gram[i*n+j] = difference(first+i, first+j) / scale[i] / scale[j]
		}
		gram[i*n+i] += leapRidge
		shift[i] = -(h.product(first+i+1, last) - h.product(first+i, last)) / scale[i]
	}
	chol, ok := linalg.NewCholesky(n, gram)
	if !ok {
		return false
	}
	chol.SolveRight(linalg.General(1, n, shift))
	for i := range n {
		shift[i] /= scale[i]
	}
	return true
}

// halve halves the shifts.
func (e *extrapolation) halve() {
	linalg.Scale(0.5, e.shift[:])
	e.square /= 4
}

// iterate makes one iteration: a step from where the last ones lead, if that ends no lower
// than the current state, and else a step from the current state.
func (r *run[B, P, S]) iterate(ctx context.Context, to *point[P, S]) error {
	current := r.at.Current
	from := r.leap()
	if from == nil {
		return r.step(ctx, current, to)
	}
	err := r.step(ctx, from, to)
	if err != nil && fatal(ctx, err) != nil {
		return err
	}
	if err == nil && to.K == current.K && to.Objective >= current.Objective {
		to.from = from
		return nil
	}
	r.mu.Lock()
	r.forget(r.at.Path.steps())
	r.mu.Unlock()
	r.recycle(from)
	if err != nil || to.K != current.K {
		*to = point[P, S]{}
	}
	return r.step(ctx, current, to)
}

// leap returns the point that the last steps lead to, nil if there is none that can be
// trusted. An iteration that may be the last is left plain: convergence is that of its
// change.
func (r *run[B, P, S]) leap() *point[P, S] {
	at, h := &r.at, &r.at.Path
	if h.steps() < 2 || !r.near() || !r.plain(1) && at.Change <= r.options.Tolerance {
		return nil
	}
	newest := len(h.Points) - 1
	if square := h.product(h.steps()-1, h.steps()-1); !(square > rounding*math.Abs(h.Joint[newest][newest])) {
		return nil
	}
	e := &r.extrapolation
	if !h.find(e) {
		return nil
	}
	end := r.free()
	for range leapHalvings + 1 {
		if r.combine(e, end) {
			// (S* − S)·(η* − η), which is the squared length to first order.
			s, p := h.Points[newest].S, h.Points[newest].P
			square := (r.model.LogJoint(end.S, end.P) - r.model.LogJoint(end.S, p)) -
				(r.model.LogJoint(s, end.P) - h.Joint[newest][newest])
			if square >= 0 && square <= leapStretch*e.square {
				return end
			}
		}
		e.halve()
	}
	r.recycle(end)
	return nil
}

// near reports whether iterations change little enough to be extrapolated.
func (r *run[B, P, S]) near() bool {
	below := leapBelow
	if r.tries() {
		below = min(below, r.options.Prune.Objective.TrialToleranceOr())
	}
	return r.at.Change < below
}

// plain reports whether the given number of last iterations began at no extrapolation.
func (r *run[B, P, S]) plain(iterations int) bool {
	return r.at.Leapt == 0 || r.at.Iteration-r.at.Leapt >= iterations
}

// combine makes the point that an extrapolation leads to, and reports whether there is one.
func (r *run[B, P, S]) combine(e *extrapolation, to *point[P, S]) bool {
	current, h := r.at.Current, &r.at.Path
	var err error
	if !to.filled {
		to.S, to.filled = r.model.NewStatistics(current.P), true
	}
	if err = r.model.Prepare(current.P, nil, to.S); err != nil {
		return false
	}
	// The steps' ends and their weights. Positive ones come first, so that no sum on the
	// way to the last has lost its rows.
	type part struct {
		of     int
		weight float64
	}
	var parts [memory + 1]part
	n := h.steps()
	for i := range n {
		parts[i].of = i
	}
	parts[n-1].weight = 1
	for i, v := range e.shift[:n-1] {
		parts[i].weight -= v
		parts[i+1].weight += v
	}
	slices.SortFunc(parts[:n], func(a, b part) int {
		return cmp.Or(cmp.Compare(b.weight, a.weight), cmp.Compare(a.of, b.of))
	})
	scaler := any(to.S).(optional.Scaler)
	last := 1.0
	for _, one := range parts[:n] {
		if one.weight == 0 {
			continue
		}
		scaler.Scale(last / one.weight)
		to.S.Merge(h.Points[2*one.of+1].S)
		last = one.weight
	}
	scaler.Scale(last)
	to.K, to.pruned = current.K, nil
	if to.P, err = r.maximize(to.S, current.P, to.P); err != nil {
		return false
	}
	return r.curvature(to) == nil
}

// remember adds the step to next, which becomes the current state, to the path. The lock is
// held.
func (r *run[B, P, S]) remember(next *point[P, S]) {
	at, h := &r.at, &r.at.Path
	from := next.from
	next.from = nil
	if from != nil {
		at.Leapt = at.Iteration
	}
	switch {
	case !r.options.Accelerate:
		return
	case next.K != at.Current.K || next.split != nil: // no path leads there
		h.Points = nil
		return
	case len(h.Points) == 0 && !r.near():
		return
	case from == nil:
		from = at.Current
	}
	if h.steps() > memory {
		r.forget(1)
	}
	r.append(from)
	r.append(next)
}

// append adds a point to the end of the path. A point may be there twice; each pair is scored once. The lock is held.
func (r *run[B, P, S]) append(p *point[P, S]) {
	h := &r.at.Path
	n := len(h.Points)
	h.Points = append(h.Points, p)
	same := slices.Index(h.Points, p)
	for i, other := range h.Points {
		if first := slices.Index(h.Points, other); same < n || first < i {
			h.Joint[n][i], h.Joint[i][n] = h.Joint[same][first], h.Joint[first][same]
			continue
		}
		h.Joint[n][i] = r.model.LogJoint(p.S, other.P)
		h.Joint[i][n] = r.model.LogJoint(other.S, p.P)
	}
}

// forget drops the oldest steps. The lock is held.
func (r *run[B, P, S]) forget(steps int) {
	h := &r.at.Path
	var dropped [2 * (memory + 1)]*point[P, S]
	copy(dropped[:2*steps], h.Points)
	n := copy(h.Points, h.Points[2*steps:])
	clear(h.Points[n:])
	h.Points = h.Points[:n]
	for i := range n {
		copy(h.Joint[i][:n], h.Joint[i+2*steps][2*steps:])
	}
	for _, p := range dropped[:2*steps] {
		r.recycle(p)
	}
}

// recycle makes the memory of a point free for others, unless it is still in use.
func (r *run[B, P, S]) recycle(p *point[P, S]) {
	at := &r.at
	if p != at.Current && p != at.BestBehind && p != at.Unmoved && !slices.Contains(at.Path.Points, p) &&
		!slices.Contains(r.spare, p) {
		r.spare = append(r.spare, p)
	}
}

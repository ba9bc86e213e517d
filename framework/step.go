package framework

import (
	"context"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// step makes one iteration: local step at from, global step, eigenvalue rule,
// evaluation. from is not changed; to is overwritten.
func (r *run[B, P, S]) step(ctx context.Context, from, to *point[P, S]) error {
	r.mu.Lock()
	r.at.Passes++
	r.mu.Unlock()
	if r.can.coupled != nil {
		if err := r.update(ctx, from, to); err != nil {
			return r.stepWithout(ctx, from, to, fmt.Errorf("local step at K = %d: %w", from.K, err))
		}
	}
	shards := r.shardsFor(from)
	entropy, err := r.local(ctx, from.P, r.tiltAt(from), to.Q.q, shards)
	if err != nil {
		return r.stepWithout(ctx, from, to, err)
	}
	to.K, to.pruned = from.K, nil
	to.S, shards.sums[0] = shards.sums[0], to.S
	to.filled, shards.made[0] = true, to.filled
	if err := r.checkWeight(to.S.Observations()); err != nil {
		return err
	}
	entropy = temper(r.options.Temper, to.S, entropy)
	if b := r.batches(); b != nil {
		entropy = b.average(r.at.Iteration+1, any(to.S).(optional.Scaler), to.S.Observations(), entropy,
			from.Evaluation.Entropy, func() { to.S.Merge(from.S) })
	}
	if to.P, err = r.maximize(to.S, from.P, to.P); err != nil {
		at := &point[P, S]{K: from.K, P: from.P, S: to.S, Q: to.Q}
		return r.stepWithout(ctx, at, to, fmt.Errorf("at K = %d: %w", from.K, err))
	}
	if err := r.can.given("Maximize", to.P); err != nil {
		return err
	}
	if r.batches() == nil && r.can.expander != nil && r.at.Expanding {
		var gain float64
		if to.P, gain, err = r.can.expander.Expand(to.S, to.P, r.options.Method.tilts() && !r.options.climbs()); err != nil {
			return fmt.Errorf("parameter expansion at K = %d: %w", from.K, err)
		}
		entropy += gain
	}
	if err := r.curvature(to); err != nil {
		return r.stepWithout(ctx, &point[P, S]{K: to.K, P: to.P, S: to.S, Q: to.Q}, to, err)
	}
	if smaller, err := r.degenerate(to); err != nil {
		return err
	} else if smaller != nil {
		return r.stepFrom(ctx, smaller, to)
	}
	return r.evaluate(to, entropy)
}

// stepWithout answers [ErrDegenerate] by a step from the state without one of its latent dimensions;
// it returns any other error.
func (r *run[B, P, S]) stepWithout(ctx context.Context, state, to *point[P, S], err error) error {
	smaller := r.escape(state, err)
	if smaller == nil {
		return err
	}
	return r.stepFrom(ctx, smaller, to)
}

// stepFrom makes the step from a projection instead.
func (r *run[B, P, S]) stepFrom(ctx context.Context, smaller, to *point[P, S]) error {
	*to = point[P, S]{}
	if err := r.step(ctx, smaller, to); err != nil {
		return err
	}
	to.pruned = append(smaller.pruned, to.pruned...)
	return nil
}

// checkWeight checks that the source gives the same rows in every pass.
func (r *run[B, P, S]) checkWeight(n float64) error {
	last := r.at.Current.Evaluation.N / r.options.Temper
	if r.batches() == nil && r.at.Iteration > 0 && math.Abs(n-last) > 1e-9*last {
		return &sourceError{fmt.Errorf("framework: the source gave rows of total weight %.12g in one pass and %.12g "+
			"in the next: it must give the same rows each time", last, n)}
	}
	if !(n > 0) {
		return &sourceError{fmt.Errorf("framework: the rows have total weight %v; must be positive", n)}
	}
	return nil
}

// temper raises a local step's likelihood to the power alpha: q(z_n) stays, because alpha
// multiplies both terms of its objective, and the rows' sums weigh less against the prior. It
// returns the tempered entropy.
func temper[S any](alpha float64, s S, entropy float64) float64 {
	if alpha == 1 {
		return entropy
	}
	any(s).(optional.Scaler).Scale(alpha)
	return alpha * entropy
}

// local folds one local step over the source into the first shard and returns the entropy of
// q, which is given for coupled models.
func (r *run[B, P, S]) local(
	ctx context.Context, p P, tilt *laplace.Tilt, q optional.Local, b *shardStats[S],
) (float64, error) {
	r.p, r.tilt, r.sums, r.now = p, tilt, b, q
	r.checkRows = r.at.Iteration == 0
	if b := r.batches(); b != nil {
		b.at, r.checkRows = r.at.Iteration, true
	}
	r.seen.Store(0)
	r.lead.ready = false
	defer func() { r.now = nil }()
	if r.can.coupled == nil { // a kept q belongs to rows
		if elsewhere, ok := r.condensed.(Executor[P]); ok {
			return r.execution(ctx, elsewhere)
		}
		if e := ensembleOf(ctx); e != nil {
			return r.jointly(ctx, e)
		}
	}
	b.tree.reset(r.folder.span)
	used, err := r.folder.run(ctx)
	if err != nil {
		return 0, err
	}
	if used == 0 {
		return 0, errNoRows
	}
	if err := r.checkSeen(r.seen.Load()); err != nil {
		return 0, err
	}
	return b.entropy[0], nil
}

// counted is a block that tells how many rows of its source it has.
type counted interface{ Count() int }

// checkSeen checks the number of rows that the first pass has seen, where blocks tell it.
func (r *run[B, P, S]) checkSeen(rows int64) error {
	var block B
	_, known := any(block).(counted)
	if !known || r.batches() != nil || !r.checkRows || rows == int64(r.condensed.Rows()) {
		return nil
	}
	return &sourceError{fmt.Errorf("framework: the source has yielded %d rows, and its Rows is %d: they must be equal",
		rows, r.condensed.Rows())}
}

// visit adds one block to its shard, or updates its q.
func (r *run[B, P, S]) visit(shard int, first bool, block B) error {
	if r.next != nil {
		return r.can.coupled.Update(block, r.p, r.tilt, r.now, r.next)
	}
	b := r.sums
	if r.checkRows {
		if rows, ok := any(block).(interface{ Check() error }); ok {
			if err := rows.Check(); err != nil {
				return &sourceError{err}
			}
		}
		if rows, ok := any(block).(counted); ok {
			r.seen.Add(int64(rows.Count()))
		}
	}
	if first {
		if _, err := r.prepared(shard); err != nil {
			return err
		}
	}
	var (
		h   float64
		err error
	)
	if r.now != nil {
		h, err = r.can.coupled.InferAt(block, r.p, r.now, b.sums[shard])
	} else {
		h, err = r.model.Infer(block, r.p, b.sums[shard])
	}
	b.entropy[shard] += h
	return err
}

func (r *run[B, P, S]) shardsFor(p *point[P, S]) *shardStats[S] {
	b := r.shards[p.K]
	if b == nil {
		b = newShardStats[S](r.options.Shards)
		r.shards[p.K] = b
	}
	return b
}

// tiltAt linearises the penalty at a point (docs/theory/gfab.md, section 3); nil at the start and for EM.
func (r *run[B, P, S]) tiltAt(p *point[P, S]) *laplace.Tilt {
	if !r.options.Method.tilts() || p.f == nil {
		return nil
	}
	r.ownTilt.Set(p.f)
	return &r.ownTilt
}

// curvature computes F where the method or the criterion needs it.
func (r *run[B, P, S]) curvature(p *point[P, S]) (err error) {
	needs := r.options.Criterion.Needs
	if !r.options.Method.tilts() && !needs.Curvature {
		return nil
	}
	if p.f == nil {
		p.f = new(laplace.Curvature)
	}
	if r.options.climbs() {
		return r.can.integrals(p.S, p.P, p.f)
	}
	return r.can.curvature(p.S, p.P, !needs.Information, p.f)
}

// evaluate fills in the value of a point and its objective: what the method
// ascends while K stays.
func (r *run[B, P, S]) evaluate(p *point[P, S], entropy float64) (err error) {
	e := &p.Evaluation // in place: a copy passed to the criterion would be allocated
	if *e, err = r.can.evaluation(r.model, p.S, p.P, entropy); err != nil {
		return err
	}
	switch {
	case r.options.climbs():
		followed, information := p.f.Integral()
		e.Evidence = e.Bound() + followed + information
	case r.options.Criterion.Needs.Prior:
		if e.Evidence, err = r.can.evidenceOf(r.model, p.S, p.P, entropy); err != nil {
			return err
		}
	case p.f != nil:
		e.charge(p.f)
	}
	if err := r.can.integrate(r.options.Criterion.Needs, p.S, p.P, e); err != nil {
		return err
	}
	p.Value = r.options.Criterion.Value(e)
	p.Objective = e.Bound()
	switch {
	case r.options.climbs():
		followed, _ := p.f.Integral()
		p.Objective += followed
	case r.options.Method.tilts():
		p.Objective -= (p.f.LogDetCounts() + float64(p.f.Dim())*math.Log(p.f.N())) / 2 // of D_ξ that may change at one K
	}
	if bad := firstNonFinite(p.Value, p.Objective); bad != 0 {
		return fmt.Errorf("%s is %v at K = %d (log joint %v, entropy %v, ln|F| %v): a latent dimension has lost its "+
			"data; lower K, allow pruning, or rescale the data",
			r.options.Criterion.Name, bad, p.K, e.LogJoint, e.Entropy, e.LogDet)
	}
	r.meet(p.K, p.Value)
	return nil
}

func firstNonFinite(values ...float64) float64 {
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return v
		}
	}
	return 0
}

package lvmtest_test

import (
	"context"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// coupled is the toy whose q the engine keeps: the responsibilities. An Update makes them the
// posterior, as the toy does in a pass.
type coupled struct{ toy }

type kept struct {
	Q []float64 `keep:"columns"` // rows×K
	K int       `keep:"count"`

	fresh   bool      // of mutants: it comes from NewLocal, and is no copy
	hidden  bool      // of a mutant: it has not gone through a checkpoint
	note    *float64  // of a mutant: what copies share
	impure  bool      // of a mutant: Keep of all is no copy
	whole   float64   // of a mutant: where it is Q[0], Keep keeps all
	scratch []float64 // of a mutant
}

func (q *kept) Keep(dims []int) optional.Local {
	if q.whole == q.Q[0] {
		dims = upTo(q.K)
	}
	t := framework.KeepAxes(q, q.K, dims)
	for n := 0; n < len(t.Q) && len(dims) < q.K; n += t.K {
		row := t.Q[n : n+t.K]
		floats.AddConst(1e-300, row)
		floats.Scale(1/floats.Sum(row), row)
	}
	if t.hidden, t.note = q.hidden, q.note; q.impure && t.K > 1 {
		t.Q[0], t.Q[1] = t.Q[1], t.Q[0]
	}
	return t
}

// row is q of a row of the table.
func (q *kept) row(n int) []float64 { return q.Q[n*q.K : (n+1)*q.K] }

func (coupled) NewLocal(_ context.Context, src framework.Source[blocks.Rows], p *rates, rng *rand.Rand) (optional.Local, error) {
	k := len(p.Rates)
	q := &kept{Q: make([]float64, src.Rows()*k), K: k, fresh: true}
	for n := range src.Rows() {
		for i := range k {
			q.row(n)[i] = rng.Float64()
		}
		floats.Scale(1/floats.Sum(q.row(n)), q.row(n))
	}
	return q, nil
}

func (coupled) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, _, next optional.Local) error {
	q := next.(*kept)
	for i := range b.N {
		row := q.row(b.First + i)
		for k, rate := range p.Rates {
			row[k] = math.Log(p.Weights[k]) + shape*math.Log(rate) - rate*b.Row(i)[0] - tilt.Class(k)
		}
		softmax(row)
	}
	return nil
}

func (coupled) InferAt(b blocks.Rows, _ *rates, q optional.Local, s *sums) (entropy float64, err error) {
	for i := range b.N {
		entropy += s.add(q.(*kept).row(b.First+i), b.Row(i)[0], b.Weight(i))
	}
	return entropy, nil
}

// inOrder is updated block by block. It takes its labels for less uncertain than the responsibilities,
// as they would be if they depended on one another.
type inOrder struct{ coupled }

func (inOrder) UpdatesInOrder() {}

func (inOrder) LabelEntropy(s *sums) float64 { return 0.9 * s.H }

// bounded goes half of the way to the posterior in an Update, which a few of them do not reach.
type bounded struct{ coupled }

func (bounded) BoundsLikelihood() {}

func (m bounded) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	err := m.coupled.Update(b, p, tilt, now, next)
	q, before := next.(*kept), now.(*kept)
	for n := b.First; n < b.First+b.N && q != before; n++ {
		for k, v := range before.row(n) {
			q.row(n)[k] = (q.row(n)[k] + v) / 2
		}
	}
	return err
}

// Mutants of them. updating says that an Update is of the check of that name, whose blocks are quarters
// of the table.
func updating(b blocks.Rows) bool { return b.N == 15 || b.N == 30 }

// lowering makes q less certain than the posterior.
type lowering struct{ coupled }

func (m lowering) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	return m.flatten(b, next, m.coupled.Update(b, p, tilt, now, next))
}

// flatten changes what an Update led to, which err is of.
func (lowering) flatten(b blocks.Rows, next optional.Local, err error) error {
	for i := range b.N {
		if row := next.(*kept).row(b.First + i); updating(b) {
			for k := range row {
				row[k] = (row[k] + 1) / (1 + float64(len(row)))
			}
		}
	}
	return err
}

// overtiltedLocal exaggerates the tilt.
type overtiltedLocal struct{ coupled }

func (m overtiltedLocal) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	err := m.coupled.Update(b, p, tilt, now, next)
	for i := range b.N {
		if row := next.(*kept).row(b.First + i); updating(b) {
			for k, q := range row {
				row[k] = math.Log(q) - 30*tilt.Class(k)
			}
			softmax(row)
		}
	}
	return err
}

// trespassing writes into the q that it goes on from.
type trespassing struct{ coupled }

func (m trespassing) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	if updating(b) {
		now.(*kept).Q[0] *= 1 + 1e-12
	}
	return m.coupled.Update(b, p, tilt, now, next)
}

// lingering leaves a trace of what next held before.
type lingering struct{ coupled }

func (m lingering) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	q := next.(*kept)
	trace := 0.0
	if q.fresh && updating(b) {
		trace = 1e-12 * q.row(b.First)[0]
	}
	err := m.coupled.Update(b, p, tilt, now, next)
	q.row(b.First)[0] += trace
	return err
}

// splitting takes more care of a row that is alone in its block.
type splitting struct{ coupled }

func (m splitting) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	err := m.coupled.Update(b, p, tilt, now, next)
	if row := next.(*kept).row(b.First); b.N == 1 && len(row) > 1 {
		row[0], row[1] = row[0]*(1-1e-6), row[1]+1e-6*row[0]
	}
	return err
}

// hiding keeps something in a field that is not encoded.
type hiding struct{ coupled }

func (m hiding) NewLocal(ctx context.Context, src framework.Source[blocks.Rows], p *rates, rng *rand.Rand) (optional.Local, error) {
	q, err := m.coupled.NewLocal(ctx, src, p, rng)
	q.(*kept).hidden = true
	return q, err
}

func (m hiding) InferAt(b blocks.Rows, p *rates, q optional.Local, s *sums) (float64, error) {
	if q.(*kept).hidden && p.Steps == 0 { // later, a checkpoint would show it too
		s.Log -= 1e-9
	}
	return m.coupled.InferAt(b, p, q, s)
}

// sharingLocal lets copies share a part with what NewLocal made.
type sharingLocal struct{ coupled }

func (m sharingLocal) NewLocal(ctx context.Context, src framework.Source[blocks.Rows], p *rates, rng *rand.Rand) (optional.Local, error) {
	q, err := m.coupled.NewLocal(ctx, src, p, rng)
	q.(*kept).note = new(float64)
	return q, err
}

func (m sharingLocal) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	if note := next.(*kept).note; note != nil && b.N > 40 {
		*note = 1e-9
	}
	return m.coupled.Update(b, p, tilt, now, next)
}

func (m sharingLocal) InferAt(b blocks.Rows, p *rates, q optional.Local, s *sums) (float64, error) {
	if q := q.(*kept); q.fresh && q.note != nil && p.Steps == 0 {
		s.Log += *q.note
	}
	return m.coupled.InferAt(b, p, q, s)
}

// impure has a Keep of all latent dimensions that is no copy.
type impure struct{ coupled }

func (m impure) NewLocal(ctx context.Context, src framework.Source[blocks.Rows], p *rates, rng *rand.Rand) (optional.Local, error) {
	q, err := m.coupled.NewLocal(ctx, src, p, rng)
	q.(*kept).impure = true
	return q, err
}

// stubborn has a Keep that keeps all latent dimensions of what NewLocal made.
type stubborn struct{ coupled }

func (m stubborn) NewLocal(ctx context.Context, src framework.Source[blocks.Rows], p *rates, rng *rand.Rand) (optional.Local, error) {
	q, err := m.coupled.NewLocal(ctx, src, p, rng)
	q.(*kept).whole = q.(*kept).Q[0]
	return q, err
}

// hungry allocates in an Update of a third of the table.
type hungry struct{ coupled }

func (m hungry) Update(b blocks.Rows, p *rates, tilt *laplace.Tilt, now, next optional.Local) error {
	if b.N == 20 || b.N == 40 {
		next.(*kept).scratch = make([]float64, b.N)
	}
	return m.coupled.Update(b, p, tilt, now, next)
}

// mislabelledInOrder has labels that would have more entropy together than each by itself, or less
// than none.
type mislabelledInOrder struct {
	inOrder
	factor float64
}

func (m mislabelledInOrder) LabelEntropy(s *sums) float64 { return m.factor * s.H }

// underestimated says that a density is lower than its lower bound.
type underestimated struct{ bounded }

func (m underestimated) LogProb(b blocks.Rows, p *rates, dst []float64) ([]float64, error) {
	dst, err := m.toy.LogProb(b, p, dst)
	floats.AddConst(-math.Ln2, dst)
	return dst, err
}

func coupledMutants() []mutant {
	of := func(name, check string, m framework.Model[blocks.Rows, *rates, *sums]) mutant {
		return mutant{name: name, check: check, run: running(right(m))}
	}
	return []mutant{
		of("lowering", "update", lowering{}),
		of("overtilted", "update", overtiltedLocal{}),
		of("trespassing", "update", trespassing{}),
		of("lingering", "update", lingering{}),
		of("splitting", "blocks", splitting{}),
		of("hiding", "kept q", hiding{}),
		of("sharing", "kept q", sharingLocal{}),
		of("impure", "kept q", impure{}),
		of("stubborn", "kept q", stubborn{}),
		of("hungry", "allocations", hungry{}),
	}
}

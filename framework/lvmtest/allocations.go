package lvmtest

import (
	"fmt"
	"testing"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// allocations counts those of an iteration: local step, global step, curvature, log joint.
func (r *run[B, P, S]) allocations() {
	if !r.NoAllocations {
		r.skipf("Case.NoAllocations is not set")
	}
	src := r.Data.all(max(2, r.Data.Rows/3))
	for _, k := range r.ks() {
		for _, method := range r.methods() {
			where := fmt.Sprintf("K = %d by %v", k, method)
			i := &iteration[B, P, S]{
				model: r.Model, coupled: r.coupled(), blocks: src.blocks, p: r.init(k, src, 0), countOnly: method == framework.FAB,
			}
			if method != framework.EM {
				i.curved = r.Model.(optional.Curved[P, S])
			}
			i.s = r.newStatistics(where, i.p)
			if i.coupled != nil {
				i.now = r.newLocal(where, i.p, src, 9)
				i.then = r.localKept(where, i.now, upTo(k))
				if r.inOrder() {
					i.then = i.now
				}
			}
			for range 3 {
				i.step()
			}
			n := testing.AllocsPerRun(5, i.step)
			r.must(i.err, "a step", where)
			if n > 0 {
				r.errorf("%s: an iteration allocates %v times", where, n)
			}
		}
	}
}

// An iteration is one of the engine, in the memory of the last.
type iteration[B, P any, S framework.Statistics[S]] struct {
	model     framework.Model[B, P, S]
	coupled   optional.Coupled[B, framework.Source[B], P, S] // nil if q is not kept
	curved    optional.Curved[P, S]                          // nil for EM
	countOnly bool
	blocks    []B
	s         S
	p, next   P
	now, then optional.Local
	f         laplace.Curvature
	tilt      laplace.Tilt
	began     bool
	err       error
}

func (i *iteration[B, P, S]) step() {
	if i.err == nil {
		i.err = i.make()
	}
}

func (i *iteration[B, P, S]) make() (err error) {
	var tilt *laplace.Tilt
	if i.began && i.curved != nil {
		i.tilt.Set(&i.f)
		tilt = &i.tilt
	}
	i.began = true
	if err := i.local(tilt); err != nil {
		return err
	}
	if i.next, err = i.model.Maximize(i.s, i.p, i.next); err != nil {
		return err
	}
	i.p, i.next = i.next, i.p
	_ = i.model.LogJoint(i.s, i.p)
	if i.curved == nil {
		return nil
	}
	i.f.Reset(i.s.Observations(), i.countOnly)
	return i.curved.Curvature(i.s, i.p, &i.f)
}

func (i *iteration[B, P, S]) local(tilt *laplace.Tilt) error {
	if i.coupled != nil {
		for _, b := range i.blocks {
			if err := i.coupled.Update(b, i.p, tilt, i.now, i.then); err != nil {
				return err
			}
		}
		i.now, i.then = i.then, i.now
	}
	if err := i.model.Prepare(i.p, tilt, i.s); err != nil {
		return err
	}
	for _, b := range i.blocks {
		var err error
		if i.coupled != nil {
			_, err = i.coupled.InferAt(b, i.p, i.now, i.s)
		} else {
			_, err = i.model.Infer(b, i.p, i.s)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

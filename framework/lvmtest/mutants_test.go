package lvmtest_test

import (
	"context"
	"encoding/json"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/pruning"
)

// Each mutant is the toy with one thing wrong, which one check of the suite alone can see.

// miscounted charges for a parameter that is not there.
type miscounted struct{ toy }

func (m miscounted) Shape(p *rates) framework.Shape {
	s := m.toy.Shape(p)
	s.Shared++
	return s
}

// halfway stops its global step half way to the maximum: the objective still rises.
type halfway struct{ toy }

func (m halfway) Maximize(s *sums, p, dst *rates) (*rates, error) {
	dst, err := m.toy.Maximize(s, p, dst)
	for k := range dst.Rates {
		dst.Rates[k] = (dst.Rates[k] + p.Rates[k]) / 2
		dst.Weights[k] = (dst.Weights[k] + p.Weights[k]) / 2
	}
	return dst, err
}

// steep has a curvature that is 1 % too large.
type steep struct{ toy }

func (m steep) Curvature(s *sums, p *rates, dst laplace.Blocks) (laplace.Blocks, error) {
	dst, err := m.toy.Curvature(s, p, dst)
	for _, b := range dst {
		b.(*laplace.Scaled).Of.(laplace.Diagonal)[0] *= 1.01
	}
	return dst, err
}

// unlogged has a block whose determinant is not that of its entries.
type unlogged struct{ toy }

type unloggedBlock struct{ *laplace.Scaled }

func (b *unloggedBlock) LogDet() float64 { return b.Scaled.LogDet() + 0.1 }

func (m unlogged) Curvature(s *sums, p *rates, dst laplace.Blocks) (laplace.Blocks, error) {
	if dst == nil {
		dst = make(laplace.Blocks, len(s.Nk))
		for k := range dst {
			dst[k] = &unloggedBlock{&laplace.Scaled{Of: laplace.Diagonal{0}}}
		}
	}
	for k, nk := range s.Nk {
		b := dst[k].(*unloggedBlock)
		b.Factor = nk / s.N
		b.Of.(laplace.Diagonal)[0] = shape * math.Pow(p.Rates[k]*p.Unit, -2)
	}
	return dst, nil
}

// overcounted lets Counts depend on Π a little.
type overcounted struct{ toy }

func (m overcounted) Counts(s *sums, p *rates, dst laplace.Blocks) (laplace.Blocks, error) {
	dst, err := m.toy.Counts(s, p, dst)
	for k, b := range dst {
		b.(*laplace.Scaled).Factor *= 1 + 1e-7*p.Rates[k]*p.Unit
	}
	return dst, err
}

// tempered flattens q in the first two steps of a fit.
type tempered struct{ toy }

func (m tempered) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	err := m.toy.Prepare(p, tilt, s)
	if tilt == nil && p.Steps < 2 {
		for k := range s.score {
			s.score[k] *= 0.9
		}
	}
	return err
}

func (m tempered) Infer(b framework.Rows, p *rates, s *sums) (float64, error) {
	if s.tilt != untilted || p.Steps > 1 {
		return m.toy.Infer(b, p, s)
	}
	q := *p
	q.Rates = nil
	for _, rate := range p.Rates {
		q.Rates = append(q.Rates, 0.9*rate)
	}
	return m.toy.Infer(b, &q, s)
}

// phased brings the tilt in by and by.
type phased struct{ toy }

func (m phased) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	if tilt != nil && p.Steps < 3 {
		tilt = &laplace.Tilt{F: tilt.F, N: 2 * tilt.N}
	}
	return m.toy.Prepare(p, tilt, s)
}

// overtilted exaggerates the tilt where the parameters do not go with it, as in a fit
// they always do.
type overtilted struct{ toy }

func (m overtilted) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	if tilt != nil {
		for k, w := range p.Weights {
			if math.Abs(tilt.F[k].(*laplace.Scaled).Factor-w) > 1e-6 {
				tilt = &laplace.Tilt{F: tilt.F, N: tilt.N / 30}
				break
			}
		}
	}
	return m.toy.Prepare(p, tilt, s)
}

// improper has a density that does not integrate to 1.
type improper struct{ toy }

func (m improper) LogProb(b framework.Rows, p *rates, dst []float64) ([]float64, error) {
	dst, err := m.toy.LogProb(b, p, dst)
	for i := range dst {
		dst[i] += math.Ln2
	}
	return dst, err
}

// unnormalised has responsibilities that do not sum to 1.
type unnormalised struct{ toy }

func (m unnormalised) Responsibilities(b framework.Rows, p *rates, dst []float64) ([]float64, error) {
	dst, err := m.toy.Responsibilities(b, p, dst)
	for i := range dst {
		dst[i] *= 1.001
	}
	return dst, err
}

// overexpanding has a parameter expansion that goes too far, at the beginning of a fit.
type overexpanding struct{ toy }

func (m overexpanding) Expand(s *sums, p *rates, charged bool) (*rates, float64, error) {
	if p.Steps < 3 {
		p.Rates[0] *= 1.1
	}
	return p, 0, nil
}

// forgetful has statistics of which Merge forgets one.
type forgetful struct{ toy }

func (m forgetful) NewStatistics(p *rates) *sums {
	s := m.toy.NewStatistics(p)
	s.alone = true
	return s
}

// sorted takes its rows for sorted.
type sorted struct{ toy }

func (m sorted) Infer(b framework.Rows, p *rates, s *sums) (float64, error) {
	for i := 1; i < b.N; i++ {
		if b.Row(i)[0] < b.Row(i - 1)[0] {
			s.Log += 1e-3
		}
	}
	return m.toy.Infer(b, p, s)
}

// singular loses the entropy of a block of one row.
type singular struct{ toy }

func (m singular) Infer(b framework.Rows, p *rates, s *sums) (float64, error) {
	h, err := m.toy.Infer(b, p, s)
	if b.N == 1 {
		h = 0
	}
	return h, err
}

// unweighted does not weigh the entropy.
type unweighted struct{ toy }

func (m unweighted) Infer(b framework.Rows, p *rates, s *sums) (float64, error) {
	if b.Weights == nil {
		return m.toy.Infer(b, p, s)
	}
	before := *s
	before.Nk, before.Sum = slices.Clone(s.Nk), slices.Clone(s.Sum)
	plain := b
	plain.Weights = nil
	h, err := m.toy.Infer(plain, p, s)
	if err != nil {
		return 0, err
	}
	*s = before
	_, err = m.toy.Infer(b, p, s)
	return h, err
}

// constant has statistics of which Scale forgets one.
type constant struct{ toy }

func (m constant) NewStatistics(p *rates) *sums {
	s := m.toy.NewStatistics(p)
	s.constant = true
	return s
}

// absolute has statistics of which Scale keeps the sign of one.
type absolute struct{ toy }

func (m absolute) NewStatistics(p *rates) *sums {
	s := m.toy.NewStatistics(p)
	s.absolute = true
	return s
}

// stale adds a trace of what the statistics held before.
type stale struct{ toy }

func (m stale) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	trace := 1e-15 * s.Sum[0]
	err := m.toy.Prepare(p, tilt, s)
	if p.Steps == 0 { // later, a checkpoint would show it too
		s.Sum[0] = trace
	}
	return err
}

// sticky adds a trace of what dst held before.
type sticky struct{ toy }

func (m sticky) Maximize(s *sums, p, dst *rates) (*rates, error) {
	trace := 0.0
	if dst != nil && p.Steps == 0 {
		trace = 1e-15 * dst.Rates[0]
	}
	dst, err := m.toy.Maximize(s, p, dst)
	dst.Rates[0] += trace
	return dst, err
}

// stickyCurvature does so in the curvature.
type stickyCurvature struct{ toy }

func (m stickyCurvature) Curvature(s *sums, p *rates, dst laplace.Blocks) (laplace.Blocks, error) {
	trace := 0.0
	if dst != nil {
		trace = 1e-14 * dst[0].(*laplace.Scaled).Factor
	}
	dst, err := m.toy.Curvature(s, p, dst)
	dst[0].(*laplace.Scaled).Factor += trace
	return dst, err
}

// sharing projects in place.
type sharing struct{ toy }

func (m sharing) Project(s *sums, p *rates, onto pruning.Directions) (*sums, *rates, error) {
	t, q, err := m.toy.Project(s, p, onto)
	if len(onto.Axes) < len(p.Rates) {
		q.Rates = append(p.Rates[:0], q.Rates...)
	}
	return t, q, err
}

// allocating takes new memory for every global step.
type allocating struct{ toy }

func (m allocating) Maximize(s *sums, p, _ *rates) (*rates, error) {
	return m.toy.Maximize(s, p, nil)
}

// ascending lists the least relevant direction first.
type ascending struct{ toy }

func (m ascending) Relevance(s *sums, p *rates) (pruning.Directions, error) {
	d, err := m.toy.Relevance(s, p)
	order := make([]int, d.Len())
	for i := range order {
		order[i] = d.Len() - 1 - i
	}
	return d.Keep(order...), err
}

// wrongWay drops the directions to keep, as many as it should.
type wrongWay struct{ toy }

func (m wrongWay) Project(s *sums, p *rates, onto pruning.Directions) (*sums, *rates, error) {
	for i, k := range onto.Axes {
		if len(onto.Axes) < len(p.Rates) {
			onto.Axes[i] = (k + 1) % len(p.Rates)
		}
	}
	return m.toy.Project(s, p, onto)
}

// restless changes something when there is nothing to drop.
type restless struct{ toy }

func (m restless) Project(s *sums, p *rates, onto pruning.Directions) (*sums, *rates, error) {
	t, q, err := m.toy.Project(s, p, onto)
	if len(onto.Axes) == len(p.Rates) {
		q.Rates[0] *= 1.01
	}
	return t, q, err
}

// partial has a preference for its first component.
type favouring struct{ toy }

func (m favouring) Relevance(s *sums, p *rates) (pruning.Directions, error) {
	values := append([]float64(nil), s.Nk...)
	values[0] += 1e-3
	return pruning.FromAxes(values), nil
}

// wholesale takes the data as they are, and says so in the coordinates that it documents.
type wholesale struct{ toy }

func (m wholesale) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*rates, error) {
	p, err := m.toy.Init(ctx, src, k, rng)
	p.Unit = 1
	return p, err
}

// glitching has a global step that goes wrong once, in a fit with one kind of tilt.
type glitching struct {
	toy
	tilt tilting
}

func (m glitching) Maximize(s *sums, p, dst *rates) (*rates, error) {
	dst, err := m.toy.Maximize(s, p, dst)
	if dst.Steps == 11 && s.tilt == m.tilt {
		for k := range dst.Rates {
			dst.Rates[k] *= 1.3
		}
	}
	return dst, err
}

// rounding loses digits in JSON.
type rounding struct{ toy }

func (m rounding) Init(ctx context.Context, src framework.Source[framework.Rows], k int, rng *rand.Rand) (*rates, error) {
	p, err := m.toy.Init(ctx, src, k, rng)
	p.Lossy = true
	return p, err
}

// unexported keeps in an unexported field what its curvature needs.
type unexported struct{ toy }

func (m unexported) Infer(b framework.Rows, p *rates, s *sums) (float64, error) {
	s.whole = true
	return m.toy.Infer(b, p, s)
}

func (m unexported) Curvature(s *sums, p *rates, dst laplace.Blocks) (laplace.Blocks, error) {
	dst, err := m.toy.Curvature(s, p, dst)
	if !s.whole {
		dst[0].(*laplace.Scaled).Factor *= 1 + 1e-9
	}
	return dst, err
}

// observant knows on which goroutine it runs.
type observant struct{ toy }

func (m observant) Infer(b framework.Rows, p *rates, s *sums) (float64, error) {
	if b.N > 2 { // larger blocks than those of the check, where looking would cost memory
		return m.toy.Infer(b, p, s)
	}
	var stack [32]uintptr
	for _, pc := range stack[:runtime.Callers(1, stack[:])] {
		if name := runtime.FuncForPC(pc).Name(); strings.Contains(name, "folder") && strings.HasSuffix(name, ".work") {
			s.Log += 1e-9
		}
	}
	return m.toy.Infer(b, p, s)
}

// A mutant is a case with one thing wrong and the check that finds it.
type mutant struct {
	name, check string
	c           toyCase
}

func mutants() []mutant {
	of := func(m framework.Model[framework.Rows, *rates, *sums]) toyCase { return right(m) }
	badSample := right(toy{})
	sample := badSample.Sample
	badSample.Sample = func(p *rates, n int, rng *rand.Rand) (lvmtest.Data[framework.Rows], error) {
		q := *p
		q.Rates = append([]float64(nil), p.Rates...)
		q.Rates[0] *= 1.5
		return sample(&q, n, rng)
	}
	return []mutant{
		{"miscounted", "shape", of(miscounted{})},
		{"halfway", "global step", of(halfway{})},
		{"steep", "curvature", of(steep{})},
		{"unlogged", "curvature", of(unlogged{})},
		{"overcounted", "counts", of(overcounted{})},
		{"tempered", "local step", of(tempered{})},
		{"phased", "tilted local step", of(phased{})},
		{"overtilted", "q-step", of(overtilted{})},
		{"improper", "likelihood", of(improper{})},
		{"unnormalised", "responsibilities", of(unnormalised{})},
		{"overexpanding", "expansion", of(overexpanding{})},
		{"forgetful", "sums", of(forgetful{})},
		{"sorted", "order", of(sorted{})},
		{"singular", "blocks", of(singular{})},
		{"unweighted", "weights", of(unweighted{})},
		{"constant", "scale", of(constant{})},
		{"absolute", "extrapolation", of(absolute{})},
		{"stale", "memory", of(stale{})},
		{"sticky", "memory", of(sticky{})},
		{"sticky curvature", "memory", of(stickyCurvature{})},
		{"sharing", "memory", of(sharing{})},
		{"allocating", "allocations", of(allocating{})},
		{"ascending", "relevance", of(ascending{})},
		{"wrong way", "projection", of(wrongWay{})},
		{"restless", "idempotence", of(restless{})},
		{"favouring", "symmetry", of(favouring{})},
		{"wholesale", "units", of(wholesale{})},
		{"glitching", "EM", of(glitching{})},
		{"glitching under FAB", "FAB", of(glitching{tilt: byCounts})},
		{"glitching under gFAB", "gFAB", of(glitching{tilt: byCurvature})},
		{"rounding", "JSON", of(rounding{})},
		{"unexported", "checkpoint", of(unexported{})},
		{"observant", "workers", of(observant{})},
		{"bad sample", "sample", badSample},
	}
}

var _ json.Marshaler = (*rates)(nil)

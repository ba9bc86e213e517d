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
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// Each mutant is the toy with one thing wrong, which one check of the suite alone can see.

// miscounted charges for a parameter that is not there.
type miscounted struct{ toy }

func (m miscounted) Shape(p *rates) framework.Shape {
	s := m.toy.Shape(p)
	s.Shared++
	return s
}

func (m miscounted) Charges(s *sums, p *rates) []optional.Charge {
	list := m.toy.Charges(s, p)
	list[1].Parameters++
	list[1].Free++
	return list
}

// charging has charges that are wrong in one way.
type charging struct {
	toy
	wrong func(list []optional.Charge)
}

func (m charging) Charges(s *sums, p *rates) []optional.Charge {
	list := m.toy.Charges(s, p)
	m.wrong(list)
	return list
}

// unidentified counts a parameter less than can be told from the rows.
type unidentified struct{ toy }

func (m unidentified) Shape(p *rates) framework.Shape {
	s := m.toy.Shape(p)
	s.Free = max(1, s.Total()-1)
	return s
}

func (m unidentified) Charges(s *sums, p *rates) []optional.Charge {
	list := m.toy.Charges(s, p)
	if len(p.Rates) > 1 {
		list[0].Free--
	}
	return list
}

// largest charges by the largest component, which is no sum over rows.
type largest struct{ toy }

func (m largest) Charges(s *sums, p *rates) []optional.Charge {
	list := m.toy.Charges(s, p)
	list[0].N = slices.Max(s.Nk)
	return list
}

// misnamed has a method of another signature than that of the interface.
type misnamed struct{ toy }

func (misnamed) LabelEntropy(s sums) float64 { return s.H }

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

func (m steep) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	q := *p
	q.Unit /= math.Sqrt(1.01)
	return m.toy.Curvature(s, &q, f)
}

// unlogged has a block whose determinant is not that of its entries.
type unlogged struct{ toy }

type unloggedBlock struct{ laplace.Block }

func (b *unloggedBlock) LogDet() float64 { return b.Block.LogDet() + 0.1 }

func (m unlogged) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	for k, nk := range s.Nk {
		for len(s.unlogged) <= k {
			s.unlogged = append(s.unlogged, new(unloggedBlock))
		}
		s.unlogged[k].Block = s.unit(k, p)
		f.Class(k, nk, s.unlogged[k])
	}
	return nil
}

// overcounted has counts that depend on Π a little.
type overcounted struct{ toy }

func (m overcounted) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	for k, nk := range s.Nk {
		f.Class(k, nk*(1+1e-7*p.Rates[k]*p.Unit), s.unit(k, p))
	}
	return nil
}

// selfish has an information that depends on q a little.
type selfish struct{ toy }

func (m selfish) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	q := *p
	for _, nk := range s.Nk {
		q.Unit *= 1 + 3e-7*math.Pow(nk/s.N, 2)
	}
	return m.toy.Curvature(s, &q, f)
}

// brief has other counts at the beginning of a fit where they alone are asked for, or one more of
// them, which costs nothing.
type brief struct {
	toy
	extra bool
}

func (m brief) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	if !f.CountOnly() || p.Steps > 2 {
		return m.toy.Curvature(s, p, f)
	}
	for k, nk := range s.Nk {
		if !m.extra {
			nk *= 1 + 1e-6
		}
		f.Class(k, nk, s.unit(k, p))
	}
	if m.extra {
		f.Class(0, s.N, s.unit(0, p))
	}
	return nil
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

func (m tempered) Infer(b blocks.Rows, p *rates, s *sums) (float64, error) {
	if s.tilted || p.Steps > 1 {
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
	err := m.toy.Prepare(p, tilt, s)
	for k := range s.score {
		if p.Steps < 3 {
			s.score[k] += tilt.Class(k) / 2
		}
	}
	return err
}

// overtilted exaggerates the tilt where the parameters do not go with it, as in a fit
// they always do.
type overtilted struct{ toy }

func (m overtilted) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	err := m.toy.Prepare(p, tilt, s)
	if tilt == nil {
		return err
	}
	for k, w := range p.Weights {
		if share := w * tilt.Class(k); math.Abs(share-p.Weights[0]*tilt.Class(0)) > 1e-6*share {
			for j := range s.score {
				s.score[j] -= 29 * tilt.Class(j)
			}
			break
		}
	}
	return err
}

// improper has a density that does not integrate to 1.
type improper struct{ toy }

func (m improper) LogProb(b blocks.Rows, p *rates, dst []float64) ([]float64, error) {
	dst, err := m.toy.LogProb(b, p, dst)
	for i := range dst {
		dst[i] += math.Ln2
	}
	return dst, err
}

// unnormalised has responsibilities that do not sum to 1.
type unnormalised struct{ toy }

func (m unnormalised) Responsibilities(b blocks.Rows, p *rates, dst []float64) ([]float64, error) {
	dst, err := m.toy.Responsibilities(b, p, dst)
	for i := range dst {
		dst[i] *= 1.001
	}
	return dst, err
}

// mislabelled has an entropy of its labels that is a little more than theirs.
type mislabelled struct{ toy }

func (m mislabelled) LabelEntropy(s *sums) float64 { return 1.001 * s.H }

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

func (m sorted) Infer(b blocks.Rows, p *rates, s *sums) (float64, error) {
	for i := 1; i < b.N; i++ {
		if b.Row(i)[0] < b.Row(i - 1)[0] {
			s.Log += 1e-3
		}
	}
	return m.toy.Infer(b, p, s)
}

// singular loses the entropy of a block of one row.
type singular struct{ toy }

func (m singular) Infer(b blocks.Rows, p *rates, s *sums) (float64, error) {
	h, err := m.toy.Infer(b, p, s)
	if b.N == 1 {
		h = 0
	}
	return h, err
}

// unweighted does not weigh the entropy.
type unweighted struct{ toy }

func (m unweighted) Infer(b blocks.Rows, p *rates, s *sums) (float64, error) {
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

// stickyCurvature adds a trace of how often it was asked for.
type stickyCurvature struct{ toy }

func (m stickyCurvature) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	q := *p
	if p.Steps < 2 {
		q.Unit *= 1 + 1e-14*float64(s.asked)
		s.asked++
	}
	return m.toy.Curvature(s, &q, f)
}

// following readies statistics otherwise than Prepare.
type following struct {
	toy
	wrong func(s, lead *sums)
}

func (m following) NewStatistics(p *rates) *sums {
	s := m.toy.NewStatistics(p)
	s.follow = func(lead *sums) { m.wrong(s, lead) }
	return s
}

// sharing projects in place.
type sharing struct{ toy }

func (m sharing) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	t, q, err := m.toy.Keep(s, p, dims)
	if len(dims) < len(p.Rates) {
		q.Rates = append(p.Rates[:0], q.Rates...)
	}
	return t, q, err
}

// allocating takes new memory for every global step.
type allocating struct{ toy }

func (m allocating) Maximize(s *sums, p, _ *rates) (*rates, error) {
	return m.toy.Maximize(s, p, nil)
}

// misordered gives the relevances in another order than that of its latent dimensions.
type misordered struct{ toy }

func (m misordered) Relevance(s *sums, p *rates) ([]float64, error) {
	values, err := m.toy.Relevance(s, p)
	slices.Reverse(values)
	return values, err
}

// wrongWay drops the dimensions to keep, as many as it should.
type wrongWay struct{ toy }

func (m wrongWay) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	for i, k := range dims {
		if len(dims) < len(p.Rates) {
			dims[i] = (k + 1) % len(p.Rates)
		}
	}
	return m.toy.Keep(s, p, dims)
}

// first keeps the first dimensions, whatever it is asked for.
type first struct{ toy }

func (m first) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	return m.toy.Keep(s, p, upTo(len(dims)))
}

// firstSums keeps the right parameters, with the sums of the first dimensions.
type firstSums struct{ toy }

func (m firstSums) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	t, _, err := m.toy.Keep(s, p, upTo(len(dims)))
	_, q, _ := m.toy.Keep(s, p, dims)
	return t, q, err
}

// drifting moves what it keeps by a little.
type drifting struct{ toy }

func (m drifting) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	t, q, err := m.toy.Keep(s, p, dims)
	if len(dims) < len(p.Rates) {
		q.Rates[0] *= 1.0001
	}
	return t, q, err
}

// sharingAll gives back what it gets where all dimensions are kept.
type sharingAll struct{ toy }

func (m sharingAll) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	if len(dims) == len(p.Rates) {
		return s, p, nil
	}
	return m.toy.Keep(s, p, dims)
}

// sharingSums projects its statistics in place, from the second dimension on.
type sharingSums struct{ toy }

func (m sharingSums) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	t, q, err := m.toy.Keep(s, p, dims)
	if n := len(dims); n < len(s.Nk) && dims[0] == len(s.Nk)-n {
		t.Nk = s.Nk[dims[0]:]
	}
	return t, q, err
}

// restless changes something when there is nothing to drop.
type restless struct{ toy }

func (m restless) Keep(s *sums, p *rates, dims []int) (*sums, *rates, error) {
	t, q, err := m.toy.Keep(s, p, dims)
	if len(dims) == len(p.Rates) {
		q.Rates[0] *= 1.01
	}
	return t, q, err
}

// favouring has a preference for its first component.
type favouring struct{ toy }

func (m favouring) Relevance(s *sums, p *rates) ([]float64, error) {
	values, err := m.toy.Relevance(s, p)
	values[0] += 1e-3 * min(1, s.Nk[0])
	return values, err
}

// wholesale takes the data as they are, and says so in the coordinates that it documents.
type wholesale struct{ toy }

func (m wholesale) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*rates, error) {
	p, err := m.toy.Init(ctx, src, k, rng)
	p.Unit = 1
	return p, err
}

// glitching has a global step that goes wrong once, in a fit by EM.
type glitching struct{ toy }

func (m glitching) Maximize(s *sums, p, dst *rates) (*rates, error) {
	dst, err := m.toy.Maximize(s, p, dst)
	if dst.Steps == 11 && !s.tilted {
		for k := range dst.Rates {
			dst.Rates[k] *= 1.3
		}
	}
	return dst, err
}

// glitchingCount goes wrong once in the curvature, where all of it is asked for or the counts alone.
type glitchingCount struct {
	toy
	countOnly bool
}

func (m glitchingCount) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	factor := 1.0
	if p.Steps == 11 && f.CountOnly() == m.countOnly {
		factor = 1.01
	}
	for k, nk := range s.Nk {
		f.Class(k, nk*factor, s.unit(k, p))
	}
	return nil
}

// halving divides in a way that is wrong.
type halving struct {
	toy
	wrong func(p, q *rates, k int) (*rates, float64)
}

func (m halving) Split(ctx context.Context, src framework.Source[blocks.Rows], s *sums, p *rates, k int, rng *rand.Rand) (*rates, float64, error) {
	q, _, err := m.toy.Split(ctx, src, s, p, k, rng)
	q, gain := m.wrong(p, q, k)
	return q, gain, err
}

// splitters are the mutants that divide.
func splitters() []mutant {
	of := func(name string, wrong func(p, q *rates, k int) (*rates, float64)) mutant {
		return mutant{name: name, check: "split", run: running(right(halving{wrong: wrong}))}
	}
	return []mutant{
		of("dividing nothing", func(p, _ *rates, _ int) (*rates, float64) { return p, 0 }),
		of("dividing into none", func(_, _ *rates, _ int) (*rates, float64) { return nil, 0 }),
		of("dividing into thirds", func(_, q *rates, _ int) (*rates, float64) {
			q.Weights, q.Rates = append(q.Weights, 1e-3), append(q.Rates, q.Rates[0])
			return q, 0
		}),
		of("doubling", func(p, q *rates, k int) (*rates, float64) {
			q.Rates[k], q.Rates[len(p.Rates)] = p.Rates[k], p.Rates[k]
			return q, 0
		}),
		of("dividing in place", func(p, q *rates, k int) (*rates, float64) {
			p.Rates[k] *= 1.01
			return q, 0
		}),
		of("dividing by a number with a unit", func(_, q *rates, k int) (*rates, float64) {
			q.Rates[k] += 0.1
			return q, 0
		}),
		of("promising in units", func(_, q *rates, k int) (*rates, float64) { return q, q.Rates[k] }),
		of("promising NaN", func(_, q *rates, _ int) (*rates, float64) { return q, math.NaN() }),
		{name: "reshaping", check: "split", run: running(right(reshaping{}))},
	}
}

// reshaping has one parameter more after a division.
type reshaping struct{ toy }

func (m reshaping) Split(ctx context.Context, src framework.Source[blocks.Rows], s *sums, p *rates, k int, rng *rand.Rand) (*rates, float64, error) {
	q, gain, err := m.toy.Split(ctx, src, s, p, k, rng)
	q.Steps = -1
	return q, gain, err
}

func (m reshaping) Shape(p *rates) framework.Shape {
	s := m.toy.Shape(p)
	if p.Steps < 0 {
		s.Component++
	}
	return s
}

// rounding loses digits in JSON.
type rounding struct{ toy }

func (m rounding) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (*rates, error) {
	p, err := m.toy.Init(ctx, src, k, rng)
	p.Lossy = true
	return p, err
}

// unexported keeps in an unexported field what its curvature needs.
type unexported struct{ toy }

func (m unexported) Prepare(p *rates, tilt *laplace.Tilt, s *sums) error {
	s.whole = true
	return m.toy.Prepare(p, tilt, s)
}

func (m unexported) Curvature(s *sums, p *rates, f *laplace.Curvature) error {
	factor := 1.0
	if !s.whole {
		factor += 1e-9
	}
	for k, nk := range s.Nk {
		f.Class(k, nk*factor, s.unit(k, p))
	}
	return nil
}

// tiled adds rows to an unexported field, from where the global step takes them.
type tiled struct{ toy }

func (m tiled) Infer(b blocks.Rows, p *rates, s *sums) (float64, error) {
	log := s.Log
	h, err := m.toy.Infer(b, p, s)
	s.late += s.Log - log
	s.Log = log
	return h, err
}

func (m tiled) Maximize(s *sums, p, dst *rates) (*rates, error) {
	s.Log += s.late
	s.late = 0
	return m.toy.Maximize(s, p, dst)
}

// observant knows on which goroutine it runs.
type observant struct{ toy }

func (m observant) Infer(b blocks.Rows, p *rates, s *sums) (float64, error) {
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
	name, check string // more than one check, with commas between them, where one mistake is several
	run         func() []lvmtest.Outcome
	alone       func() []lvmtest.Outcome // those checks, with Model and Data alone; nil where that is not asked
}

// A breed is a right model with all that its case gives, and mutants of it.
type breed struct {
	name    string
	right   func() []lvmtest.Outcome
	mutants []mutant
}

func breeds() []breed {
	return []breed{
		{"mixture", running(right(toy{})), mixtures()},
		{"under a prior", running(penalizedCase(1)), []mutant{{name: "steep", check: "curvature", run: running(penalizedCase(1.01))}}},
		{"under a proper prior", running(right(proper{})), properMutants()},
		{"coupled under a proper prior", running(right(properCoupled{})), []mutant{
			{name: "lowering", check: "update", run: running(right(loweringPrior{}))},
		}},
		{"coupled", running(right(coupled{})), coupledMutants()},
		{"in order", running(right(inOrder{})), []mutant{
			{name: "more than each", check: "responsibilities", run: running(right(mislabelledInOrder{factor: 1.001}))},
			{name: "less than none", check: "responsibilities", run: running(right(mislabelledInOrder{factor: -0.1}))},
		}},
		{"bounded", running(right(bounded{})), []mutant{{name: "improper", check: "likelihood", run: running(right(underestimated{}))}}},
		{"mixing", running(mixing(linear{})), nil},
		{"rotating", running(rotating(linear{})), []mutant{
			{name: "unmixed", check: "rotation", run: running(rotating(unmixed{}))},
			{name: "half rotated", check: "rotation", run: running(rotating(halfRotated{}))},
			{name: "backwards", check: "rotation", run: running(rotating(backwards{}))},
			{name: "in place", check: "rotation", run: running(rotating(inPlace{}))},
			{name: "first moments", check: "rotation", run: running(rotating(firstMoments{}))},
			{name: "in two dimensions", check: "rotation", run: running(inTwo(transposed{}))},
			{name: "fixed axes", check: "identifiability", run: running(rotating(fixedAxes{}))},
		}},
		{"density", running(densityCase(regression{})), []mutant{
			{name: "information twice", check: "density", run: running(densityCase(regression{informs: times(2)}))},
		}},
	}
}

func running[P any, S framework.Statistics[S]](c lvmtest.Case[blocks.Rows, P, S]) func() []lvmtest.Outcome {
	return func() []lvmtest.Outcome { return lvmtest.Run(c) }
}

func mixtures() []mutant {
	of := func(name, check string, m framework.Model[blocks.Rows, *rates, *sums]) mutant {
		return mutant{name, check, running(right(m)), func() []lvmtest.Outcome {
			return lvmtest.RunSome(toyCase{Model: m, Data: right(toy{}).Data, K: []int{2, 3}}, strings.Split(check, ",")...)
		}}
	}
	badSample := right(toy{})
	sample := badSample.Sample
	badSample.Sample = func(p *rates, n int, rng *rand.Rand) (lvmtest.Data[blocks.Rows], error) {
		q := *p
		q.Rates = append([]float64(nil), p.Rates...)
		q.Rates[0] *= 1.5
		return sample(&q, n, rng)
	}
	doubled := right(toy{})
	doubled.Data.Observations = slices.Repeat([]float64{2}, doubled.Data.Rows)
	return append(splitters(), []mutant{
		of("miscounted", "shape", miscounted{}),
		of("charging too many", "charges", charging{wrong: func(l []optional.Charge) { l[0].Parameters, l[1].Parameters = l[0].Parameters+1, l[1].Parameters-1 }}),
		of("charging too much", "charges", charging{wrong: func(l []optional.Charge) { l[1].Parameters++ }}),
		of("charging for what is not free", "charges", charging{wrong: func(l []optional.Charge) { l[1].Free++ }}),
		of("charging nobody", "charges", charging{wrong: func(l []optional.Charge) { l[0].Latent = false }}),
		of("unidentified", "identifiability", unidentified{}),
		of("charging by the largest", "charges", largest{}),
		of("charging by all rows twice", "charges", charging{wrong: func(l []optional.Charge) { l[1].N *= 2 }}),
		of("first", "kept dimensions,projection,split", first{}),
		of("first sums", "kept dimensions,projection", firstSums{}),
		of("drifting", "projection", drifting{}),
		of("sharing all", "memory", sharingAll{}),
		of("sharing sums", "memory", sharingSums{}),
		of("charging by the table", "charges", charging{wrong: func(l []optional.Charge) { l[1].N = 100 }}),
		of("halfway", "global step", halfway{}),
		of("steep", "curvature", steep{}),
		of("unlogged", "counts", unlogged{}),
		of("overcounted", "counts", overcounted{}),
		of("selfish", "counts", selfish{}),
		of("brief", "counts", brief{}),
		of("briefer", "counts", brief{extra: true}),
		of("tempered", "local step", tempered{}),
		of("phased", "tilted local step", phased{}),
		of("overtilted", "q-step", overtilted{}),
		of("improper", "likelihood", improper{}),
		of("unnormalised", "responsibilities", unnormalised{}),
		of("mislabelled", "responsibilities", mislabelled{}),
		of("overexpanding", "expansion", overexpanding{}),
		of("forgetful", "sums", forgetful{}),
		of("sorted", "order", sorted{}),
		of("singular", "blocks", singular{}),
		of("unweighted", "weights", unweighted{}),
		{name: "two observations a row", check: "weights", run: running(doubled)},
		of("constant", "scale", constant{}),
		of("absolute", "extrapolation", absolute{}),
		of("stale", "memory", stale{}),
		of("sticky", "memory", sticky{}),
		of("sticky curvature", "memory", stickyCurvature{}),
		of("sharing", "memory", sharing{}),
		of("following with rows", "memory,processes", following{wrong: func(s, _ *sums) { s.N++ }}),
		of("following without a tilt", "memory,processes", following{wrong: func(s, lead *sums) {
			if lead.tilted {
				s.score[0]++
			}
		}}),
		of("following at a price", "memory,workers,processes", following{wrong: func(_, lead *sums) { lead.score[0] += 1e-3 }}),
		of("allocating", "allocations", allocating{}),
		of("misordered", "relevance", misordered{}),
		of("wrong way", "kept dimensions,projection", wrongWay{}),
		of("restless", "idempotence", restless{}),
		of("favouring", "symmetry", favouring{}),
		of("wholesale", "units", wholesale{}),
		of("glitching", "EM", glitching{}),
		of("glitching under FAB", "FAB", glitchingCount{countOnly: true}),
		of("glitching under gFAB", "gFAB", glitchingCount{}),
		of("rounding", "JSON", rounding{}),
		of("unexported", "checkpoint", unexported{}),
		of("observant", "workers", observant{}),
		of("tiled", "processes", tiled{}),
		{name: "bad sample", check: "sample", run: running(badSample)},
	}...)
}

var _ json.Marshaler = (*rates)(nil)

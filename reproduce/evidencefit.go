package reproduce

import (
	"context"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/sizes"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// What the study of the evidence fits: EM at every K about the truth, scored by the criteria, and the evidence from
// there.

// Criteria of a fit, in the order of its values: those of EM's estimates, then the evidence by what the prior of a full
// covariance is worth.
const (
	evidenceGFIC = iota
	evidenceBIC
	evidenceICL
	evidenceSBIC
	evidenceCollapsed
	evidenceE // that of evidenceWorths[0]
)

var evidenceScores = [evidenceE]string{"gFIC", "BIC", "ICL", "sBIC", "Collapsed"}

// evidenceWorths are numbers of rows that a prior of full covariances is worth in D columns. The second is the
// library's.
var evidenceWorths = []struct {
	name string
	rows func(d float64) float64
}{
	{"1", func(float64) float64 { return 1 }},
	{"√D", math.Sqrt},
	{"(D+1)/2", func(d float64) float64 { return (d + 1) / 2 }},
	{"D", func(d float64) float64 { return d }},
	{"2D", func(d float64) float64 { return 2 * d }},
}

// evidenceDefault is the place of √D rows.
const evidenceDefault = 1

// What fits of mixtures begin with, read and give.
type (
	mixtureStart = framework.Start[blocks.Rows, *mixture.Parameters]
	mixtureRows  = framework.Source[blocks.Rows]
	mixtureFit   = framework.Result[*mixture.Parameters, *mixture.Statistics]
)

// A labelStart begins a fit with the classes that rows are labelled with. Where fixed is given, priors are about it and
// not about the table.
type labelStart struct {
	model  mixture.Model
	labels []int
	fixed  []float64
}

// start makes the parameters of k classes, softened as any start is.
func (l labelStart) start(ctx context.Context, src mixtureRows, k int, _ *rand.Rand) (*mixture.Parameters, error) {
	w, plan, err := family.Pool(ctx, src, l.model.Family)
	if err != nil {
		return nil, err
	}
	p := &mixture.Parameters{K: k, D: plan.Size().Columns, Pooled: w,
		Weights: slices.Repeat([]float64{1 / float64(k)}, k), Components: slices.Repeat(w.Parameters, k)}
	s := l.model.NewStatistics(p)
	if err := l.model.Prepare(p, nil, s); err != nil {
		return nil, err
	}
	for b, err := range src.Blocks(ctx) {
		if err == nil {
			_, err = s.InferGiven(b, &givenLabels{l.labels[b.First:], k})
		}
		if err != nil {
			return nil, err
		}
	}
	s.Classes.Soften(w, s.Nk, slices.Repeat([]float64{1}, src.Rows()))
	s.N = floats.Sum(s.Nk)
	if p, err = l.model.Maximize(s, p, nil); err != nil {
		return nil, err
	}
	return l.about(p), nil
}

// about is p with priors about fixed.
func (l labelStart) about(p *mixture.Parameters) *mixture.Parameters {
	w := *p.Pooled
	if l.fixed != nil {
		w.Parameters, w.Reference = l.fixed, l.fixed
	}
	return &mixture.Parameters{K: p.K, D: p.D, Pooled: &w,
		Weights: slices.Clone(p.Weights), Components: slices.Clone(p.Components)}
}

// givenLabels put rows where they are labelled.
type givenLabels struct {
	labels []int
	k      int
}

// LogProb is that of the labels.
func (g *givenLabels) LogProb(first, n int, r []float64) error {
	const never = -700
	padded := family.Padded(n)
	for i := range r {
		r[i] = never
	}
	for i, k := range g.labels[first : first+n] {
		r[k*padded+i] = 0
	}
	return nil
}

// Assigned does nothing.
func (*givenLabels) Assigned(int, []float64, []float64) {}

// relabelled are k classes near those of the labels, 0 to classes−1: the two whose union adds least to the squares
// within classes are united, or the class with most rows is divided across its longest axis.
func relabelled(x []float64, d int, labels []int, classes, k int) []int {
	labels = slices.Clone(labels)
	for ; classes > k; classes-- {
		a, b := nearestPair(x, d, labels, classes)
		for i, l := range labels {
			switch l {
			case b:
				labels[i] = a
			case classes - 1:
				labels[i] = b
			}
		}
	}
	for ; classes < k; classes++ {
		divide(x, d, labels, classes)
	}
	return labels
}

// meansOf are counts and means of the classes.
func meansOf(x []float64, d int, labels []int, classes int) (counts, means []float64) {
	counts, means = make([]float64, classes), make([]float64, classes*d)
	for i, k := range labels {
		counts[k]++
		floats.Add(means[k*d:(k+1)*d], x[i*d:(i+1)*d])
	}
	for k, n := range counts {
		floats.Scale(1/max(1, n), means[k*d:(k+1)*d])
	}
	return counts, means
}

// nearestPair are the two classes, a < b, that Ward's method unites.
func nearestPair(x []float64, d int, labels []int, classes int) (a, b int) {
	counts, means := meansOf(x, d, labels, classes)
	least := math.Inf(1)
	for j := range classes {
		for i := range j {
			gap := floats.Distance(means[i*d:(i+1)*d], means[j*d:(j+1)*d], 2)
			if cost := gap * gap * counts[i] * counts[j] / (counts[i] + counts[j]); cost < least {
				a, b, least = i, j, cost
			}
		}
	}
	return a, b
}

// divide gives half of the largest class, on one side of its mean along its longest axis, the label classes.
func divide(x []float64, d int, labels []int, classes int) {
	counts, means := meansOf(x, d, labels, classes)
	largest := floats.MaxIdx(counts)
	mean, axis := means[largest*d:(largest+1)*d], make([]float64, d)
	for j := range axis {
		axis[j] = 1 / float64(1+j)
	}
	side := make([]float64, len(labels))
	shift := make([]float64, d)
	for range 30 { // power iterations
		next := make([]float64, d)
		for i, k := range labels {
			if k == largest {
				floats.SubTo(shift, x[i*d:(i+1)*d], mean)
				side[i] = floats.Dot(shift, axis)
				floats.AddScaled(next, side[i], shift)
			}
		}
		norm := floats.Norm(next, 2)
		if norm == 0 {
			break
		}
		floats.ScaleTo(axis, 1/norm, next)
	}
	for i, k := range labels {
		if k == largest && side[i] > 0 {
			labels[i] = classes
		}
	}
}

// evidenceTable is a table with its fits' surroundings.
type evidenceTable struct {
	evidenceSetting
	src    *blocks.Table
	labels []int
}

// fit scores a structure at every K: values by K and criterion, NaN where there is none.
func (t *evidenceTable) fit(ctx context.Context, form string) ([][]float64, error) {
	ks := t.ks()
	values, likelihood := make([][]float64, len(ks)), make([]float64, len(ks))
	var last *mixture.Parameters
	m := mixture.Model{Family: t.family(form)}
	for i, k := range ks {
		values[i] = slices.Repeat([]float64{math.NaN()}, evidenceE+len(evidenceWorths))
		likelihood[i] = math.Inf(-1)
		begin := labelStart{model: m, labels: relabelled(t.src.All().X, t.d, t.labels, t.k, k)}
		em, err := t.em(ctx, begin, k)
		if err != nil {
			return nil, err
		}
		if em != nil {
			last, likelihood[i] = em.Parameters, em.Evaluation.LogLikelihood
			for j, s := range em.Scores[1:] {
				if s.Err == nil {
					values[i][[]int{evidenceGFIC, evidenceBIC, evidenceICL, evidenceCollapsed}[j]] = s.Value
				}
			}
		}
		if err := t.evidences(ctx, begin, em, form, k, values[i][evidenceE:]); err != nil {
			return nil, err
		}
	}
	if last == nil {
		return values, nil
	}
	sbic := sizes.SingularBIC(likelihood, float64(t.n), func(i, j int) float64 {
		p := *last
		p.K = ks[i]
		return m.LearningCoefficient(&p, ks[j])
	})
	for i, v := range sbic {
		values[i][evidenceSBIC] = v
	}
	return values, nil
}

// newEvidenceTable draws the table of a setting.
func newEvidenceTable(s evidenceSetting) (*evidenceTable, error) {
	rng := rand.New(rand.NewPCG(uint64(s.index), 0x7ab1e))
	src, labels, err := s.newTruth(rng).table(rng)
	return &evidenceTable{s, src, labels}, err
}

// evidenceTolerance ends fits, in nats a row.
const evidenceTolerance = 1e-5

// em is the likelier of two fits, one of which begins at the labels; those with a singular class are none.
func (t *evidenceTable) em(ctx context.Context, begin labelStart, k int) (best *mixtureFit, err error) {
	o := framework.Options{K: k, Method: framework.EM, Seed: uint64(t.index), Workers: 1,
		Tolerance: evidenceTolerance, MaxIterations: 300,
		Also: []framework.Criterion{framework.GFIC, framework.BIC, framework.ICL, framework.Collapsed}}
	for i, start := range []mixtureStart{begin.start, begin.model.Init} {
		if i == 1 && k == 1 {
			break
		}
		fit, err := framework.FitFrom(ctx, begin.model, t.src, start, o)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if err == nil && (best == nil || fit.Value > best.Value) && !t.singular(begin.model, fit.Parameters) {
			best = fit
		}
	}
	return best, nil
}

// singular says whether a Gaussian class is flat: the likelihood is unbounded there, and its criteria mean nothing. The
// variances of the truth are 0.05 and more.
func (t *evidenceTable) singular(m mixture.Model, p *mixture.Parameters) bool {
	const least = 1e-4
	if t.columns != "gaussian" {
		return false
	}
	classes, err := m.Distribution(p, nil)
	if err != nil {
		return true
	}
	for k := range p.K {
		_, cov, err := classes.Moments(k)
		if err != nil {
			return true
		}
		for j := range t.d {
			cov.SetSym(j, j, cov.At(j, j)-least)
		}
		if !new(mat.Cholesky).Factorize(cov) {
			return true
		}
	}
	return false
}

// evidences climbs the evidence from EM's estimates and from the labels, and from there under each prior.
func (t *evidenceTable) evidences(ctx context.Context, begin labelStart, em *mixtureFit, form string, k int,
	values []float64) error {
	o := framework.Options{K: k, FixedK: true, Criterion: framework.Evidence, NoMoves: true, Restarts: 1, Workers: 1,
		Tolerance: evidenceTolerance, MaxIterations: 100}
	if em != nil {
		o.Restarts = min(2, k)
	}
	from := func(ctx context.Context, src mixtureRows, k int, rng *rand.Rand) (*mixture.Parameters, error) {
		if framework.StartOf(ctx) == 0 && em != nil {
			return begin.about(em.Parameters), nil
		}
		return begin.start(ctx, src, k, rng)
	}
	fit, err := framework.FitFrom(ctx, begin.model, t.src, from, o)
	if err != nil {
		return ctx.Err() // a table that the structure cannot hold has no value
	}
	for i := range values {
		values[i] = fit.Value
	}
	if t.columns != "gaussian" || form[2] == 'I' {
		return nil
	}
	o.MaxIterations, o.Restarts = 10, 1
	for i, worth := range evidenceWorths {
		if i == evidenceDefault {
			continue
		}
		begin.model.Prior = prior.UnitInformation{Covariance: worth.rows(float64(t.d))}
		there := func(context.Context, mixtureRows, int, *rand.Rand) (*mixture.Parameters, error) {
			return begin.about(fit.Parameters), nil
		}
		other, err := framework.FitFrom(ctx, begin.model, t.src, there, o)
		switch {
		case err == nil:
			values[i] = other.Value
		case ctx.Err() != nil:
			return ctx.Err()
		default:
			values[i] = math.NaN()
		}
	}
	return nil
}

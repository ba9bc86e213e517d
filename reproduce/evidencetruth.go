package reproduce

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
)

// The tables of the study of the evidence: the setting of table i is drawn at random by i alone, so that the first
// tables of a long study are those of a short one.

// An evidenceSetting is what a table is drawn by.
type evidenceSetting struct {
	index   int
	columns string // gaussian, bernoulli, categorical or poisson
	form    string // the structure of Gaussian classes, by mclust's name
	levels  int    // of categorical columns
	variant string // base, outliers, heavy, skewed or noise
	n, d, k int
	overlap float64 // the chance that the best rule assigns a row to another class than its own, where it can be had
}

// evidenceForms are the structures, and which of them compete where a few do.
var (
	evidenceForms, evidenceCovariances = normal.Structures()
	evidenceFew                        = []string{"EII", "EEI", "VVI", "EEE", "VVV"}
)

// pick draws one of a list.
func pick[T any](rng *rand.Rand, list ...T) T { return list[rng.IntN(len(list))] }

// drawSetting draws the setting of table i.
func drawSetting(i int) evidenceSetting {
	rng := rand.New(rand.NewPCG(uint64(i), 0x5e77))
	s := evidenceSetting{
		index: i, columns: pick(rng, "gaussian", "gaussian", "gaussian", "bernoulli", "categorical", "poisson"),
	}
	for {
		s.n = int(math.Exp(math.Log(30) + rng.Float64()*math.Log(100)))
		s.k = pick(rng, 1, 2, 2, 3, 3, 4, 5, 8)
		switch s.columns {
		case "gaussian":
			s.d = pick(rng, 1, 2, 2, 3, 3, 4, 4, 5, 5, 6, 6, 8, 8, 10, 10, 15, 20, pick(rng, 20, 32, 64))
			s.variant = pick(rng, "base", "base", "base", "outliers", "heavy", "skewed", "noise")
			s.form = pick(rng, s.narrow()...)
		case "poisson":
			s.d = pick(rng, 1, 2, 3, 5, 10, 20, 40)
			s.variant = pick(rng, "base", "base", "base", "outliers", "heavy", "noise")
		default:
			s.d, s.levels = pick(rng, 5, 8, 12, 20, 40, 64), 2
			s.variant = pick(rng, "base", "base", "base", "outliers", "noise")
			if s.columns == "categorical" {
				s.d, s.levels = pick(rng, 4, 6, 10, 20, 32), pick(rng, 3, 4, 5)
			}
		}
		if s.d == 1 && s.form != "" {
			s.form = pick(rng, "EII", "VII") // the others are one of the two
		}
		rows, numbers := 10*s.k, 12_000
		if s.columns == "gaussian" {
			rows = max(rows, 3*s.d/2+10)
		}
		// A class has 10 rows on average, full covariances exist, and no table takes minutes.
		if s.n >= rows && s.n*s.d <= numbers && (s.variant != "noise" || s.d > 1) {
			break
		}
	}
	s.overlap = math.Exp(math.Log(0.001) + rng.Float64()*math.Log(100))
	return s
}

// wideSetting draws the setting of table i of those where priors of covariances matter most: Gaussian classes in eight
// columns and more, at most ten rows a column, and nothing besides.
func wideSetting(i int) evidenceSetting {
	for at := (i + 1) << 20; ; at++ {
		if s := drawSetting(at); s.columns == "gaussian" && s.variant == "base" && s.d >= 8 && s.n <= 10*s.d {
			return s
		}
	}
}

// An evidenceTruth is a mixture; classes move apart with the separation.
type evidenceTruth struct {
	evidenceSetting
	weights []float64
	apart   []float64 // k×places: what a class's profile has of the separation, standard normal, 0 in columns of noise
	base    []float64 // places: logits of levels or log rates that the classes have in common
	axes    []*mat.Dense
	scales  [][]float64 // of a class's axes, standard deviations

	separation float64
}

// newTruth draws the mixture of a setting.
func (s evidenceSetting) newTruth(rng *rand.Rand) *evidenceTruth {
	t := &evidenceTruth{evidenceSetting: s}
	places := s.d * max(1, s.levels)
	noise := 0
	if s.variant == "noise" {
		noise = (s.d + 1) / 2
	}
	for range places {
		switch s.columns {
		case "poisson":
			t.base = append(t.base, math.Log(2)+rng.Float64()*math.Log(5))
		case "gaussian":
			t.base = append(t.base, 0)
		default:
			t.base = append(t.base, rng.NormFloat64()/2)
		}
	}
	for range s.k {
		t.weights = append(t.weights, 1+2*rng.Float64())
		for j := range places {
			z := rng.NormFloat64()
			if j*s.d/places < noise {
				z = 0
			}
			t.apart = append(t.apart, z)
		}
	}
	floats.Scale(1/floats.Sum(t.weights), t.weights)
	if s.columns == "gaussian" {
		t.drawCovariances(rng)
	}
	t.separate(rng.Uint64())
	return t
}

// drawAxes draws an orthogonal matrix of D columns.
func drawAxes(d int, rng *rand.Rand) *mat.Dense {
	g, qr, q := mat.NewDense(d, d, nil), new(mat.QR), new(mat.Dense)
	for i := range g.RawMatrix().Data {
		g.RawMatrix().Data[i] = rng.NormFloat64()
	}
	qr.Factorize(g)
	qr.QTo(q)
	return q
}

// drawCovariances draws λ_k D_k A_k D_kᵀ of the classes, parts that the structure has equal once.
func (t *evidenceTruth) drawCovariances(rng *rand.Rand) {
	volume := func() float64 { return 1.6*rng.Float64() - 0.8 }
	shape := func() []float64 {
		a := make([]float64, t.d)
		for j := range a {
			a[j] = 3*rng.Float64() - 1.5
		}
		floats.AddConst(-floats.Sum(a)/float64(t.d), a)
		return a
	}
	v, a, q := volume(), shape(), drawAxes(t.d, rng)
	for k := range t.k {
		if t.form[0] == 'V' && k > 0 {
			v = volume()
		}
		if t.form[1] == 'V' && k > 0 {
			a = shape()
		}
		if t.form[2] == 'V' && k > 0 {
			q = drawAxes(t.d, rng)
		}
		scales, axes := make([]float64, t.d), q
		for j := range scales {
			scales[j] = math.Exp(v / 2)
			if t.form[1] != 'I' {
				scales[j] *= math.Exp(a[j] / 2)
			}
		}
		if t.form[2] == 'I' {
			axes = nil
		}
		t.axes, t.scales = append(t.axes, axes), append(t.scales, scales)
	}
}

// separate finds the separation at which the best rule errs as often as the setting says, from a sample of rows.
func (t *evidenceTruth) separate(seed uint64) {
	low, high := -4.0, 4.0 // of its logarithm
	for range 12 {
		middle := (low + high) / 2
		t.separation = math.Exp(middle)
		if t.errs(rand.New(rand.NewPCG(seed, 1))) > t.overlap {
			low = middle
		} else {
			high = middle
		}
	}
}

// errs is how often the best rule errs, the mean of 1 − the largest responsibility.
func (t *evidenceTruth) errs(rng *rand.Rand) (sum float64) {
	const rows = 400
	x, log := make([]float64, t.d), make([]float64, t.k)
	for range rows {
		t.draw(categorical.Draw(t.weights, rng), "base", rng, x)
		for k, w := range t.weights {
			log[k] = math.Log(w) + t.logProb(k, x)
		}
		sum += 1 - math.Exp(floats.Max(log)-floats.LogSumExp(log))
	}
	return sum / rows
}

// profile is place j of class k.
func (t *evidenceTruth) profile(k, j int) float64 {
	places := len(t.base)
	return t.base[j] + t.separation*t.apart[k*places+j]
}

// logProb is ln p(x|k) without outliers, tails and skewness, up to what the classes have in common.
func (t *evidenceTruth) logProb(k int, x []float64) (sum float64) {
	switch t.columns {
	case "gaussian":
		shift := make([]float64, t.d)
		for j, v := range x {
			shift[j] = v - t.profile(k, j)
		}
		for j, z := range t.project(k, shift) {
			z /= t.scales[k][j]
			sum -= z*z/2 + math.Log(t.scales[k][j])
		}
	case "poisson":
		for j, v := range x {
			sum += v*t.profile(k, j) - math.Exp(t.profile(k, j))
		}
	default:
		for j, v := range x {
			p := t.levelsOf(k, j)
			sum += p[int(v)] - floats.LogSumExp(p)
		}
	}
	return sum
}

// project is a vector in the axes of class k.
func (t *evidenceTruth) project(k int, x []float64) []float64 {
	if t.axes[k] == nil {
		return x
	}
	out := make([]float64, t.d)
	mat.NewVecDense(t.d, out).MulVec(t.axes[k].T(), mat.NewVecDense(t.d, x))
	return out
}

// levelsOf are the logits of column j.
func (t *evidenceTruth) levelsOf(k, j int) []float64 {
	p := make([]float64, t.levels)
	for l := range p {
		p[l] = t.profile(k, j*t.levels+l)
	}
	return p
}

// draw draws a row of class k. Heavy tails are t(4) of Gaussian columns and a rate with a gamma(3) factor of counts;
// skewed classes are gamma(2) along each axis.
func (t *evidenceTruth) draw(k int, variant string, rng *rand.Rand, x []float64) {
	switch t.columns {
	case "gaussian":
		tail := 1.0
		if variant == "heavy" {
			tail = math.Sqrt(4 / (gammaOf(2, rng) * 2))
		}
		z := make([]float64, t.d)
		for j := range z {
			z[j] = rng.NormFloat64()
			if variant == "skewed" {
				z[j] = (gammaOf(2, rng) - 2) / math.Sqrt2
			}
			z[j] *= tail * t.scales[k][j]
		}
		if t.axes[k] != nil {
			out := make([]float64, t.d)
			mat.NewVecDense(t.d, out).MulVec(t.axes[k], mat.NewVecDense(t.d, z))
			z = out
		}
		for j := range x {
			x[j] = t.profile(k, j) + z[j]
		}
	case "poisson":
		factor := 1.0
		if variant == "heavy" {
			factor = gammaOf(3, rng) / 3
		}
		for j := range x {
			x[j] = poisson(factor*math.Exp(t.profile(k, j)), rng)
		}
	default:
		for j := range x {
			p := t.levelsOf(k, j)
			floats.AddConst(-floats.Max(p), p)
			for l, v := range p {
				p[l] = math.Exp(v)
			}
			x[j] = float64(categorical.Draw(p, rng))
		}
	}
}

// gammaOf draws from the gamma distribution of a whole shape.
func gammaOf(shape int, rng *rand.Rand) (sum float64) {
	for range shape {
		sum += rng.ExpFloat64()
	}
	return sum
}

// table draws the rows, with their classes. Every class has three rows at least; one row of fifty is an outlier where
// there are some.
func (t *evidenceTruth) table(rng *rand.Rand) (*blocks.Table, []int, error) {
	x, labels := make([]float64, t.n*t.d), make([]int, t.n)
	for i := range labels {
		if labels[i] = categorical.Draw(t.weights, rng); i < 3*t.k {
			labels[i] = i % t.k
		}
		t.draw(labels[i], t.variant, rng, x[i*t.d:(i+1)*t.d])
	}
	if t.variant == "outliers" {
		t.spoil(x, rng)
	}
	table, err := blocks.FromSlice(x, t.n, t.d)
	return table, labels, err
}

// spoil makes one row of fifty, the last ones, uniform over three times the range of each column, or over its levels.
func (t *evidenceTruth) spoil(x []float64, rng *rand.Rand) {
	column := make([]float64, t.n)
	for j := range t.d {
		for i := range column {
			column[i] = x[i*t.d+j]
		}
		low, high := slices.Min(column), slices.Max(column)
		for i := t.n - max(1, t.n/50); i < t.n; i++ {
			switch v := &x[i*t.d+j]; t.columns {
			case "gaussian":
				*v = low + (3*rng.Float64()-1)*(high-low)
			case "poisson":
				*v = math.Floor(3 * rng.Float64() * (high + 1))
			default:
				*v = float64(rng.IntN(t.levels))
			}
		}
	}
}

// family is that of the columns; Gaussian classes have the structure of a name.
func (s evidenceSetting) family(form string) family.Family {
	switch s.columns {
	case "gaussian":
		return normal.Family{Covariance: evidenceCovariances[slices.Index(evidenceForms, form)]}
	case "poisson":
		return family.Poisson{}
	case "bernoulli":
		return family.Bernoulli{}
	}
	return family.Categorical{Levels: s.levels}
}

// forms are the structures that are fitted: all where columns are at most ten and rows few, else a few and the true
// one; "" of other families.
func (s evidenceSetting) forms() []string {
	switch {
	case s.columns != "gaussian":
		return []string{""}
	case s.d == 1:
		return []string{"EII", "VII"}
	case s.all():
		return s.narrow()
	case slices.Contains(evidenceFew, s.form):
		return evidenceFew
	}
	return append(slices.Clone(evidenceFew), s.form)
}

// narrow are the structures without EVE and VVE beyond five columns, where estimates of theirs near singular ones take
// a minute.
func (s evidenceSetting) narrow() []string {
	if s.d <= 5 {
		return evidenceForms
	}
	return slices.DeleteFunc(slices.Clone(evidenceForms), func(form string) bool { return form[1:] == "VE" })
}

// ks are the numbers of classes that are tried.
func (s evidenceSetting) ks() (ks []int) {
	for k := max(1, s.k-2); k <= min(s.k+2, s.n/3); k++ {
		ks = append(ks, k)
	}
	return ks
}

// all says that all structures are fitted.
func (s evidenceSetting) all() bool {
	return s.columns == "gaussian" && s.d > 1 && s.d <= 10 && s.n*s.k <= 2000
}

func (s evidenceSetting) String() string {
	return fmt.Sprintf("%d: %s %s %s N = %d, D = %d, K = %d, overlap %.3f", s.index, s.columns, s.form, s.variant,
		s.n, s.d, s.k, s.overlap)
}

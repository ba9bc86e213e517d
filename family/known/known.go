// Package known has rows whose classes are known in part: a [Family] for any model of classes, and the [Labels] of the
// classes that a model asks for.
package known

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Family describes rows whose classes are known in part (semi-supervised classification; Scrucca, Fraley, Murphy &
// Raftery 2023, section 4.7): the last column has a code for what is known of the class of a row, from 0, and NaN for
// rows that may be in any class. Family describes the other columns.
//
// The code of a row is part of what the model explains, with p(code|z) = 1 if the class z is one of those that the code
// names, and 0 otherwise. So q(z) is 0 outside of them, likelihoods and criteria are those of ln p(X, known|K), and all
// models of classes have known rows by this family: mixtures, gates and chains. The label of a class is one of its
// numbers ξ, [family.Free] for classes that no label belongs to, and moves with the class wherever the class goes. It
// is no parameter that a criterion charges for. See docs/theory/mixtures.md, section 12.
type Family struct {
	Family family.Family
	// Sets lists the labels, from 0, that each code names. A label must be the only one of a code. Several labels say that
	// the row is in a class of one of them.
	Sets [][]int

	part bool // of a table, whose rows need not have all labels
}

// OfPart is the family for a fit to a part of a table: known rows need not have all labels there, and K may be less
// than the labels of the table. Classes begin in the order of the labels that there are.
func (f Family) OfPart() Family {
	f.part = true
	return f
}

// Labelled returns a family with one code for each of so many labels.
func Labelled(f family.Family, labels int) Family {
	k := Family{Family: f}
	for l := range labels {
		k.Sets = append(k.Sets, []int{l})
	}
	return k
}

const (
	// anyLabel is that of the table as one class.
	anyLabel = -2
	// impossible stands for ln 0 where sums of 0 times it must be 0.
	impossible = -1e30
)

// Inner is the family of the other columns; f itself if it is no Family.
func Inner(f family.Family) family.Family {
	if of, is := f.(Family); is {
		return of.Family
	}
	return f
}

// Labels is the number of labels.
func (f Family) Labels() (n int) {
	for _, set := range f.Sets {
		for _, label := range set {
			n = max(n, label+1)
		}
	}
	return n
}

// Name is that of the family of the other columns.
func (f Family) Name() string { return family.Of{Family: f.Family}.Name() }

// Columns is 0: the family takes all columns.
func (Family) Columns() int { return 0 }

// Creeps is that of the family.
func (f Family) Creeps() bool { return family.Creeps(f.Family) }

// Repeats is that of the family.
func (f Family) Repeats() bool { return family.Repeats(f.Family) }

// WithFloor changes the floor of the family.
func (f Family) WithFloor(floor float64) family.Family {
	f.Family = family.WithFloor(f.Family, floor)
	return f
}

// On lays the family out on all columns but the last.
func (f Family) On(columns int) ([]family.Factor, error) {
	if columns < 2 {
		return nil, errors.New("family: known classes need a column of codes behind those of the family")
	}
	list, err := family.Of{Family: f.Family, Width: columns - 1}.On(columns - 1)
	if err != nil {
		return nil, err
	}
	k := &factor{labels: f.Labels(), alone: slices.Repeat([]int{family.Free}, len(f.Sets)), part: f.part}
	for code, set := range f.Sets {
		for _, label := range set {
			if label < 0 {
				return nil, fmt.Errorf("family: code %d names label %d; labels are numbers from 0", code, label)
			}
		}
		if len(set) == 1 {
			k.alone[code] = set[0]
		}
	}
	for label := range k.labels {
		if !slices.Contains(k.alone, label) {
			return nil, fmt.Errorf("family: label %d is the only one of no code: nothing tells its class from others", label)
		}
	}
	for _, set := range f.Sets {
		may := make([]bool, k.labels)
		for _, label := range set {
			may[label] = true
		}
		k.may = append(k.may, may)
	}
	return append(list, k), nil
}

// factor is that of the codes. A class has
//
//	sums    for each label, the weight of its rows that are known to have it
//	score   its label
//	params  its label
//	hyper   its sums
type factor struct {
	labels int
	may    [][]bool // of each code, the labels that it names
	alone  []int    // of each code, its only label, or family.Free
	part   bool     // see OfPart
}

func (*factor) Name() string { return "known" }

func (f *factor) Layout() family.Layout {
	return family.Layout{Columns: 1, Sums: f.labels, Score: 1, Params: 1, Hyper: f.labels}
}

// Observe checks the codes.
func (f *factor) Observe(b blocks.Rows, at, first, n int, o *family.Observed) error {
	if err := o.Numbers(b, at, first, n, 1); err != nil {
		return err
	}
	for i, v := range o.X[:n] {
		if v == v && (v != math.Trunc(v) || v < 0 || v >= float64(len(f.may))) {
			return &blocks.DataError{Row: b.First + first + i, Column: at, Value: v,
				Reason: fmt.Errorf("must be a code of known classes, from 0 to %d, or missing", len(f.may)-1)}
		}
	}
	return nil
}

// Labels is their number.
func (f *factor) Labels() (n int, all bool) { return f.labels, !f.part }

// Label is the only label of a code.
func (f *factor) Label(code float64) int { return f.alone[int(code)] }

// Allows says whether a code names the label.
func (f *factor) Allows(code float64, label int) bool { return label >= 0 && f.may[int(code)][label] }

// allows says whether a row with a code, NaN for none, may be in a class with a label.
func (f *factor) allows(code, label float64) bool {
	return code != code || label == anyLabel || f.Allows(code, int(label))
}

// AddScores leaves the classes alone that a row may be in. A row that may be in no class has no density.
func (f *factor) AddScores(o *family.Observed, scores family.Table, r []float64) {
	n := o.Padded()
	for i, code := range o.X[:o.N] {
		if code != code {
			continue
		}
		least := math.Inf(-1)
		for k := range scores.K {
			if f.allows(code, scores.Row(k, 1)[0]) {
				least = impossible
			}
		}
		for k := range scores.K {
			if !f.allows(code, scores.Row(k, 1)[0]) {
				r[k*n+i] += least
			}
		}
	}
}

// Explain says that no class has the label of a row.
func (f *factor) Explain(o *family.Observed, i int, scores family.Table) error {
	for k := range scores.K {
		if f.allows(o.X[i], scores.Row(k, 1)[0]) {
			return nil
		}
	}
	return blocks.FaultyRow(o.Place(i), "is in a known class that none of the %d classes has", scores.K)
}

// AddSums adds the rows of one known label.
func (f *factor) AddSums(o *family.Observed, r []float64, _, _, sums family.Table) (entropy float64) {
	n := o.Padded()
	for k := range sums.K {
		to := sums.Row(k, f.labels)
		for i, code := range o.X[:o.N] {
			if code == code && f.alone[int(code)] >= 0 {
				to[f.alone[int(code)]] += r[k*n+i]
			}
		}
	}
	return 0
}

// AddPooled adds nothing: the table as one class says nothing of labels.
func (*factor) AddPooled(float64, *family.Pooled, []float64, []float64) {}

func (*factor) Score(xi, score []float64) error {
	score[0] = xi[0]
	return nil
}

// label is that of a class of these sums.
func (f *factor) label(sums []float64) float64 {
	best := family.Free
	for label, n := range sums {
		if n > 0 && (best == family.Free || n > sums[best]) {
			best = label
		}
	}
	return float64(best)
}

// Estimate takes the label of the class's known rows.
func (f *factor) Estimate(sums, _ []float64, pooled *family.Pooled, xi []float64) error {
	if xi[0] = anyLabel; pooled != nil {
		xi[0] = f.label(sums)
	}
	return nil
}

// Total is ln 1.
func (*factor) Total([]float64, []float64, []float64) float64 { return 0 }

func (*factor) Information(_ []float64, _ *family.Pooled, dst []laplace.Block) []laplace.Block {
	return dst
}

// Features has none: rows of a label need not be close.
func (*factor) Features(*family.Observed, []float64, int, int) {}

// Valid reports whether the label is one.
func (f *factor) Valid(xi []float64) bool {
	return xi[0] == math.Trunc(xi[0]) && xi[0] >= anyLabel && xi[0] < float64(f.labels)
}

// Numbers is the label.
func (*factor) Numbers() []family.Number { return []family.Number{{Name: "label"}} }

// Contrast is 0.
func (*factor) Contrast(_, _, dst []float64) { dst[0] = 0 }

// Deviations are 0.
func (*factor) Deviations(_, _ []float64, _ float64, dst []float64) { dst[0] = 0 }

// Sample draws the code of the class's label alone; NaN of a free class.
func (f *factor) Sample(xi []float64, _ *rand.Rand, x []float64) {
	if x[0] = math.NaN(); xi[0] >= 0 {
		x[0] = float64(slices.Index(f.alone, int(xi[0])))
	}
}

// MaximizePosterior is Estimate.
func (f *factor) MaximizePosterior(sums, _, params family.Table, _ *family.Reference) error {
	for k := range sums.K {
		params.Row(k, 1)[0] = f.label(sums.Row(k, f.labels))
	}
	return nil
}

// Integrals has no parameter to integrate over.
func (*factor) Integrals(_, _, _ family.Table, _ *family.Reference, _ func(class, cell int, t laplace.Term)) error {
	return nil
}

// Conjugate has no parameter either.
func (f *factor) Conjugate(prior.Prior, *family.Pooled) (family.FactorPrior, error) { return f, nil }

// Units are none.
func (*factor) Units(*family.Pooled) family.Units { return family.Units{} }

func (*factor) Prior(h []float64) { clear(h) }

// Update takes the sums.
func (*factor) Update(sums, _, h []float64) { copy(h, sums) }

// Expected is the label.
func (f *factor) Expected(h, score []float64) error {
	score[0] = f.label(h)
	return nil
}

func (*factor) Divergence(_, _ []float64) float64 { return 0 }

// Mode is the label.
func (f *factor) Mode(h, xi []float64) error {
	xi[0] = f.label(h)
	return nil
}

// Mean is the label.
func (f *factor) Mean(h, xi []float64) { xi[0] = f.label(h) }

func (*factor) LogProb([]float64) float64 { return 0 }

// Rand is the label.
func (f *factor) Rand(h []float64, _ *rand.Rand, xi []float64) { xi[0] = f.label(h) }

// LogEvidence is ln 1.
func (*factor) LogEvidence([]float64) float64 { return 0 }

// AddPredictive is AddScores.
func (f *factor) AddPredictive(o *family.Observed, _, scores family.Table, _, r []float64) {
	f.AddScores(o, scores, r)
}

// AddSpread adds nothing.
func (*factor) AddSpread(*family.Observed, family.Table, family.Table, []float64, []float64) {}

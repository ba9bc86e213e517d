package family

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// Known is a family of rows whose classes are known in part (semi-supervised classification; Scrucca, Fraley, Murphy &
// Raftery 2023, section 4.7): the last column has a code for what is known of the class of a row, from 0, and NaN for
// rows that may be in any class. Family describes the other columns.
//
// The code of a row is part of what the model explains, with p(code|z) = 1 if the class z is one of those that the code
// names, and 0 otherwise. So q(z) is 0 outside of them, likelihoods and criteria are those of ln p(X, known|K), and all
// models of classes have known rows by this family: mixtures, gates and chains. The label of a class is one of its
// numbers ξ, [Free] for classes that no label belongs to, and moves with the class wherever the class goes. It is no
// parameter that a criterion charges for. See docs/theory/mixtures.md, section 12.
type Known struct {
	Family Family
	// Sets lists the labels, from 0, that each code names. A label must be the only one of a code. Several labels say that
	// the row is in a class of one of them.
	Sets [][]int

	part bool // of a table, whose rows need not have all labels
}

// OfPart is the family for a fit to a part of a table: known rows need not have all labels there, and K may be less
// than the labels of the table. Classes begin in the order of the labels that there are.
func (f Known) OfPart() Known {
	f.part = true
	return f
}

// Labelled returns a Known with one code for each of so many labels.
func Labelled(f Family, labels int) Known {
	k := Known{Family: f}
	for l := range labels {
		k.Sets = append(k.Sets, []int{l})
	}
	return k
}

const (
	// Free is the label of a class that no known row is in.
	Free = -1
	// anyLabel is that of the table as one class.
	anyLabel = -2
	// impossible stands for ln 0 where sums of 0 times it must be 0.
	impossible = -1e30
)

// Labels is the number of labels.
func (f Known) Labels() (n int) {
	for _, set := range f.Sets {
		for _, label := range set {
			n = max(n, label+1)
		}
	}
	return n
}

// Name is that of the family of the other columns.
func (f Known) Name() string { return nameOf(f.Family) }

// Columns is 0: the family takes all columns.
func (Known) Columns() int { return 0 }

// Creeps is that of the family.
func (f Known) Creeps() bool { return Creeps(f.Family) }

// Repeats is that of the family.
func (f Known) Repeats() bool { return Repeats(f.Family) }

// WithFloor changes the floor of the family.
func (f Known) WithFloor(floor float64) Family {
	f.Family = WithFloor(f.Family, floor)
	return f
}

// On lays the family out on all columns but the last.
func (f Known) On(columns int) ([]Factor, error) {
	if f.Family == nil {
		return nil, errNoFamily
	}
	if columns < 2 {
		return nil, errors.New("family: known classes need a column of codes behind those of the family")
	}
	list, err := layOut(f.Family, columns-1)
	if err != nil {
		return nil, err
	}
	k := known{labels: f.Labels(), alone: slices.Repeat([]int{Free}, len(f.Sets)), part: f.part}
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

// known is the factor of the codes. A class has
//
//	sums    for each label, the weight of its rows that are known to have it
//	score   its label
//	params  its label
//	hyper   its sums
type known struct {
	labels int
	may    [][]bool // of each code, the labels that it names
	alone  []int    // of each code, its only label, or Free
	part   bool     // see OfPart
}

func (known) Name() string { return "known" }

func (f known) Layout() Layout {
	return Layout{Columns: 1, Sums: f.labels, Score: 1, Params: 1, Hyper: f.labels}
}

// Observe checks the codes.
func (f known) Observe(b blocks.Rows, at, first, n int, o *Observed) error {
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

// allows says whether a row with a code, NaN for none, may be in a class with a label.
func (f known) allows(code, label float64) bool {
	return code != code || label == anyLabel || label >= 0 && f.may[int(code)][int(label)]
}

// AddScores leaves the classes alone that a row may be in. A row that may be in no class has no density.
func (f known) AddScores(o *Observed, scores Table, r []float64) {
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
func (f known) Explain(o *Observed, i int, scores Table) error {
	for k := range scores.K {
		if f.allows(o.X[i], scores.Row(k, 1)[0]) {
			return nil
		}
	}
	return blocks.FaultyRow(o.Place(i), "is in a known class that none of the %d classes has", scores.K)
}

// AddSums adds the rows of one known label.
func (f known) AddSums(o *Observed, r []float64, _, _, sums Table) (entropy float64) {
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
func (known) AddPooled(float64, *Pooled, []float64, []float64) {}

func (known) Score(xi, score []float64) error {
	score[0] = xi[0]
	return nil
}

// label is that of a class of these sums.
func (f known) label(sums []float64) float64 {
	best := Free
	for label, n := range sums {
		if n > 0 && (best == Free || n > sums[best]) {
			best = label
		}
	}
	return float64(best)
}

// Estimate takes the label of the class's known rows.
func (f known) Estimate(sums, _ []float64, pooled *Pooled, xi []float64) error {
	if xi[0] = anyLabel; pooled != nil {
		xi[0] = f.label(sums)
	}
	return nil
}

// Total is ln 1.
func (known) Total([]float64, []float64, []float64) float64 { return 0 }

func (known) Information(_ []float64, _ *Pooled, dst []laplace.Block) []laplace.Block { return dst }

// Features has none: rows of a label need not be close.
func (known) Features(*Observed, []float64, int, int) {}

// Valid reports whether the label is one.
func (f known) Valid(xi []float64) bool {
	return xi[0] == math.Trunc(xi[0]) && xi[0] >= anyLabel && xi[0] < float64(f.labels)
}

// Numbers is the label.
func (known) Numbers() []Number { return []Number{{Name: "label"}} }

// Contrast is 0.
func (known) Contrast(_, _, dst []float64) { dst[0] = 0 }

// Deviations are 0.
func (known) Deviations(_, _ []float64, _ float64, dst []float64) { dst[0] = 0 }

// Sample draws the code of the class's label alone; NaN of a free class.
func (f known) Sample(xi []float64, _ *rand.Rand, x []float64) {
	if x[0] = nan; xi[0] >= 0 {
		x[0] = float64(slices.Index(f.alone, int(xi[0])))
	}
}

// MaximizePosterior is Estimate.
func (f known) MaximizePosterior(sums, _, params Table, _ *Reference) error {
	for k := range sums.K {
		params.Row(k, 1)[0] = f.label(sums.Row(k, f.labels))
	}
	return nil
}

// Integrals has no parameter to integrate over.
func (known) Integrals(_, _, _ Table, _ *Reference, _ func(class, cell int, t laplace.Term)) error {
	return nil
}

// Conjugate has no parameter either.
func (f known) Conjugate(prior.Prior, *Pooled) (FactorPrior, error) { return f, nil }

// Units are none.
func (known) Units(*Pooled) Units { return Units{} }

func (known) Prior(h []float64) { clear(h) }

// Update takes the sums.
func (known) Update(sums, _, h []float64) { copy(h, sums) }

// Expected is the label.
func (f known) Expected(h, score []float64) error {
	score[0] = f.label(h)
	return nil
}

func (known) Divergence(_, _ []float64) float64 { return 0 }

// Mode is the label.
func (f known) Mode(h, xi []float64) error {
	xi[0] = f.label(h)
	return nil
}

// Mean is the label.
func (f known) Mean(h, xi []float64) { xi[0] = f.label(h) }

func (known) LogProb([]float64) float64 { return 0 }

// Rand is the label.
func (f known) Rand(h []float64, _ *rand.Rand, xi []float64) { xi[0] = f.label(h) }

// LogEvidence is ln 1.
func (known) LogEvidence([]float64) float64 { return 0 }

// AddPredictive is AddScores.
func (f known) AddPredictive(o *Observed, _, scores Table, _, r []float64) { f.AddScores(o, scores, r) }

// AddSpread adds nothing.
func (known) AddSpread(*Observed, Table, Table, []float64, []float64) {}

// ---- Plans

// known is the factor of known classes, nil if there is none, and its part.
func (p *Plan) known() (f *known, of *part) {
	of = &p.parts[len(p.parts)-1]
	if k, is := of.Factor.(known); is {
		return &k, of
	}
	return nil, nil
}

// described is the number of factors but that of known classes.
func (p *Plan) described() int {
	if _, of := p.known(); of != nil {
		return len(p.parts) - 1
	}
	return len(p.parts)
}

// held has the class of each row that is known to be in that alone, otherwise Free; nil if there are none. Classes
// begin in the order of their labels; place has that of each label.
func (p *Plan) held(rows blocks.Rows) (held, place []int) {
	f, of := p.known()
	if f == nil {
		return nil, nil
	}
	seen := make([]bool, f.labels)
	for i := range rows.N {
		held = append(held, Free)
		if code := rows.Row(i)[of.at.Columns]; code == code && rows.Weight(i) > 0 {
			if held[i] = f.alone[int(code)]; held[i] != Free {
				seen[held[i]] = true
			}
		}
	}
	classes := 0
	for _, is := range seen {
		if place = append(place, Free); is || !f.part {
			place[len(place)-1] = classes
			classes++
		}
	}
	for i, label := range held {
		if label != Free {
			held[i] = place[label]
		}
	}
	return held, place
}

// weightsIn are the weights of the rows that are known to be in class j; nil if there are none.
func weightsIn(held []int, weights []float64, j int) (of []float64) {
	if !slices.Contains(held, j) {
		return nil
	}
	of = make([]float64, len(weights))
	for i, label := range held {
		if label == j {
			of[i] = weights[i]
		}
	}
	return of
}

// Restrict takes the shares of rows that are known, q, rows×k, out of the classes that they cannot be in, at the start
// of a fit, whose classes are in the order of the labels.
func (p *Plan) Restrict(rows blocks.Rows, q []float64, k int) {
	f, of := p.known()
	if f == nil {
		return
	}
	_, place := p.held(rows)
	for i := range rows.N {
		code, own := rows.Row(i)[of.at.Columns], linalg.Row(q, i, k)
		if code != code {
			continue
		}
		kept := make([]float64, k)
		var classes []int
		for label, j := range place {
			if f.may[int(code)][label] && j != Free {
				classes, kept[j] = append(classes, j), own[j]
			}
		}
		total, left := floats.Sum(own), floats.Sum(kept)
		for _, j := range classes {
			if left > 0 {
				kept[j] *= total / left
			} else {
				kept[j] = total / float64(len(classes))
			}
		}
		copy(own, kept)
	}
}

// mostKnown bounds the rows of each label that a start takes beside those that it has drawn.
const mostKnown = 256

// knownRows are the first rows of each label.
type knownRows struct{ X, Weights [][]float64 }

// withKnown adds known rows of the table to those that were drawn from it. It returns an error if there are fewer than
// k classes, or if no row of positive weight is known to have a label.
func (p *Plan) withKnown(
	ctx context.Context, src framework.Source[blocks.Rows], rows blocks.Rows, k int,
) (blocks.Rows, error) {
	f, _ := p.known()
	if f == nil || f.part {
		return rows, nil
	}
	if k < f.labels {
		return rows, &TooManyLabelsError{K: k, Labels: f.labels}
	}
	if src.Rows() > rows.N {
		of := func() *knownRows { return &knownRows{make([][]float64, f.labels), make([][]float64, f.labels)} }
		d := p.size.Columns
		found, err := framework.Survey(ctx, src, 1, func() (*knownRows, error) { return of(), nil },
			func(s *knownRows, b blocks.Rows) error {
				held, _ := p.held(b)
				for i, label := range held {
					if label != Free && len(s.Weights[label]) < mostKnown {
						s.X[label] = append(s.X[label], b.Row(i)...)
						s.Weights[label] = append(s.Weights[label], b.Weight(i))
					}
				}
				return nil
			},
			func(into, from *knownRows) error {
				for label, w := range from.Weights {
					n := min(len(w), mostKnown-len(into.Weights[label]))
					into.X[label] = append(into.X[label], from.X[label][:n*d]...)
					into.Weights[label] = append(into.Weights[label], w[:n]...)
				}
				return nil
			})
		if err != nil {
			return rows, err
		}
		for label, w := range found.Weights {
			rows.N += len(w)
			rows.X, rows.Weights = append(rows.X, found.X[label]...), append(rows.Weights, w...)
		}
	}
	held, _ := p.held(rows)
	for label := range f.labels {
		if !slices.Contains(held, label) {
			return rows, fmt.Errorf("family: no row of positive weight is known to have label %d", label)
		}
	}
	return rows, nil
}

// A TooManyLabelsError reports that classes are known to be more than K.
type TooManyLabelsError struct{ K, Labels int }

func (e *TooManyLabelsError) Error() string {
	return fmt.Sprintf("family: %d classes are known, and K = %d: K must be at least %d", e.Labels, e.K, e.Labels)
}

// LabelOf returns the label of a class with parameters ξ (see [Known]), from 0; [Free] if it has none.
func (p *Plan) LabelOf(xi []float64) int {
	if _, of := p.known(); of != nil {
		return max(Free, int(of.ofParams(xi)[0]))
	}
	return Free
}

// Fix sets the values of labelled classes to +Inf: the relevance of classes that must stay (see
// [framework.Projector]). params are their parameters, K×P.
func (p *Plan) Fix(params, values []float64) {
	for k := range values {
		if p.LabelOf(linalg.Row(params, k, p.size.Params)) != Free {
			values[k] = math.Inf(1)
		}
	}
}

// FixPosterior is Fix for hyperparameters, K×H.
func (p *Plan) FixPosterior(hyper, values []float64) {
	f, of := p.known()
	for k := range values {
		if f != nil && f.label(of.ofHyper(linalg.Row(hyper, k, p.size.Hyper))) != Free {
			values[k] = math.Inf(1)
		}
	}
}

// Divide gives the label of a divided class to its first half, unless the second alone has it by its rows.
func (p *Plan) Divide(whole, first, second []float64) {
	if _, of := p.known(); of != nil {
		label, one, other := of.ofParams(whole)[0], of.ofParams(first), of.ofParams(second)
		if other[0] == label && one[0] != label {
			one[0] = Free
			return
		}
		one[0], other[0] = label, Free
	}
}

// DividePosterior is Divide for hyperparameters.
func (p *Plan) DividePosterior(whole, first, second []float64) {
	if f, of := p.known(); of != nil {
		h, one, other := of.ofHyper(whole), of.ofHyper(first), of.ofHyper(second)
		if label := f.label(h); label != Free && f.label(other) == label && f.label(one) != label {
			clear(one)
			copy(other, h)
			return
		}
		copy(one, h)
		clear(other)
	}
}

// LogModes is the logarithm of the number of orders of the classes with parameters params, K×P, that rows tell nothing
// of: those of classes with labels have an order (see [framework.Symmetric]).
func (p *Plan) LogModes(params []float64) float64 {
	free := 1.0
	for k := range len(params) / p.size.Params {
		if p.LabelOf(linalg.Row(params, k, p.size.Params)) == Free {
			free++
		}
	}
	orders, _ := math.Lgamma(free)
	return orders
}

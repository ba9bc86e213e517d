package evidence

import (
	"context"
	"errors"
	"fmt"
	"math"
)

// ErrTooManyTerms is wrapped by the error of an exact sum that is too long.
var ErrTooManyTerms = errors.New("the exact sum is too long")

// Programmer's errors: wrong lengths panic with one of these.
const (
	badRows   = "evidence: the length of rows is not a multiple of the number of columns"
	badCounts = "evidence: rows and counts differ in number"
	badDim    = "evidence: negative number of values"
)

const (
	defaultMaxTerms = 1e10
	// maxRows bounds the tables of ln Γ, of which there are four as long as this.
	maxRows = 10_000_000
	// smallest is the least normal number, below which math.Log is wrong on some
	// machines.
	smallest = 0x1p-1022
)

// Mixture is a mixture of K products of categorical columns with symmetric
// conjugate priors (Kaji 2011, eqs. 3.1 and 3.2, where all columns have two levels):
//
//	π ~ Dir(Alpha, …, Alpha),   μ_km ~ Dir(Beta, …, Beta),
//	p(x|π,μ) = Σ_k π_k Π_m μ_km[x_m].
//
// Its methods take the rows as codes, N×M row-major, code l of column m in
// 0, …, Levels[m]−1, and how often each row occurs; nil counts are all 1. Equal rows
// need not be grouped. The work grows with the number of ways to assign the copies
// of each distinct row to the components, so it is for few distinct rows, many copies: with
// K = 2 and two columns of two levels, hundreds of rows take a fraction of a second.
//
// The methods return an error for K < 1, no column, a column of fewer than 2
// levels, Alpha or Beta that is not positive and finite (or is subnormal), a code out of range, a count
// that is not a non-negative integer, no rows, more than ten million
// rows, a sum that exceeds MaxTerms (it wraps [ErrTooManyTerms]), and the
// context's error. They panic if the lengths do not fit.
type Mixture struct {
	K      int     // components
	Levels []int   // levels of each column; 2 is Bernoulli
	Alpha  float64 // a, a, concentration of the prior of the weights
	Beta   float64 // b, of every column's prior in every component

	// MaxTerms bounds the number of allocations Π_p C(n_p + K − 1, K − 1), where n_p
	// is the number of copies of distinct row p, K counting at most as many components
	// as there are rows. Up to K! of them, which differ by the labels alone, are one term
	// of the sum. A processor takes about 3e7 allocations a second. Default 1e10.
	MaxTerms float64
	Workers  int // goroutines, default one a processor; any number gives the same bits
}

// LogEvidence returns ln p(X|K) in nats, by summing p(X,Z|K) over all Z:
//
//	p(X,Z|K) = Γ(Ka)/Γ(Ka+N) Π_k Γ(a+N_k)/Γ(a) Π_km Γ(L_m b)/Γ(L_m b+N_k) Π_kml Γ(b+n_kml)/Γ(b)
//
// with N_k rows in component k, n_kml of them at level l of column m. Terms below
// e⁻⁶⁴ of the largest are left out; the rest is exact to rounding, about 1e-15 of
// the largest ln Γ that occurs. X is ordered: no multinomial coefficient
// counts the arrangements of equal rows.
func (m Mixture) LogEvidence(ctx context.Context, rows []int, counts []float64) (float64, error) {
	value, _, err := m.Expect(ctx, rows, counts, 0, nil)
	return value, err
}

// Expect returns ln p(X|K) in nats and the expectations of dim functions of Z under the
// exact posterior p(Z|X,K). f puts their values at an allocation into dst, of length dim.
//
// f must not depend on the labels of the components or on the order of the rows, because it is called for one of all
// Z that differ in these alone. It is called from several goroutines at once, only for allocations above e⁻⁶⁴ of the
// largest met before, and must not keep a or dst. It returns an error if an expectation is NaN or infinite.
func (m Mixture) Expect(
	ctx context.Context, rows []int, counts []float64, dim int, f func(a *Allocation, dst []float64),
) (logEvidence float64, means []float64, err error) {
	if dim < 0 {
		panic(badDim)
	}
	patterns, err := m.patterns(rows, counts)
	if err != nil {
		return math.NaN(), nil, err
	}
	if err := m.checkTerms(patterns); err != nil {
		return math.NaN(), nil, err
	}
	t := newTables(m, patterns)
	total, err := t.sum(ctx, m.Workers, dim, f)
	if err != nil {
		return math.NaN(), nil, err
	}
	means = total.values
	for i := range means {
		means[i] /= total.sum
		if math.IsNaN(means[i]) || math.IsInf(means[i], 0) {
			return math.NaN(), nil, fmt.Errorf("evidence: the expectation of value %d is %v", i, means[i])
		}
	}
	return t.logPrior + total.max + math.Log(total.sum), means, nil
}

// ExactGFIC returns gFIC with q the exact posterior q* = p(Z|X,K), and ln p(X|K),
// both in nats (paper G, eqs. 2 and 15, with κ(Z) term by term):
//
//	gFIC = E_q*[L(Z, Π̂(Z), κ(Z))] + H(q*)
//	L = ln p(X,Z|Π̂,κ) − ½ Σ_k D_k ln(N_k/N) − (D_Π/2) ln N
//
// For each Z empty components are left out: κ(Z) components remain, Π̂(Z) has the
// weights N_k/N and the probabilities n_kml/N_k, D_k = Σ_m (L_m − 1) and D_Π = κD_k + κ − 1.
// The coordinates are arcsines, 2 arcsin √μ, for two levels, and the sphere 2√μ for more, in which
// the unit Fisher information is the identity (at the edges too, where a count is
// zero, by continuity), so that −½ ln|F_Ξ| is the sum over ln(N_k/N) above.
//
// H(q*) = −E ln p(Z|X,K) counts labels as q* does: Z and its relabellings are different
// Z. Hence gFIC − ln p(X|K) = E_q*[L − ln p(X,Z|K)], in which ln p(X,Z|K) belongs to
// all K components, empty ones included. It is bounded as N grows (paper G, Lemma 3 and
// Theorem 2), with two exceptions that the assumptions of the paper rule out:
//
//   - Z with K − κ empty components add about (K−κ)·a·ln N each. That is what the
//     weights' prior charges, ln Γ(κa)Γ(Ka+N)/(Γ(Ka)Γ(κa+N)): a weight estimated as zero
//     lies on the edge, where Laplace's method does not hold, and the prior's part is not the
//     O(1) that paper G, section 3.2, takes it for. It matters where q* leaves
//     components empty in an overcomplete model.
//   - A column that is constant within a component adds (b − ½) ln N for each level
//     that does not occur: nothing for b = ½, Jeffreys' prior.
func (m Mixture) ExactGFIC(ctx context.Context, rows []int, counts []float64) (gfic, logEvidence float64, err error) {
	columns, perComponent := float64(len(m.Levels)), 0.0
	for _, levels := range m.Levels {
		perComponent += float64(levels - 1)
	}
	logEvidence, means, err := m.Expect(ctx, rows, counts, 1, func(a *Allocation, dst []float64) {
		dst[0] = a.laplace(columns, perComponent) - a.LogJoint
	})
	if err != nil {
		return math.NaN(), math.NaN(), err
	}
	return logEvidence + means[0], logEvidence, nil
}

// laplace is L(Z, Π̂(Z), κ(Z)).
func (a *Allocation) laplace(columns, perComponent float64) float64 {
	logRows := a.selfLog[a.rows] / float64(a.rows)
	value, used := 0.0, 0.0
	for _, size := range a.Sizes {
		if size == 0 {
			continue
		}
		used++
		logLikelihood := (1-columns)*a.selfLog[size] - float64(size)*logRows
		value += logLikelihood - perComponent/2*(a.selfLog[size]/float64(size)-logRows)
	}
	for _, count := range a.cells {
		value += a.selfLog[count]
	}
	return value - (used*perComponent+used-1)/2*logRows
}

func (m Mixture) check() error {
	if m.K < 1 {
		return fmt.Errorf("evidence: K = %d components: give at least 1", m.K)
	}
	if len(m.Levels) == 0 {
		return errors.New("evidence: no columns: give the number of levels of each in Levels")
	}
	most := 0
	for j, levels := range m.Levels {
		if levels < 2 {
			return fmt.Errorf("evidence: column %d has %d levels: give at least 2, or leave the column out", j+1, levels)
		}
		most = max(most, levels)
	}
	for _, prior := range []struct {
		name  string
		value float64
		times int
	}{{"Alpha", m.Alpha, m.K}, {"Beta", m.Beta, most}} {
		if sum := prior.value * float64(prior.times); !(prior.value >= smallest) || math.IsInf(sum, 0) {
			return fmt.Errorf("evidence: %s = %v: give a positive number, at least %.2g and not so large that %d "+
				"times it overflows", prior.name, prior.value, smallest, prior.times)
		}
	}
	if math.IsNaN(m.MaxTerms) || m.MaxTerms < 0 || m.Workers < 0 {
		return fmt.Errorf("evidence: MaxTerms = %v and Workers = %d must not be negative", m.MaxTerms, m.Workers)
	}
	return nil
}

// checkTerms counts the allocations Π_p C(n_p + K − 1, K − 1), up to rounding.
func (m Mixture) checkTerms(patterns []pattern) error {
	limit := m.MaxTerms
	if limit == 0 {
		limit = defaultMaxTerms
	}
	slots := m.slots(patterns)
	terms := 0.0
	for _, p := range patterns {
		terms += logAllocations(p.copies, slots)
	}
	// A small tolerance, because the count comes from ln Γ.
	if terms > math.Log(limit)+1e-9 {
		return fmt.Errorf(
			"evidence: %w: %s ways to allot %d distinct rows to %d components exceed MaxTerms = %.3g; take fewer "+
				"rows, columns or components, raise MaxTerms, or sample with AIS", ErrTooManyTerms, powerOfTen(terms),
			len(patterns), slots, limit,
		)
	}
	return nil
}

// powerOfTen writes exp(x), which may overflow, for an error message.
func powerOfTen(x float64) string {
	if x < 700 {
		return fmt.Sprintf("%.3g", math.Exp(x))
	}
	return fmt.Sprintf("1e%.0f", x/math.Ln10)
}

// slots is the number of components that can be used at once.
func (m Mixture) slots(patterns []pattern) int {
	rows := 0
	for _, p := range patterns {
		rows += p.copies
	}
	return min(m.K, rows)
}

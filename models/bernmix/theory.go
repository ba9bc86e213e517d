package bernmix

import (
	"errors"
	"fmt"
	"math"
)

// Hyperparameters define the prior of a Bernoulli mixture over M columns: π ~ Dir(A, …, A) and μ_km ~ Beta(B, B)
// (paper K, eq. 3.2). They decide what becomes of redundant components in variational Bayes (Theorem 5.1.2).
type Hyperparameters struct {
	A, B float64
	M    int
}

// Check returns an error unless A and B are positive and finite, and M is at least 1.
func (h Hyperparameters) Check() error {
	switch {
	case !(h.A > 0) || math.IsInf(h.A, 0):
		return fmt.Errorf("bernmix: a = %v of the Dirichlet prior is not positive and finite", h.A)
	case !(h.B > 0) || math.IsInf(h.B, 0):
		return fmt.Errorf("bernmix: b = %v of the Beta prior is not positive and finite", h.B)
	case h.M < 1:
		return fmt.Errorf("bernmix: M is %d columns; must be at least 1", h.M)
	}
	return nil
}

// StochasticCost is g₁ = (M+1)/2 − a, what one component with every μ inside (0, 1) adds
// to the coefficient of ln N (paper K, Corollary 5.1.1).
func (h Hyperparameters) StochasticCost() float64 { return (float64(h.M)+1)/2 - h.A }

// DeterministicCost is g₂ = ½ − a + Mb, what one component with every μ at 0 or 1 adds
// to the coefficient of ln N (paper K, Corollary 5.1.1).
func (h Hyperparameters) DeterministicCost() float64 { return 0.5 - h.A + float64(h.M)*h.B }

// MaxA is ½ + M·min(½, b), the border of NoRedundant: redundant components empty for
// every a below it. The smaller b, the smaller a has to be (paper K, section 7.2).
func (h Hyperparameters) MaxA() float64 { return 0.5 + float64(h.M)*min(0.5, h.B) }

// Truth counts the components of the mixture that made the data, in its minimal form
// (paper K, eq. 5.1): K₁* with every μ inside (0, 1) and ΔK* with every μ at
// 0 or 1. The theory knows no component that mixes the two.
type Truth struct {
	Stochastic, Deterministic int
}

// check also checks that the truth fits into the K components of the model.
func (t Truth) check(k int) error {
	switch {
	case t.Stochastic < 0 || t.Deterministic < 0 || t.Stochastic == 0 && t.Deterministic == 0:
		return fmt.Errorf("bernmix: the truth has %d stochastic and %d deterministic components; must have at least one",
			t.Stochastic, t.Deterministic)
	case t.Stochastic > k || t.Deterministic > k-t.Stochastic:
		return fmt.Errorf("bernmix: K = %d components cannot hold the truth's %d stochastic and %d deterministic ones",
			k, t.Stochastic, t.Deterministic)
	}
	return nil
}

// Phase says what becomes of redundant components (those beyond the truth's) as N grows (paper K, Theorem 5.1.2 and
// Figure 5.1).
type Phase int

const (
	// NoRedundant empties them (case 1).
	NoRedundant Phase = iota
	// DeterministicRedundant keeps them all, every μ at 0 or 1 (cases 2 and 4b).
	DeterministicRedundant
	// StochasticRedundant keeps them all, every μ inside (0, 1) (cases 3 and 4a).
	StochasticRedundant
	// Critical is a border between phases, on which the theorem says nothing:
	// Hyperparameters.Meeting returns the phases that meet there.
	Critical
)

var phaseNames = [...]string{
	NoRedundant:            "no redundant components",
	DeterministicRedundant: "deterministic redundant components",
	StochasticRedundant:    "stochastic redundant components",
	Critical:               "critical",
}

func (p Phase) String() string {
	if p < 0 || int(p) >= len(phaseNames) {
		return fmt.Sprintf("Phase(%d)", int(p))
	}
	return phaseNames[p]
}

// Phase returns the phase of Theorem 5.1.2 that h lies in, or Critical on a border. It returns Check's errors.
func (h Hyperparameters) Phase() (Phase, error) {
	meeting, err := h.Meeting()
	if err != nil {
		return 0, err
	}
	if len(meeting) > 1 {
		return Critical, nil
	}
	return meeting[0], nil
}

// Meeting lists the phases that meet at h: one inside a phase, two on a border and all
// three at a = (M+1)/2, b = ½. A redundant component adds 0 to the coefficient of ln N
// when empty, g₂ when deterministic and g₁ when stochastic, and the free energy takes
// the least; phases whose costs agree to rounding meet. So two lines on which the theorem is silent too are no
// borders: a = (M+1)/2 for b < ½ and a = ½ + Mb for b > ½. It returns Check's errors.
func (h Hyperparameters) Meeting() ([]Phase, error) {
	if err := h.Check(); err != nil {
		return nil, err
	}
	// From b = 1 on, g₂ > g₁ whatever b: capped, it cannot overflow.
	h.B = min(h.B, 1)
	m := float64(h.M)
	const rounding = 0x1p-51
	costs := [...]struct{ value, slack float64 }{
		NoRedundant:            {},
		DeterministicRedundant: {h.DeterministicCost(), rounding * (0.5 + h.A + m*h.B)},
		StochasticRedundant:    {h.StochasticCost(), rounding * ((m+1)/2 + h.A)},
	}
	least := costs[NoRedundant]
	for _, c := range costs {
		if c.value < least.value {
			least = c
		}
	}
	var meeting []Phase
	for p, c := range costs {
		if c.value-least.value <= c.slack+least.slack {
			meeting = append(meeting, Phase(p))
		}
	}
	return meeting, nil
}

// Components gives K₁ and ΔK, how many stochastic and deterministic components keep rows
// when K are fitted to the truth (paper K, Theorem 5.1.2). It returns an error if the truth has no component or more
// than K, and for Critical, about which the theorem says nothing.
func (p Phase) Components(truth Truth, k int) (stochastic, deterministic int, err error) {
	if err := truth.check(k); err != nil {
		return 0, 0, err
	}
	switch p {
	case NoRedundant:
		return truth.Stochastic, truth.Deterministic, nil
	case DeterministicRedundant:
		return truth.Stochastic, k - truth.Stochastic, nil
	case StochasticRedundant:
		return k - truth.Deterministic, truth.Deterministic, nil
	case Critical:
		return 0, 0, errors.New(
			"bernmix: on a border between phases the kinds of components are not determined: move a or b off it",
		)
	}
	return 0, 0, fmt.Errorf("bernmix: there is no %v", p)
}

// Coefficient returns the coefficient of ln N in the variational free energy F̄ − N·S(X) with K components, some
// stochastic, some deterministic, the others empty: g₁K₁ + g₂ΔK + Ka − ½ (paper K, Theorem 5.1.1). It holds if each
// of these components has a share of the rows, and if each column of a deterministic one has at most O(1) rows with
// the other value. It returns Check's errors, and an error for impossible numbers of components and for
// hyperparameters so large that the result overflows.
func (h Hyperparameters) Coefficient(stochastic, deterministic, k int) (float64, error) {
	if err := h.Check(); err != nil {
		return 0, err
	}
	if err := (Truth{stochastic, deterministic}).check(k); err != nil {
		return 0, err
	}
	c := float64(k)*h.A - 0.5
	if stochastic > 0 {
		c += h.StochasticCost() * float64(stochastic)
	}
	if deterministic > 0 { // none of them cost nothing, even if g₂ overflows
		c += h.DeterministicCost() * float64(deterministic)
	}
	if math.IsInf(c, 0) || math.IsNaN(c) {
		return 0, fmt.Errorf("bernmix: the coefficient of ln N overflows at a = %v, b = %v, M = %d", h.A, h.B, h.M)
	}
	return c, nil
}

// Lambda returns the coefficient λ_VB of ln N in F̄ − N·S(X) for a truth and K components:
// Theorem 5.1.1 at the K₁ and ΔK of Theorem 5.1.2. This is paper K's Corollary 5.1.1 with
// its border corrected to b > a/M − 1/(2M) and its Case 2 to g₁(K − ΔK*) + g₂ΔK*; at
// a = b = 1 it is MK₁*/2 + K + MΔK* − K₀*/2 − ½, where section 7.1 prints −MΔK*. On a
// border the phases that meet share one value, which is returned. Scope reports whether the free energy follows it.
// It returns the errors of Phase, Components and Coefficient.
func (h Hyperparameters) Lambda(truth Truth, k int) (float64, error) {
	meeting, err := h.Meeting()
	if err != nil {
		return 0, err
	}
	stochastic, deterministic, err := meeting[0].Components(truth, k)
	if err != nil {
		return 0, err
	}
	return h.Coefficient(stochastic, deterministic, k)
}

// AsymptoticFreeEnergy is N·S + λ_VB ln N in nats, the variational free energy of N rows
// up to O(1) (paper K, Theorem 5.1.1); S is the truth's entropy per row: the empirical one, or MixtureEntropy, which
// differs by O(√N) in N·S. It returns Lambda's errors, and an error for N < 1 or an S that is negative or not finite.
func (h Hyperparameters) AsymptoticFreeEnergy(n int, entropy float64, truth Truth, k int) (float64, error) {
	switch {
	case n < 1:
		return 0, fmt.Errorf("bernmix: N is %d rows; must be at least 1", n)
	case !(entropy >= 0) || math.IsInf(entropy, 0):
		return 0, fmt.Errorf("bernmix: entropy %v of the truth is not finite and at least 0", entropy)
	}
	lambda, err := h.Lambda(truth, k)
	if err != nil {
		return 0, err
	}
	f := float64(n)*entropy + lambda*math.Log(float64(n))
	if math.IsInf(f, 0) {
		return 0, fmt.Errorf("bernmix: the free energy overflows at N = %d, S = %v, λ = %v", n, entropy, lambda)
	}
	return f, nil
}

// Reasons why the free energy departs from Theorems 5.1.1 and 5.1.2, as Scope reports them. In each case either a
// state that the proofs leave out is cheaper, or the state that they count does not exist. The tests show each case.
var (
	// ErrNothingToCopy: a redundant component keeps a share of the rows only by sharing
	// those of a true component of its own kind, and the truth has none. Deterministic
	// ones can then hold O(√N) rows each, for half of g₂; stochastic ones cannot arise.
	ErrNothingToCopy = errors.New("bernmix: the truth has no component of the redundant kind to copy")
	// ErrBlurredEdge: beside a stochastic component, which reaches every pattern, a
	// deterministic μ may leave its edge by O(1/√N) without loss of likelihood. For
	// b > ½ that pays: it costs b/2 + ¼ in place of b.
	ErrBlurredEdge = errors.New("bernmix: deterministic components beside stochastic ones leave the edge when b > 1/2")
	// ErrDecomposed: with K − K₀* ≥ 2^(M−1) there are components enough to rebuild
	// stochastic ones from patterns, so that K₁ falls below K₁*, and for b < ½ that can pay.
	ErrDecomposed = errors.New(
		"bernmix: there are enough components to rebuild a stochastic one from single patterns when b < 1/2",
	)
)

// Scope returns nil if Lambda and Components describe the least free energy. Otherwise it returns the first reason
// that applies: ErrNothingToCopy, ErrBlurredEdge or ErrDecomposed. Other exceptions may exist: these are the known
// ones. It also returns Check's errors, and those of Components for a border and for a truth that does not fit.
func (h Hyperparameters) Scope(truth Truth, k int) error {
	phase, err := h.Phase()
	if err != nil {
		return err
	}
	stochastic, deterministic, err := phase.Components(truth, k)
	if err != nil {
		return err
	}
	redundant := k - truth.Stochastic - truth.Deterministic
	switch {
	case stochastic > truth.Stochastic && truth.Stochastic == 0,
		deterministic > truth.Deterministic && truth.Deterministic == 0:
		return ErrNothingToCopy
	case h.B > 0.5 && truth.Stochastic > 0 && truth.Deterministic > 0:
		return ErrBlurredEdge
	case h.B < 0.5 && truth.Stochastic > 0 && float64(redundant) >= math.Ldexp(1, h.M-1):
		return ErrDecomposed
	}
	return nil
}

// BayesBound returns the upper bound (K − K₀*) + (MK₀* + K₀* − 1)/2 of the coefficient λ of
// ln N in the exact Bayes free energy with M ≥ 2 columns at a = b = 1 (paper K, eq. 7.2).
// It exceeds Lambda by −MΔK*/2, not by the (3/2)MΔK* of section 7.1. With deterministic components this does not show
// that variational Bayes is loose: the bound holds for a truth inside the parameter space, not on its boundary, where
// for K = ΔK* = 1 the exact coefficient is M, that of Lambda. It returns an error for M < 2 and if the truth has more
// than K components.
func BayesBound(truth Truth, k, m int) (float64, error) {
	if err := truth.check(k); err != nil {
		return 0, err
	}
	if m < 2 {
		return 0, fmt.Errorf("bernmix: M is %d columns; the Bayes bound needs at least 2", m)
	}
	k0 := float64(truth.Stochastic) + float64(truth.Deterministic)
	return float64(k) - k0 + (float64(m)*k0+k0-1)/2, nil
}

// RegularCoefficient is (KM + K − 1)/2, half the number of parameters: the coefficient
// of ln N that a regular model of the size of the mixture would have (paper K, section
// 7.1, which prints the number itself but subtracts half of it). It returns an error for K < 1 and
// for M < 1.
func RegularCoefficient(k, m int) (float64, error) {
	if k < 1 || m < 1 {
		return 0, fmt.Errorf("bernmix: K is %d and M is %d; both must be at least 1", k, m)
	}
	return (float64(k)*float64(m) + float64(k) - 1) / 2, nil
}

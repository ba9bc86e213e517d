package prior

import (
	"fmt"
	"math"
	"math/rand/v2"
)

// Beta is the Beta distribution of the success probability p,
//
//	p(p) = Γ(A+B)/(Γ(A)Γ(B)) p^(A−1) (1−p)^(B−1),   0 ≤ p ≤ 1,
//
// the conjugate prior of a Bernoulli variable (K, section 3.2, with b₁ and b₂ for A and B). After ν ones and ν′ zeros
// it is Beta(A+ν, B+ν′). In the form of [Conjugate], T = x and η = logit p; there the Jacobian p(1−p) makes the
// density p^A (1−p)^B, so that ν = A + B and νχ = A.
type Beta struct {
	A float64 `json:"a"`
	B float64 `json:"b"`
}

// Check returns an error unless A and B are positive and finite, and their sum finite.
func (b Beta) Check() error {
	return first(positive("Beta.A", b.A), positive("Beta.B", b.B), positive("Beta.A + Beta.B", b.A+b.B))
}

// LogNorm returns ln B(A, B), in nats: the log of ∫ p^(A−1)(1−p)^(B−1) dp. It is accurate for large A and B and for
// very different ones, as Concentrations.LogNorm is.
func (b Beta) LogNorm() float64 { return Concentrations{b.A, b.B}.LogNorm() }

// ExpectedLog returns E[ln p] = ψ(A) − ψ(A+B) and E[ln(1−p)] = ψ(B) − ψ(A+B)
// (K, eq. 4.3).
func (b Beta) ExpectedLog() (lnP, lnQ float64) {
	var dst [2]float64
	Concentrations{b.A, b.B}.ExpectedLog(dst[:])
	return dst[0], dst[1]
}

// Mean returns E[p] = A/(A+B).
func (b Beta) Mean() float64 { return b.A / (b.A + b.B) }

// Mode returns the p of greatest density, (A−1)/(A+B−2). It returns an error if the density has no maximum (A or B
// below 1), and if it is constant (A = B = 1).
func (b Beta) Mode() (float64, error) {
	switch a, c := b.A-1, b.B-1; {
	case !(a >= 0) || !(c >= 0):
		return 0, fmt.Errorf("prior: Beta(%v, %v) has no mode: with a parameter below 1 its density is unbounded", b.A, b.B)
	case a == 0 && c == 0:
		return 0, fmt.Errorf("prior: Beta(%v, %v) is flat and has no single mode", b.A, b.B)
	default:
		return a / (a + c), nil
	}
}

// LogProb returns the log density at p, in nats; −Inf outside [0, 1]. At 0 and 1 it is
// −Inf, finite or +Inf as the parameter on that side is above, at or below 1.
func (b Beta) LogProb(p float64) float64 {
	if !(p >= 0 && p <= 1) {
		return math.Inf(-1)
	}
	return timesLog(b.A-1, p) + timesLog(b.B-1, 1-p) - b.LogNorm()
}

// Rand draws p. However small A and B are, the draw is a number in [0, 1].
func (b Beta) Rand(rng *rand.Rand) float64 {
	var dst [2]float64
	return Concentrations{b.A, b.B}.Rand(rng, dst[:])[0]
}

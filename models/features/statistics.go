package features

import (
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
)

// Statistics are sums over rows, with x centred at Parameters.Center. Feature 0 is the constant 1 of the offset.
type Statistics struct {
	K       int `keep:"count"`
	N       float64
	X, XX   []float64 // Σ x and Σ x², length D
	XZ      []float64 `keep:"columns+1"` // Σ x E[z]ᵀ, D×(1 + K)
	ZZ      []float64 `keep:"both+1"`    // Σ E[z zᵀ], (1 + K)×(1 + K)
	Doubt   []float64 `keep:"rows"`      // Σ H(q(z_k)), the entropy of each feature alone, in nats
	Entropy float64   // Σ H(q(z))

	states states
	fit    regression
	count  mat.SymDense
	about  mat.SymDense // see centered
}

// Observations returns N, the sum of the row weights.
func (s *Statistics) Observations() float64 { return s.N }

// Merge adds the sums of o.
func (s *Statistics) Merge(o *Statistics) { framework.AddSums(s, o) }

// Scale multiplies every sum by factor.
func (s *Statistics) Scale(factor float64) {
	s.N *= factor
	s.Entropy *= factor
	for _, list := range [][]float64{s.X, s.XX, s.XZ, s.ZZ, s.Doubt} {
		for i := range list {
			list[i] *= factor
		}
	}
}

func newStatistics(k, d int) *Statistics {
	return &Statistics{
		K:     k,
		X:     make([]float64, d),
		XX:    make([]float64, d),
		XZ:    make([]float64, d*(1+k)),
		ZZ:    make([]float64, (1+k)*(1+k)),
		Doubt: make([]float64, k),
	}
}

func (s *Statistics) clear() {
	s.N, s.Entropy = 0, 0
	for _, list := range [][]float64{s.X, s.XX, s.XZ, s.ZZ, s.Doubt} {
		clear(list)
	}
}

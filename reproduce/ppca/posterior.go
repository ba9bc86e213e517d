package ppca

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/bpca"
)

// Posterior is ρ = ⊗_j N(m_j, L_jL_jᵀ) over the K columns of W, in the units of the data,
// with the state of the optimiser that found it.
type Posterior struct {
	K             int       `json:"k"`
	D             int       `json:"d"`
	Diagonal      bool      `json:"diagonal"`
	Noise         float64   `json:"noise"`          // σ²
	PriorVariance float64   `json:"prior_variance"` // s²
	Means         []float64 `json:"means"`          // E[W], D×K row-major
	// Factors are the L_j, concatenated: lower triangular D×D row-major with a
	// positive diagonal, or D standard deviations where Diagonal.
	Factors   []float64 `json:"factors"`
	Optimizer Optimizer `json:"optimizer"`
}

// Optimizer is Adam's state. Means and Factors are its own iterate, of which those of the
// Posterior are an average; First and Second are its moments, of the gradient in the
// coordinates of step: K means of D, then the factors. The zero value starts at the Posterior.
type Optimizer struct {
	Seed    uint64    `json:"seed"`
	Steps   int       `json:"steps"`
	Means   []float64 `json:"means"`
	Factors []float64 `json:"factors"`
	First   []float64 `json:"first"`
	Second  []float64 `json:"second"`
}

// factorSize is the length of one L_j.
func (p *Posterior) factorSize() int {
	if p.Diagonal {
		return p.D
	}
	return p.D * p.D
}

// Check returns an error about an invalid posterior, such as may come from a file.
func (p *Posterior) Check() error {
	if p == nil {
		return errors.New("ppca: no posterior")
	}
	if p.D < 1 || p.K < 1 || p.K > p.D || p.D > 1<<20 || len(p.Means) != p.D*p.K || len(p.Factors) != p.K*p.factorSize() {
		return fmt.Errorf("ppca: K = %d and D = %d do not go with %d means and %d entries of factors", p.K, p.D,
			len(p.Means), len(p.Factors))
	}
	if !(p.Noise > 0) || !(p.PriorVariance > 0) || math.IsInf(p.Noise, 0) || math.IsInf(p.PriorVariance, 0) {
		return fmt.Errorf("ppca: variances of noise %v and prior %v: both are positive and finite", p.Noise, p.PriorVariance)
	}
	for _, list := range [][]float64{p.Means, p.Factors} {
		for _, v := range list {
			if v-v != 0 {
				return fmt.Errorf("ppca: a number of the posterior is %v", v)
			}
		}
	}
	if o := &p.Optimizer; o.Means != nil {
		size := len(p.Means) + len(p.Factors)
		if len(o.Means) != len(p.Means) || len(o.Factors) != len(p.Factors) || len(o.First) != size ||
			len(o.Second) != size || o.Steps < 0 {
			return errors.New("ppca: the optimizer's state is not that of this posterior: leave it out to start anew")
		}
	}
	for j := range p.K {
		for i := range p.D {
			if v := p.deviation(j, i); !(v > 0) {
				return fmt.Errorf("ppca: entry %d of the diagonal of factor %d is %v: it is a standard deviation, and positive",
					i+1, j+1, v)
			}
		}
	}
	return nil
}

// deviation is entry i of the diagonal of L_j.
func (p *Posterior) deviation(j, i int) float64 {
	if p.Diagonal {
		return p.Factors[j*p.D+i]
	}
	return p.Factors[j*p.D*p.D+i*p.D+i]
}

// copyTo copies p into the memory of dst, or into new memory.
func (p *Posterior) copyTo(dst *Posterior) *Posterior {
	if dst == nil {
		dst = &Posterior{}
	}
	from, to := &p.Optimizer, &dst.Optimizer
	means, factors := append(dst.Means[:0], p.Means...), append(dst.Factors[:0], p.Factors...)
	state := Optimizer{Seed: from.Seed, Steps: from.Steps,
		Means: append(to.Means[:0], from.Means...), Factors: append(to.Factors[:0], from.Factors...),
		First: append(to.First[:0], from.First...), Second: append(to.Second[:0], from.Second...)}
	*dst = *p
	dst.Means, dst.Factors, dst.Optimizer = means, factors, state
	return dst
}

// begin starts the optimiser at the posterior, unless it has started.
func (p *Posterior) begin() {
	o := &p.Optimizer
	if len(o.Means) > 0 {
		return
	}
	size := len(p.Means) + len(p.Factors)
	*o = Optimizer{Seed: o.Seed, Means: append([]float64(nil), p.Means...), Factors: append([]float64(nil), p.Factors...),
		First: make([]float64, size), Second: make([]float64, size)}
}

// Covariance is Σ_j, D×D, of column j (from 0) of W.
func (p *Posterior) Covariance(j int) *mat.SymDense {
	c := mat.NewSymDense(p.D, nil)
	if p.Diagonal {
		for i, sd := range p.Factors[j*p.D : (j+1)*p.D] {
			c.SetSym(i, i, sd*sd)
		}
		return c
	}
	c.SymOuterK(1, mat.NewDense(p.D, p.D, p.Factors[j*p.D*p.D:(j+1)*p.D*p.D]))
	return c
}

// Divergence is KL(ρ ‖ prior) in nats, in closed form (paper C, appendix C):
// ½ Σ_j {tr(Σ_j)/s² + ‖m_j‖²/s² − ln|Σ_j/s²| − D}.
func (p *Posterior) Divergence() float64 {
	s := math.Sqrt(p.PriorVariance)
	sum := 0.0
	for _, list := range [][]float64{p.Means, p.Factors} {
		for _, v := range list {
			sum += v / s * (v / s)
		}
	}
	for j := range p.K {
		for i := range p.D {
			sum -= 1 + 2*math.Log(p.deviation(j, i)/s)
		}
	}
	return sum / 2
}

// Point is probabilistic PCA at E[W], with mean 0: for Transform, Sample and the like.
func (p *Posterior) Point() *bpca.Parameters {
	return &bpca.Parameters{K: p.K, D: p.D, Mean: make([]float64, p.D), Loadings: p.Means, Noise: p.Noise}
}

// Draw draws W, D×K, from ρ, into dst (allocated when nil).
func (p *Posterior) Draw(rng *rand.Rand, dst *mat.Dense) *mat.Dense {
	if dst == nil {
		dst = mat.NewDense(p.D, p.K, nil)
	}
	eps := make([]float64, p.K*p.D)
	for i := range eps {
		eps[i] = rng.NormFloat64()
	}
	w := make([]float64, p.D*p.K)
	p.spread(w, p.Factors, eps)
	linalg.Axpy(1, p.Means, w)
	dst.Copy(mat.NewDense(p.D, p.K, w))
	return dst
}

// spread writes the columns L_jε_j to w, D×K; eps holds the ε_j, concatenated.
func (p *Posterior) spread(w, factors, eps []float64) {
	for j := range p.K {
		p.intoColumn(w, j, eps[j*p.D:(j+1)*p.D])
		p.timesFactor(blas.NoTrans, factors, j, w)
	}
}

func (p *Posterior) intoColumn(w []float64, j int, x []float64) {
	for i, v := range x {
		w[i*p.K+j] = v
	}
}

// timesFactor multiplies column j of w, D×K, by L_j or its transpose.
func (p *Posterior) timesFactor(t blas.Transpose, factors []float64, j int, w []float64) {
	if p.Diagonal {
		for i, sd := range factors[j*p.D : (j+1)*p.D] {
			w[i*p.K+j] *= sd
		}
		return
	}
	blas64.Trmv(t, p.triangle(factors, j), blas64.Vector{N: p.D, Inc: p.K, Data: w[j:]})
}

func (p *Posterior) triangle(factors []float64, j int) blas64.Triangular {
	d := p.D
	return blas64.Triangular{N: d, Stride: d, Data: factors[j*d*d : (j+1)*d*d], Uplo: blas.Lower, Diag: blas.NonUnit}
}

package lds

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
)

// Parameters are Π. The units of the latent dimensions are those in which the innovations w_t have the covariance I.
type Parameters struct {
	K        int       `json:"k"`
	D        int       `json:"d"`        // columns
	Loadings []float64 `json:"loadings"` // C, D×K
	Mean     []float64 `json:"mean"`     // d, D
	Noise    []float64 `json:"noise"`    // noise variances, D, or one if all columns share it
	Dynamics []float64 `json:"dynamics"` // A, K×K
	Inputs   int       `json:"inputs,omitempty"`
	Effects  []float64 `json:"effects,omitempty"` // effects of a step's inputs on its columns, D×Inputs
	Drive    []float64 `json:"drive,omitempty"`   // effects of a step's inputs on its z, K×Inputs
	Start    []float64 `json:"start"`             // mean of z_1, K
	Spread   float64   `json:"spread"`            // variance of z_1 about Start, the same in every direction, at least 1
	Center   []float64 `json:"center"`            // means of the table, D
	Unit     []float64 `json:"unit"`              // variances of the table, D
}

// NoiseOf returns the variance of the noise of column j.
func (p *Parameters) NoiseOf(j int) float64 { return p.Noise[min(j, len(p.Noise)-1)] }

func (p *Parameters) a() *mat.Dense { return mat.NewDense(p.K, p.K, p.Dynamics) }
func (p *Parameters) c() *mat.Dense { return mat.NewDense(p.D, p.K, p.Loadings) }

// level is what a column is expected to be at z = 0 in a step.
func (p *Parameters) level(j int, row []float64) float64 {
	if p.Inputs == 0 {
		return p.Mean[j]
	}
	return p.Mean[j] + linalg.Dot(p.Effects[j*p.Inputs:(j+1)*p.Inputs], row[p.D:])
}

// push adds what inputs do to z, times by.
func (p *Parameters) push(z []float64, by float64, inputs []float64) {
	if p.Inputs == 0 {
		return
	}
	for k := range z {
		z[k] += by * linalg.Dot(p.Drive[k*p.Inputs:(k+1)*p.Inputs], inputs)
	}
}

// weighted is R^−½C, D×K.
func (p *Parameters) weighted() *mat.Dense {
	w := mat.DenseCopyOf(p.c())
	w.Apply(func(j, _ int, v float64) float64 { return v / math.Sqrt(p.NoiseOf(j)) }, w)
	return w
}

// like has room for parameters of k dimensions; what the table decides is shared.
func (p *Parameters) like(k int) *Parameters {
	return &Parameters{K: k, D: p.D, Loadings: make([]float64, p.D*k), Mean: slices.Clone(p.Mean),
		Noise: slices.Clone(p.Noise), Dynamics: make([]float64, k*k), Inputs: p.Inputs, Effects: slices.Clone(p.Effects),
		Drive: make([]float64, k*p.Inputs), Start: make([]float64, k), Spread: p.Spread, Center: p.Center, Unit: p.Unit}
}

// mapped are the parameters of z' = to·z, for a matrix of orthonormal rows.
func (p *Parameters) mapped(to mat.Matrix) *Parameters {
	k, _ := to.Dims()
	q := p.like(k)
	q.c().Mul(p.c(), to.T())
	q.a().Product(to, p.a(), to.T())
	mat.NewVecDense(k, q.Start).MulVec(to, mat.NewVecDense(p.K, p.Start))
	for i := range k {
		for j := range p.K {
			linalg.Axpy(to.At(i, j), p.Drive[j*p.Inputs:(j+1)*p.Inputs], q.Drive[i*p.Inputs:(i+1)*p.Inputs])
		}
	}
	return q
}

// signal is Σ_h (Aʰ)ᵀCᵀR⁻¹CAʰ over h < K: what z_t tells of x_t, x_t+1, …
func (p *Parameters) signal() *mat.SymDense {
	sum, ahead := mat.NewSymDense(p.K, nil), p.weighted()
	for range p.K {
		var square mat.SymDense
		square.SymOuterK(1, ahead.T())
		sum.AddSym(sum, &square)
		ahead.Mul(mat.DenseCopyOf(ahead), p.a())
	}
	return sum
}

// Canonical returns p and s in rotated axes: dimensions along the axes of their signal, the strongest first, where
// the largest loading of each, in units of the noise, is positive.
func (p *Parameters) Canonical(s *Statistics) (*Parameters, *Statistics) {
	var eigen mat.EigenSym
	if !eigen.Factorize(p.signal(), true) {
		return p, s
	}
	var v, w mat.Dense
	eigen.VectorsTo(&v)
	to := mat.NewDense(p.K, p.K, nil)
	w.Mul(p.weighted(), &v)
	for k := range p.K {
		at := p.K - 1 - k
		most := slices.MaxFunc(mat.Col(nil, at, &w), func(a, b float64) int {
			return int(math.Copysign(1, math.Abs(a)*(1-1e-9)-math.Abs(b))) // of equal ones the first
		})
		for i := range p.K {
			to.Set(k, i, math.Copysign(1, most)*v.At(i, at))
		}
	}
	return p.mapped(to), s.mapped(to)
}

var errParameters = errors.New("lds: its parameters are inconsistent, or some are not finite")

// Check returns an error for invalid parameters, such as those of a damaged file.
func (p *Parameters) Check() error {
	finite := func(list []float64, n int, least float64) bool {
		return len(list) == n && !slices.ContainsFunc(list, func(v float64) bool { return v-v != 0 || v < least })
	}
	k, d, any, tiny := p.K, p.D, math.Inf(-1), math.SmallestNonzeroFloat64
	if k < 1 || d < 1 || p.Inputs < 0 || !finite(p.Effects, d*p.Inputs, any) || !finite(p.Drive, k*p.Inputs, any) ||
		!finite(p.Loadings, d*k, any) || !finite(p.Mean, d, any) || !finite(p.Dynamics, k*k, any) ||
		!finite(p.Start, k, any) || !finite(p.Center, d, any) || !finite(p.Unit, d, tiny) || !(p.Spread > 0) ||
		!finite(p.Noise, d, tiny) && !finite(p.Noise, 1, tiny) {
		return errParameters
	}
	return nil
}

// Sample draws n steps, n×(D + Inputs), from the start, or after the step whose z is from if from is not nil. It also
// returns the last z. inputs holds the inputs of the steps, n×Inputs.
func (p *Parameters) Sample(n int, from, inputs []float64, rng *rand.Rand) (x, last []float64) {
	last = make([]float64, p.K)
	for t := range n {
		u := inputs[t*p.Inputs : (t+1)*p.Inputs]
		spread := 1.0
		if from == nil {
			copy(last, p.Start)
			spread = math.Sqrt(p.Spread)
		} else {
			mat.NewVecDense(p.K, last).MulVec(p.a(), mat.NewVecDense(p.K, from))
			p.push(last, 1, u)
		}
		for k := range last {
			last[k] += spread * rng.NormFloat64()
		}
		from = slices.Clone(last)
		for j, mean := range p.Mean {
			mean += linalg.Dot(p.Effects[j*p.Inputs:(j+1)*p.Inputs], u) + linalg.Dot(p.Loadings[j*p.K:(j+1)*p.K], last)
			x = append(x, mean+math.Sqrt(p.NoiseOf(j))*rng.NormFloat64())
		}
		x = append(x, u...)
	}
	return x, last
}

package normal

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// normalInformation is the Fisher information of one row from N(μ, Σ) in (μ, vech Σ), or
// in μ alone where the covariance is tied, after the linear map that gives the table
// covariance I: P ⊕ ½Gᵀ(P⊗P)G, with P the precision and G the duplication matrix. Its
// determinant has the closed form |P|^(D+2) 2^(−D), so that the D(D+3)/2 numbers squared
// are only formed where they are needed.
type normalInformation struct {
	d       int
	tied    bool
	cov     []float64
	all     []float64 // covariance of the table
	logDet  float64   // of Σ less that of the table's
	scratch []float64
}

func (f *normalInformation) set(g gaussian, cov, all, floor []float64) {
	f.d, f.cov, f.all, f.tied = g.d, cov, all, g.tied
	f.logDet = f.logDetOf(g, cov, floor) - f.logDetOf(g, all, floor)
}

// logDetOf is ln|a|, which may be on the floor; −Inf where a is not positive definite.
func (f *normalInformation) logDetOf(g gaussian, a, floor []float64) float64 {
	f.scratch = linalg.Resize(f.scratch, f.d*f.d)
	logDet, ok := linalg.PrecisionRoot(f.d, a, f.scratch)
	if !ok {
		return math.Inf(-1)
	}
	if len(floor) > 0 && g.narrowest(a, f.scratch) >= narrow {
		if near, ok := g.onFloor(a, f.scratch, floor); ok {
			logDet -= near.excess()
		}
	}
	return logDet
}

func (f *normalInformation) Dims() (r, c int) { n := f.SymmetricDim(); return n, n }

func (f *normalInformation) SymmetricDim() int {
	if f.tied {
		return f.d
	}
	return f.d + f.d*(f.d+1)/2
}

func (f *normalInformation) T() mat.Matrix { return f }

func (f *normalInformation) At(i, j int) float64 { return f.dense().At(i, j) }

// LogDet is −(D+2) ln|Σ| − D ln 2, or −ln|Σ| for the mean alone.
func (f *normalInformation) LogDet() float64 {
	if f.tied {
		return -f.logDet
	}
	return -float64(f.d+2)*f.logDet - float64(f.d)*math.Ln2
}

func (f *normalInformation) Eigenvalues(dst []float64) []float64 { return f.dense().Eigenvalues(dst) }

func (f *normalInformation) InverseTrace(g mat.Symmetric) float64 { return f.dense().InverseTrace(g) }

// dense is the matrix in full.
func (f *normalInformation) dense() *laplace.Dense {
	d, n := f.d, f.SymmetricDim()
	p := f.precision()
	info := mat.NewSymDense(n, nil)
	for a := range d {
		for c := a; c < d; c++ {
			info.SetSym(a, c, p.At(a, c))
		}
	}
	if f.tied {
		return laplace.NewDense(info)
	}
	type pair struct{ a, b int }
	var vech []pair
	for a := range d {
		for b := a; b < d; b++ {
			vech = append(vech, pair{a, b})
		}
	}
	for i, x := range vech {
		for j := i; j < len(vech); j++ {
			y, v := vech[j], 1.0
			if x.a == x.b {
				v /= 2
			}
			if y.a == y.b {
				v /= 2
			}
			info.SetSym(d+i, d+j, v*(p.At(x.a, y.b)*p.At(x.b, y.a)+p.At(x.a, y.a)*p.At(x.b, y.b)))
		}
	}
	return laplace.NewDense(info)
}

// precision is Σ⁻¹ after the map that gives the table covariance I: UΣ⁻¹Uᵀ with the
// table's UᵀU.
func (f *normalInformation) precision() *mat.SymDense {
	d := f.d
	u := append([]float64(nil), f.all...)
	inverse := append([]float64(nil), f.cov...)
	_, okAll := linalg.NewCholesky(d, u)
	chol, ok := linalg.NewCholesky(d, inverse)
	if !ok || !okAll {
		return mat.NewSymDense(d, nil)
	}
	chol.Invert()
	for a := range d {
		for c := range a {
			u[a*d+c] = 0
		}
	}
	var up, upu mat.Dense
	root := mat.NewDense(d, d, u)
	up.Mul(root, mat.NewDense(d, d, inverse))
	upu.Mul(&up, root.T())
	return linalg.SymmetricPart(&upu)
}

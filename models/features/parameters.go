package features

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/laplace"
)

// Parameters are the parameters of x = b + W z + ε, in the units of the data. Ξ = (b, W), Θ = (π, Ψ).
type Parameters struct {
	K         int       `json:"k" keep:"count"`
	D         int       `json:"d"`
	Isotropic bool      `json:"isotropic,omitempty"`     // one variance of the noise
	On        []float64 `json:"on" keep:"rows"`          // π, the share of the rows that have each feature, length K
	Offset    []float64 `json:"offset"`                  // b, the mean of a row without features, length D
	Loadings  []float64 `json:"loadings" keep:"columns"` // W, D×K row-major: what a feature adds
	Noise     []float64 `json:"noise"`                   // Ψ: D variances, or one
	// Center is the mean of the table, at which sums are centred. Unit is the variance of each column, for isotropic
	// noise their mean; it makes the coordinates of the curvature unit-free. Floor is the least variance of the noise.
	Center []float64 `json:"center"`
	Unit   []float64 `json:"unit"`
	Floor  []float64 `json:"floor"`

	information laplace.Block // memory of Curvature
}

// Check returns an error for invalid parameters, such as those of a damaged file.
func (p *Parameters) Check() error {
	switch {
	case p == nil:
		return errors.New("features: no parameters")
	case p.K < 1 || p.D < 1 || p.D > math.MaxInt/p.K || len(p.On) != p.K || len(p.Offset) != p.D ||
		len(p.Loadings) != p.D*p.K || len(p.Center) != p.D:
		return fmt.Errorf("features: K = %d and D = %d do not match %d shares, %d offsets, %d centers and %d loadings",
			p.K, p.D, len(p.On), len(p.Offset), len(p.Center), len(p.Loadings))
	}
	noise := p.D
	if p.Isotropic {
		noise = 1
	}
	if len(p.Noise) != noise || len(p.Unit) != noise || len(p.Floor) != noise {
		return fmt.Errorf("features: %d variances of the noise, %d units and %d floors: each must be %d", len(p.Noise),
			len(p.Unit), len(p.Floor), noise)
	}
	for _, list := range [][]float64{p.On, p.Offset, p.Loadings, p.Noise, p.Center, p.Unit, p.Floor} {
		for _, v := range list {
			if v-v != 0 {
				return fmt.Errorf("features: a parameter is %v", v)
			}
		}
	}
	for k, v := range p.On {
		if v < 0 || v > 1 {
			return fmt.Errorf("features: the probability of feature %d is %v", k+1, v)
		}
	}
	for j := range noise {
		if !(p.Noise[j] > 0 && p.Unit[j] > 0) {
			return fmt.Errorf("features: variance %d of the noise is %v, in units of %v: both must be positive",
				j+1, p.Noise[j], p.Unit[j])
		}
	}
	return nil
}

// W returns the loadings as a D×K matrix, sharing their memory.
func (p *Parameters) W() *mat.Dense { return mat.NewDense(p.D, p.K, p.Loadings) }

// NoiseOf returns the variance of the noise in column j.
func (p *Parameters) NoiseOf(j int) float64 { return p.Noise[min(j, len(p.Noise)-1)] }

// UnitOf returns the variance of column j in the data; if the noise is isotropic, the mean of all columns' variances.
func (p *Parameters) UnitOf(j int) float64 { return p.Unit[min(j, len(p.Unit)-1)] }

// AtFloor returns the columns, from 0, whose noise is at its floor, the resolution of the column. Their estimates are
// at the limit of what the data can determine. For isotropic noise it returns all columns or none.
func (p *Parameters) AtFloor() (columns []int) {
	for j := range p.D {
		if at := min(j, len(p.Noise)-1); p.Noise[at] <= p.Floor[at]*(1+1e-6) {
			columns = append(columns, j)
		}
	}
	return columns
}

// Flipped returns the same distribution of x with feature k replaced by its opposite, 1 − z_k.
func (p *Parameters) Flipped(k int) *Parameters {
	q := p.clone()
	q.On[k] = 1 - p.On[k]
	for j := range p.D {
		q.Offset[j] += p.Loadings[j*p.K+k]
		q.Loadings[j*p.K+k] *= -1
	}
	return q
}

func (p *Parameters) clone() *Parameters {
	q := *p
	q.information = nil
	for _, list := range []*[]float64{&q.On, &q.Offset, &q.Loadings, &q.Noise} {
		*list = append([]float64(nil), *list...)
	}
	return &q
}

// Canonical returns the same distribution of x in a unique form: at most half of the rows have each feature, and
// features are in descending order of the variance that they explain, Σ_j π_k(1 − π_k) w_jk²/ψ_j.
func (p *Parameters) Canonical() *Parameters {
	q := p.clone()
	for k, on := range p.On {
		if on > 0.5 {
			q = q.Flipped(k)
		}
	}
	return q.permuted(q.byStrength())
}

// permuted puts the features into another order.
func (p *Parameters) permuted(order []int) *Parameters {
	q := p.clone()
	for to, from := range order {
		q.On[to] = p.On[from]
		for j := range p.D {
			q.Loadings[j*p.K+to] = p.Loadings[j*p.K+from]
		}
	}
	return q
}

// byStrength are the features in descending order of the variance that they explain.
func (p *Parameters) byStrength() []int {
	strength, order := make([]float64, p.K), make([]int, p.K)
	for k, on := range p.On {
		order[k] = k
		for j := range p.D {
			w := p.Loadings[j*p.K+k]
			strength[k] += on * (1 - on) * w * w / p.NoiseOf(j)
		}
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(strength[j], strength[i]) })
	return order
}

// Sample draws n rows of x from the model, n×D.
func (p *Parameters) Sample(n int, rng *rand.Rand) (*mat.Dense, error) {
	if n < 1 {
		return nil, fmt.Errorf("features: the number of rows to draw is %d; must be at least 1", n)
	}
	x := mat.NewDense(n, p.D, nil)
	for i := range n {
		row := x.RawRowView(i)
		copy(row, p.Offset)
		for k, on := range p.On {
			if rng.Float64() < on {
				for j := range row {
					row[j] += p.Loadings[j*p.K+k]
				}
			}
		}
		for j := range row {
			row[j] += math.Sqrt(p.NoiseOf(j)) * rng.NormFloat64()
		}
	}
	return x, nil
}

package family

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/prior"
)

// Categorical describes the codes 0…L−1 of a variable with L levels, at least 2, without order: ln p(x|p) = ln p_x. T
// holds an indicator for each level, η = ln p and ψ = 0. Its coordinates are those of the point u_l = 2√p_l on the
// sphere of radius 2, in which the Fisher information of a row is the identity. A probability of 0 counts as 1e-300.
type Categorical struct{ Levels int }

// Name is "categorical".
func (Categorical) Name() string { return "categorical" }

// Columns is 1.
func (Categorical) Columns() int { return 1 }

// On makes the columns independent.
func (f Categorical) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Repeats is true: rows are often equal.
func (Categorical) Repeats() bool { return true }

// Support describes the valid values.
func (f Categorical) Support() string {
	if f.Levels < 2 {
		return fmt.Sprintf("nothing with %d levels: set Levels to 2 or more", f.Levels)
	}
	return fmt.Sprintf("the codes 0 to %d", f.Levels-1)
}

// Statistics is L.
func (f Categorical) Statistics() int { return max(0, f.Levels) }

// Observe takes a code.
func (f Categorical) Observe(x, t []float64) (exposure, base float64, ok bool) {
	v := x[0]
	if !isCount(v) || f.Levels < 2 || v >= float64(f.Levels) {
		return 0, 0, false
	}
	clear(t)
	t[int(v)] = 1
	return 1, 0, true
}

// ObserveLabels takes the codes.
func (f Categorical) ObserveLabels(self ExponentialFamily, x []float64, n, cells, stride int, labels []float64) bool {
	if f.Levels < 2 || self != ExponentialFamily(f) {
		return false
	}
	for i := range n {
		for c, v := range x[i*stride : i*stride+cells] {
			if v == v && (!isCount(v) || v >= float64(f.Levels)) {
				return false
			}
			labels[c*n+i] = v
		}
	}
	return true
}

// ObserveBlock observes the codes of rows, missing ones too.
func (f Categorical) ObserveBlock(
	self ExponentialFamily, x []float64, n, cells, stride int, memory, exposures *[]float64, _ []float64,
) ([]float64, int, bool) {
	if f.Levels < 2 || self != ExponentialFamily(f) {
		return nil, 0, false
	}
	width := cells * f.Levels
	t := linalg.Resize(*memory, n*width)
	*memory = t
	clear(t)
	for i := range n {
		for c, v := range x[i*stride : i*stride+cells] {
			switch code := int(v); {
			case v != v:
				if len(*exposures) == 0 {
					*exposures = linalg.Resize(*exposures, n*cells)
					linalg.Fill(*exposures, 1)
				}
				(*exposures)[i*cells+c] = 0
			case float64(code) != v || uint(code) >= uint(f.Levels):
				return nil, 0, false
			default:
				t[i*width+c*f.Levels+code] = 1
			}
		}
	}
	return t, width, true
}

// Parameters are the probabilities of the levels.
func (f Categorical) Parameters() []string { return numbered("level", 0, f.Levels) }

func numbered(name string, first, n int) []string {
	var list []string
	for i := range n {
		list = append(list, fmt.Sprint(name, first+i))
	}
	return list
}

// Free is L − 1.
func (f Categorical) Free() int { return max(0, f.Levels-1) }

// Estimate is the share of each level.
func (Categorical) Estimate(n float64, t, xi []float64) error {
	for l, v := range t {
		xi[l] = share(v, n)
	}
	return nil
}

// Natural is η = ln p, ψ = 0; NaN if p are not probabilities that sum to 1.
func (Categorical) Natural(xi, eta []float64) float64 {
	sum := 0.0
	for l, p := range xi {
		eta[l] = logOfProbability(p)
		sum += p
	}
	if !(math.Abs(sum-1) <= 1e-6) {
		return math.NaN()
	}
	return 0
}

// Expect is p.
func (Categorical) Expect(xi, t []float64) { copy(t, xi) }

// Information is the identity.
func (Categorical) Information(_, diag []float64) {
	linalg.Fill(diag, 1)
}

// Move follows the great circle from û = √p on the unit sphere by half the length of the
// step. The basis of the step's coordinates is the image of the other axes under the reflection of the last axis to −û:
// orthonormal vectors, tangent at û.
func (Categorical) Move(xi, step, dst []float64) {
	last := len(xi) - 1
	pole, along, length := math.Sqrt(xi[last]), 0.0, 0.0
	for l, v := range step {
		along += math.Sqrt(xi[l]) * v
		length += v * v
	}
	length = math.Sqrt(length)
	sin, cos := math.Sincos(length / 2)
	if length > 0 {
		sin /= length
	}
	along /= 1 + pole
	for l, p := range xi {
		u, tangent := math.Sqrt(p), 0.0
		if l < last {
			tangent = step[l] - along*u
		} else {
			tangent = -along * (u + 1)
		}
		u = cos*u + sin*tangent
		dst[l] = u * u
	}
}

// Deviations is √(p(1−p)/n).
func (Categorical) Deviations(xi []float64, n float64, dst []float64) {
	for l, p := range xi {
		dst[l] = math.Sqrt(p * (1 - p) / n)
	}
}

// Sample draws a code.
func (Categorical) Sample(xi []float64, rng *rand.Rand, x []float64) {
	x[0] = float64(categorical.Draw(xi, rng))
}

// Conjugate takes a prior.Dirichlet, prior.Concentrations, one a level, prior.Jeffreys,
// which is Dirichlet(½), prior.UnitInformation, as many times that, or a prior.Conjugate, whose Chi is the share of
// each level; by default Dirichlet(1), flat.
func (f Categorical) Conjugate(p prior.Prior, _ []float64) (CellPrior, error) {
	return dirichletOf(p, f, f.Levels)
}

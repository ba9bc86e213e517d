package factor

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/factoranalysis"
	"github.com/latent-go/latent/internal/linalg"
)

// searches is the number of starts of the search for the noise of each K: Jöreskog's, the noise of one factor less,
// and random ones.
const searches = 4

// wide is the number of columns from which the search begins at the noise of one factor less, where it is short and
// ends higher than from elsewhere, and once.
const wide = factoranalysis.Wide

// diagonal maximises the likelihood of factor analysis over the noise alone (Lawley & Maxwell 1971), for columns of
// variance 1.
func (s *Solutions) diagonal(c []float64, kmax int) error {
	d := s.D
	scale, correlation := make([]float64, d), slices.Clone(c)
	logUnit := 0.0
	for j := range scale {
		scale[j] = math.Sqrt(c[j*(d+1)])
		logUnit += 2 * math.Log(scale[j])
	}
	for i := range d {
		for j := range d {
			correlation[i*d+j] /= scale[i] * scale[j]
		}
	}
	if s.last == nil {
		s.last = make([]float64, d)
		linalg.Fill(s.last, 1)
	}
	for k := len(s.points); k <= kmax; k++ {
		best, err := s.search(correlation, s.last, k)
		if err != nil {
			return err
		}
		s.last = best.noise
		e := estimate{noise: slices.Clone(best.noise), loadings: best.loadings, values: best.signals(),
			converged: best.converged(correlation)}
		for j, unit := range scale {
			e.noise[j] *= unit * unit
			floats.Scale(unit, e.loadings[j*k:(j+1)*k])
		}
		s.add(e, best.deviance+logUnit)
	}
	return nil
}

// found is where a search ended.
type found struct {
	noise, loadings []float64
	deviance        float64
}

// signals are the eigenvalues of I + Ψ^−½WWᵀΨ^−½ of the factors.
func (f *found) signals() []float64 {
	k := len(f.loadings) / len(f.noise)
	values := make([]float64, k)
	linalg.Fill(values, 1)
	for i, w := range f.loadings {
		values[i%k] += w * w / f.noise[i/k]
	}
	return values
}

// converged reports whether the variances of the columns are those that the model has, but for noise that the floor
// holds.
func (f *found) converged(c []float64) bool {
	d := len(f.noise)
	k := len(f.loadings) / d
	for j, psi := range f.noise {
		w := f.loadings[j*k : (j+1)*k]
		off, held := (psi+floats.Dot(w, w)-c[j*(d+1)])/psi, psi <= Floor*(1+1e-9)
		if math.Abs(off) > 1e-4 && (off < 0 || !held) {
			return false
		}
	}
	return true
}

// search is the best of several starts. It stops when two starts find the same maximum.
func (s *Solutions) search(c, last []float64, k int) (*found, error) {
	rng := rand.New(rand.NewPCG(14, uint64(k)))
	var best *found
	for i := range searches {
		noise := make([]float64, s.D)
		switch {
		case k == 0:
			copy(noise, last)
		case i == 0 && (s.D < wide || k == 1):
			copy(noise, s.shares(c, s.D, k))
		case i < 2:
			for j, v := range last {
				noise[j] = max(0.02, v)
			}
		default:
			for j := range noise {
				noise[j] = 0.1 + 0.8*rng.Float64()
			}
		}
		f, err := climb(c, noise, k)
		if err != nil {
			return nil, err
		}
		same := best != nil && math.Abs(f.deviance-best.deviance) < 1e-9*float64(s.D)
		if best == nil || f.deviance < best.deviance {
			best = f
		}
		if k == 0 || same || s.D >= wide {
			break
		}
	}
	return best, nil
}

// climb maximises the likelihood over the noise from one start.
func climb(c, noise []float64, k int) (*found, error) {
	d := len(noise)
	f := &found{noise: noise, loadings: make([]float64, d*k)}
	if k == 0 { // the noise is all there is
		f.deviance = float64(d)
		return f, nil
	}
	floor := make([]float64, d)
	linalg.Fill(floor, Floor)
	value, ok := factoranalysis.Maximize(c, floor, noise, f.loadings, math.Inf(-1), nil)
	if !ok {
		return nil, errEigen
	}
	f.deviance = -2 * value
	return f, nil
}

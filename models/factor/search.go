package factor

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"

	"github.com/latent-go/latent/internal/factoranalysis"
	"github.com/latent-go/latent/internal/linalg"
)

// searches is the number of starts of the search for the noise of each K: Jöreskog's, the noise of one factor less,
// and random ones.
const searches = 4

// wide is the number of columns from which decompositions take time: leading eigenvalues are found alone where they
// are few, and the search begins at the noise of one factor less, where it is short and ends higher than from
// elsewhere, and once.
const wide = 100

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
		e := estimate{noise: slices.Clone(best.noise), values: best.values, converged: best.converged}
		r, _ := s.root(best.noise, d)
		e.loadings = best.loadings(r)
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
	*profile
	noise     []float64
	deviance  float64
	converged bool
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

// climb maximises the likelihood over the noise from one start: by Newton's method, or, where columns are many, by
// [found.descend].
func climb(c, noise []float64, k int) (*found, error) {
	d := len(noise)
	f := &found{noise: slices.Clone(noise), converged: true}
	switch {
	case k == 0: // the noise is all there is
	case d >= wide:
		if err := f.descend(c, k); err != nil {
			return nil, err
		}
	default:
		floor := make([]float64, d)
		linalg.Fill(floor, Floor)
		if _, ok := factoranalysis.Maximize(c, floor, f.noise, make([]float64, d*k), math.Inf(-1), nil); !ok {
			return nil, errEigen
		}
	}
	return f, f.evaluate(c, k)
}

// evaluate finds the loadings and the deviance at the noise.
func (f *found) evaluate(c []float64, k int) (err error) {
	r, _ := Structure{}.root(f.noise, len(f.noise)) // never below Floor
	if f.profile, err = lawley(c, r, k, len(f.noise)); err == nil {
		f.deviance = f.profile.deviance(floats.Sum(r.logDet))
	}
	return err
}

// descend minimises the deviance over ln(ψ − Floor) by L-BFGS, which needs leading eigenvectors alone. Its derivative
// by ψ_j is (Σ_jj − C_jj)/ψ_j², with Σ = WWᵀ + Ψ at the best W (Lawley & Maxwell 1971; what factanal uses). Then
// noise that creeps to the floor is put there.
func (f *found) descend(c []float64, k int) (err error) {
	d := len(f.noise)
	of := func(x []float64) {
		for j, v := range x {
			f.noise[j] = Floor + math.Exp(min(v, 5))
		}
	}
	point, slope := make([]float64, d), make([]float64, d)
	evaluate := func(x []float64) {
		if slices.Equal(x, point) || err != nil {
			return
		}
		copy(point, x)
		of(x)
		if err = f.evaluate(c, k); err != nil {
			f.deviance = math.NaN()
			return
		}
		for j, psi := range f.noise {
			excess := psi - c[j*(d+1)]
			for i, v := range f.values {
				excess += max(0, v-1) * psi * f.vectors[j*k+i] * f.vectors[j*k+i]
			}
			slope[j] = excess / (psi * psi) * (psi - Floor)
		}
	}
	x := make([]float64, d)
	for j, v := range f.noise {
		x[j] = math.Log(max(v-Floor, 1e-4))
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { evaluate(x); return f.deviance },
		Grad: func(grad, x []float64) { evaluate(x); copy(grad, slope) },
	}
	result, fault := optimize.Minimize(problem, x, &optimize.Settings{GradientThreshold: 1e-5, MajorIterations: 1000,
		Converger: &optimize.FunctionConverge{Absolute: 1e-10, Iterations: 5}}, &optimize.LBFGS{Store: 10})
	if err != nil {
		return err
	}
	f.converged = fault == nil
	if result != nil {
		x = result.X
	}
	of(x)
	for j, v := range f.noise {
		if v < Floor*(1+1e-3) {
			f.noise[j] = Floor
		}
	}
	return nil
}

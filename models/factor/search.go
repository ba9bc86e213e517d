package factor

import (
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/optimize"
)

// searches is the number of starts of the search for the noise of each K: Jöreskog's, the noise of one factor less, and random
// ones.
const searches = 4

// wide is the number of columns from which decompositions take time: leading eigenvalues are found alone where they are few, and
// the search begins at the noise of one factor less, where it is short and ends higher than from elsewhere, and once.
const wide = 100

// diagonal maximises the likelihood of factor analysis over the noise alone (Lawley & Maxwell 1971), for columns of variance 1.
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
	last := make([]float64, d) // noise of one factor less
	for j := range last {
		last[j] = 1
	}
	for k := 0; k <= kmax; k++ {
		best, err := s.search(correlation, last, k)
		if err != nil {
			return err
		}
		last = best.noise
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

// climb maximises the likelihood over ln(ψ − Floor) by L-BFGS from one start. The derivative of the deviance by ψ_j is
// (Σ_jj − C_jj)/ψ_j², with Σ = WWᵀ + Ψ at the best W (Lawley & Maxwell 1971; what factanal uses). Then noise that creeps to the floor
// is put there.
func climb(c, noise []float64, k int) (*found, error) {
	d := len(noise)
	f := &found{noise: slices.Clone(noise)}
	at := func(noise []float64) (*profile, float64, error) {
		r, _ := Structure{}.root(noise, d) // never below Floor
		p, err := lawley(c, r, k, d)
		if err != nil {
			return nil, math.NaN(), err
		}
		return p, p.deviance(floats.Sum(r.logDet)), nil
	}
	var err error
	if k == 0 { // the noise is all there is
		f.converged = true
		f.profile, f.deviance, err = at(f.noise)
		return f, err
	}
	of := func(dst, x []float64) {
		for j, v := range x {
			dst[j] = Floor + math.Exp(min(v, 5))
		}
	}
	point, value, slope := make([]float64, d), math.NaN(), make([]float64, d)
	evaluate := func(x []float64) {
		if slices.Equal(x, point) {
			return
		}
		copy(point, x)
		of(f.noise, x)
		var p *profile
		if p, value, err = at(f.noise); err != nil {
			return
		}
		for j, psi := range f.noise {
			excess := psi - c[j*(d+1)]
			for i, v := range p.values {
				excess += max(0, v-1) * psi * p.vectors[j*k+i] * p.vectors[j*k+i]
			}
			slope[j] = excess / (psi * psi) * (psi - Floor)
		}
	}
	x := make([]float64, d)
	for j, v := range noise {
		x[j] = math.Log(max(v-Floor, 1e-4))
	}
	threshold := 1e-7
	if d >= wide {
		threshold = 1e-5
	}
	problem := optimize.Problem{
		Func: func(x []float64) float64 { evaluate(x); return value },
		Grad: func(grad, x []float64) { evaluate(x); copy(grad, slope) },
	}
	result, fault := optimize.Minimize(problem, x, &optimize.Settings{GradientThreshold: threshold, MajorIterations: 1000,
		Converger: &optimize.FunctionConverge{Absolute: threshold * 1e-5, Iterations: 5}}, &optimize.LBFGS{Store: 10})
	if err != nil {
		return nil, err
	}
	f.converged = fault == nil
	if result != nil {
		x = result.X
	}
	of(f.noise, x)
	for j, v := range f.noise {
		if v < Floor*(1+1e-3) {
			f.noise[j] = Floor
		}
	}
	f.profile, f.deviance, err = at(f.noise)
	return f, err
}

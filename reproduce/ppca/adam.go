package ppca

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/latent-go/latent/internal/linalg"
)

// Constants of Adam (Kingma & Ba 2015), for gradients in the coordinates of step, in which
// the bound's curvature is about 1.
const (
	firstDecay  = 0.9
	secondDecay = 0.999
	// damping is Adam's ε. It is not tiny: once gradients are smaller, a step is one along natural
	// gradients, and shrinks with them.
	damping = 0.3
)

// step makes a step of Adam from the optimiser's iterate (m, L), in place, and renews the
// average; it returns false where the gradient is not finite.
//
// Coordinates are those of ρ itself: W_j = m_j + L_j(u_j + A_jε_j), at u = 0 and A = I. The
// Fisher information of ρ is the identity in u, so that lengths are posterior standard
// deviations whatever the units of the data are. A_j is lower triangular, its diagonal
// on the log scale. With h = L_jᵀ∇_j ln p(X, W) the gradients are E[h + ε] for u and the lower
// triangle of E[(h + ε)εᵀ] for A. The terms in ε stand for the entropy, whose gradient is 0
// and I: they have these expectations, and cancel the noise of h where ρ is the
// posterior (Roeder, Wu & Duvenaud 2017).
func (s *Statistics) step(p *Posterior, pairs int, rate float64) bool {
	o, w := &p.Optimizer, s.workspace()
	w.size(p, len(s.rootOf().Data)/s.D)
	o.Steps++
	if !s.gradient(p, pairs, uint64(o.Steps)) {
		return false
	}
	t := float64(o.Steps)
	rate *= math.Pow(1+t/cooling, -cooled)
	bias1, bias2 := 1-math.Pow(firstDecay, t), 1-math.Pow(secondDecay, t)
	for i, g := range w.grad {
		o.First[i] += (1 - firstDecay) * (g - o.First[i])
		o.Second[i] += (1 - secondDecay) * (g*g - o.Second[i])
		w.grad[i] = rate * o.First[i] / bias1 / (math.Sqrt(o.Second[i]/bias2) + damping)
	}
	p.move(w)

	share := (averaging + 1) / (t + averaging)
	blend(p.Means, o.Means, share)
	blend(p.Factors, o.Factors, share)
	return true
}

// The step's length falls as t^−cooled after about cooling steps, slowly enough to
// be independent of the start and fast enough for the average of the iterates to converge. The
// average gives iterate t a weight of about t^averaging (Shamir & Zhang 2013).
const (
	cooling   = 100
	cooled    = 0.75
	averaging = 3
)

func blend(average, iterate []float64, share float64) {
	for i, v := range iterate {
		average[i] += share * (v - average[i])
	}
}

// gradient puts the gradient of the bound at the optimiser's iterate in the workspace, from
// the draws of a step: K means of D, then the factors.
func (s *Statistics) gradient(p *Posterior, pairs int, step uint64) bool {
	o, w, k, d := &p.Optimizer, s.work, p.K, p.D
	w.grad = linalg.Resize(w.grad, len(o.First))
	clear(w.grad)
	clear(w.mean)
	for t := range pairs {
		w.noise.fill(w.eps, d, o.Seed, step, uint64(t))
		p.spread(w.delta, o.Factors, w.eps)
		for _, side := range [...]struct {
			sign float64
			grad []float64
		}{{1, w.plus}, {-1, w.minus}} {
			copy(w.w, o.Means)
			linalg.Axpy(side.sign, w.delta, w.w)
			if v := s.logLikelihood(p, side.grad); v-v != 0 {
				return false
			}
			linalg.Axpy(-1/p.PriorVariance, w.w, side.grad)
		}
		for i, plus := range w.plus {
			minus := w.minus[i]
			w.mean[i] += (plus + minus) / 2
			w.plus[i] = (plus - minus) / 2
		}
		for j := range k {
			p.timesFactor(blas.Trans, o.Factors, j, w.plus)
			p.outer(w.grad[k*d+j*p.factorSize():], j, w.plus, w.eps[j*d:(j+1)*d])
		}
	}
	linalg.Scale(1/float64(pairs), w.grad)
	for j := range k {
		p.timesFactor(blas.Trans, o.Factors, j, w.mean)
		for i := range d {
			w.grad[j*d+i] = w.mean[i*k+j] / float64(pairs)
		}
	}
	for _, g := range w.grad {
		if g-g != 0 {
			return false
		}
	}
	return true
}

// outer adds the lower triangle, or the diagonal, of (h + ε)εᵀ to dst; h is column j of the
// D×K matrix in columns.
func (p *Posterior) outer(dst []float64, j int, columns, eps []float64) {
	k, d := p.K, p.D
	for i, e := range eps {
		h := columns[i*k+j] + e
		if p.Diagonal {
			dst[i] += h * e
			continue
		}
		linalg.Axpy(h, eps[:i+1], dst[i*d:i*d+i+1])
	}
}

// move takes the step in w.grad: m_j += L_ju_j, L_j ← L_jA_j.
func (p *Posterior) move(w *workspace) {
	o, k, d := &p.Optimizer, p.K, p.D
	w.triangle = linalg.Resize(w.triangle, d*d)
	for j := range k {
		p.intoColumn(w.delta, j, w.grad[j*d:(j+1)*d])
		p.timesFactor(blas.NoTrans, o.Factors, j, w.delta)
	}
	linalg.Axpy(1, w.delta, o.Means)
	size := p.factorSize()
	for j := range k {
		step, l := w.grad[k*d+j*size:][:size], o.Factors[j*size:(j+1)*size]
		if p.Diagonal {
			for i := range l {
				l[i] *= math.Exp(step[i])
			}
			continue
		}
		copy(w.triangle, step)
		for i := range d {
			w.triangle[i*d+i] = math.Exp(step[i*d+i])
		}
		a := p.triangle(w.triangle, 0)
		for i := range d { // row i of L is 0 from i + 1 on, and stays so
			a.N = i + 1
			blas64.Trmv(blas.Trans, a, blas64.Vector{N: i + 1, Inc: 1, Data: l[i*d:]})
		}
	}
}

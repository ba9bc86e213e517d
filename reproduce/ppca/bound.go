package ppca

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/internal/linalg"
)

// Bound is an estimate of the evidence lower bound, in nats.
type Bound struct {
	Value         float64 // E_ρ[ln p(X|W)] − KL(ρ ‖ prior)
	StdErr        float64 // Monte-Carlo standard error of Value and of LogLikelihood
	LogLikelihood float64 // E_ρ[ln p(X|W)], the weights of the rows included
	Divergence    float64 // KL(ρ ‖ prior), exact
}

// Bound estimates the bound of p from m.Pairs pairs of draws of m.Seed; with another Seed
// than in the fit the estimate is independent of the fit's choice among its iterates. s is the
// statistics of the rows, as a fit returns them; its scratch memory is used, so that no other
// goroutine may use it at the same time.
//
// A pair W = m ± Σ^½ε counts ½[ln p(X|W₊) + ln p(X|W₋)], and has the control variate
// c = ½ Σ_j [‖ε_j‖² − D − (‖L_jε_j‖² − tr Σ_j)/s²], of expectation 0: the fluctuation of
// ln(prior/ρ), which cancels that of the likelihood where ρ is the posterior. Its coefficient is
// fitted by regression, so that it is 0 where the likelihood does not fluctuate.
func (m Model) Bound(s *Statistics, p *Posterior) (Bound, error) {
	m, err := m.resolved()
	if err != nil {
		return Bound{}, err
	}
	if p.D != s.D {
		return Bound{}, fmt.Errorf("ppca: statistics of %d columns, the posterior has %d", s.D, p.D)
	}
	w := s.workspace()
	w.size(p, len(s.rootOf().Data)/s.D)
	trace := linalg.Dot(p.Factors, p.Factors)
	var value, control, vv, vc, cc float64 // means, and sums of products about them
	for t := range m.Pairs {
		w.noise.fill(w.eps, p.D, m.Seed, valuing, uint64(t))
		p.spread(w.delta, p.Factors, w.eps)
		v, c := 0.0, linalg.Dot(w.eps, w.eps)-float64(p.K*p.D)-(linalg.Dot(w.delta, w.delta)-trace)/p.PriorVariance
		for _, sign := range [...]float64{1, -1} {
			copy(w.w, p.Means)
			linalg.Axpy(sign, w.delta, w.w)
			v += s.logLikelihood(p, nil) / 2
		}
		dv, dc := v-value, c/2-control
		value += dv / float64(t+1)
		control += dc / float64(t+1)
		vv += dv * (v - value)
		vc += dv * (c/2 - control)
		cc += dc * (c/2 - control)
	}
	slope := 0.0
	if cc > 0 {
		slope = vc / cc
	}
	n := float64(m.Pairs)
	b := Bound{
		StdErr:        math.Sqrt(max(0, vv-slope*vc) / (n - 2) / n),
		LogLikelihood: value - slope*control,
		Divergence:    p.Divergence(),
	}
	b.Value = b.LogLikelihood - b.Divergence
	if b.Value-b.Value != 0 {
		return b, errors.New("ppca: the bound is not finite: WᵀW + σ²I is not positive definite, or the data are " +
			"near the end of the range; rescale them, or give a larger σ²")
	}
	return b, nil
}

// logLikelihood is ln p(X|W) at the W in the workspace, and in grad, when not nil, its
// gradient, D×K. With M = WᵀW + σ²I, B = WM⁻¹ and C = WWᵀ + σ²I, Woodbury gives
//
//	C⁻¹ = (I − BWᵀ)/σ²,   C⁻¹W = B,   ln|C| = (D − K) ln σ² + ln|M|.
//
// The second moments enter by a root R, RᵀR = Σ w x xᵀ: with the residual Y = R − RBWᵀ
//
//	tr(C⁻¹RᵀR) = ‖Y‖²/σ² + ‖RB‖²,   ∇ ln p(X|W) = −NB + YᵀRB/σ²,
//
// in which nothing cancels when the noise is small. The cost is O(D²K + DK²), and O(rDK) in
// place of the first term where R has r < D rows. It is NaN where M is not positive definite.
func (s *Statistics) logLikelihood(p *Posterior, grad []float64) float64 {
	k, d, v, root := p.K, p.D, s.work, s.rootOf()
	w, b := linalg.General(d, k, v.w), linalg.General(d, k, v.b)
	linalg.Mul(true, false, 1, w, w, 0, linalg.General(k, k, v.m))
	for j := range k {
		v.m[j*k+j] += p.Noise
	}
	chol, ok := linalg.NewCholesky(k, v.m)
	if !ok {
		return math.NaN()
	}
	copy(v.b, v.w)
	chol.SolveRight(b)

	r := root.Rows
	rb, y := linalg.General(r, k, v.rb), linalg.General(r, d, v.y)
	distance := 0.0
	if r > 0 {
		linalg.Mul(false, false, 1, root, b, 0, rb)
		copy(v.y, root.Data)
		linalg.Mul(false, true, -1, rb, w, 1, y)
		distance = linalg.Dot(v.y, v.y)/p.Noise + linalg.Dot(v.rb, v.rb)
	}
	if grad != nil {
		copy(grad, v.b)
		linalg.Scale(-s.N, grad)
		if r > 0 {
			linalg.Mul(true, false, 1/p.Noise, y, rb, 1, linalg.General(d, k, grad))
		}
	}
	return -0.5 * (s.N*(float64(d)*math.Log(2*math.Pi)+float64(d-k)*math.Log(p.Noise)+chol.LogDet()) + distance)
}

// workspace is scratch memory for draws.
type workspace struct {
	noise noise

	eps, delta []float64 // K·D, the ε_j; D×K, the L_jε_j
	w, b, m    []float64 // D×K, D×K, K×K
	rb, y      []float64 // r×K, r×D

	plus, minus []float64 // D×K, gradients at a pair of draws
	mean, grad  []float64 // D×K; as long as Optimizer.First
	triangle    []float64 // D×D

}

func (s *Statistics) workspace() *workspace {
	if s.work == nil {
		s.work = &workspace{}
		s.work.noise.rng = rand.New(&s.work.noise.pcg)
	}
	return s.work
}

// size makes room for the draws of p and a root of r rows.
func (w *workspace) size(p *Posterior, r int) {
	k, d := p.K, p.D
	for _, v := range [...]*[]float64{&w.eps, &w.delta, &w.w, &w.b, &w.plus, &w.minus, &w.mean} {
		*v = linalg.Resize(*v, d*k)
	}
	w.m, w.rb, w.y = linalg.Resize(w.m, k*k), linalg.Resize(w.rb, r*k), linalg.Resize(w.y, r*d)
}

// noise draws the ε of a pair of draws, each column from a PCG stream of its own, so that
// column j of draw t is the same whatever K is.
type noise struct {
	pcg rand.PCG
	rng *rand.Rand
}

// Purposes of a stream: 0 estimates the bound, and 1, 2, … are the steps of Adam.
const valuing = 0

func (n *noise) fill(eps []float64, d int, seed, purpose, draw uint64) {
	stream := scramble(scramble(seed^scramble(purpose)) ^ draw)
	for j := 0; j*d < len(eps); j++ {
		n.pcg.Seed(stream, scramble(stream^uint64(j)))
		for i := range d {
			eps[j*d+i] = n.rng.NormFloat64()
		}
	}
}

// scramble is a bijection of 64 bits without visible structure, the output function of
// SplitMix64 (Steele, Lea & Flood 2014).
func scramble(z uint64) uint64 {
	z += 0x9e3779b97f4a7c15
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

package features

import (
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/prior"
)

// MaxExact is the number of features up to which the 2^K states of a row are enumerated.
const MaxExact = 12

// A field is the log joint of a row as a function of its z, up to what does not depend on z:
//
//	Σ_k z_k (linear_k + g_k) − Σ_{k<l} pair_kl z_k z_l,  g = WᵀΨ⁻¹(x − center).
//
// With a tilt of precision P = D·S₀⁻¹ it is lowered by ½ z̃ᵀPz̃, z̃ = (1, z), and with that of the evidence logit π is
// expected.
type field struct {
	weighted []float64 // Ψ⁻¹W, D×K
	linear   []float64 // K
	pair     []float64 // WᵀΨ⁻¹W + P without the row and the column of the 1, K×K
	tilt     mat.SymDense
}

// logOf is the logarithm of a probability; 1e-300 stands for 0, so that it is not infinite.
func logOf(p float64) float64 { return math.Log(max(p, 1e-300)) }

func (f *field) prepare(p *Parameters, tilt *laplace.Tilt, worth float64) error {
	k := p.K
	f.weighted, f.linear, f.pair = linalg.Resize(f.weighted, len(p.Loadings)), linalg.Resize(f.linear, k),
		linalg.Resize(f.pair, k*k)
	if f.tilt.IsEmpty() || f.tilt.SymmetricDim() != k+1 {
		f.tilt = *mat.NewSymDense(k+1, nil)
	}
	f.tilt.Zero()
	if err := tilt.Precision(&f.tilt); err != nil {
		return err
	}
	if tilt.Prior() {
		f.tilt.ScaleSym(1/worth, &f.tilt)
		uncenter(&f.tilt)
	}
	for l, on := range p.On {
		f.linear[l] = logOf(on) - logOf(1-on) - f.tilt.At(0, l+1)
		if tilt.Prior() {
			n := tilt.N() + jeffreys.A + jeffreys.B
			with, without := prior.Beta{A: on * n, B: (1 - on) * n}.ExpectedLog()
			f.linear[l] = with - without - f.tilt.At(0, l+1)
		}
	}
	for j := range p.D {
		w, shift := f.weighted[j*k:(j+1)*k], p.Offset[j]-p.Center[j]
		copy(w, p.Loadings[j*k:(j+1)*k])
		floats.Scale(1/p.NoiseOf(j), w)
		floats.AddScaled(f.linear, -shift, w)
	}
	linalg.MulSerial(true, false, 1, linalg.General(p.D, k, p.Loadings), linalg.General(p.D, k, f.weighted), 0,
		linalg.General(k, k, f.pair))
	for l := range k {
		for m := range k {
			f.pair[l*k+m] += f.tilt.At(l+1, m+1)
		}
		f.linear[l] -= f.pair[l*k+l] / 2
	}
	return nil
}

// A chunk is a few rows of a block, about the center.
type chunk struct {
	size   int       // rows at most, a multiple of simd.Lanes
	padded int       // rows, with those that fill it up to a multiple of simd.Lanes
	x, w   []float64 // padded×D, and the weights
	g, on  []float64 // K×padded: what features gain in a row, WᵀΨ⁻¹x, and the probabilities that they are on
}

func (c *chunk) prepare(p *Parameters, size int) {
	c.size = size
	c.x, c.w = linalg.Resize(c.x, p.D*size), linalg.Resize(c.w, size)
	c.g, c.on = linalg.Resize(c.g, p.K*size), linalg.Resize(c.on, p.K*size)
}

// load reads rows first to first + n − 1 of a block, and finds their gains. Rows of weight 0, which may lie anywhere,
// and those that fill the chunk up are zeros.
func (c *chunk) load(b blocks.Rows, first, n int, p *Parameters, f *field) {
	c.padded = simd.Padded(n)
	x := c.x[:c.padded*p.D]
	clear(x)
	clear(c.w[:c.padded])
	for i := range n {
		if c.w[i] = b.Weight(first + i); c.w[i] != 0 {
			floats.SubTo(x[i*p.D:(i+1)*p.D], b.Row(first+i), p.Center)
		}
	}
	g := linalg.General(p.K, c.padded, c.g[:p.K*c.padded])
	linalg.MulSerial(true, true, 1, linalg.General(p.D, p.K, f.weighted), linalg.General(c.padded, p.D, x), 0, g)
}

// A states enumerates z. State s has feature k where bit k of s is set.
type states struct {
	field
	chunk
	step   []float64 // by how much a state is above that without its highest feature, less that feature's gain
	joint  []float64 // 2^K×padded: log joints, and then probabilities
	logSum []float64 // and entropies, padded each
	counts []float64 // 2^K: rows in each state
	half   []float64
}

// chunkFloats bounds the numbers of a chunk, so that they stay in a core's own cache.
const chunkFloats = 1 << 14

// mostRows bounds the rows of a chunk.
const mostRows = 256

func (s *states) prepare(p *Parameters, tilt *laplace.Tilt, worth float64) error {
	if err := s.field.prepare(p, tilt, worth); err != nil {
		return err
	}
	all := 1 << p.K
	s.chunk.prepare(p, max(simd.Lanes, min(mostRows, chunkFloats>>p.K)))
	s.step = linalg.Resize(s.step, all)
	s.counts, s.half = linalg.Resize(s.counts, all), linalg.Resize(s.half, all)
	s.joint, s.logSum = linalg.Resize(s.joint, all*s.size), linalg.Resize(s.logSum, 2*s.size)
	s.step[0] = 0
	for k := range p.K {
		at := s.step[1<<k : 2<<k]
		at[0] = s.linear[k]
		for l := range k {
			for i, v := range at[:1<<l] {
				at[1<<l+i] = v - s.pair[k*p.K+l]
			}
		}
	}
	return nil
}

// enumerate makes joint the probabilities of the states.
func (s *states) enumerate(p *Parameters) {
	n := s.padded
	clear(s.joint[:n])
	for k := range p.K {
		gains := s.g[k*n : (k+1)*n]
		for i := range 1 << k {
			from, to, step := s.joint[i*n:(i+1)*n], s.joint[(1<<k+i)*n:(1<<k+i+1)*n], s.step[1<<k+i]
			for r, v := range from {
				to[r] = v + gains[r] + step
			}
		}
	}
	simd.Softmax(s.joint, 1<<p.K, n, s.logSum[:n], s.logSum[n:2*n])
}

// marginals folds the states: on are the probabilities of the features. It leaves nothing of the probabilities of
// states.
func (s *states) marginals(k int) {
	n := s.padded
	for l := k - 1; l >= 0; l-- {
		on := s.on[l*n : (l+1)*n]
		clear(on)
		for i := range 1 << l {
			floats.Add(on, s.joint[(1<<l+i)*n:(1<<l+i+1)*n])
		}
		linalg.Axpy(1, s.joint[n<<l:n<<(l+1)], s.joint[:n<<l])
		for i, v := range on {
			on[i] = min(v, 1)
		}
	}
}

// tally adds the weights of the states, before marginals.
func (s *states) tally() {
	n := s.padded
	for i := range s.counts {
		s.counts[i] += linalg.Dot(s.w[:n], s.joint[i*n:(i+1)*n])
	}
}

// addPairs adds Σ E[z zᵀ] of the tallied states to zz, (1 + K)×(1 + K), but for N; its lower part stays. It folds the
// states as marginals does, once for every feature that is on.
func (s *states) addPairs(zz []float64, k int) {
	for l := k - 1; l >= 0; l-- {
		on := s.half[:1<<l]
		copy(on, s.counts[1<<l:2<<l])
		add := func(i, j int, v float64) { zz[i*(k+1)+j] += v }
		sum := floats.Sum(on)
		add(0, l+1, sum)
		add(l+1, l+1, sum)
		for m := l - 1; m >= 0; m-- {
			add(m+1, l+1, floats.Sum(on[1<<m:2<<m]))
			floats.Add(on[:1<<m], on[1<<m:2<<m])
		}
		floats.Add(s.counts[:1<<l], s.counts[1<<l:2<<l])
	}
}

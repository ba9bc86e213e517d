package lds

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// Covariances are products of a factor with its transpose, P = FFᵀ, and all that is factorised is I and a positive
// semidefinite matrix, as Cov w = I (docs/theory/lds.md, section 1): no step can lose definiteness.

// A local is the scratch memory of a local step.
type local struct {
	weighted, told []float64 // R⁻¹C, D×K; what each column tells of z, with its tilt, D×K×K
	mean, variance []float64 // of z_t, T×K: filtered, then smoothed
	place          []int     // of each step, where in back it has its covariance
	back           []float64 // Cov(z_t|z_t+1, x_1 … x_t), of the last step Cov(z_T|x): K×K each
	vectors        [3][]float64
	row            []float64 // (x, 1, u, z), or (u_t+1, z_t+1, z_t)

	// K×K: what all columns tell; the tilt of a step that another follows; A; of a step the lower factor of what was
	// ahead, the precision of what x tells, and the factor once it is told
	whole, moving, dynamics, ahead, precision, factor, inner, product, cov blas64.General
	stack, half, both                                                      blas64.General // (I; G), 2K×K; 2K×2K
}

// add is dst += alpha·op(m)·v.
func add(dst []float64, op blas.Transpose, alpha float64, m blas64.General, v []float64) {
	blas64.Gemv(op, alpha, m, blas64.Vector{N: len(v), Inc: 1, Data: v}, 1, blas64.Vector{N: len(dst), Inc: 1, Data: dst})
}

// factorised is the Cholesky factor of aᵀb + I, or with outer of abᵀ + I, in l.inner.
func (l *local) factorised(a, b blas64.General, outer bool) linalg.Cholesky {
	linalg.MulSerial(!outer, outer, 1, a, b, 0, l.inner)
	for i := range a.Rows {
		l.inner.Data[i*(a.Rows+1)]++
	}
	chol, _ := linalg.NewCholesky(a.Rows, l.inner.Data)
	return chol
}

// filter goes through a sequence from its beginning (Kalman 1960), and returns the entropy of q less the terms of 2πe.
// Where density is not nil it gets ln p(x_t|x_1 … x_t−1), which a tilt has no part in, and residuals, where they are
// not nil, (x_t − E x_t)/√Var x_t given the same steps, T×D.
func (s *Statistics) filter(
	x blocks.Rows, first, end int, p *Parameters, density, residuals []float64,
) (entropy float64) {
	k, l, n := p.K, &s.local, end-first
	ahead, told, h := l.vectors[0], l.vectors[1], l.vectors[2]
	l.mean, l.variance = linalg.Resize(l.mean, n*k), linalg.Resize(l.variance, n*k)
	l.place, l.back = l.place[:0], l.back[:0]
	copy(ahead, p.Start)
	clear(l.ahead.Data)
	for i := range k {
		l.ahead.Data[i*(k+1)] = math.Sqrt(p.Spread)
	}
	entropy = float64(k) * math.Log(p.Spread) / 2
	logDet, settled := 0.0, false // of this step; whether its covariances are those of the step before
	for t := range n {
		row, last := x.Row(first+t), t == n-1
		if residuals != nil {
			for j := range p.D {
				c := p.Loadings[j*k : (j+1)*k]
				clear(h)
				add(h, blas.Trans, 1, l.ahead, c)
				residuals[t*p.D+j] = (row[j] - p.level(j, row) - linalg.Dot(c, ahead)) /
					math.Sqrt(p.NoiseOf(j)+linalg.Dot(h, h))
			}
		}
		complete := l.tell(told, row, p, last)
		if !(complete && settled && !last) {
			linalg.MulSerial(false, false, 1, l.precision, l.ahead, 0, l.product)
			chol := l.factorised(l.ahead, l.product, false)
			logDet = chol.LogDet()
			copy(l.factor.Data, l.ahead.Data)
			chol.HalfSolveRight(l.factor)
			settled = l.follow(last) && complete
		}
		l.place = append(l.place, len(l.back)-k*k)
		entropy -= logDet / 2
		mean := l.mean[t*k : (t+1)*k] // ahead + FFᵀ(told − J·ahead)
		copy(mean, ahead)
		add(told, blas.NoTrans, -1, l.precision, ahead)
		clear(h)
		add(h, blas.Trans, 1, l.factor, told)
		add(mean, blas.NoTrans, 1, l.factor, h)
		if density != nil {
			density[t] = p.logDensity(row, ahead, mean) - logDet/2
		}
		if clear(ahead); !last {
			add(ahead, blas.NoTrans, 1, l.dynamics, mean)
			p.push(ahead, 1, x.Row(first + t + 1)[p.D:])
		}
	}
	return entropy
}

// tell has what a step says of z, Σ cx/r, and its precision with the tilt; it reports whether no column is missing.
func (l *local) tell(told, row []float64, p *Parameters, last bool) (complete bool) {
	k := p.K
	clear(told)
	complete = true
	for j, v := range row[:p.D] {
		if complete = complete && v == v; v == v {
			linalg.Axpy(v-p.level(j, row), l.weighted[j*k:(j+1)*k], told)
		}
	}
	if copy(l.precision.Data, l.moving.Data); last {
		clear(l.precision.Data)
	}
	if complete {
		linalg.Axpy(1, l.whole.Data, l.precision.Data)
		return true
	}
	for j, v := range row[:p.D] {
		if v == v {
			linalg.Axpy(1, l.told[j*k*k:(j+1)*k*k], l.precision.Data)
		}
	}
	return false
}

// follow adds E = Cov(z_t|z_t+1, x_1 … x_t) = F(I + WᵀW)⁻¹Fᵀ, W = AF, to back, of the last step FFᵀ; makes the lower
// factor of Cov(z_t+1|x_1 … x_t) = I + WWᵀ what is ahead; and reports whether that is as before, to rounding.
func (l *local) follow(last bool) bool {
	k, at := l.ahead.Rows, len(l.back)
	copy(l.product.Data, l.factor.Data)
	l.back = append(l.back, l.product.Data...)
	change, size := 0.0, 0.0
	if !last {
		linalg.MulSerial(false, false, 1, l.dynamics, l.factor, 0, l.cov)
		l.factorised(l.cov, l.cov, false).HalfSolveRight(l.product)
		l.factorised(l.cov, l.cov, true)
		for i := range k {
			for j := range i + 1 {
				v := l.inner.Data[j*k+i]
				change, size = max(change, math.Abs(v-l.ahead.Data[i*k+j])), max(size, math.Abs(v))
				l.ahead.Data[i*k+j] = v
			}
		}
	}
	linalg.MulSerial(false, true, 1, l.product, l.product, 0, linalg.General(k, k, l.back[at:]))
	return change <= 1e-15*size
}

// logDensity is −½(n ln 2π + Σ ln r + Σ e·e′/r), with e what x leaves at what was ahead and e′ = RS⁻¹e what it leaves
// at the filtered mean, S the covariance of e.
func (p *Parameters) logDensity(row, ahead, mean []float64) (sum float64) {
	for j, v := range row[:p.D] {
		if v == v {
			r, c := p.NoiseOf(j), p.Loadings[j*p.K:(j+1)*p.K]
			v -= p.level(j, row)
			sum -= (math.Log(2*math.Pi*r) + (v-linalg.Dot(c, ahead))*(v-linalg.Dot(c, mean))/r) / 2
		}
	}
	return sum
}

// smooth goes back through a sequence that was filtered (Rauch, Tung & Striebel 1965): the covariance of (z_t+1, z_t)
// is (I; G)P(I; G)ᵀ, P that of z_t+1 and G = EAᵀ, and E more of z_t. It adds the sums of the sequence, w times; mean
// variance are smoothed then.
func (s *Statistics) smooth(x blocks.Rows, first, end int, p *Parameters, w float64) {
	k, l, of, n := p.K, &s.local, -1, end-first
	for t := n - 1; t >= 0; t-- {
		mean, e := l.mean[t*k:(t+1)*k], linalg.General(k, k, l.back[l.place[t]:l.place[t]+k*k])
		if t == n-1 {
			copy(l.cov.Data, e.Data)
		} else {
			gain := linalg.General(k, k, l.stack.Data[k*k:])
			if of != l.place[t] {
				of = l.place[t]
				linalg.MulSerial(false, true, 1, e, l.dynamics, 0, gain)
			}
			after, apart, u := l.mean[(t+1)*k:(t+2)*k], l.vectors[0], x.Row(first + t + 1)[p.D:]
			copy(apart, after)
			add(apart, blas.NoTrans, -1, l.dynamics, mean)
			p.push(apart, -1, u)
			add(mean, blas.NoTrans, 1, gain, apart)
			linalg.MulSerial(false, false, 1, l.stack, l.cov, 0, l.half)
			linalg.MulSerial(false, true, 1, l.half, l.stack, 0, l.both)
			for i := range k {
				own := l.both.Data[(2*(k+i)+1)*k:][:k]
				linalg.Axpy(1, e.Data[i*k:(i+1)*k], own)
				copy(l.cov.Data[i*k:], own)
			}
			l.row = append(append(append(l.row[:0], u...), after...), mean...)
			addSecond(s.Moves, w, l.row, l.both.Data, p.Inputs)
		}
		s.N += w
		if t == 0 {
			l.row = append(append(l.row[:0], 1), mean...)
			addSecond(s.Start, w, l.row, l.cov.Data, 1)
		}
		row := x.Row(first + t)
		l.row = append(append(append(l.row[:0], 0, 1), row[p.D:]...), mean...)
		for i := range k {
			l.variance[t*k+i] = l.cov.Data[i*(k+1)]
		}
		for j, v := range row[:p.D] {
			if v == v {
				l.row[0] = v - p.Center[j]
				addSecond(s.column(j), w, l.row, l.cov.Data, 2+p.Inputs)
			}
		}
	}
}

// addSecond adds w(vvᵀ + cov) to a sum, cov from place first on.
func addSecond(sum []float64, w float64, v, cov []float64, first int) {
	n, m := len(v), len(v)-first
	for i, u := range v {
		linalg.Axpy(w*u, v, sum[i*n:(i+1)*n])
		if i >= first {
			linalg.Axpy(w, cov[(i-first)*m:(i-first+1)*m], sum[i*n+first:(i+1)*n])
		}
	}
}

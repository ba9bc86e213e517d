package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// expPolynomial are the coefficients of r², r³, … of exp(r) = 1 + r + r²·Q(r) on
// |r| ≤ ½ ln 2: Q interpolates at the Chebyshev nodes of degree 11, computed with 300 bits
// and rounded; what is left is below 2⁻⁶¹.
var expPolynomial = []float64{
	0x1.0000000000000p-1,
	0x1.5555555555557p-3,
	0x1.5555555555556p-5,
	0x1.11111111100dcp-7,
	0x1.6c16c16c162d4p-10,
	0x1.a01a01abe7fe1p-13,
	0x1.a01a01a6d889cp-16,
	0x1.71de0231960ebp-19,
	0x1.27e4db646b17ep-22,
	0x1.af4de97ca4194p-26,
	0x1.1f730349868cep-29,
}

// ln 2 in two parts, the first with so few bits that a multiple of it by an exponent is exact.
const (
	ln2High = 0x1.62e42fefa3800p-1
	ln2Low  = 0x1.ef35793c76730p-45
)

// Beyond these bounds exp is 0 or +Inf.
const (
	expLowest  = -746
	expHighest = 710
)

// atLeast and atMost bound x in its place by a constant in a register; a NaN stays.
func (g isa) atLeast(bound, x reg.VecVirtual) { VMAXPD(x, bound, x) }
func (g isa) atMost(bound, x reg.VecVirtual)  { VMINPD(x, bound, x) }

// exp overwrites x, between the bounds above or NaN, with exp(x): x = k ln 2 + r, and 2ᵏ
// goes into the exponent last, so that a result below the normal range is rounded once. Where
// the caller knows that 2ᵏ is a normal number, it takes less.
func (g isa) exp(x reg.VecVirtual, normal bool) {
	k, p := g.reg(), g.reg()
	g.times(1/math.Ln2, x, k)
	if g.wide() {
		VRNDSCALEPD(Imm(8), k, k)
	} else {
		VROUNDPD(Imm(8), k, k)
	}
	g.less(ln2High, k, x)
	g.less(ln2Low, k, x)
	last := len(expPolynomial) - 1
	VBROADCASTSD(number(expPolynomial[last]), p)
	for i := last - 1; i >= 0; i-- {
		g.fused(expPolynomial[i], x, p)
	}
	square := g.reg()
	VMULPD(x, x, square)
	VFMADD213PD(x, square, p)
	g.plus(1, p, p)
	if g.wide() {
		VSCALEFPD(k, p, x)
		return
	}
	steps := []reg.VecVirtual{XMM()}
	VCVTPD2DQY(k, steps[0])
	if !normal { // 2ᵏ in two steps: it may be out of range where the result is not
		half := XMM()
		VPSRAD(Imm(1), steps[0], half)
		VPSUBD(half, steps[0], steps[0])
		steps = append(steps, half)
	}
	for _, step := range steps {
		power := YMM()
		VPMOVSXDQ(step, power)
		VPADDQ(bits(1023), power, power)
		VPSLLQ(Imm(52), power, power)
		VMULPD(power, p, p)
	}
	VMOVAPD(p, x)
}

// logPolynomial are the coefficients of s², s⁴, … in (ln((1+s)/(1−s)) − 2s)/s for
// |s| ≤ (√2−1)/(√2+1), those of FreeBSD's e_log.c, which Go's math.Log has as well; the
// error is below 2⁻⁵⁸·⁴⁵.
var logPolynomial = []float64{
	6.666666666666735130e-01, // 3FE55555 55555593
	3.999999999940941908e-01, // 3FD99999 9997FA04
	2.857142874366239149e-01, // 3FD24924 94229359
	2.222219843214978396e-01, // 3FCC71C5 1D8E78AF
	1.818357216161805012e-01, // 3FC74664 96CB03DE
	1.531383769920937332e-01, // 3FC39A09 D078C69F
	1.479819860511658591e-01, // 3FC2F112 DF3E5244
}

// ln 2 as e_log.c divides it.
const (
	logLn2High = 6.93147180369123816490e-01 // 3fe62e42 fee00000
	logLn2Low  = 1.90821492927058770002e-10 // 3dea39ef 35793c76
)

// log returns ln x, by the method of e_log.c: x = 2ᵉ·m with m around 1, s = f/(2+f) for
// f = m−1. Right for finite x > 0; NaN and ±Inf give anything but themselves.
func (g isa) log(x reg.VecVirtual) reg.VecVirtual {
	e, f := g.reg(), g.reg()
	if g.wide() {
		VGETEXPPD(x, e)
		VGETMANTPD(Imm(0), x, f)
		k := K()
		VCMPPD_BCST(Imm(greaterThan), number(math.Sqrt2), f, k)
		VMULPD_BCST(number(0.5), f, k, f)
		VADDPD_BCST(number(1), e, k, e)
	} else {
		tiny, offset := g.reg(), g.reg()
		VCMPPD(Imm(lessThan), number(0x1p-1022), x, tiny)
		g.times(0x1p54, x, f)
		VBLENDVPD(tiny, f, x, f)
		VANDPD(number(54), tiny, offset)
		VPSRLQ(Imm(52), f, e)
		g.or(0x4330_0000_0000_0000, e, e) // 2⁵² + the biased exponent
		g.minus(1<<52+1023, e, e)
		VSUBPD(offset, e, e)
		g.and(1<<52-1, f, f)
		g.or(0x3ff0_0000_0000_0000, f, f)
		above, half := tiny, offset
		VCMPPD(Imm(greaterThan), number(math.Sqrt2), f, above)
		g.times(0.5, f, half)
		VBLENDVPD(above, half, f, f)
		VANDPD(number(1), above, above)
		VADDPD(above, e, e)
	}
	g.minus(1, f, f)
	s, z, r := g.reg(), g.reg(), g.reg()
	g.plus(2, f, s)
	VDIVPD(s, f, s)
	VMULPD(s, s, z)
	last := len(logPolynomial) - 1
	VBROADCASTSD(number(logPolynomial[last]), r)
	for i := last - 1; i >= 0; i-- {
		g.fused(logPolynomial[i], z, r)
	}
	VMULPD(z, r, r)
	// e·ln2High − ((h − (s(h+R) + e·ln2Low)) − f), h = f²/2
	h := z
	g.times(0.5, f, h)
	VMULPD(f, h, h)
	VADDPD(h, r, r)
	VMULPD(s, r, r)
	g.more(logLn2Low, e, r)
	VSUBPD(r, h, r)
	VSUBPD(f, r, r)
	g.times(logLn2High, e, e)
	VSUBPD(r, e, r)
	return r
}

// elementwise applies body to n numbers from src on, into dst.
func (g isa) elementwise(name, doc string, body func(x reg.VecVirtual) reg.VecVirtual) {
	g.text(name, "func(dst, src *float64, n int)", doc)
	dst, src, n := param("dst"), param("src"), param("n")
	while(n, g.lanes, func() {
		x := g.reg()
		VMOVUPD(at(src, 0), x)
		VMOVUPD(body(x), at(dst, 0))
		ADDQ(Imm(uint64(g.bytes())), src)
		ADDQ(Imm(uint64(g.bytes())), dst)
	})
	done := label("done")
	TESTQ(n, n)
	JZ(LabelRef(done))
	x, t := g.reg(), g.tail(n)
	g.read(at(src, 0), t, x)
	g.write(body(x), t, at(dst, 0))
	Label(done)
	g.ret()
}

func (g isa) expKernel() {
	g.elementwise("exp", "puts the exponential of n numbers from src on into dst.", func(x reg.VecVirtual) reg.VecVirtual {
		g.atLeast(g.load(expLowest), x)
		g.atMost(g.load(expHighest), x)
		g.exp(x, false)
		return x
	})
}

func (g isa) logKernel() {
	g.elementwise("log", "puts the logarithm of n numbers from src on into dst.", func(x reg.VecVirtual) reg.VecVirtual {
		r := g.log(x)
		g.replace(equal, 0, math.Inf(-1), x, r)
		g.replace(equal, math.Inf(1), math.Inf(1), x, r)
		g.replace(notAtLeast, 0, math.NaN(), x, r)
		return r
	})
}

// negligible is simd.Negligible.
const negligible = -354

// softmaxKernel takes lanes rows at a time, which are contiguous in each column.
func (g isa) softmaxKernel() {
	g.text("softmax", "func(v *float64, k, n int, logSum, entropy *float64)",
		"is Softmax for k > 0 and n a multiple of 8.")
	v, n, logSum, entropy := param("v"), param("n"), param("logSum"), param("entropy")
	stride := GP64()
	MOVQ(n, stride)
	SHLQ(Imm(3), stride)
	floor := g.load(negligible)
	components := func(body func(p reg.GPVirtual)) {
		p, k := GP64(), param("k")
		MOVQ(v, p)
		repeat(k, func() {
			body(p)
			ADDQ(stride, p)
		})
	}
	while(n, g.lanes, func() {
		top, sum, mean := g.load(math.Inf(-1)), g.reg(), g.reg()
		components(func(p reg.GPVirtual) { VMAXPD(at(p, 0), top, top) })
		g.zero(sum)
		g.zero(mean)
		components(func(p reg.GPVirtual) {
			x, less := g.reg(), g.reg()
			VMOVUPD(at(p, 0), x)
			VSUBPD(top, x, x)
			g.atLeast(floor, x)
			VMOVAPD(x, less)
			g.exp(x, true)
			g.clearUnless(notAtMost, negligible, less, x)
			VMOVUPD(x, at(p, 0))
			VADDPD(x, sum, sum)
			VFMADD231PD(x, less, mean)
		})
		inverse := g.load(1)
		VDIVPD(sum, inverse, inverse)
		components(func(p reg.GPVirtual) {
			x := g.reg()
			VMULPD(at(p, 0), inverse, x)
			VMOVUPD(x, at(p, 0))
		})
		log, none := g.log(sum), g.reg()
		VSUBPD(sum, sum, sum) // 0, or NaN
		VADDPD(sum, log, log)
		VADDPD(log, top, top)
		VMOVUPD(top, at(logSum, 0))
		VFNMADD231PD(mean, inverse, log)
		g.zero(none)
		g.atLeast(none, log)
		VMOVUPD(log, at(entropy, 0))
		for _, p := range []reg.GPVirtual{v, logSum, entropy} {
			ADDQ(Imm(uint64(g.bytes())), p)
		}
	})
	g.ret()
}

// complementKernel multiplies 1 − q in each lane, mantissas and exponents apart.
func (g isa) complementKernel() {
	g.text("complement", "func(q *float64, n int, mantissas *[8]float64, exponents *[8]int)",
		"multiplies 1 − q over n numbers, a multiple of 8, in 4 or 8 alternating products: mantissas in [1, 2), and "+
			"as integers the sums of biased exponents.")
	q, n := param("q"), param("n")
	most, p, e := g.load(1-0x1p-53), g.load(1), g.reg()
	g.zero(e)
	while(n, g.lanes, func() {
		x, one := g.reg(), g.load(1)
		VMOVUPD(at(q, 0), x)
		g.atMost(most, x)
		VSUBPD(x, one, x)
		VMULPD(x, p, p)
		VPSRLQ(Imm(52), p, x)
		VPADDQ(x, e, e)
		g.and(1<<52-1, p, p)
		g.or(0x3ff0_0000_0000_0000, p, p)
		ADDQ(Imm(uint64(g.bytes())), q)
	})
	VMOVUPD(p, at(param("mantissas"), 0))
	VMOVUPD(e, at(param("exponents"), 0))
	g.ret()
}

// finiteKernel sums x − x, which is 0 for a finite x only.
func (g isa) finiteKernel() {
	g.text("finite", "func(x *float64, n int, sum *float64)", "adds x − x over n numbers, 0 or NaN, to sum.")
	x, n, sum := param("x"), param("n"), g.reg()
	g.zero(sum)
	difference := func(v reg.VecVirtual) {
		VSUBPD(v, v, v)
		VADDPD(v, sum, sum)
	}
	while(n, g.lanes, func() {
		v := g.reg()
		VMOVUPD(at(x, 0), v)
		difference(v)
		ADDQ(Imm(uint64(g.bytes())), x)
	})
	done := label("done")
	TESTQ(n, n)
	JZ(LabelRef(done))
	v := g.reg()
	g.read(at(x, 0), g.tail(n), v)
	difference(v)
	Label(done)
	g.addTotal(sum, at(param("sum"), 0))
	g.ret()
}

package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// A place is where a pass over k numbers is: all lanes of a register, or the first of them.
type place struct {
	rest   *tail
	floats reg.Register // AVX2's mask of numbers of 32 bits
}

// over runs a body over k numbers, which pointers to them, and to numbers of 32 bits, go along with.
func (g isa) over(k reg.GPVirtual, doubles, floats []reg.GPVirtual, body func(at place)) {
	while(k, g.lanes, func() {
		body(place{})
		add(g.bytes(), doubles...)
		add(g.bytes()/2, floats...)
	})
	done := label("done")
	TESTQ(k, k)
	JZ(LabelRef(done))
	t := g.tail(k)
	rest := place{rest: &t}
	if !g.wide() { // the upper halves of the lanes' masks
		low, high := XMM(), XMM()
		VEXTRACTF128(Imm(1), t.mask.(reg.VecVirtual), high)
		VMOVUPS(t.mask.(reg.VecVirtual).AsX(), low)
		VSHUFPS(Imm(0xdd), high, low, low)
		rest.floats = low
	}
	body(rest)
	Label(done)
}

// get and put are a register's numbers in memory.
func (g isa) get(m Mem, at place) reg.VecVirtual {
	r := g.reg()
	if at.rest == nil {
		VMOVUPD(m, r)
	} else {
		g.read(m, *at.rest, r)
	}
	return r
}

func (g isa) put(r reg.VecVirtual, at place, m Mem) {
	if at.rest == nil {
		VMOVUPD(r, m)
	} else {
		g.write(r, *at.rest, m)
	}
}

// getFloats and putFloats are the same for numbers of 32 bits.
func (g isa) getFloats(m Mem, at place) reg.VecVirtual {
	r := g.reg()
	switch {
	case at.rest == nil:
		VCVTPS2PD(m, r)
	case g.wide():
		VCVTPS2PD_Z(m, at.rest.mask, r)
	default:
		half := XMM()
		VMASKMOVPS(m, at.floats, half)
		VCVTPS2PD(half, r)
	}
	return r
}

// putFloats returns what is stored.
func (g isa) putFloats(r reg.VecVirtual, at place, m Mem) reg.VecVirtual {
	rounded := g.reg()
	if g.wide() {
		half := YMM()
		VCVTPD2PS(r, half)
		if at.rest == nil {
			VMOVUPS(half, m)
		} else {
			VMOVUPS(half.AsZ(), at.rest.mask, m)
		}
		VCVTPS2PD(half, rounded)
		return rounded
	}
	half := XMM()
	VCVTPD2PSY(r, half)
	if at.rest == nil {
		VMOVUPS(half, m)
	} else {
		VMASKMOVPS(half, at.floats, m)
	}
	VCVTPS2PD(half, rounded)
	return rounded
}

// reassignKernel keeps the weights between two passes over the topics.
func (g isa) reassignKernel() {
	g.text("reassign", "func(q, old *float32, k int, n, one, alpha, beta, floor float64, "+
		"mine, words, tokens, weights, sum *float64)", "is Reassign for k > 0; sum is 0.")
	old, mine, words, tokens, weights := param("old"), param("mine"), param("words"), param("tokens"), param("weights")
	one, none, total := g.argument("one"), g.reg(), g.reg()
	alpha, beta, floor := g.argument("alpha"), g.argument("beta"), g.argument("floor")
	g.zero(none)
	g.zero(total)
	g.over(param("k"), []reg.GPVirtual{mine, words, tokens, weights}, []reg.GPVirtual{old}, func(p place) {
		out := g.getFloats(at(old, 0), p)
		VMULPD(one, out, out)
		less := func(from reg.GPVirtual, plus reg.VecVirtual) reg.VecVirtual {
			r := g.get(at(from, 0), p)
			VSUBPD(out, r, r)
			g.atLeast(none, r)
			VADDPD(plus, r, r)
			return r
		}
		a, b, c := less(mine, alpha), less(words, beta), less(tokens, floor)
		VMULPD(b, a, a)
		VDIVPD(c, a, a)
		g.put(a, p, at(weights, 0))
		switch { // 0 where there is no topic
		case p.rest == nil:
		case g.wide():
			VMOVAPD_Z(a, p.rest.mask, a)
		default:
			VANDPD(p.rest.mask, a, a)
		}
		VADDPD(a, total, total)
	})
	sum := param("sum")
	g.addTotal(total, at(sum, 0))
	all, scale, n := g.reg(), g.load(1), g.argument("n")
	VBROADCASTSD(at(sum, 0), all)
	VDIVPD(all, scale, scale)
	q := param("q")
	old, mine, weights = param("old"), param("mine"), param("weights")
	g.over(param("k"), []reg.GPVirtual{mine, weights}, []reg.GPVirtual{q, old}, func(p place) {
		v := g.get(at(weights, 0), p)
		VMULPD(scale, v, v)
		before, m := g.getFloats(at(old, 0), p), g.get(at(mine, 0), p)
		v = g.putFloats(v, p, at(q, 0))
		VSUBPD(before, v, v)
		VFMADD231PD(v, n, m)
		g.put(m, p, at(mine, 0))
	})
	g.ret()
}

// tallyKernel sums v·ln v in lanes.
func (g isa) tallyKernel() {
	g.text("tally", "func(q *float32, k int, n, weight float64, mine, squares, sum, square, total *float64)",
		"is Tally for k > 0; it adds to total.")
	q, mine, squares, sum, square := param("q"), param("mine"), param("squares"), param("sum"), param("square")
	n, weight, h := g.argument("n"), g.argument("weight"), g.reg()
	g.zero(h)
	g.over(param("k"), []reg.GPVirtual{mine, squares, sum, square}, []reg.GPVirtual{q}, func(p place) {
		v := g.getFloats(at(q, 0), p)
		x := g.reg()
		g.plus(nothing, v, x)
		VFMADD231PD(g.log(x), v, h)
		expected, squared := g.reg(), g.reg()
		VMULPD(n, v, expected)
		VMULPD(expected, v, squared)
		for _, to := range []struct {
			plain, weighted reg.GPVirtual
			v               reg.VecVirtual
		}{{mine, sum, expected}, {squares, square, squared}} {
			r := g.get(at(to.plain, 0), p)
			VADDPD(to.v, r, r)
			g.put(r, p, at(to.plain, 0))
			r = g.get(at(to.weighted, 0), p)
			VFMADD231PD(to.v, weight, r)
			g.put(r, p, at(to.weighted, 0))
		}
	})
	g.addTotal(h, at(param("total"), 0))
	g.ret()
}

// nothing is that of package simd.
const nothing = 1e-300

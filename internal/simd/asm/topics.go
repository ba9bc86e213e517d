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

// A document's entries are words, of which each has a row of k numbers in matrices with a row for each word.
type entries struct {
	columns, left reg.GPVirtual
	bytes         reg.GPVirtual // of a row
	n, one        reg.VecVirtual
}

func (g isa) entries() entries {
	return entries{param("columns"), param("entries"), inBytes("k"), g.reg(), g.load(1)}
}

// each runs body for one entry after the other, with the number of its tokens in e.n, the entry's rows, and those of
// the next entry, of the last one its own, for the caches.
func (e entries) each(matrices []string, body func(rows, next []reg.GPVirtual)) {
	counts := param("counts")
	repeat(e.left, func() {
		VMOVAPD(e.one, e.n)
		uncounted := label("uncounted")
		TESTQ(counts, counts)
		JZ(LabelRef(uncounted))
		VBROADCASTSD(at(counts, 0), e.n)
		add(8, counts)
		Label(uncounted)
		after := GP64()
		XORQ(after, after)
		CMPQ(e.left, Imm(1))
		SETNE(after.As8())
		row := func(m Mem) []reg.GPVirtual {
			offset := GP64()
			MOVQ(m, offset)
			IMULQ(e.bytes, offset)
			list := make([]reg.GPVirtual, len(matrices))
			for i, name := range matrices {
				list[i] = param(name)
				ADDQ(offset, list[i])
			}
			return list
		}
		body(row(at(e.columns, 0)), row(Mem{Base: e.columns, Index: after, Scale: 8}))
		add(8, e.columns)
	})
}

// fetch has lines of memory ready for later.
func fetch(p []reg.GPVirtual) {
	for _, r := range p {
		PREFETCHT0(at(r, 0))
	}
}

// pass moves pointers over what the loop of [isa.over] has left.
func pass(rest reg.GPVirtual, floats ...reg.GPVirtual) {
	for _, p := range floats {
		LEAQ(Mem{Base: p, Index: rest, Scale: 4}, p)
	}
}

// reassignKernel keeps the weights between two passes over the topics.
func (g isa) reassignKernel() {
	g.text("reassign", "func(q, old *float32, columns *int, counts *float64, entries, k int, "+
		"alpha, beta, floor float64, mine, words, tokens, weights, sum *float64)",
		"is Reassign for k and entries > 0, with counts of 1 where there are none; sum is scratch.")
	e, q, old := g.entries(), param("q"), param("old")
	e.each([]string{"words"}, func(rows, next []reg.GPVirtual) {
		mine, tokens, weights, words := param("mine"), param("tokens"), param("weights"), rows[0]
		from, left := copyOf(old), param("k")
		one, none, total := g.reg(), g.reg(), g.reg()
		alpha, beta, floor := g.argument("alpha"), g.argument("beta"), g.argument("floor")
		g.zero(none)
		g.zero(total)
		VMOVAPD(e.n, one)
		g.atMost(e.one, one)
		g.over(left, []reg.GPVirtual{mine, words, tokens, weights, next[0]}, []reg.GPVirtual{from}, func(p place) {
			fetch(next)
			out := g.getFloats(at(from, 0), p)
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
		zero := XMM()
		VXORPD(zero, zero, zero)
		VMOVSD(zero, at(sum, 0))
		g.addTotal(total, at(sum, 0))
		all, scale := g.reg(), g.load(1)
		VBROADCASTSD(at(sum, 0), all)
		VDIVPD(all, scale, scale)
		mine, weights, left = param("mine"), param("weights"), param("k")
		g.over(left, []reg.GPVirtual{mine, weights}, []reg.GPVirtual{q, old}, func(p place) {
			v := g.get(at(weights, 0), p)
			VMULPD(scale, v, v)
			before, m := g.getFloats(at(old, 0), p), g.get(at(mine, 0), p)
			v = g.putFloats(v, p, at(q, 0))
			VSUBPD(before, v, v)
			VFMADD231PD(v, e.n, m)
			g.put(m, p, at(mine, 0))
		})
		pass(left, q, old)
	})
	g.ret()
}

// tallyKernel sums v·ln v in lanes.
func (g isa) tallyKernel() {
	g.text("tally", "func(q *float32, columns *int, counts *float64, entries, k int, weight float64, "+
		"mine, squares, sum, square, total *float64)",
		"is Tally for k and entries > 0, with counts of 1 where there are none; it adds to total.")
	e, q, all := g.entries(), param("q"), g.reg()
	g.zero(all)
	e.each([]string{"sum", "square"}, func(rows, next []reg.GPVirtual) {
		mine, squares, left := param("mine"), param("squares"), param("k")
		h, weight := g.reg(), g.argument("weight")
		g.zero(h)
		g.over(left, append([]reg.GPVirtual{mine, squares}, append(rows, next...)...), []reg.GPVirtual{q}, func(p place) {
			fetch(next)
			v := g.getFloats(at(q, 0), p)
			x := g.reg()
			g.plus(nothing, v, x)
			VFMADD231PD(g.log(x), v, h)
			expected, squared := g.reg(), g.reg()
			VMULPD(e.n, v, expected)
			VMULPD(expected, v, squared)
			for _, to := range []struct {
				plain, weighted reg.GPVirtual
				v               reg.VecVirtual
			}{{mine, rows[0], expected}, {squares, rows[1], squared}} {
				r := g.get(at(to.plain, 0), p)
				VADDPD(to.v, r, r)
				g.put(r, p, at(to.plain, 0))
				r = g.get(at(to.weighted, 0), p)
				VFMADD231PD(to.v, weight, r)
				g.put(r, p, at(to.weighted, 0))
			}
		})
		pass(left, q)
		VFMADD231PD(h, e.n, all)
	})
	g.addTotal(all, at(param("total"), 0))
	g.ret()
}

// nothing is that of package simd.
const nothing = 1e-300

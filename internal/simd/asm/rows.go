package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// rowScoresKernel multiplies a register's worth of rows, as they lie, with two vectors at a
// time: every row has a sum for each, whose lanes are added in the end, all rows together.
func (g isa) rowScoresKernel() {
	g.text("rowScores", "func(dst *float64, dstRow int, x *float64, xRow, rows, d int, eta *float64, etaRow, k int)",
		"adds the products of 1 to as many rows of d > 0 numbers as a register has lanes with k > 0 vectors to k "+
			"parts of dst of a register's worth each, of which those beyond rows get anything. Distances are in numbers.")
	// full is the bytes of d in full registers.
	full := func() reg.GPVirtual {
		r := param("d")
		ANDQ(I32(int32(-g.lanes)), r)
		SHLQ(Imm(3), r)
		return r
	}
	row := []reg.GPVirtual{param("x")} // where the full registers end; beyond the last row, the last
	ADDQ(full(), row[0])
	line, rows := inBytes("xRow"), param("rows")
	for r := 1; r < g.lanes; r++ {
		row = append(row, copyOf(row[r-1]))
		beyond := label("beyond")
		CMPQ(rows, Imm(uint64(r)))
		JLE(LabelRef(beyond))
		ADDQ(line, row[r])
		Label(beyond)
	}
	dst, eta, k := param("dst"), param("eta"), param("k")
	ADDQ(full(), eta)
	pass := func(vectors int) {
		sum := make([][]reg.VecVirtual, vectors)
		for v := range sum {
			sum[v] = g.zeros(len(row))
		}
		second := copyOf(eta)
		if vectors > 1 {
			ADDQ(inBytes("etaRow"), second)
		}
		step := func(read func(p, index reg.GPVirtual, to reg.VecVirtual), index reg.GPVirtual) {
			e := g.regs(vectors)
			for v, p := range []reg.GPVirtual{eta, second}[:vectors] {
				read(p, index, e[v])
			}
			for r, p := range row {
				x := g.reg()
				read(p, index, x)
				for v := range e {
					VFMADD231PD(e[v], x, sum[v][r])
				}
			}
		}
		short, loop, even := label("short"), label("loop"), label("even")
		index := full()
		NEGQ(index)
		JZ(LabelRef(short))
		Label(loop)
		step(func(p, index reg.GPVirtual, to reg.VecVirtual) { VMOVUPD(Mem{Base: p, Index: index, Scale: 1}, to) }, index)
		ADDQ(Imm(uint64(g.bytes())), index)
		JNZ(LabelRef(loop))
		Label(short)
		rest := param("d")
		ANDQ(Imm(uint64(g.lanes-1)), rest)
		JZ(LabelRef(even))
		last := g.tail(rest)
		step(func(p, _ reg.GPVirtual, to reg.VecVirtual) { g.read(at(p, 0), last, to) }, index)
		Label(even)
		for v := range sum {
			total := g.together(sum[v])
			VADDPD(at(dst, 0), total, total)
			VMOVUPD(total, at(dst, 0))
			ADDQ(inBytes("dstRow"), dst)
		}
	}
	while(k, 2, func() {
		pass(2)
		for range 2 {
			ADDQ(inBytes("etaRow"), eta)
		}
	})
	done := label("done")
	TESTQ(k, k)
	JZ(LabelRef(done))
	pass(1)
	Label(done)
	g.ret()
}

// together is a register whose lanes are the sums of the lanes of as many registers.
func (g isa) together(v []reg.VecVirtual) reg.VecVirtual {
	pairs := make([]reg.VecVirtual, len(v)/2) // lanes alternating between the two
	for i := range pairs {
		odd := g.reg()
		pairs[i] = v[2*i]
		VUNPCKHPD(v[2*i+1], v[2*i], odd)
		VUNPCKLPD(v[2*i+1], v[2*i], pairs[i])
		VADDPD(odd, pairs[i], pairs[i])
	}
	for len(pairs) > 1 {
		half := make([]reg.VecVirtual, len(pairs)/2)
		for i := range half {
			a, b, odd := pairs[2*i], pairs[2*i+1], g.reg()
			half[i] = a
			if g.wide() {
				VSHUFF64X2(Imm(0xdd), b, a, odd)
				VSHUFF64X2(Imm(0x88), b, a, a)
			} else {
				VPERM2F128(Imm(0x31), b, a, odd)
				VPERM2F128(Imm(0x20), b, a, a)
			}
			VADDPD(odd, a, a)
		}
		pairs = half
	}
	return pairs[0]
}

// bitsKernel collects the bits of x² − x, rounded once, which is 0 for 0 and 1 only: what is
// small is as far from its square as from 0.
func (g isa) bitsKernel() {
	g.text("bits", "func(x *float64, xRow, rows, d int, sum *float64)",
		"adds something to sum unless all of rows > 0 rows of d > 0 numbers, at distances of xRow numbers, are 0 or 1.")
	x, line, rows, sum := param("x"), param("xRow"), param("rows"), g.reg()
	SHLQ(Imm(3), line)
	g.zero(sum)
	collect := func(v reg.VecVirtual) {
		square := g.reg()
		VMOVAPD(v, square)
		VFMSUB213PD(v, v, square)
		if g.wide() {
			VPORQ(square, sum, sum)
		} else {
			VORPD(square, sum, sum)
		}
	}
	repeat(rows, func() {
		from, n := copyOf(x), param("d")
		while(n, g.lanes, func() {
			v := g.reg()
			VMOVUPD(at(from, 0), v)
			collect(v)
			add(g.bytes(), from)
		})
		done := label("done")
		TESTQ(n, n)
		JZ(LabelRef(done))
		v := g.reg()
		g.read(at(from, 0), g.tail(n), v)
		collect(v)
		Label(done)
		ADDQ(line, x)
	})
	g.and(1<<63-1, sum, sum)
	g.addTotal(sum, at(param("sum"), 0))
	g.ret()
}

// nearerKernel is one pass over the columns for each strip of rows.
func (g isa) nearerKernel() {
	g.text("nearer", "func(dst, gap, x *float64, d, n int, m, w, total *float64)",
		"is Nearer for d > 0 and n a multiple of 8; it adds the sum to total.")
	dst, gap, x, n, w, stride, sum := param("dst"), param("gap"), param("x"), param("n"), param("w"), inBytes("n"), g.reg()
	g.zero(sum)
	g.strips(n, 4, g.narrowest(), func(vectors int) {
		square := g.zeros(vectors)
		from, m, left := copyOf(x), param("m"), param("d")
		repeat(left, func() {
			center := g.reg()
			VBROADCASTSD(at(m, 0), center)
			for v := range square {
				y := g.reg()
				VMOVUPD(at(from, v*g.bytes()), y)
				VSUBPD(center, y, y)
				VFMADD231PD(y, y, square[v])
			}
			ADDQ(stride, from)
			add(8, m)
		})
		for v, s := range square {
			VMINPD(at(gap, v*g.bytes()), s, s)
			VMOVUPD(s, at(dst, v*g.bytes()))
			VFMADD231PD(at(w, v*g.bytes()), s, sum)
		}
		add(vectors*g.bytes(), x, dst, gap, w)
	})
	g.addTotal(sum, at(param("total"), 0))
	g.ret()
}

package main

import (
	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// withinKernel writes the places of all lanes at once, those that count first, and goes on
// behind them.
func (g isa) withinKernel() {
	g.text("within", "func(list *int32, a, b *float64, n int, gap float64) int", "is Within for n a multiple of 8.")
	start, a, b, n, count := param("list"), param("a"), param("b"), param("n"), GP64()
	list := copyOf(start)
	gap := g.argument("gap")
	step := GP32()
	MOVL(U32(uint32(g.lanes)), step)
	if g.wide() {
		places, eight := ZMM(), ZMM()
		VPBROADCASTD(step, eight)
		VMOVDQU32(lanePlaces(), places)
		while(n, g.lanes, func() {
			x, some, chosen := g.reg(), K(), ZMM()
			VMOVUPD(at(a, 0), x)
			VSUBPD(at(b, 0), x, x)
			VCMPPD(Imm(notAtMost), gap, x, some)
			VPCOMPRESSD_Z(places, some, chosen)
			VMOVDQU32(chosen, at(list, 0))
			KMOVW(some, count.As32())
			POPCNTL(count.As32(), count.As32())
			LEAQ(Mem{Base: list, Index: count, Scale: 4}, list)
			VPADDD(eight, places, places)
			add(g.bytes(), a, b)
		})
	} else {
		table, first, four := GP64(), XMM(), XMM()
		LEAQ(chosenPlaces(), table)
		VMOVD(step, four)
		VPBROADCASTD(four, four)
		VPXOR(first, first, first)
		while(n, g.lanes, func() {
			x, chosen, entry := g.reg(), XMM(), GP64()
			VMOVUPD(at(a, 0), x)
			VSUBPD(at(b, 0), x, x)
			VCMPPD(Imm(notAtMost), gap, x, x)
			VMOVMSKPD(x, count.As32())
			MOVQ(count, entry)
			SHLQ(Imm(4), entry)
			VPADDD(Mem{Base: table, Index: entry, Scale: 1}, first, chosen)
			VMOVDQU(chosen, at(list, 0))
			POPCNTL(count.As32(), count.As32())
			LEAQ(Mem{Base: list, Index: count, Scale: 4}, list)
			VPADDD(four, first, first)
			add(g.bytes(), a, b)
		})
	}
	SUBQ(start, list)
	SHRQ(Imm(2), list)
	Store(list, ReturnIndex(0))
	g.ret()
}

// lanePlaces are the numbers from 0 to 15.
func lanePlaces() Mem {
	m := GLOBL("lanePlaces", attr.RODATA|attr.NOPTR)
	for i := range 16 {
		DATA(4*i, U32(i))
	}
	return m
}

// chosenPlaces are, for each set of four lanes, the lanes in it.
func chosenPlaces() Mem {
	m := GLOBL("chosenPlaces", attr.RODATA|attr.NOPTR)
	for set := range 16 {
		next := 0
		for lane := range 4 {
			if set>>lane&1 != 0 {
				DATA(16*set+4*next, U32(lane))
				next++
			}
		}
		for ; next < 4; next++ {
			DATA(16*set+4*next, U32(0))
		}
	}
	return m
}

// gatherKernel takes one column after the other: its lines stay in the first cache.
func (g isa) gatherKernel() {
	g.text("gather", "func(dst, x *float64, d, n, padded int, list *int32, count int)",
		"puts count rows, a multiple of 4, of a column-major matrix of d > 0 columns of n, into columns of padded.")
	from, column, d, line, lineTo := param("x"), param("dst"), param("d"), param("n"), param("padded")
	SHLQ(Imm(3), line)
	SHLQ(Imm(3), lineTo)
	repeat(d, func() {
		list, count, to := param("list"), param("count"), copyOf(column)
		while(count, 4, func() {
			low, high := YMM(), XMM()
			row := make([]Mem, 4)
			for i := range row {
				place := GP64()
				MOVLQSX(at(list, 4*i), place)
				row[i] = Mem{Base: from, Index: place, Scale: 8}
			}
			VMOVSD(row[0], low.AsX())
			VMOVHPD(row[1], low.AsX(), low.AsX())
			VMOVSD(row[2], high)
			VMOVHPD(row[3], high, high)
			VINSERTF128(Imm(1), high, low, low)
			VMOVUPD(low, at(to, 0))
			add(4*8, to)
			add(4*4, list)
		})
		ADDQ(line, from)
		ADDQ(lineTo, column)
	})
	g.ret()
}

// raiseKernel is one instruction.
func (g isa) raiseKernel() {
	g.text("raise", "func(dst, v *float64, n int)", "is Raise for n a multiple of 8.")
	dst, v, n := param("dst"), param("v"), param("n")
	while(n, g.lanes, func() {
		x := g.reg()
		VMOVUPD(at(v, 0), x)
		VMAXPD(at(dst, 0), x, x)
		VMOVUPD(x, at(dst, 0))
		add(g.bytes(), dst, v)
	})
	g.ret()
}

// rotateKernel rounds as the reference does.
func (g isa) rotateKernel() {
	g.text("rotate", "func(v, w *float64, n int, c, s float64)", "is Rotate.")
	v, w, n := param("v"), param("w"), param("n")
	c, s := g.argument("c"), g.argument("s")
	turn := func(x, y reg.VecVirtual) (turned, other reg.VecVirtual) {
		turned, other = g.reg(), g.reg()
		VMULPD(c, x, turned)
		VMULPD(s, x, other)
		VMULPD(s, y, x)
		VMULPD(c, y, y)
		VSUBPD(x, turned, turned)
		VADDPD(y, other, other)
		return turned, other
	}
	while(n, g.lanes, func() {
		x, y := g.reg(), g.reg()
		VMOVUPD(at(v, 0), x)
		VMOVUPD(at(w, 0), y)
		x, y = turn(x, y)
		VMOVUPD(x, at(v, 0))
		VMOVUPD(y, at(w, 0))
		add(g.bytes(), v, w)
	})
	rest, x, y := g.tail(n), g.reg(), g.reg()
	g.read(at(v, 0), rest, x)
	g.read(at(w, 0), rest, y)
	x, y = turn(x, y)
	g.write(x, rest, at(v, 0))
	g.write(y, rest, at(w, 0))
	g.ret()
}

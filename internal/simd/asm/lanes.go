package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The kernels of symmetric matrices work on the matrices of one register at a time: number (a,b) is at u, a rows and b
// sides further.

// rowBytes are m sides.
func rowBytes(side reg.GPVirtual) reg.GPVirtual {
	r := param("m")
	IMULQ(side, r)
	return r
}

// factoriseKernel is Gauss's elimination.
func (g isa) factoriseKernel() {
	g.text("factorise", "func(u, inverse, margin *float64, m, side int, share float64)",
		"is Factorise for m and side > 0.")
	u, inverse, margin, n := param("u"), param("inverse"), param("margin"), param("side")
	side := inBytes("side")
	row := rowBytes(side)
	share, one := g.argument("share"), g.load(1)
	while(n, g.lanes, func() {
		diagonal, to, left := copyOf(u), copyOf(inverse), param("m")
		repeat(left, func() {
			least := g.reg()
			VMULPD(at(diagonal, 0), share, least)
			VMOVUPD(least, at(to, 0))
			ADDQ(side, to)
			ADDQ(row, diagonal)
			ADDQ(side, diagonal)
		})
		worst := g.reg()
		VMOVAPD(one, worst)
		MOVQ(u, diagonal)
		MOVQ(inverse, to)
		Load(Param("m"), left)
		repeat(left, func() {
			pivot, rest, by := g.reg(), g.reg(), g.reg()
			VMOVUPD(at(diagonal, 0), pivot)
			VSUBPD(at(to, 0), pivot, rest)
			VMINPD(rest, worst, worst)
			VDIVPD(pivot, one, by)
			VMOVUPD(by, at(to, 0))
			after, below, count := copyOf(diagonal), copyOf(diagonal), copyOf(left)
			end := label("end")
			DECQ(count)
			JZ(LabelRef(end))
			repeat(count, func() {
				ADDQ(side, after)
				ADDQ(side, below)
				ADDQ(row, below)
				factor := g.reg()
				VMULPD(at(after, 0), by, factor)
				from, into, c := copyOf(after), copyOf(below), copyOf(count)
				repeat(c, func() {
					v := g.reg()
					VMOVUPD(at(into, 0), v)
					VFNMADD231PD(at(from, 0), factor, v)
					VMOVUPD(v, at(into, 0))
					ADDQ(side, from)
					ADDQ(side, into)
				})
				VMOVUPD(factor, at(after, 0))
			})
			Label(end)
			ADDQ(side, to)
			ADDQ(row, diagonal)
			ADDQ(side, diagonal)
		})
		VMOVUPD(worst, at(margin, 0))
		add(g.bytes(), u, inverse, margin)
	})
	g.ret()
}

// solveKernel goes through the rows of U down, and up again.
func (g isa) solveKernel() {
	g.text("solve", "func(v, u, inverse *float64, m, side, n int)", "is Solve for m > 0 and n a multiple of 8.")
	v, u, inverse, n := param("v"), param("u"), param("inverse"), param("n")
	side := inBytes("side")
	row := rowBytes(side)
	while(n, g.lanes, func() {
		diagonal, place, count := copyOf(u), copyOf(v), param("m")
		down, up := label("down"), label("up")
		Label(down)
		DECQ(count)
		JZ(LabelRef(up))
		x, from, to, left := g.reg(), copyOf(diagonal), copyOf(place), copyOf(count)
		VMOVUPD(at(place, 0), x)
		repeat(left, func() {
			y := g.reg()
			ADDQ(side, from)
			ADDQ(side, to)
			VMOVUPD(at(to, 0), y)
			VFNMADD231PD(at(from, 0), x, y)
			VMOVUPD(y, at(to, 0))
		})
		ADDQ(row, diagonal)
		ADDQ(side, diagonal)
		ADDQ(side, place)
		JMP(LabelRef(down))
		Label(up)
		by := copyOf(place)
		SUBQ(v, by)
		ADDQ(inverse, by)
		loop, done := label("loop"), label("done")
		Label(loop)
		z := g.reg()
		VMOVUPD(at(place, 0), z)
		VMULPD(at(by, 0), z, z)
		MOVQ(diagonal, from)
		MOVQ(place, to)
		MOVQ(count, left)
		TESTQ(left, left)
		JZ(LabelRef(done))
		repeat(left, func() {
			y := g.reg()
			ADDQ(side, from)
			ADDQ(side, to)
			VMOVUPD(at(to, 0), y)
			VFNMADD231PD(at(from, 0), y, z)
		})
		Label(done)
		VMOVUPD(z, at(place, 0))
		SUBQ(row, diagonal)
		SUBQ(side, diagonal)
		SUBQ(side, place)
		SUBQ(side, by)
		INCQ(count)
		m, err := Param("m").Resolve()
		if err != nil {
			panic(err)
		}
		CMPQ(count, m.Addr)
		JL(LabelRef(loop))
		add(g.bytes(), v, u, inverse)
	})
	g.ret()
}

// invertKernel goes through the rows up: what lies below and to the right is inverted.
func (g isa) invertKernel() {
	g.text("invert", "func(u, inverse *float64, m, side int)", "is Invert for m and side > 0.")
	u, inverse, n := param("u"), param("inverse"), param("side")
	side := inBytes("side")
	row := rowBytes(side)
	last := param("m") // row of U
	DECQ(last)
	step := copyOf(last)
	IMULQ(side, last)
	ADDQ(last, inverse)
	ADDQ(last, u)
	IMULQ(row, step)
	ADDQ(step, u)
	while(n, g.lanes, func() {
		diagonal, by, count := copyOf(u), copyOf(inverse), GP64()
		XORQ(count, count)
		rows := label("rows")
		Label(rows)
		alone := label("alone")
		result, left := copyOf(diagonal), copyOf(count)
		TESTQ(left, left)
		JZ(LabelRef(alone))
		repeat(left, func() { // column b = m − left, and result (b,a)
			ADDQ(row, result)
			sum, from, with, c := g.reg(), copyOf(diagonal), copyOf(result), copyOf(count)
			g.zero(sum)
			before, column := label("before"), label("column")
			Label(before) // (b,c) for c < b
			ADDQ(side, from)
			ADDQ(side, with)
			CMPQ(c, left)
			JE(LabelRef(column))
			v := g.reg()
			VMOVUPD(at(from, 0), v)
			VFNMADD231PD(at(with, 0), v, sum)
			DECQ(c)
			JMP(LabelRef(before))
			Label(column) // (c,b) for c ≥ b
			repeat(c, func() {
				v := g.reg()
				VMOVUPD(at(from, 0), v)
				VFNMADD231PD(at(with, 0), v, sum)
				ADDQ(side, from)
				ADDQ(row, with)
			})
			VMOVUPD(sum, at(result, 0))
		})
		Label(alone)
		sum, from, with, c := g.reg(), copyOf(diagonal), copyOf(diagonal), copyOf(count)
		VMOVUPD(at(by, 0), sum)
		store := label("store")
		TESTQ(c, c)
		JZ(LabelRef(store))
		repeat(c, func() {
			v := g.reg()
			ADDQ(side, from)
			ADDQ(row, with)
			VMOVUPD(at(from, 0), v)
			VFNMADD231PD(at(with, 0), v, sum)
		})
		Label(store)
		VMOVUPD(sum, at(diagonal, 0))
		SUBQ(row, diagonal)
		SUBQ(side, diagonal)
		SUBQ(side, by)
		INCQ(count)
		m, err := Param("m").Resolve()
		if err != nil {
			panic(err)
		}
		CMPQ(count, m.Addr)
		JL(LabelRef(rows))
		add(g.bytes(), u, inverse)
	})
	g.ret()
}

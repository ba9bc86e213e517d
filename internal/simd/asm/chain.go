package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chainSides are the lengths of rows that there are kernels for: a row is in registers.
var chainSides = []int{8, 16}

// forwardKernel advances a row, step by step: the sum and its inverse, which take long, are not waited for, because the
// next row is that of the numbers before they are divided, times the inverse.
func (g isa) forwardKernel(side int) {
	g.text(fmt.Sprintf("forward%d", side),
		"func(alpha, e, scale, entry, move *float64, pairs, n int, least float64, done *int)",
		fmt.Sprintf("makes n > 0 steps of forward with rows of %d numbers and 2·pairs rows of move, and puts the "+
			"number of steps before a sum that is not above least into done.", side))
	alpha, e, scale, done, n := param("alpha"), param("e"), param("scale"), GP64(), param("n")
	predicted, one, least := g.load8(param("entry"), side), XMM(), XMM()
	VMOVSD(number(1), one)
	VMOVSD(address("least"), least)
	XORQ(done, done)
	loop, end := label("loop"), label("end")
	Label(loop)
	joint := g.regs(len(predicted))
	for b, r := range joint {
		VMULPD(at(e, b*g.bytes()), predicted[b], r)
		VMOVUPD(r, at(alpha, b*g.bytes()))
	}
	sum := g.sumOf(joint)
	VMOVSD(sum, at(scale, 0))
	VUCOMISD(least, sum)
	JBE(LabelRef(end))
	inverse := XMM()
	VDIVSD(sum, one, inverse)
	by := g.reg()
	VBROADCASTSD(inverse, by)
	next := g.advanced(alpha, param("move"), len(predicted), side)
	for b := range joint {
		VMULPD(by, next[b], predicted[b])
		VMULPD(by, joint[b], joint[b])
		VMOVUPD(joint[b], at(alpha, b*g.bytes()))
	}
	add(8*side, alpha, e)
	add(8, scale)
	INCQ(done)
	CMPQ(done, n)
	JL(LabelRef(loop))
	Label(end)
	MOVQ(done, Mem{Base: param("done")})
	g.ret()
}

// backwardKernel goes from the last step to the first.
func (g isa) backwardKernel(side int) {
	g.text(fmt.Sprintf("backward%d", side), "func(e, alpha, gamma, scale, beta, back *float64, pairs, n int)",
		fmt.Sprintf("makes n > 0 steps of backward with rows of %d numbers and 2·pairs rows of back, from the last.", side))
	e, alpha, gamma, scale, n := param("e"), param("alpha"), param("gamma"), param("scale"), param("n")
	last := copyOf(n)
	DECQ(last)
	LEAQ(Mem{Base: scale, Index: last, Scale: 8}, scale)
	IMUL3Q(U32(uint32(8*side)), last, last)
	for _, p := range []reg.GPVirtual{e, alpha, gamma} {
		ADDQ(last, p)
	}
	beta, one := g.load8(param("beta"), side), XMM()
	VMOVSD(number(1), one)
	repeat(n, func() {
		inverse, by := XMM(), g.reg()
		VDIVSD(at(scale, 0), one, inverse)
		VBROADCASTSD(inverse, by)
		for b, r := range beta {
			smooth, after := g.reg(), g.reg()
			VMULPD(at(alpha, b*g.bytes()), r, smooth)
			VMOVUPD(smooth, at(gamma, b*g.bytes()))
			VMULPD(at(e, b*g.bytes()), by, after)
			VMULPD(after, r, after)
			VMOVUPD(after, at(e, b*g.bytes()))
		}
		next := g.advanced(e, param("back"), len(beta), side)
		for b, r := range next {
			VMOVAPD(r, beta[b])
		}
		for _, p := range []reg.GPVirtual{e, alpha, gamma} {
			SUBQ(U32(uint32(8*side)), p)
		}
		SUBQ(Imm(8), scale)
	})
	to := param("beta")
	for b, r := range beta {
		VMOVUPD(r, at(to, b*g.bytes()))
	}
	g.ret()
}

// load8 loads a row.
func (g isa) load8(p reg.GPVirtual, side int) []reg.VecVirtual {
	list := g.regs(side / g.lanes)
	for b, r := range list {
		VMOVUPD(at(p, b*g.bytes()), r)
	}
	return list
}

// sumOf adds all lanes of some registers, which stay.
func (g isa) sumOf(v []reg.VecVirtual) reg.VecVirtual {
	all := v[0]
	for _, r := range v[1:] {
		sum := g.reg()
		VADDPD(r, all, sum)
		all = sum
	}
	low, high, odd := g.quarter(all), XMM(), XMM()
	VEXTRACTF128(Imm(1), low, high)
	VADDPD(high, low.AsX(), high)
	VUNPCKHPD(high, high, odd)
	VADDSD(odd, high, high)
	return high
}

// advanced is the product of the row at from and a matrix, two rows of which are taken at a time.
func (g isa) advanced(from, matrix reg.GPVirtual, blocks, side int) []reg.VecVirtual {
	sums := [2][]reg.VecVirtual{g.zeros(blocks), g.zeros(blocks)}
	from = copyOf(from)
	repeat(param("pairs"), func() {
		for half, sum := range sums {
			x := g.reg()
			VBROADCASTSD(at(from, 8*half), x)
			for b, r := range sum {
				VFMADD231PD(at(matrix, 8*side*half+b*g.bytes()), x, r)
			}
		}
		add(16, from)
		add(16*side, matrix)
	})
	for b, r := range sums[0] {
		VADDPD(sums[1][b], r, r)
	}
	return sums[0]
}

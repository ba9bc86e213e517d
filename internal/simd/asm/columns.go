package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// columnsKernel takes blocks of lanes/2 columns, then of two. The last of an odd number of
// columns goes with the one before it, which is written twice.
func (g isa) columnsKernel() {
	g.text("columns", "func(dst, x *float64, n, d, padded, stride int, sum *float64)",
		"transposes n rows, a multiple of 8, of d > 1 columns into columns of padded rows, and adds 0·x over them, 0 "+
			"or NaN, to sum.")
	dst, x, n, none := param("dst"), param("x"), param("n"), g.reg()
	rows, columns := newLines("stride"), newLines("padded")
	g.zero(none)
	sums := g.zeros(g.lanes / 2) // as many as there are registers in a block: they do not wait for each other
	while(n, g.lanes, func() {
		from, to, left, even := copyOf(x), copyOf(dst), param("d"), label("even")
		ahead := GP64() // the rows after the next ones, line by line of the cache
		LEAQ(Mem{Base: x, Index: rows.one, Scale: 8}, ahead)
		LEAQ(Mem{Base: ahead, Index: rows.one, Scale: 8}, ahead)
		for count := g.lanes / 2; count >= 2; count /= 2 {
			while(left, count, func() {
				for line := range g.lanes * count / 8 {
					PREFETCHT0(at(ahead, 64*line))
				}
				add(8*g.lanes*count, ahead)
				g.transpose(count, from, to, rows, columns, none, sums)
				add(8*count, from)
				LEAQ(Mem{Base: to, Index: columns.one, Scale: uint8(count)}, to)
			})
		}
		TESTQ(left, left)
		JZ(LabelRef(even))
		SUBQ(Imm(8), from)
		SUBQ(columns.one, to)
		g.transpose(2, from, to, rows, columns, none, sums)
		Label(even)
		LEAQ(Mem{Base: x, Index: rows.one, Scale: uint8(g.lanes)}, x)
		add(g.bytes(), dst)
	})
	for _, sum := range sums[1:] {
		VADDPD(sum, sums[0], sums[0])
	}
	g.addTotal(sums[0], at(param("sum"), 0))
	g.ret()
}

// lines are those of a matrix: the bytes from one to the next, and three times as many.
type lines struct{ one, three reg.GPVirtual }

func newLines(stride string) lines {
	l := lines{param(stride), GP64()}
	SHLQ(Imm(3), l.one)
	LEAQ(Mem{Base: l.one, Index: l.one, Scale: 2}, l.three)
	return l
}

// from are some lines, 4 or 8, the first at p.
func (l lines) from(p reg.GPVirtual, count int) []Mem {
	list := four(p, l.one, l.three, 0)
	if count == 8 {
		next := GP64()
		LEAQ(Mem{Base: p, Index: l.one, Scale: 4}, next)
		list = append(list, four(next, l.one, l.three, 0)...)
	}
	return list
}

// transpose puts lanes rows of 2 or 4 columns into columns. It gathers rows in such an order that
// a pair of registers, interleaved, holds neighbouring rows of a column.
func (g isa) transpose(
	count int, from, to reg.GPVirtual, rows, columns lines, none reg.VecVirtual, sums []reg.VecVirtual,
) {
	row, column := rows.from(from, g.lanes), columns.from(to, 4)
	var even, odd []reg.VecVirtual // columns
	parts := g.lanes / count       // rows in a register
	for first := 0; first < g.lanes; first += 2 * parts {
		var pair [2]reg.VecVirtual
		for i := range pair {
			var list []Mem
			for part := range parts {
				list = append(list, row[first+i+2*part])
			}
			pair[i] = g.joined(list)
			VFMADD231PD(none, pair[i], sums[first/parts+i])
		}
		low, high := g.reg(), g.reg()
		VUNPCKLPD(pair[1], pair[0], low)
		VUNPCKHPD(pair[1], pair[0], high)
		even, odd = append(even, low), append(odd, high)
	}
	for i, halves := range [][]reg.VecVirtual{even, odd} {
		if count == 2 {
			VMOVUPD(halves[0], column[i])
			continue
		}
		first, second := ZMM(), ZMM()
		VSHUFF64X2(Imm(0x88), halves[1], halves[0], first)
		VSHUFF64X2(Imm(0xdd), halves[1], halves[0], second)
		VMOVUPD(first, column[i])
		VMOVUPD(second, column[i+2])
	}
}

// joined reads neighbouring numbers from 2 or 4 places into one register. Operands of 512
// bits, where others would do, may be any of 32 registers.
func (g isa) joined(places []Mem) reg.VecVirtual {
	r := g.reg()
	switch {
	case !g.wide():
		VMOVUPD(places[0], r.AsX())
		VINSERTF128(Imm(1), places[1], r, r)
	case len(places) == 2:
		VBROADCASTF64X4(places[0], r)
		VINSERTF64X4(Imm(1), places[1], r, r)
	default:
		VBROADCASTF32X4(places[0], r)
		for i, m := range places[1:] {
			VINSERTF32X4(Imm(uint64(i+1)), m, r, r)
		}
	}
	return r
}

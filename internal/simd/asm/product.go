package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// The largest tile that the registers hold: 8×24 in AVX-512, 4×12 in AVX2.
func (g isa) tileRows() int { return g.lanes }

const tileVectors = 3

// tileKernel keeps a tile of c in registers while it goes through the rows of b and the
// columns of a. The last register of a row is selected, so that any number of columns goes.
func (g isa) tileKernel() {
	most := tileVectors * g.lanes
	limits := fmt.Sprintf("1 to %d rows and 1 to %d columns", g.tileRows(), most)
	if !g.wide() { // with the selection, the registers do not suffice for three a row
		limits = fmt.Sprintf("1 to %d rows and 1 to %d or %d columns", g.tileRows(), most-g.lanes, most)
	}
	g.text("tile", "func(c *float64, cRow int, a *float64, aRow, aColumn int, b *float64, bRow int, rows, columns, k "+
		"int, alpha float64)",
		"adds alpha·a·b to a tile of c of "+limits+", for k > 0. Distances between rows, and in a between columns, "+
			"are in numbers.")
	rows, columns := param("rows"), param("columns")
	done := label("done")
	for vectors := tileVectors; vectors > 0; vectors-- {
		for _, selected := range []bool{false, true} {
			if selected && !g.wide() && vectors == tileVectors || !selected && g.wide() {
				continue // a selection costs AVX-512 nothing
			}
			other := label("other")
			if selected {
				CMPQ(columns, Imm(uint64((vectors-1)*g.lanes)))
				JLE(LabelRef(other))
			} else {
				CMPQ(columns, Imm(uint64(vectors*g.lanes)))
				JNE(LabelRef(other))
			}
			for r := g.tileRows(); r > 0; r-- {
				next := label("next")
				CMPQ(rows, Imm(uint64(r)))
				JNE(LabelRef(next))
				g.tile(r, vectors, selected, columns)
				JMP(LabelRef(done))
				Label(next)
			}
			Label(other)
		}
	}
	Label(done)
	g.ret()
}

func (g isa) tile(rows, vectors int, selected bool, columns reg.GPVirtual) {
	read, write := func(m Mem, _ int, r reg.VecVirtual) {
		VMOVUPD(m, r)
	}, func(r reg.VecVirtual, m Mem, _ int) { VMOVUPD(r, m) }
	if selected {
		rest := copyOf(columns)
		SUBQ(Imm(uint64((vectors-1)*g.lanes)), rest)
		last := g.tail(rest)
		read = func(m Mem, v int, r reg.VecVirtual) {
			if v == vectors-1 {
				g.read(m, last, r)
			} else {
				VMOVUPD(m, r)
			}
		}
		write = func(r reg.VecVirtual, m Mem, v int) {
			if v == vectors-1 {
				g.write(r, last, m)
			} else {
				VMOVUPD(r, m)
			}
		}
	}
	a, b, k := param("a"), param("b"), param("k")
	aRow, aColumn, bRow := inBytes("aRow"), inBytes("aColumn"), inBytes("bRow")
	ofA := eight(a, aRow, rows)
	sum := make([][]reg.VecVirtual, rows)
	for r := range sum {
		sum[r] = g.zeros(vectors)
	}
	repeat(k, func() {
		line := g.regs(vectors)
		for v := range line {
			read(at(b, v*g.bytes()), v, line[v])
		}
		for r := range sum {
			g.addTimes(ofA[r], line, sum[r])
		}
		ADDQ(aColumn, a)
		ADDQ(bRow, b)
	})
	c, cRow, alpha := param("c"), inBytes("cRow"), g.argument("alpha")
	for r, row := range sum {
		for v, s := range row {
			old := g.reg()
			read(at(c, v*g.bytes()), v, old)
			VFMADD213PD(old, alpha, s)
			write(s, at(c, v*g.bytes()), v)
		}
		if r < rows-1 {
			ADDQ(cRow, c)
		}
	}
}

// eight is memory at the beginnings of up to eight lines.
func eight(p, line reg.GPVirtual, n int) []Mem {
	multiple := map[int]reg.GPVirtual{1: line}
	for _, times := range []int{3, 5, 7} {
		if n > times {
			r := GP64()
			if times == 7 {
				LEAQ(Mem{Base: multiple[3], Index: line, Scale: 4}, r)
			} else {
				LEAQ(Mem{Base: line, Index: line, Scale: uint8(times - 1)}, r)
			}
			multiple[times] = r
		}
	}
	list := []Mem{at(p, 0)}
	for i := 1; i < n; i++ {
		odd, scale := i, 1
		for odd%2 == 0 {
			odd, scale = odd/2, scale*2
		}
		list = append(list, Mem{Base: p, Index: multiple[odd], Scale: uint8(scale)})
	}
	return list
}

package main

import (
	"fmt"

	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// strips runs body over n rows, a multiple of 8: widest registers at a time as long as there
// are so many rows, then narrowest, which n is a multiple of. body moves its pointers.
func (g isa) strips(n reg.GPVirtual, widest, narrowest int, body func(vectors int)) {
	while(n, widest*g.lanes, func() { body(widest) })
	while(n, narrowest*g.lanes, func() { body(narrowest) })
}

// narrowest is the number of registers that hold 8 rows.
func (g isa) narrowest() int { return 8 / g.lanes }

func add(n int, p ...reg.GPVirtual) {
	for _, r := range p {
		ADDQ(U32(uint32(n)), r)
	}
}

func copyOf(r reg.Register) reg.GPVirtual {
	c := GP64()
	MOVQ(r, c)
	return c
}

// scoresKernel takes a strip of rows at a time: x − m goes to the work space, then four
// rows of R at a time meet it in the registers.
func (g isa) scoresKernel() {
	g.text("gaussianScores", "func(dst, x *float64, d, n int, c float64, m, root *float64, width int, work *float64)",
		"is GaussianScores for d > 0 and n a multiple of 8, with a root in a matrix of that width.")
	dst, x, n, stride, line, three := param("dst"), param("x"), param("n"), GP64(), GP64(), GP64()
	MOVQ(n, stride)
	SHLQ(Imm(3), stride)
	MOVQ(param("width"), line)
	SHLQ(Imm(3), line)
	LEAQ(Mem{Base: line, Index: line, Scale: 2}, three)
	widest := 4
	if !g.wide() {
		widest = 2 // 8 sums, 2 quadratic forms, 2 columns and 1 number of R
	}
	g.strips(n, widest, g.narrowest(), func(vectors int) {
		step := vectors * g.bytes()
		g.center(x, stride, step, vectors)
		quad := g.zeros(vectors)
		y, root, rest := param("work"), param("root"), param("d")
		// The sums of some rows of R, over the columns of their triangle.
		triangle := func(rows int) [][]reg.VecVirtual {
			sum := make([][]reg.VecVirtual, rows)
			for c := range sum {
				sum[c] = g.zeros(vectors)
				column := g.column(y, c*step, vectors)
				for s, m := range four(root, line, three, 8*c)[:c+1] {
					g.addTimes(m, column, sum[s])
				}
			}
			return sum
		}
		squares := func(sum [][]reg.VecVirtual) {
			for _, row := range sum {
				for v := range quad {
					VFMADD231PD(row[v], row[v], quad[v])
				}
			}
		}
		while(rest, 4, func() {
			sum := triangle(4)
			add(4*step, y)
			rightY, right, left, none := copyOf(y), copyOf(root), copyOf(rest), label("none")
			SUBQ(Imm(4), left)
			JZ(LabelRef(none))
			repeat(left, func() {
				column := g.column(rightY, 0, vectors)
				for s, m := range four(right, line, three, 4*8) {
					g.addTimes(m, column, sum[s])
				}
				add(step, rightY)
				add(8, right)
			})
			Label(none)
			squares(sum)
			LEAQ(Mem{Base: root, Index: line, Scale: 4, Disp: 4 * 8}, root)
		})
		end := label("end")
		for rows := 3; rows > 0; rows-- {
			next := label("next")
			CMPQ(rest, Imm(uint64(rows)))
			JNE(LabelRef(next))
			squares(triangle(rows))
			JMP(LabelRef(end))
			Label(next)
		}
		Label(end)
		g.lower(dst, 0.5, quad)
		add(step, x, dst)
	})
	g.ret()
}

// four neighbouring lines of a matrix, given the bytes of one and of three, at a displacement.
func four(p, line, three reg.GPVirtual, disp int) []Mem {
	return []Mem{at(p, disp), {
		Base: p, Index: line, Scale: 1, Disp: disp,
	}, {Base: p, Index: line, Scale: 2, Disp: disp}, {Base: p, Index: three, Scale: 1, Disp: disp}}
}

func (g isa) zeros(n int) []reg.VecVirtual {
	list := g.regs(n)
	for _, r := range list {
		g.zero(r)
	}
	return list
}

// center puts the columns of a strip less m into the work space.
func (g isa) center(x, stride reg.GPVirtual, step, vectors int) {
	from, to, m, left := copyOf(x), param("work"), param("m"), param("d")
	repeat(left, func() {
		center := g.reg()
		VBROADCASTSD(at(m, 0), center)
		for v := range vectors {
			y := g.reg()
			VMOVUPD(at(from, v*g.bytes()), y)
			VSUBPD(center, y, y)
			VMOVUPD(y, at(to, v*g.bytes()))
		}
		ADDQ(stride, from)
		add(step, to)
		add(8, m)
	})
}

// column loads neighbouring registers.
func (g isa) column(p reg.Register, disp, vectors int) []reg.VecVirtual {
	y := g.regs(vectors)
	for v := range y {
		VMOVUPD(at(p, disp+v*g.bytes()), y[v])
	}
	return y
}

// addTimes adds a number in memory times a column to sum.
func (g isa) addTimes(m Mem, column, sum []reg.VecVirtual) {
	b := g.reg()
	VBROADCASTSD(m, b)
	for v := range column {
		VFMADD231PD(column[v], b, sum[v])
	}
}

// lower is dst = (dst + c) − share·quad.
func (g isa) lower(dst reg.GPVirtual, share float64, quad []reg.VecVirtual) {
	c := g.argument("c")
	for v, q := range quad {
		r := g.reg()
		VADDPD(at(dst, v*g.bytes()), c, r)
		if share == 1 {
			VSUBPD(q, r, r)
		} else {
			g.less(share, q, r)
		}
		VMOVUPD(r, at(dst, v*g.bytes()))
	}
}

// diagonalScoresKernel is one pass over the columns for each strip of rows.
func (g isa) diagonalScoresKernel() {
	g.text("diagonalScores", "func(dst, x *float64, d, n int, c float64, m, h *float64)",
		"is DiagonalScores for d > 0 and n a multiple of 8.")
	dst, x, n, stride := param("dst"), param("x"), param("n"), GP64()
	MOVQ(n, stride)
	SHLQ(Imm(3), stride)
	g.strips(n, 4, g.narrowest(), func(vectors int) {
		quad := g.zeros(vectors)
		from, m, h, left := copyOf(x), param("m"), param("h"), param("d")
		repeat(left, func() {
			center, weight := g.reg(), g.reg()
			VBROADCASTSD(at(m, 0), center)
			VBROADCASTSD(at(h, 0), weight)
			for v, q := range quad {
				y, hy := g.reg(), g.reg()
				VMOVUPD(at(from, v*g.bytes()), y)
				VSUBPD(center, y, y)
				VMULPD(y, weight, hy)
				VFMADD231PD(y, hy, q)
			}
			ADDQ(stride, from)
			add(8, m, h)
		})
		g.lower(dst, 1, quad)
		add(vectors*g.bytes(), x, dst)
	})
	g.ret()
}

// diagonalMomentsKernel takes four columns at a time, which share the weights, through all
// rows.
func (g isa) diagonalMomentsKernel() {
	g.text("diagonalMoments", "func(first, second, x *float64, d, n int, anchor, w *float64)",
		"is DiagonalMoments for d > 0 and n a multiple of 8.")
	first, second, x, d, anchor, line, three := param("first"), param("second"), param("x"), param("d"),
		param("anchor"), GP64(), GP64()
	MOVQ(param("n"), line)
	SHLQ(Imm(3), line)
	LEAQ(Mem{Base: line, Index: line, Scale: 2}, three)
	columns := func(count int) {
		one, two, center := g.zeros(count), g.zeros(count), g.regs(count)
		for c, r := range center {
			VBROADCASTSD(at(anchor, 8*c), r)
		}
		from, w, n := copyOf(x), param("w"), param("n")
		while(n, g.lanes, func() {
			weight := g.reg()
			VMOVUPD(at(w, 0), weight)
			for c, m := range four(from, line, three, 0)[:count] {
				y, wy := g.reg(), g.reg()
				VMOVUPD(m, y)
				VSUBPD(center[c], y, y)
				VMULPD(weight, y, wy)
				VADDPD(wy, one[c], one[c])
				VFMADD231PD(y, wy, two[c])
			}
			add(g.bytes(), from, w)
		})
		for i, sums := range [][]reg.VecVirtual{one, two} {
			to := []reg.GPVirtual{first, second}[i]
			if count == 4 {
				g.addTotals([4]reg.VecVirtual(sums), at(to, 0))
				continue
			}
			for c, sum := range sums {
				g.addTotal(sum, at(to, 8*c))
			}
		}
	}
	while(d, 4, func() {
		columns(4)
		LEAQ(Mem{Base: x, Index: line, Scale: 4}, x)
		add(4*8, first, second, anchor)
	})
	end := label("end")
	for count := 3; count > 0; count-- {
		next := label("next")
		CMPQ(d, Imm(uint64(count)))
		JNE(LabelRef(next))
		columns(count)
		JMP(LabelRef(end))
		Label(next)
	}
	Label(end)
	g.ret()
}

// addTotal adds the sum of a register's lanes to a number in memory.
func (g isa) addTotal(r reg.VecVirtual, m Mem) {
	low, high := g.quarter(r), XMM()
	VEXTRACTF128(Imm(1), low, high)
	VADDPD(high, low.AsX(), high)
	odd := XMM()
	VUNPCKHPD(high, high, odd)
	VADDSD(odd, high, high)
	VADDSD(m, high, high)
	VMOVSD(high, m)
}

// quarter adds the halves of a 512 bit register, which makes four lanes in any case.
func (g isa) quarter(r reg.VecVirtual) reg.VecVirtual {
	if !g.wide() {
		return r
	}
	high := YMM()
	VEXTRACTF64X4(Imm(1), r, high)
	VADDPD(high, r.AsY(), high)
	return high
}

// deviationsKernel makes what productsKernel multiplies.
func (g isa) deviationsKernel() {
	g.text("deviations", "func(y, x *float64, d, n int, anchor *float64)",
		"puts x − anchor and a column of ones into y, d+1 columns of n rows each.")
	y, x, d, anchor := param("y"), param("x"), param("d"), param("anchor")
	repeat(d, func() {
		n, center := param("n"), g.reg()
		VBROADCASTSD(at(anchor, 0), center)
		while(n, g.lanes, func() {
			v := g.reg()
			VMOVUPD(at(x, 0), v)
			VSUBPD(center, v, v)
			VMOVUPD(v, at(y, 0))
			add(g.bytes(), x, y)
		})
		add(8, anchor)
	})
	n, one := param("n"), g.load(1)
	while(n, g.lanes, func() {
		VMOVUPD(one, at(y, 0))
		add(g.bytes(), y)
	})
	g.ret()
}

// blockColumns is the number of columns that productsKernel weighs at a time.
func (g isa) blockColumns() int { return g.lanes / 2 }

// productsKernel multiplies columns times weights with columns in the registers. It makes
// the former where the two are the same columns, and what is below the diagonal is left out.
func (g isa) productsKernel() {
	g.text("products", "func(dst, wy, y, w *float64, n, stride, columns int)", fmt.Sprintf(
		"multiplies columns times weights with 1 to 4 neighbouring columns of y, of n rows each, a multiple of 8. "+
			"Where w is nil it takes the %d in wy; otherwise those of y, at most %d, which it puts there, and only "+
			"products from the diagonal on count. It writes four numbers into each row of dst, of that stride, the "+
			"last ones arbitrary.", g.blockColumns(), g.blockColumns()))
	columns, w := param("columns"), param("w")
	triangular, done := label("triangular"), label("done")
	TESTQ(w, w)
	JNZ(LabelRef(triangular))
	for count := 4; count > 0; count-- {
		next := label("next")
		CMPQ(columns, Imm(uint64(count)))
		JNE(LabelRef(next))
		g.products(g.blockColumns(), count, false)
		JMP(LabelRef(done))
		Label(next)
	}
	Label(triangular)
	for count := g.blockColumns(); count > 0; count-- {
		next := label("next")
		CMPQ(columns, Imm(uint64(count)))
		JNE(LabelRef(next))
		g.products(count, count, true)
		JMP(LabelRef(done))
		Label(next)
	}
	Label(done)
	g.ret()
}

func (g isa) products(rows, columns int, triangular bool) {
	sum := make([][]reg.VecVirtual, rows)
	first := func(a int) int { // column of row a
		if triangular {
			return a
		}
		return 0
	}
	for a := range sum {
		sum[a] = g.regs(columns)
		for _, r := range sum[a][first(a):] {
			g.zero(r)
		}
	}
	wy, y, n, line, three := param("wy"), param("y"), param("n"), GP64(), GP64()
	MOVQ(n, line)
	SHLQ(Imm(3), line)
	LEAQ(Mem{Base: line, Index: line, Scale: 2}, three)
	var w reg.GPVirtual
	if triangular {
		w = param("w")
	}
	while(n, g.lanes, func() {
		other, weight := g.regs(columns), g.reg()
		for c, m := range four(y, line, three, 0)[:columns] {
			VMOVUPD(m, other[c])
		}
		if triangular {
			VMOVUPD(at(w, 0), weight)
			add(g.bytes(), w)
		}
		for a, m := range four(wy, line, three, 0)[:rows] {
			one := g.reg()
			if triangular {
				VMULPD(other[a], weight, one)
				VMOVUPD(one, m)
			} else {
				VMOVUPD(m, one)
			}
			for c := first(a); c < columns; c++ {
				VFMADD231PD(other[c], one, sum[a][c])
			}
		}
		add(g.bytes(), wy, y)
	})
	dst, stride := param("dst"), param("stride")
	SHLQ(Imm(3), stride)
	for a, row := range sum {
		var total [4]reg.VecVirtual
		for c := range total {
			total[c] = row[first(a)]
			if first(a) <= c && c < columns {
				total[c] = row[c]
			}
		}
		g.totals(total, at(dst, 0))
		if a < rows-1 {
			ADDQ(stride, dst)
		}
	}
}

// totals stores the sums of the lanes of four registers.
func (g isa) totals(r [4]reg.VecVirtual, m Mem) { g.storeQuad(g.total(r), m) }

// addTotals adds the sums of the lanes of four registers to four numbers in memory.
func (g isa) addTotals(r [4]reg.VecVirtual, m Mem) {
	sum, old := g.total(r), g.reg()
	if g.wide() {
		VBROADCASTF64X4(m, old)
	} else {
		VMOVUPD(m, old)
	}
	VADDPD(old, sum, sum)
	g.storeQuad(sum, m)
}

// storeQuad stores the first four lanes.
func (g isa) storeQuad(r reg.VecVirtual, m Mem) {
	if g.wide() {
		VEXTRACTF64X4(Imm(0), r, m)
	} else {
		VMOVUPD(r, m)
	}
}

// total has the sums of the lanes of four registers in its first four lanes.
func (g isa) total(r [4]reg.VecVirtual) reg.VecVirtual {
	if !g.wide() {
		low, high, sum := YMM(), YMM(), YMM()
		VHADDPD(r[1], r[0], low)
		VHADDPD(r[3], r[2], high)
		VPERM2F128(Imm(0x20), high, low, sum)
		VPERM2F128(Imm(0x31), high, low, high)
		VADDPD(high, sum, sum)
		return sum
	}
	pair := func(a, b reg.VecVirtual) reg.VecVirtual { // sums of two lanes, alternating between a and b
		low, high := ZMM(), ZMM()
		VUNPCKLPD(b, a, low)
		VUNPCKHPD(b, a, high)
		VADDPD(high, low, low)
		return low
	}
	fold := func(a, b reg.VecVirtual) reg.VecVirtual { // neighbouring quarters of a and of b added
		even, odd := ZMM(), ZMM()
		VSHUFF64X2(Imm(0x88), b, a, even)
		VSHUFF64X2(Imm(0xdd), b, a, odd)
		VADDPD(odd, even, even)
		return even
	}
	sum := fold(pair(r[0], r[1]), pair(r[2], r[3]))
	return fold(sum, sum)
}

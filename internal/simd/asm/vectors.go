package main

import (
	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// abreast is the number of registers that vectors are read into at a time: instructions need not wait for each other.
const abreast = 4

// addAll adds the lanes of four registers to sum.
func (g isa) addAll(sums [abreast]reg.VecVirtual) {
	VADDPD(sums[1], sums[0], sums[0])
	VADDPD(sums[3], sums[2], sums[2])
	VADDPD(sums[2], sums[0], sums[0])
	g.addTotal(sums[0], at(param("sum"), 0))
}

// innerKernel sums in the lanes of four registers.
func (g isa) innerKernel() {
	g.text("inner", "func(x, y *float64, n int, sum *float64)", "is Dot; it adds to sum.")
	x, y, n, sums := param("x"), param("y"), param("n"), [abreast]reg.VecVirtual(g.zeros(abreast))
	while(n, abreast*g.lanes, func() {
		for i, sum := range sums {
			v := g.reg()
			VMOVUPD(at(x, i*g.bytes()), v)
			VFMADD231PD(at(y, i*g.bytes()), v, sum)
		}
		add(abreast*g.bytes(), x, y)
	})
	g.over(n, []reg.GPVirtual{x, y}, nil, func(p place) {
		VFMADD231PD(g.get(at(x, 0), p), g.get(at(y, 0), p), sums[0])
	})
	g.addAll(sums)
	g.ret()
}

// widenKernel sums x − x, which is 0 for a finite x only, beside.
func (g isa) widenKernel() {
	g.text("widen", "func(dst *float64, src *float32, n int, sum *float64)",
		"makes float64 of n numbers, and adds x − x, 0 or NaN, to sum.")
	dst, src, n, sums := param("dst"), param("src"), param("n"), [abreast]reg.VecVirtual(g.zeros(abreast))
	some := func(i int, p place) {
		v := g.getFloats(at(src, i*g.bytes()/2), p)
		g.put(v, p, at(dst, i*g.bytes()))
		VSUBPD(v, v, v)
		VADDPD(v, sums[i], sums[i])
	}
	while(n, abreast*g.lanes, func() {
		for i := range abreast {
			some(i, place{})
		}
		add(abreast*g.bytes(), dst)
		add(abreast*g.bytes()/2, src)
	})
	g.over(n, []reg.GPVirtual{dst}, []reg.GPVirtual{src}, func(p place) { some(0, p) })
	g.addAll(sums)
	g.ret()
}

// addTimesKernel rounds the product and the sum, as code without fused instructions does.
func (g isa) addTimesKernel() {
	g.text("addTimes", "func(alpha float64, x, y *float64, n int)", "is AddTimes.")
	x, y, n, alpha := param("x"), param("y"), param("n"), g.argument("alpha")
	some := func(count int, p place) {
		for i := range count {
			v := g.get(at(x, i*g.bytes()), p)
			VMULPD(alpha, v, v)
			VADDPD(g.get(at(y, i*g.bytes()), p), v, v)
			g.put(v, p, at(y, i*g.bytes()))
		}
	}
	while(n, abreast*g.lanes, func() {
		some(abreast, place{})
		add(abreast*g.bytes(), x, y)
	})
	g.over(n, []reg.GPVirtual{x, y}, nil, func(p place) { some(1, p) })
	g.ret()
}

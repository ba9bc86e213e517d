package main

import (
	"math"

	. "github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/reg"
)

// Constants of package simd.
const (
	negligibleCount = 1e-9
	certain         = 1e-9
	halfLogTwoPi    = 0.91893853320467274178032973640562
	recurrence      = 9 // steps after which Stirling's series is exact, whatever the argument
)

// Of Stirling's series in powers of −1/x², from the highest: (ln Γ(x) − …)·x, and the last terms of ψ′(x)·x³.
var (
	stirling = []float64{1. / 1188, 1. / 1680, 1. / 1260, 1. / 360, 1. / 12}
	slopes   = []float64{5. / 66, 1. / 30, 1. / 42, 1. / 30, 1. / 6}
)

// risingKernel takes the steps of the recurrence whatever the argument: of two counts in a register only one may need
// them.
func (g isa) risingKernel() {
	g.text("rising", "func(mean, squares *float64, n int, a, log, logGamma float64, sum *float64)",
		"is Rising for n > 0; it adds to sum.")
	mean, squares, total := param("mean"), param("squares"), g.reg()
	g.zero(total)
	g.over(param("n"), []reg.GPVirtual{mean, squares}, nil, func(here place) {
		m, s := g.get(at(mean, 0), here), g.get(at(squares, 0), here)
		p := g.reg()
		VDIVPD(m, s, p)
		present, variance := g.absence(m, s, p), g.reg()
		g.replace(greaterThan, math.Nextafter(1-certain, 0), 1, p, present)
		inverse, count, square := g.load(1), g.reg(), g.reg()
		VDIVPD(present, inverse, inverse)
		VMULPD(inverse, m, count)
		VSUBPD(s, m, variance)
		VFMADD231PD(m, m, variance)
		VMULPD(inverse, variance, variance)
		VMULPD(count, count, square)
		VSUBPD(square, variance, variance)
		g.replace(greaterThan, math.Nextafter(1-certain, 0), 0, p, variance)
		g.replace(lessThan, 0, 0, variance, variance)
		VADDPD(g.argument("a"), count, count)
		value := g.gammas(count, variance)
		VSUBPD(g.argument("logGamma"), value, value)
		VMULPD(present, value, value)
		few := g.argument("log")
		VMULPD(m, few, few)
		g.clearUnless(lessThan, negligibleCount, m, few)
		g.clearUnless(greaterThan, math.Nextafter(negligibleCount, 0), m, value)
		VADDPD(few, total, total)
		VADDPD(value, total, total)
	})
	g.addTotal(total, at(param("sum"), 0))
	g.ret()
}

// absence is 1 − (1 − p)^(m/p), to full relative accuracy: with u = 1 + x rounded, ln(1 + x) is x·ln u/(u − 1), and
// with u = eˣ rounded, eˣ − 1 is x·(u − 1)/ln u.
func (g isa) absence(m, s, p reg.VecVirtual) reg.VecVirtual {
	u, power := g.load(1), g.reg()
	VSUBPD(p, u, u)
	logs := g.log(u)
	g.minus(1, u, u)
	VDIVPD(u, logs, power)
	g.replace(equal, 0, 1, u, power)
	VMULPD(m, power, power) // −p times m/p
	g.zero(u)
	VSUBPD(power, u, power)
	g.atLeast(g.load(-700), power)
	VMOVAPD(power, u)
	g.exp(u, true)
	logs = g.log(u)
	g.minus(1, u, u)
	VDIVPD(logs, u, logs)
	g.replace(equal, 0, 1, u, logs)
	VMULPD(logs, power, power)
	g.zero(u)
	VSUBPD(power, u, power)
	return power
}

// gammas is ln Γ(x) + ½ψ′(x)·variance.
func (g isa) gammas(x, variance reg.VecVirtual) reg.VecVirtual {
	sum, product, square := g.reg(), g.load(1), g.reg()
	g.zero(sum)
	for range recurrence { // Σ 1/x² = sum/product, product = Π x²
		VMULPD(x, x, square)
		VFMADD213PD(product, square, sum)
		VMULPD(square, product, product)
		g.plus(1, x, x)
	}
	VDIVPD(product, sum, sum)
	logs := g.log(product)
	r, minus, t := g.load(1), g.reg(), g.reg()
	VDIVPD(x, r, r)
	series := func(c []float64) {
		VBROADCASTSD(number(c[0]), t)
		for _, v := range c[1:] {
			g.fused(v, minus, t)
		}
	}
	g.zero(minus)
	VMULPD(r, r, square)
	VSUBPD(square, minus, minus)
	series(slopes)
	VMULPD(square, t, t)
	g.more(0.5, r, t)
	g.plus(1, t, t)
	VFMADD231PD(t, r, sum) // ψ′
	VMULPD(variance, sum, sum)
	series(stirling)
	VMULPD(r, t, t)
	g.plus(halfLogTwoPi, t, t)
	VSUBPD(x, t, t)
	VSUBPD(logs, sum, sum)
	g.more(0.5, sum, t)
	logs = g.log(x)
	g.minus(0.5, x, x)
	VFMADD231PD(logs, x, t)
	return t
}

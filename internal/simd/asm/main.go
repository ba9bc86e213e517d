// Command asm writes the assembly of package simd: every kernel once for AVX2 with FMA and
// once for AVX-512F. It is a module of its own, so that nobody who uses the library
// compiles it or what it needs.
//
//	cd internal/simd/asm && go run . -out ../kernels_amd64.s -stubs ../kernels_amd64.go -pkg simd
package main

import (
	. "github.com/mmcloughlin/avo/build"
)

func main() {
	ConstraintExpr("!noasm,!gccgo")
	for _, g := range []isa{{"AVX2", 4}, {"AVX512", 8}} {
		g.expKernel()
		g.logKernel()
		g.softmaxKernel()
		g.complementKernel()
		g.finiteKernel()
		g.columnsKernel()
		g.withinKernel()
		g.gatherKernel()
		g.raiseKernel()
		g.factoriseKernel()
		g.solveKernel()
		g.invertKernel()
		g.rotateKernel()
		g.scoresKernel()
		g.diagonalScoresKernel()
		g.diagonalMomentsKernel()
		g.deviationsKernel()
		g.productsKernel()
		g.tileKernel()
		g.bitsKernel()
		g.rowScoresKernel()
		g.nearerKernel()
		g.innerKernel()
		g.addTimesKernel()
		g.widenKernel()
		g.reassignKernel()
		g.tallyKernel()
		g.risingKernel()
		for _, side := range chainSides {
			g.forwardKernel(side)
			g.backwardKernel(side)
		}
	}
	Generate()
}

package main

import (
	"fmt"
	"math"

	"github.com/mmcloughlin/avo/attr"
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
	"github.com/mmcloughlin/avo/x86"
)

// isa is one of the two instruction sets. Most instructions have one name for both widths;
// what differs is here.
type isa struct {
	name  string
	lanes int // float64s in a register
}

func (g isa) wide() bool { return g.lanes == 8 }

// bytes in a register.
func (g isa) bytes() int { return 8 * g.lanes }

// text begins a function of that name in this instruction set.
func (g isa) text(name, signature, doc string) {
	TEXT(name+g.name, NOSPLIT, signature)
	Pragma("noescape")
	Doc(name + g.name + " " + doc)
}

// ret ends a function.
func (g isa) ret() {
	VZEROUPPER()
	RET()
}

func (g isa) reg() reg.VecVirtual {
	if g.wide() {
		return ZMM()
	}
	return YMM()
}

func (g isa) regs(n int) []reg.VecVirtual {
	list := make([]reg.VecVirtual, n)
	for i := range list {
		list[i] = g.reg()
	}
	return list
}

func (g isa) zero(r reg.VecVirtual) {
	if !g.wide() {
		VXORPD(r, r, r)
		return
	}
	i, err := x86.VPXORQ(r, r, r)
	if err != nil {
		panic(err)
	}
	i.CancellingInputs = true // r need not have a value before
	Instruction(i)
}

// A constant lies in memory four times over, a full operand for AVX2; AVX-512 broadcasts
// the first.
var constants = map[uint64]Mem{}

func bits(u uint64) Mem {
	m, ok := constants[u]
	if !ok {
		m = GLOBL(fmt.Sprintf("constant%02d", len(constants)), attr.RODATA|attr.NOPTR)
		for i := range 4 {
			DATA(8*i, U64(u))
		}
		constants[u] = m
	}
	return m
}

func number(v float64) Mem { return bits(math.Float64bits(v)) }

// load puts a constant into a register of its own.
func (g isa) load(v float64) reg.VecVirtual {
	r := g.reg()
	VBROADCASTSD(number(v), r)
	return r
}

// fused is r = r·x + v.
func (g isa) fused(v float64, x, r reg.VecVirtual) {
	if g.wide() {
		VFMADD213PD_BCST(number(v), x, r)
	} else {
		VFMADD213PD(number(v), x, r)
	}
}

// less takes v·x off r.
func (g isa) less(v float64, x, r reg.VecVirtual) {
	if g.wide() {
		VFNMADD231PD_BCST(number(v), x, r)
	} else {
		VFNMADD231PD(number(v), x, r)
	}
}

// more adds v·x to r.
func (g isa) more(v float64, x, r reg.VecVirtual) {
	if g.wide() {
		VFMADD231PD_BCST(number(v), x, r)
	} else {
		VFMADD231PD(number(v), x, r)
	}
}

// times, plus and minus are r = x∘v.
func (g isa) times(v float64, x, r reg.VecVirtual) {
	if g.wide() {
		VMULPD_BCST(number(v), x, r)
	} else {
		VMULPD(number(v), x, r)
	}
}

func (g isa) plus(v float64, x, r reg.VecVirtual) {
	if g.wide() {
		VADDPD_BCST(number(v), x, r)
	} else {
		VADDPD(number(v), x, r)
	}
}

func (g isa) minus(v float64, x, r reg.VecVirtual) {
	if g.wide() {
		VSUBPD_BCST(number(v), x, r)
	} else {
		VSUBPD(number(v), x, r)
	}
}

func (g isa) and(u uint64, x, r reg.VecVirtual) {
	if g.wide() {
		VPANDQ_BCST(bits(u), x, r)
	} else {
		VPAND(bits(u), x, r)
	}
}

func (g isa) or(u uint64, x, r reg.VecVirtual) {
	if g.wide() {
		VPORQ_BCST(bits(u), x, r)
	} else {
		VPOR(bits(u), x, r)
	}
}

// Predicates of comparisons.
const (
	equal       = 0x00
	lessThan    = 0x11
	notAtLeast  = 0x19 // or NaN
	greaterThan = 0x1e
	notAtMost   = 0x16 // or NaN
)

// replace puts v into r where x compares so with bound.
func (g isa) replace(predicate int, bound, v float64, x, r reg.VecVirtual) {
	if g.wide() {
		k := K()
		VCMPPD_BCST(Imm(uint64(predicate)), number(bound), x, k)
		VBROADCASTSD(number(v), k, r)
		return
	}
	mask := g.reg()
	VCMPPD(Imm(uint64(predicate)), number(bound), x, mask)
	VBLENDVPD(mask, number(v), r, r)
}

// clearUnless puts 0 into r where x does not compare so with bound.
func (g isa) clearUnless(predicate int, bound float64, x, r reg.VecVirtual) {
	if g.wide() {
		k := K()
		VCMPPD_BCST(Imm(uint64(predicate)), number(bound), x, k)
		VMOVAPD_Z(r, k, r)
		return
	}
	mask := g.reg()
	VCMPPD(Imm(uint64(predicate)), number(bound), x, mask)
	VANDPD(mask, r, r)
}

// A tail is the selection of the first lanes, fewer than all.
type tail struct{ mask reg.Register }

// tail selects n lanes, 0 ≤ n < lanes.
func (g isa) tail(n reg.GPVirtual) tail {
	if g.wide() {
		r, k := GP64(), K()
		MOVQ(U32(0xff), r)
		BZHIQ(n, r, r)
		KMOVW(r.As32(), k)
		return tail{k}
	}
	table, at := GP64(), GP64()
	LEAQ(tailMasks(), table)
	MOVQ(U32(4), at)
	SUBQ(n, at)
	mask := YMM()
	VMOVDQU(Mem{Base: table, Index: at, Scale: 8}, mask)
	return tail{mask}
}

var masks Mem

func tailMasks() Mem {
	if masks.Base == nil {
		masks = GLOBL("tailMasks", attr.RODATA|attr.NOPTR)
		for i := range 8 {
			DATA(8*i, U64(math.MaxUint64*uint64((7-i)/4)))
		}
	}
	return masks
}

// read loads the selected lanes, and 0 into the others, without touching their memory.
func (g isa) read(m Mem, t tail, r reg.VecVirtual) {
	if g.wide() {
		VMOVUPD_Z(m, t.mask, r)
	} else {
		VMASKMOVPD(m, t.mask, r)
	}
}

// write stores the selected lanes.
func (g isa) write(r reg.VecVirtual, t tail, m Mem) {
	if g.wide() {
		VMOVUPD(r, t.mask, m)
	} else {
		VMASKMOVPD(r, t.mask, m)
	}
}

// param loads an argument into a register.
func param(name string) reg.GPVirtual {
	r := GP64()
	Load(Param(name), r)
	return r
}

// argument loads a number into all lanes.
func (g isa) argument(name string) reg.VecVirtual {
	r := g.reg()
	VBROADCASTSD(address(name), r)
	return r
}

// address is where an argument lies, for instructions that read it there.
func address(name string) Op {
	a, err := Param(name).Resolve()
	if err != nil {
		panic(err)
	}
	return a.Addr
}

// inBytes loads an argument that is in numbers.
func inBytes(name string) reg.GPVirtual {
	r := param(name)
	SHLQ(Imm(3), r)
	return r
}

var labels int

func label(name string) string {
	labels++
	return fmt.Sprintf("%s%d", name, labels)
}

// at is memory at a pointer plus some bytes.
func at(p reg.Register, bytes int) Mem { return Mem{Base: p, Disp: bytes} }

// while repeats a body that takes step off n, as long as n is at least step.
func while(n reg.GPVirtual, step int, body func()) {
	loop, end := label("loop"), label("end")
	Label(loop)
	CMPQ(n, Imm(uint64(step)))
	JL(LabelRef(end))
	body()
	SUBQ(Imm(uint64(step)), n)
	JMP(LabelRef(loop))
	Label(end)
}

// repeat repeats a body n > 0 times; n is 0 afterwards.
func repeat(n reg.GPVirtual, body func()) {
	loop := label("loop")
	Label(loop)
	body()
	DECQ(n)
	JNZ(LabelRef(loop))
}

package fastcsv

import (
	"bytes"
	"encoding/binary"
	"math"
	"math/bits"
)

// decimal reads the plain decimal that text has from place i on, such as -12.5e-3 with that point, and returns the
// float64 nearest to it and where it ends: the same bits as strconv.ParseFloat gives. It returns end = i where there is
// none, or one that it leaves to others: of more than 19 digits, of a power of ten beyond ±27, with a plus. The text
// ends with a byte that is no digit.
//
// Digits as many as that are an integer m < 2⁶⁴, without loss, and the number is m·10ᵉ. Where both are float64 without
// loss (m ≤ 2⁵³, |e| ≤ 22), one operation rounds once (Clinger, "How to read floating point numbers accurately", PLDI
// 1990); else scaled divides or multiplies integers.
func decimal(text []byte, i int, point byte) (v float64, end int) {
	start := i
	negative := 0
	if text[i] == '-' {
		negative = 1
	}
	i += negative
	var m uint64
	first := i
	for text[i]-'0' <= 9 {
		m = 10*m + uint64(text[i]-'0')
		i++
	}
	digits, e := i-first, 0
	if text[i] == point {
		from := i + 1
		m, i = moreDigits(m, text, from)
		e = from - i
		digits -= e
		if i == first+1 {
			return 0, start // a point alone
		}
	} else if i == first {
		return 0, start
	}
	if digits > 19 { // zeros before the others are none that m can lose
		zeros := text[first : i-len(bytes.TrimLeft(text[first:i], "0.,"))]
		digits -= bytes.Count(zeros, []byte("0"))
	}
	if text[i]|0x20 == 'e' {
		power, after := exponent(text, i+1)
		if after == i+1 {
			return 0, start
		}
		e, i = e+power, after
	}
	switch {
	case digits > 19:
		return 0, start
	case m <= 1<<53 && uint(e+22) <= 44:
		v = float64(int64(m)) // signed, which processors convert at once
		if e < 0 {
			v /= powersOf10[-e]
		} else {
			v *= powersOf10[e]
		}
	case m != 0 && uint(e+27) <= 54:
		v = scaled(m, e)
	default:
		return 0, start
	}
	return math.Float64frombits(math.Float64bits(v) | uint64(negative)<<63), i
}

// moreDigits appends to the digits of m those that text has from place i on, eight at a time.
func moreDigits(m uint64, text []byte, i int) (uint64, int) {
	for i+8 <= len(text) {
		// Each byte becomes its digit, and its highest bit is set if it is none; the first digit is in the lowest.
		word := binary.LittleEndian.Uint64(text[i:]) ^ 0x3030303030303030
		other := (word + 0x7676767676767676 | word) & 0x8080808080808080
		n := bits.TrailingZeros64(other) >> 3
		word <<= 64 - 8*n // zeros go before n digits
		// Neighbours are joined to pairs, the pairs to fours, and those to one number.
		word = 10*word + word>>8
		word = (word&0x000000ff000000ff*(100+1000000<<32) + word>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
		m = m*integerPowersOf10[n] + word
		i += n
		if n < 8 {
			return m, i
		}
	}
	for text[i]-'0' <= 9 {
		m = 10*m + uint64(text[i]-'0')
		i++
	}
	return m, i
}

// exponent reads what follows the e of a number, of three digits at most.
func exponent(text []byte, i int) (power, end int) {
	start, sign := i, 1
	switch text[i] {
	case '-':
		sign = -1
		i++
	case '+':
		i++
	}
	first := i
	for text[i]-'0' <= 9 {
		if i-first == 3 {
			return 0, start
		}
		power = 10*power + int(text[i]-'0')
		i++
	}
	if i == first {
		return 0, start
	}
	return sign * power, i
}

// scaled is the float64 nearest to m·10ᵉ, for m ≥ 1 and |e| ≤ 27, where 5^|e| is an integer below 2⁶³.
func scaled(m uint64, e int) float64 {
	if e >= 0 { // m·5ᵉ·2ᵉ
		high, low := bits.Mul64(m, powersOf5[e])
		if high == 0 {
			return nearest(low, false, e)
		}
		shift := bits.LeadingZeros64(high)
		return nearest(high<<shift|low>>(64-shift), low<<shift != 0, e+64-shift)
	}
	// m/5⁻ᵉ·2ᵉ, with the highest bits of both set, so that the quotient has 63 at least.
	divisor := powersOf5[-e]
	up, down := bits.LeadingZeros64(m), bits.LeadingZeros64(divisor)
	m <<= up
	quotient, rest := bits.Div64(m>>1, m<<63, divisor<<down)
	return nearest(quotient, rest != 0, e-63-up+down)
}

// nearest is the float64 nearest to (q+r)·2ᵉ, for q ≥ 1, well within the normal range; more is set where 0 < r < 1,
// else it is 0. If it is not, q has 62 bits at least.
func nearest(q uint64, more bool, e int) float64 {
	shift := bits.LeadingZeros64(q)
	q <<= shift
	const extra = 64 - 53
	m, rest := q>>extra, q&(1<<extra-1)
	if rest > 1<<(extra-1) || rest == 1<<(extra-1) && (more || m&1 == 1) {
		m++
	}
	return float64(int64(m)) * math.Float64frombits(uint64(e-shift+extra+1023)<<52)
}

var (
	powersOf10        [23]float64 // without loss
	integerPowersOf10 [9]uint64
	powersOf5         [28]uint64
)

func init() {
	power := 1.0
	for i := range powersOf10 {
		powersOf10[i] = power
		power *= 10
	}
	for i := range integerPowersOf10 {
		integerPowersOf10[i] = uint64(powersOf10[i])
	}
	five := uint64(1)
	for i := range powersOf5 {
		powersOf5[i] = five
		five *= 5
	}
}

package fastcsv

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// requireDecimal: decimal reads all of a text with the bits of strconv, or nothing that is not a number by itself. It
// reports whether it read all.
func requireDecimal(t require.TestingT, text string) bool {
	want, err := strconv.ParseFloat(text, 64)
	all := false
	for _, after := range []string{"\n", ",1\n", ",12345678\n"} {
		got, end := decimal([]byte(text+after), 0, '.')
		withComma, same := decimal([]byte(strings.Replace(text, ".", ",", 1)+strings.Replace(after, ",", ";", 1)), 0, ',')
		if text == strings.Replace(text, ",", ";", 1) && strings.Count(text, ".") < 2 {
			if end != same || math.Float64bits(got) != math.Float64bits(withComma) { // require takes longer than reading
				require.Equal(t, end, same, "%q", text)
				require.Equal(t, math.Float64bits(got), math.Float64bits(withComma), "%q", text)
			}
		}
		all = end == len(text) && end > 0
		if all {
			if err != nil {
				require.NoError(t, err, "%q", text)
			}
			if math.Float64bits(got) != math.Float64bits(want) {
				require.Equal(t, math.Float64bits(want), math.Float64bits(got), "%q", text)
			}
		} else if end > 0 { // a number comes first, and something after it that no number has
			_, err := strconv.ParseFloat(text[:end], 64)
			require.NoError(t, err, "%q", text)
			require.NotContains(t, "0123456789", text[end:end+1], "%q", text)
		}
	}
	return all
}

func TestDecimalReadsWhatTablesHold(t *testing.T) {
	for _, text := range []string{"0", "-0", "1", "-1", "5.", ".5", "-.5", "00012", "0.1", "-12.75", "1e3", "1E-3", "1e+3", "1.5e2", "0e0",
		"123456789", "12345678.12345678", "0.123456789012345678", "9007199254740993", "9007199254740992.5", "1844674407370955161", "9999999999999999999",
		"0.3", "0.30000000000000004", "1e22", "1e27", "1e-27", "9007199254740991e22", "0.00033263780442993607", "000000000000000000000012", "3.4028234663852886", "2.2250738585072014e-8"} {
		require.True(t, requireDecimal(t, text), text)
	}
	for _, text := range []string{"", "-", ".", "-.", "e5", "1e", "1e+", "+1", " 1", "NaN", "inf", "--1", "1e999", "1e-400", "1e1000", "0e28",
		"12345678901234567890", "0.99999999999999999999", "00.000099999999999999999999", "0.0123456789012345678901", "1e28", "1e-28"} {
		require.False(t, requireDecimal(t, text), text)
	}
	for _, text := range []string{"1 ", "1x", "1..", "1.2.3", "1-", "1_0", "0x10", "1e5e5", "1;", "1/", "1:"} {
		requireDecimal(t, text)
	}
}

// TestDecimalHasTheBitsOfStrconv on the forms in which programs write numbers.
func TestDecimalHasTheBitsOfStrconv(t *testing.T) {
	n := 300000
	if testing.Short() {
		n = 30000
	}
	rng := rand.New(rand.NewPCG(1, 2))
	read := 0
	for range n {
		x := math.Float64frombits(rng.Uint64()) // any
		near := (rng.Float64() - 0.5) * powersOf10[rng.IntN(12)]
		for _, text := range []string{
			strconv.FormatFloat(near, 'g', -1, 64),
			strconv.FormatFloat(near, 'f', rng.IntN(18), 64),
			strconv.FormatFloat(near, 'e', rng.IntN(19), 64),
			strconv.FormatFloat(x, 'g', -1, 64),
			strconv.FormatUint(rng.Uint64()>>rng.IntN(64), 10) + "e" + strconv.Itoa(rng.IntN(60)-30),
		} {
			if requireDecimal(t, text) {
				read++
			}
		}
	}
	require.Greater(t, read, 3*n) // of five forms
}

// TestDecimalRoundsTiesToEven: numbers halfway between two float64, and the next to them on both sides, where they have
// as many digits as decimal reads.
func TestDecimalRoundsTiesToEven(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		m := 1<<53 + rng.Uint64N(1<<53) // spacing 2 above 2^53
		for k := 0; m < 1<<63 && k < 10; k++ {
			half := uint64(1) << k
			for _, v := range []uint64{m | half, m | half - 1, m | half + 1} {
				requireDecimal(t, strconv.FormatUint(v, 10))
			}
			m <<= 1
		}
		// Fractions: an odd integer over 2^j has j decimals more.
		for j := 1; j < 7; j++ {
			requireDecimal(t, strconv.FormatFloat(float64(rng.Uint64N(1<<40)), 'f', 0, 64)+fmt.Sprintf("%.*f", j, 1/float64(uint64(1)<<j))[1:])
		}
		requireDecimal(t, strconv.FormatUint(4503599627370496+rng.Uint64N(1<<52), 10)+".5")
	}
	for e := -27; e <= 27; e++ {
		for _, m := range []uint64{1, 2, 3, 5, 1<<53 - 1, 1 << 53, 1<<53 + 1, 1<<63 - 1, 1 << 63, 9999999999999999999} {
			require.True(t, requireDecimal(t, fmt.Sprintf("%de%d", m, e)))
		}
	}
}

func TestDecimalOnHostileText(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		requireDecimal(rt, rapid.StringMatching(`-?[0-9]{0,22}\.?[0-9]{0,22}([eE][+-]?[0-9]{0,4})?[0-9.eE+\-,;/: xé]{0,2}`).Draw(rt, "text"))
	})
}

func FuzzDecimal(f *testing.F) {
	for _, seed := range []string{"0.1", "-9007199254740993", "1e23", "8.5e-27", "12345678.87654321"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) { requireDecimal(t, text) })
}

func BenchmarkDecimal(b *testing.B) {
	rng := rand.New(rand.NewPCG(5, 6))
	for name, format := range map[string]func(v float64) string{
		"six-decimals": func(v float64) string { return strconv.FormatFloat(v, 'f', 6, 64) },
		"shortest":     func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) },
	} {
		var text []byte
		const n = 10000
		for range n {
			text = append(append(text, format(rng.NormFloat64())...), ',')
		}
		text = append(text, '\n')
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				sum := 0.0
				for i := 0; i < len(text)-1; {
					v, end := decimal(text, i, '.')
					if end == i {
						b.Fatalf("%q", text[i:i+30])
					}
					sum += v
					i = end + 1
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/number")
		})
	}
}

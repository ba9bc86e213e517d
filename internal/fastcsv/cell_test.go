package fastcsv

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestWhatACellIs(t *testing.T) {
	for cell, want := range map[string]float64{
		"1": 1, "-1": -1, "+.5": 0.5, "5.": 5, " 01\t": 1, "1e3": 1000, "1E-3": 1e-3, "1e-999": 0, "9007199254740993": 9007199254740992,
		"Inf": math.Inf(1), "-inf": math.Inf(-1), "+Infinity": math.Inf(1), "\u00a02": 2, "\u22120.5": -0.5, "1e\u22123": 1e-3,
	} {
		v, kind := ParseCell(cell)
		require.Equal(t, Number, kind, cell)
		require.Equal(t, want, v, cell)
	}
	for want, cells := range map[Kind][]string{
		Missing:    {"", " ", "\t", "NA", " NA ", "NaN", "nan", "NAN", "-NaN", "N/A", "n/a ", "null", "NULL", "<NA>", "#N/A", "k.A.", "k. A.", "#DIV/0!", "#WERT!"},
		OutOfRange: {"1e999", " -1e999"},
		Text: {"a", "1a", "1 2", "1,5", "-", ".", "e5", "+nan", "na", "n.a.", "Null", "?", "None", "TRUE", "false", "infinit", "$1",
			"0x10", "0X1p-2", "-0x1p-2", "0x1p99999", "1_000", "0x_1p0", "1_0.5", "1e1_0", "1_0e999", "0b1", "1p4", "\x00", "\xff", "１", "\u2212", "2\u22121"},
	} {
		for _, cell := range cells {
			v, kind := ParseCell(cell)
			require.Equal(t, want, kind, "%q", cell)
			if want == Missing {
				_, kind = ParseDecimal(cell, ',')
				require.Equal(t, Missing, kind, "%q", cell)
			}
			require.True(t, math.IsNaN(v) || kind == OutOfRange, "%q", cell)
		}
	}
}

// TestNumbersUseNothingButDecimalCharacters: whatever ParseCell takes for a number could be written by a person.
func TestNumbersUseNothingButDecimalCharacters(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cell := rapid.StringMatching(`[+-]?[0-9_xXpPeE.aAfFiInN]{1,6}`).Draw(rt, "cell")
		if v, kind := ParseCell(cell); kind == Number && !math.IsInf(v, 0) {
			require.Regexp(rt, `^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?$`, cell)
		}
	})
}

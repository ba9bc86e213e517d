package data

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func TestNumbersAsPeopleWriteThem(t *testing.T) {
	for _, c := range []struct {
		cells   string // of column a, between bars
		others  string // of column b
		decimal byte   // given
		want    []float64
		how     string
	}{
		{"4.868|537|12", "1", 0, []float64{4868, 537, 12}, "thousands separated by points"},
		{"4.868|537|1,5", "1", 0, []float64{4868, 537, 1.5}, "thousands separated by points"},
		{"4.868|537", "1,5", 0, []float64{4868, 537}, "thousands separated by points"},
		{"4.868|537", "1", ',', []float64{4868, 537}, "thousands separated by points"},
		{"4.868|5.369", "1,5", 0, []float64{4868, 5369}, "thousands separated by points"},
		{"1.234.567|-1.000", "1", 0, []float64{1234567, -1000}, "thousands separated by points"},
		{"1.234.567,25|1.000", "1", 0, []float64{1234567.25, 1000}, "thousands separated by points"},
		{"1,234|537|12", "1", 0, []float64{1234, 537, 12}, "thousands separated by commas"},
		{"1,234|537.5", "1", 0, []float64{1234, 537.5}, "thousands separated by commas"},
		{"1,234,567|NA|537", "1", 0, []float64{1234567, math.NaN(), 537}, "thousands separated by commas"},
		{"1 234|567", "1", 0, []float64{1234, 567}, "thousands separated by blanks"},
		{"1\u202f234,5|567", "1", 0, []float64{1234.5, 567}, "thousands separated by blanks"},
		{"1'234'567|5678", "1", 0, []float64{1234567, 5678}, "thousands separated by apostrophes"},
		{"83.5%|7 %|-0.5%", "1", 0, []float64{83.5, 7, -0.5}, "in percent"},
		{"83,5 %|7,0 %", "1", 0, []float64{83.5, 7}, "in percent"},
		{"$7,552|$12", "1.5", 0, []float64{7552, 12}, "in $, thousands separated by commas"},
		{"$7,552.10|-$12|$-3|12", "1", 0, []float64{7552.1, -12, -3, 12}, "in $, thousands separated by commas"},
		{"€ 12|€ 7", "1", 0, []float64{12, 7}, "in €"},
		{"12 €|\u22127 €|+5 €", "1", 0, []float64{12, -7, 5}, "in €"},
		{"12,50 EUR|7 EUR", "1", 0, []float64{12.5, 7}, "in EUR"},
		{"USD 12|USD .5", "1", 0, []float64{12, 0.5}, "in USD"},
		{"(604.50)|12|-3|( 1.5 )", "1", 0, []float64{-604.5, 12, -3, -1.5}, "negative in parentheses"},
		{"($1,604.50)|$12|$(3)", "1", 0, []float64{-1604.5, 12, -3}, "in $, thousands separated by commas, negative in parentheses"},
		{"5,1 kg|12 kg|-3 kg", "1", 0, []float64{5.1, 12, -3}, "in kg"},
		{"5kg|1.5kg", "1", 0, []float64{5, 1.5}, "in kg"},
		{"1 day|2 days|13 days", "1", 0, []float64{1, 2, 13}, "in day"},
		{"7/10|8.5/10|9", "1", 0, []float64{7, 8.5, 9}, "in /10"},
		{"7/10|8/100", "1", 0, nil, ""},
		{"120/80|130/85", "1", 0, nil, ""},
		{"7/|8/", "1", 0, nil, ""},
		{"21.5 °C|7°C", "1", 0, []float64{21.5, 7}, "in °C"},
		{"$ -|$5|-$|$(3.50)", "1", 0, []float64{0, 5, 0, -3.5}, "in $, negative in parentheses, 0 as a dash"},
		{"5k|1.005K|3M|12|-2 bn", "1.5", 0, []float64{5000, 1005, 3e6, 12, -2e9}, "k for thousands, M for millions and the like"},
		{"€ 1,5 Mio.|€2 Tsd", "1", 0, []float64{1.5e6, 2000}, "in €, k for thousands, M for millions and the like"},
		{"$1.5B|$3M|$0.25T", "1", 0, []float64{1.5e9, 3e6, 2.5e11}, "in $, k for thousands, M for millions and the like"},
		{"1.5B|3M|12", "1", 0, []float64{1.5e9, 3e6, 12}, "k for thousands, M for millions and the like"},
		{"1B|2B|3B|1", "1", 0, nil, ""}, // bases
		{"2.5%|(1.25%)|(3 %)", "1", 0, []float64{2.5, -1.25, -3}, "in percent, negative in parentheses"},
		{"0x10|0xfF|0X0", "1", 0, []float64{16, 255, 0}, "hexadecimal"},
		{"54:30|4:15|1:02:30|0:00|-1:30", "1", 0, []float64{54.5, 4.25, 62.5, 0, -1.5}, "durations in minutes"},
		{"54:30,6|4:15", "1,5", 0, []float64{54.51, 4.25}, "durations in minutes"},
		{"5:15/km|4:45 /km", "1", 0, []float64{5.25, 4.75}, "durations in minutes/km"},
		{"7:30 h|0:15 h|1:00:30 h", "1", 0, []float64{450, 15, 60.5}, "durations in minutes"},
		{"100:30:00|7:00:15", "1", 0, []float64{6030, 420.25}, "durations in minutes"},
		{"3:15|9:30|0:45|5:45", "1", 0, []float64{3.25, 9.5, 0.75, 5.75}, "durations in minutes"},
		{"0:03:15|0:59:30|2:00:00", "1", 0, []float64{3.25, 59.5, 120}, "durations in minutes"},
		{"54m 30s|4M15S|1h 2min 30 sec|0s|-1m 30s|2d", "1", 0, []float64{54.5, 4.25, 62.5, 0, -1.5, 2880}, "durations in minutes"},
		{"PT54M30S|PT3M|P1DT0.5S", "1", 0, []float64{54.5, 3, 1440 + 0.5/60}, "durations in minutes"},
		{"284,25-|12|1.234,00-", "1,5", 0, []float64{-284.25, 12, -1234}, "thousands separated by points, minus signs behind numbers"},
		{"284-|$5|12 -", "1", 0, []float64{-284, 5, -12}, "in $, minus signs behind numbers"},
		{"<0.05|0.1|0.2|0.3|0.4|0.5|0.6|0.7|0.8|0.9|1.1|1.2|1.3|1.4|> 100|≤0.01", "1", 0,
			[]float64{math.NaN(), 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.1, 1.2, 1.3, 1.4, math.NaN(), math.NaN()}, "cells such as <1 as missing"},
		{"<5|6|7|8|9|10|>10", "1", 0, nil, ""}, // classes
		{"<20k|>20k", "1", 0, nil, ""},
		{"3-|2|1-|2-", "1", 0, nil, ""}, // marks
		{"12.3*|11|9.5 †|~7|≈ 8|6.1[2]|5 [note 3]|1.0 ± 0.2|2+/-0.1", "1", 0, []float64{12.3, 11, 9.5, 7, 8, 6.1, 5, 1, 2},
			"without marks such as * and ±"},
		{"12,3*|-11|~9,5 %", "1,5", 0, nil, ""}, // percent and none
		{"12,3 %*|-11 %", "1,5", 0, []float64{12.3, -11}, "in percent, without marks such as * and ±"},
		{"12.3 p|11.2|9.5|7.1e|3.2|4.4 b|5.1|6.7", "1", 0, []float64{12.3, 11.2, 9.5, 7.1, 3.2, 4.4, 5.1, 6.7}, "without marks such as * and ±"},
		{"3.5²|11.2|9.5", "1", 0, []float64{3.5, 11.2, 9.5}, "without marks such as * and ±"},
		{"12.5 p|11 p", "1", 0, []float64{12.5, 11}, "in p"},
		{"12a|12b|13|14|15", "1", 0, nil, ""}, // numbers of houses
		{"1.2a|1.3b|1.4", "1", 0, nil, ""},    // of sections
		{"1.1|1.2a|1.2b|1.3|1.4a|1.5", "1", 0, nil, ""},
		{"1.1|1.2p|1.2r|1.3e|1.4e|1.5p|2.5|3.5|4.5|5.5", "1", 0, []float64{1.1, 1.2, 1.2, 1.3, 1.4, 1.5, 2.5, 3.5, 4.5, 5.5},
			"without marks such as * and ±"},
		{"1.1|1.2 p|1.2 r|1.3", "1", 0, []float64{1.1, 1.2, 1.2, 1.3}, "without marks such as * and ±"},
		{"5*|*|3*", "1", 0, nil, ""},
		{"±|1 ± 2", "1", 0, nil, ""},
		{"5m|7m", "1", 0, []float64{5, 7}, "in m"},
		{"5m 3x|7m", "1", 0, nil, ""},
		{"-5-|7", "1", 0, nil, ""},
		{"P|T", "1", 0, nil, ""},
		{"23:30|4:15", "1", 0, nil, ""}, // times of day
		{"23:30:15|04:15:00", "1", 0, nil, ""},
		{"54:30|7", "1", 0, nil, ""},
		{"54:60|4:15", "1", 0, nil, ""},
		{"54:3|4:15", "1", 0, nil, ""}, // results of games
		{"54:30.5:15|4:15", "1", 0, nil, ""},
		{"1:02:03:04|54:30", "1", 0, nil, ""},
		{":30|54:30", "1", 0, nil, ""},
		{"54:30|4:", "1", 0, nil, ""},

		{"4.868|537", "1", 0, []float64{4.868, 537}, ""}, // one whole number shows nothing
		{"4.868|537|12", "1.5", 0, []float64{4.868, 537, 12}, ""},
		{"4.868|537|12", "1", '.', []float64{4.868, 537, 12}, ""},
		{"1,234|5,678", "1", 0, nil, ""},
		{"1,234|5678", "1.5", 0, nil, ""},
		{"1,234|1.234,5", "1.5", 0, nil, ""},
		{"01,234|12", "1.5", 0, nil, ""},
		{"1,234|1'234", "1.5", 0, nil, ""},
		{"1,2345,678|12", "1.5", 0, nil, ""},
		{"555 123 456|555 987 654", "1", 0, nil, ""},           // telephones
		{"192.168.100.200|192.168.100.201", "1", ',', nil, ""}, // addresses
		{"83.5%|12", "1", 0, nil, ""},
		{"83.5%|12 €", "1", 0, nil, ""},
		{"$5|5 €", "1", 0, nil, ""},
		{"(5|5)", "1", 0, nil, ""},
		{"(-5)|(+5)|-(5)", "1", 0, nil, ""},
		{"$(5 €)|5", "1", 0, nil, ""},
		{"$ -|-", "1", 0, nil, ""},
		{"$(-)|$5", "1", 0, nil, ""},
		{"5 kg|12 lb", "1", 0, nil, ""},
		{"5 m|12 mm", "1", 0, nil, ""},
		{"4WD|2WD", "1", 0, nil, ""},
		{"1 Main St|2 Main St", "1", 0, nil, ""},
		{"1e3k|5", "1", 0, nil, ""},
		{"k|5 k m", "1", 0, nil, ""},
		{"0x10|16", "1", 0, nil, ""},
		{"0x10|-0x3", "1", 0, nil, ""},
		{"0x10|0x40000000000000", "1", 0, nil, ""},
		{"$|%", "1", 0, nil, ""},
		{"$5|x", "1", 0, nil, ""},
		{"--5 €|5 €", "1", 0, nil, ""},
		{"$1e999|$5", "1", 0, nil, ""},
		{"2024-01-31|2024-02-01", "1", 0, nil, ""},
	} {
		text := "a;b\n"
		for cell := range strings.SplitSeq(c.cells, "|") {
			text += cell + ";" + c.others + "\n"
		}
		table, err := requireFastPathAgrees(t, text, CSVOptions{Comma: ';', Decimal: c.decimal})
		require.NoError(t, err)
		x, err := table.Column("a")
		if c.want == nil {
			assert.Error(t, err, c.cells)
			continue
		}
		if assert.NoError(t, err, c.cells) {
			assert.Equal(t, fmt.Sprint(c.want), fmt.Sprint(x), c.cells)
		}
		if c.how == "" {
			assert.Empty(t, table.Spellings(), c.cells)
		} else if assert.NotEmpty(t, table.Spellings(), c.cells) {
			assert.Equal(t, "a", table.Spellings()[0].Column)
			assert.Equal(t, c.how, table.Spellings()[0].String(), c.cells)
		}

		complete, _, err := table.DropMissing()
		require.NoError(t, err)
		assert.Equal(t, table.Spellings(), complete.Spellings(), "whatever rows are left")

		asText, err := ReadCSV(strings.NewReader(text), CSVOptions{
			Comma: ';', Decimal: c.decimal, Reading: func(string) Reading { return ReadAsText },
		})
		require.NoError(t, err)
		assert.Contains(t, asText.Levels("a"), strings.Split(c.cells, "|")[0], "what is read as text stays so")
	}
}

// What separators of thousands, a currency or a percent sign are written about reads as the numbers themselves.
func TestSpellingsOfAnyNumbers(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		cents := rapid.SliceOfN(rapid.Int64Range(-1e12, 1e12), 1, 20).Draw(rt, "cents")
		mark := rapid.SampledFrom([]string{",", " ", "'", "\u202f", ""}).Draw(rt, "separator")
		unit := rapid.SampledFrom([]string{"$", "%", " CHF"}).Draw(rt, "unit")
		text := "a\n"
		for _, v := range cents {
			digits, sign := fmt.Sprint(v/100), ""
			if v < 0 {
				digits, sign = fmt.Sprint(-(v / 100)), "-"
			}
			for i := len(digits) - 3; i > 0; i -= 3 {
				digits = digits[:i] + mark + digits[i:]
			}
			text += fmt.Sprintf("%s%s.%02d%s\n", sign, digits, max(v, -v)%100, unit)
		}
		table, err := requireFastPathAgrees(rt, text, CSVOptions{Comma: ';'})
		require.NoError(rt, err)
		x, err := table.Column("a")
		require.NoError(rt, err, text)
		for i, v := range cents {
			require.Equal(rt, float64(v)/100, x[i], text)
		}
	})
}

// The decimals of the first rows are those of later ones, where rows are read some at a time.
func TestSpellingsOfBlocks(t *testing.T) {
	text := "a;b\n" + strings.Repeat("1.234;1,5\n", 1<<19)
	rows := 0
	for table, err := range Blocks([]Part{textPart("d.csv", text)}, CSVOptions{}) {
		require.NoError(t, err)
		x, err := table.Column("a")
		require.NoError(t, err)
		require.Equal(t, 1234.0, x[len(x)-1])
		rows += table.Rows()
	}
	require.Equal(t, 1<<19, rows)
}

// Points in a file whose fields commas separate are no thousands because another file had decimal commas.
func TestPointsBesideCommasBetweenFields(t *testing.T) {
	for text, numeric := range map[string]bool{"a,b\n30.125,1\n1.500,2\n": false, "a;b\n30.125;1\n1.500;2\n": true, "a,b\n\"30.125,5\",1\n1.500,2\n": true} {
		table, err := ReadCSV(strings.NewReader(text), CSVOptions{Decimal: ','})
		require.NoError(t, err)
		assert.Equal(t, numeric, table.Levels("a") == nil, text)
	}
}

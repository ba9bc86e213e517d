package data

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/stat/distuv"
	"pgregory.net/rapid"
)

func TestSuggestionsForColumns(t *testing.T) {
	rng := rand.New(rand.NewPCG(6, 1))
	poisson := func(rate float64) float64 { return distuv.Poisson{Lambda: rate, Src: rng}.Rand() }
	whole := func(v float64) float64 { return math.Round(v) }
	day := func(i int) time.Time { return time.Date(2023, 1, 5+7*i, i%24, i%60, 0, 0, time.UTC) }
	for _, c := range []struct {
		name   string // of the column
		rows   int
		cell   func(i int) any
		kind   Kind
		cause  Cause
		detail string
	}{
		// No variables.
		{"x", 30, func(int) any { return 3 }, Unvarying, SingleValue, ""},
		{"x", 30, func(int) any { return "a" }, Unvarying, SingleValue, ""},
		{"x", 30, func(i int) any { return []string{"X", "NA"}[i%2] }, Unvarying, SingleValue, `("X" or nothing)`},
		{"x", 20, func(i int) any { return 20 - i }, Identifier, RowNumbers, "(1 to 20)"},
		{"x", 20, func(i int) any { return (i*7)%20 + 1 }, Identifier, RowNumbers, "(1 to 20)"},
		{"x", 20, func(i int) any { return (i * 7) % 20 }, Identifier, RowNumbers, "(0 to 19)"},
		{"Unnamed: 0", 60, func(i int) any { return 7000 + i*i*13%40 }, Identifier, NamedIdentifier, ""},
		{"x", 20, func(i int) any { return 1000 + i*i }, Identifier, InOrder, "(1000 to 1361)"},
		{"x", 20, func(i int) any { return 1000 - i*i }, Identifier, InOrder, "(639 to 1000)"},
		{"x", 7, func(i int) any { return i + 1 }, Count, VaryAsCounts, ""}, // too few to be sure
		{"x", 60, func(i int) any { return 1 + i%20 }, Identifier, GroupKeys, "(20 values, 1 to 20)"},
		{"x", 59, func(i int) any { return i % 20 }, Identifier, GroupKeys, "(20 values, 0 to 19)"},
		{"x", 60, func(i int) any { return 500 + i/4*i/4*7%1000 }, Continuous, WholeNumbers, ""},
		{"x", 60, func(i int) any { return 500 + (i/4)*(i/4)*7%1009 }, Identifier, GroupKeys, ""},
		{"x", 60, func(i int) any { return 1 + min(i, 30)/2 + max(i-30, 0)/4 }, Identifier, GroupKeys, ""},
		{"x", 60, func(i int) any { return 1 + (i+i%3)%60/4 + i/50*3 }, Continuous, WholeNumbers, ""},
		{"x", 60, func(i int) any { return 2 + i%20 }, Continuous, WholeNumbers, ""},
		{"x", 24, func(i int) any { return 1 + i%12 }, Continuous, WholeNumbers, ""},
		{"Number", 60, func(i int) any { return 2000 + i*7%61 }, Identifier, NamedIdentifier, ""},
		{"x", 60, func(i int) any { return 1950 + i%20 }, Date, Dates, "(1950 to 1969)"}, // three series
		{"x", 59, func(i int) any { return 1950 + i/3 }, Date, Dates, "(1950 to 1969)"},  // of quarters, the last one without its end
		{"x", 60, func(i int) any { return 950 + (i+i%3)%20 }, Continuous, WholeNumbers, ""},
		{"x", 60, func(i int) any { return []float64{17.5, 22, 27, 32}[i%4] }, Continuous, Numbers, ""}, // uneven steps
		{"x", 60, func(i int) any { return 175 + 10*(i*i%5) }, Continuous, WholeNumbers, ""},
		{"x", 60, func(i int) any { return 1 + i*i%5*10/9 }, Categorical, FewValues, ""},
		{"x", 60, func(i int) any { return (i % 7 / 2) * (24 + i*i%61) }, Continuous, WholeNumbers, ""}, // zeros stand for gaps
		{"x", 18, func(i int) any {
			return []string{"C", "D", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "12", "13", "14", "15", "16"}[i]
		},
			Identifier, DifferentTexts, ""},
		{"customer_id", 60, func(i int) any { return 7000 + i*i*13%40 }, Identifier, NamedIdentifier, ""},
		{"rowId", 60, func(i int) any { return 7000 + i*i*13%40 }, Identifier, NamedIdentifier, ""},
		{"pooled.stratum", 60, func(i int) any { return 1 + i*i*13%59 }, Identifier, NamedIdentifier, ""},
		{"patient", 60, func(i int) any { return 2 + i*7%11 }, Continuous, WholeNumbers, ""}, // too few to tell
		{"stratified", 60, func(i int) any { return 1 + i*i*13%59 }, Continuous, WholeNumbers, ""},
		{"ZIP", 60, func(i int) any { return 10000 + i*i*1313%40000 }, Identifier, NamedIdentifier, ""},
		{"zip", 60, func(i int) any { return 10000 + i%3 }, Categorical, FewValues, "(3 values, 10000 to 10002)"},
		{"x", 60, func(i int) any { return 4000000000000 + i*i*7919%9973*1e8 + 1 + i*37%97 }, Identifier, LongDigits, "(13 digits)"}, // EAN
		{"x", 60, func(i int) any { return 4000000000000 + i*i*7919%9973*1e8 }, Continuous, WholeNumbers, ""},                        // to seven digits
		{"x", 60, func(i int) any { return 4000000000 + i*i%9*1e8 }, Continuous, WholeNumbers, ""},
		{"x", 60, func(i int) any { return 900000000 + i*i*7919%9973*1e7 }, Continuous, WholeNumbers, ""},
		{"x", 60, func(i int) any { return fmt.Sprintf("%d1234567%09d", 1+i%30, i*i*7919) }, Identifier, LongDigits, ""},
		{"x", 60, func(i int) any { return fmt.Sprintf("%.4fe22", 1+float64(i*i%47)/17) }, Continuous, Numbers, ""},
		{"arid", 60, func(i int) any { return 7000 + i*i*13%40 }, Continuous, WholeNumbers, ""},
		{"x", 20, func(i int) any { return fmt.Sprint("n", i) }, Identifier, DifferentTexts, "(20 levels in 20 rows)"},
		{"x", 20, func(i int) any { return fmt.Sprint("n", min(i, 17)) }, Identifier, DifferentTexts, "(18 levels in 20 rows)"},
		{"x", 60, func(i int) any { return fmt.Sprintf("%05d", 1000+i%20) }, Identifier, DigitCodes, "(20 levels in 60 rows)"},
		{"x", 60, func(i int) any { return day(i % 20).Format("2006-01-02") }, Date, Dates, `(such as "2023-01-05")`},
		{"x", 60, func(i int) any { return day(i % 20).Format(time.RFC3339) }, Date, Dates, `(such as "2023-01-05T00:00:00Z")`},
		{"x", 60, func(i int) any { return day(i % 20).Format("2.1.2006") }, Date, Dates, `(such as "11.5.2023")`},
		{"x", 60, func(i int) any { return day(i % 20).Format("\"Jan 2, 2006\"") }, Date, Dates, `(such as "Apr 13, 2023")`},
		{"x", 60, func(i int) any { return day(i % 20).Format("20060102") }, Date, Dates, "(20230105 to 20230518)"},
		{"x", 60, func(i int) any { return day(i % 3).Format("2006-01-02") }, Categorical, Levels, ""},

		// Texts.
		{"x", 60, func(i int) any { return fmt.Sprintf("L%d", i*7%20) }, Categorical, ManyLevels, "(20 levels in 60 rows)"},
		{"x", 30, func(i int) any { return fmt.Sprintf("\"1,%d\"", i%9) }, Categorical, DecimalCommas, ""},
		{"x", 30, func(i int) any { return fmt.Sprint(i%11, []string{"%", ""}[i%2]) }, Identifier, SeveralUnits, `("%", "none")`},
		{"x", 30, func(i int) any { return fmt.Sprint([]string{"$", "€"}[i%2], i%4) }, Categorical, Levels, ""}, // as few as codes
		{"x", 30, func(i int) any { return []any{fmt.Sprint("$", i), "call"}[i/29] }, Identifier, TextsBesideUnits, `("call")`},
		{"x", 30, func(i int) any { return []any{i, "x"}[i/29] }, Categorical, TextsInNumbers, `("x" in row 30, among 29 numbers)`},
		{"x", 30, func(i int) any { return []string{"a", "b", "-", "n.a."}[i%4] }, Categorical, MissingTexts, `("-", "n.a.")`},
		{"x", 30, func(i int) any { return []string{"yes", "no"}[i%2] }, Categorical, Levels, ""},

		// Codes.
		{"x", 30, func(i int) any { return i % 2 }, Binary, TwoValues, "(0 and 1)"},
		{"x", 30, func(i int) any { return 1 + i%2 }, Binary, TwoValues, "(1 and 2)"},
		{"x", 30, func(i int) any { return 0.5 - float64(i%2) }, Binary, TwoValues, "(-0.5 and 0.5)"},
		{"x", 30, func(i int) any { return 1 + i%5 }, Categorical, FewValues, "(5 values, 1 to 5)"},
		{"x", 30, func(i int) any { return i%3 - 1 }, Categorical, FewValues, "(3 values, -1 to 1)"},
		{"x", 60, func(i int) any { return i % 3 }, Categorical, FewValues, "(3 values, 0 to 2)"},
		{"x", 300, func(i int) any { return []int{0, 0, 1, 0, 0, 1, 0, 0, 0, 2}[i%10] }, Categorical, FewValues, "(3 values, 0 to 2)"}, // as Poisson
		{"x", 30, func(i int) any { return i % 3 * 2 }, Categorical, FewValues, "(3 values, 0 to 4)"},
		{"x", 120, func(i int) any { return 1 + i%12 }, Categorical, FewValues, "(12 values, 1 to 12)"},
		{"x", 120, func(i int) any { return float64(i%4) / 2 }, Categorical, FewValues, "(4 values, 0 to 1.5)"},

		// Counts.
		{"x", 300, func(int) any { return poisson(0.7) }, Count, VaryAsCounts, ""},
		{"x", 300, func(int) any { return poisson(3) }, Count, VaryAsCounts, ""},
		{"x", 300, func(i int) any { return poisson([]float64{1, 12}[i%2]) }, Count, VaryAsCounts, ""},
		{"x", 300, func(i int) any { return poisson([]float64{0.2, 5, 60}[i%3]) }, Count, VaryAsCounts, ""},
		{"x", 300, func(int) any { return poisson(3 * rng.ExpFloat64()) }, Count, VaryAsCounts, ""},

		// Measurements.
		{"x", 300, func(int) any { return whole(50 + 3*rng.NormFloat64()) }, Continuous, WholeNumbers, ""},
		{"x", 300, func(int) any { return whole(9 + 1.2*rng.NormFloat64()) }, Continuous, WholeNumbers, ""},
		{"x", 300, func(i int) any { return whole(float64(20+i%2*20) + 2*rng.NormFloat64()) }, Continuous, WholeNumbers, ""},
		{"x", 200, func(int) any { return 18 + rng.IntN(62) }, Continuous, WholeNumbers, ""},
		{"x", 200, func(int) any { return rng.IntN(21) }, Continuous, WholeNumbers, ""},
		{"x", 300, func(int) any { return whole(4 * rng.NormFloat64()) }, Continuous, Numbers, ""},
		{"x", 300, func(int) any { return rng.NormFloat64() }, Continuous, Numbers, ""},
		{"x", 300, func(i int) any { return float64(i%3*i%3*5+1) + 0.1*rng.NormFloat64() }, Continuous, Numbers, ""},
		{"x", 300, func(int) any { return math.Exp(rng.NormFloat64()) }, Positive, Skewed, ""},
		{"x", 300, func(int) any { return whole(30000 * math.Exp(0.6*rng.NormFloat64())) }, Positive, SkewedWholeNumbers, ""},
		{"x", 300, func(int) any { return distuv.Gamma{Alpha: 1.5, Beta: 0.01, Src: rng}.Rand() }, Positive, Skewed, ""},
		{"x", 300, func(int) any { return 1000 + math.Exp(rng.NormFloat64()) }, Continuous, Numbers, ""}, // skewed about another zero
		{"x", 9, func(i int) any { return []any{"Inf", 1, 2.5}[i%3] }, Continuous, Numbers, ""},
	} {
		text := c.name + "\n"
		for i := range c.rows {
			text += fmt.Sprintln(c.cell(i))
		}
		table, err := ReadCSV(strings.NewReader(text), CSVOptions{Comma: ',', Decimal: '.', Reading: func(string) Reading { return ReadAsCodes }})
		require.NoError(t, err)
		s := table.Suggest(c.name, nil)
		_, identifies := table.Identifies(c.name, nil)
		assert.Equal(t, (s.Kind == Identifier || s.Kind == Date) && table.Levels(c.name) == nil, identifies, text)
		assert.Equal(t, c.kind, s.Kind, text)
		assert.Equal(t, c.cause, s.Cause, text)
		if c.detail != "" {
			assert.Equal(t, c.detail, s.Detail, text)
		}
	}
	table, err := ReadCSV(strings.NewReader("x,y\n,1\n,2\n"), CSVOptions{})
	require.NoError(t, err)
	for _, name := range []string{"x", "z"} {
		assert.Equal(t, Suggestion{Kind: Continuous, Cause: Numbers}, table.Suggest(name, nil), "no value, or no such column")
	}
	assert.Equal(t, Unvarying, table.Suggest("y", []float64{1, 0}).Kind)
}

// Whatever the numbers, Suggest returns, and the order of the rows matters to identifiers alone.
func TestSuggestionsForAnyNumbers(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		scale := rapid.SampledFrom([]float64{1, 1, 0.37, 1e-300, 1e300}).Draw(t, "scale")
		x := rapid.SliceOfN(rapid.Map(rapid.IntRange(-3, 40), func(v int) float64 { return scale * float64(v) }), 1, 60).Draw(t, "x")
		s := numericTable(x, len(x), 1).Suggest("V1", nil)
		moved := numericTable(rapid.Permutation(x).Draw(t, "moved"), len(x), 1).Suggest("V1", nil)
		if s.Kind != Identifier && moved.Kind != Identifier {
			require.Equal(t, s, moved)
		}
		require.NotZero(t, s.Cause)
	})
}

func TestConstantLooksAtRowsOfPositiveWeight(t *testing.T) {
	table, err := ReadCSV(strings.NewReader("a,b,c,d\n1,2,,x\n1,2,,x\n,3,,y\n1,2,,x\n"), CSVOptions{})
	require.NoError(t, err)
	constant := func(weights []float64) (list []bool) {
		for col := range table.Cols() {
			list = append(list, table.Constant(col, weights))
		}
		return list
	}
	assert.Equal(t, []bool{true, false, false, false}, constant(nil))
	assert.Equal(t, []bool{true, true, false, true}, constant([]float64{1, 1, 0, 2}))
}

// TestTextsThatMayBeGaps: few, without a digit, and among numbers that are no codes; they are what Numbers makes missing.
func TestTextsThatMayBeGaps(t *testing.T) {
	for _, c := range []struct {
		texts  []string
		values int // different numbers
		every  int // row that has a text
		want   bool
	}{
		{[]string{"o.B."}, 20, 60, true}, {[]string{"o.B."}, 5, 60, false}, {[]string{"o.B."}, 20, 5, false}, {[]string{"none"}, 20, 5, true}, {[]string{"none", "low"}, 20, 5, false},
		{[]string{"<3"}, 10, 60, false}, {[]string{"<3", "n.d."}, 20, 12, true}, {[]string{"3+", "n.d."}, 20, 12, false}, {[]string{"a", "b", "c"}, 20, 12, true}, {[]string{"a", "b", "c", "d"}, 20, 12, false},
	} {
		text, want := "x;y\n", []float64(nil)
		for i := range 240 {
			v := float64(i*7%c.values) + 0.5
			cell := fmt.Sprint(v)
			if i%c.every == 0 {
				cell, v = c.texts[i/c.every%len(c.texts)], math.NaN()
			}
			text, want = text+cell+";u\n", append(want, v)
		}
		table := csvTable(t, text)
		s := table.Suggest("x", nil)
		require.Equal(t, TextsInNumbers, s.Cause)
		assert.Equal(t, c.want, s.Gaps, "%v", c)
		numeric, err := table.Numbers([]string{"x"}, [][]string{s.Texts})
		require.NoError(t, err)
		got, err := numeric.Column("x")
		require.NoError(t, err)
		assert.Equal(t, bitsOf(want), bitsOf(got))
		assert.Equal(t, table.Codes("y"), numeric.Codes("y"))
		_, err = table.Numbers([]string{"x"}, [][]string{nil})
		assert.ErrorContains(t, err, `column "x" is categorical: row 1 is "`)
	}
}

// Answers yes and no are no numbers of rows, and nor are the values of a table of frequencies.
func TestNumbersThatIdentifyNothing(t *testing.T) {
	text, few := "a_yes,a_no\n", "n,Freq\n"
	for i := range 30 {
		text += fmt.Sprintf("%d,%d\n", 900-i*i, 100+i*7%31)
		few += fmt.Sprintf("%d,%d\n", i, 1+i*i%7)
	}
	table := csvTable(t, text)
	assert.Equal(t, Continuous, table.Suggest("a_no", nil).Kind)
	alone, err := table.Select("a_no")
	require.NoError(t, err)
	assert.Equal(t, NamedIdentifier, alone.Suggest("a_no", nil).Cause)
	numbers := "Number\n"
	for i := range 60 {
		numbers += fmt.Sprintln(2 + i*5%9)
	}
	assert.NotEqual(t, Identifier, csvTable(t, numbers).Suggest("Number", nil).Kind, "few of the rows have another")
	table = csvTable(t, few)
	assert.NotEqual(t, Identifier, table.Suggest("n", nil).Kind)
	series := csvTable(t, strings.Replace(few, "\n0,", "\n30,", 1))
	assert.Equal(t, RowNumbers, series.Suggest("n", nil).Cause, "a series of counts numbers its steps from 1")
}

// Columns of the embedded tables are what a reader of their descriptions took them for before the rules did.
func TestKindsOfEmbeddedTables(t *testing.T) {
	measured, coded := []Kind{Continuous, Positive}, []Kind{Categorical, Binary}
	other := map[string][]Kind{ // of columns that are not measurements
		"NPreg yp": {Count}, "NPreg yb": {Binary}, "NPreg class": coded, "crabs class": coded, "iris Species": coded,
		"earthquakes year":  {Identifier, Date},
		"earthquakes count": {Count, Continuous}, // to large counts, normal distributions come as close
		"satellite classes": coded,
		"zoo legs":          {Count, Categorical},
	}
	right, all := 0, 0
	for _, name := range []string{
		"NOdata", "NPreg", "crabs", "earthquakes", "faithful", "geyser", "housevotes84", "iris", "ruspini", "satellite", "tonedata", "zoo",
	} {
		table, err := Load(name)
		require.NoError(t, err)
		for _, column := range table.Names {
			want, is := other[name+" "+column]
			switch {
			case is:
			case name == "housevotes84" || name == "zoo":
				want = coded
			default:
				want = measured
			}
			all++
			if got := table.Suggest(column, nil); assert.Contains(t, want, got.Kind, "%s %s %v", name, column, got) {
				right++
			}
		}
	}
	assert.Equal(t, all, right)
}

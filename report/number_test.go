package report

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed" // rapid draws the same in every run
)

func TestNumbersHaveTheDigitsOfJSON(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.Float64().Draw(t, "v")
		want, err := json.Marshal(v)
		if err != nil {
			require.Equal(t, Missing, Digits(v))
			return
		}
		require.Equal(t, string(want), Digits(v))
	})
	for _, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		assert.Equal(t, Missing, Digits(v))
	}
}

// Four digits lie within half a unit of the fourth, and whole numbers are all there.
func TestReadableNumbersAreCloseToTheirs(t *testing.T) {
	plain := strings.NewReplacer("−", "-", "×10", "e", "⁻", "-", "⁰", "0", "¹", "1", "²", "2", "³", "3", "⁴", "4", "⁵", "5", "⁶", "6", "⁷", "7", "⁸", "8", "⁹", "9")
	rapid.Check(t, func(t *rapid.T) {
		v := rapid.OneOf(rapid.Float64(), rapid.Float64Range(-2000, 2000), rapid.Float64Range(-1, 1)).Draw(t, "v")
		if math.Abs(v) > 1.79e308 {
			return // in three digits there is none as large
		}
		read, err := strconv.ParseFloat(plain.Replace(Readable(v)), 64)
		require.NoError(t, err, Readable(v))
		require.InDelta(t, v, read, 0.005*math.Abs(v)+1e-322)
		require.Less(t, len([]rune(Readable(v))), 13)
	})
	for v, want := range map[float64]string{0: "0", 3: "3", -9_999_999: "−9999999", 1e7: "1.00×10⁷", 0.1: "0.1", 0.12344: "0.1234", -1234.5: "−1234", 79.967: "79.97", 0.00001234: "1.23×10⁻⁵", math.Inf(1): Missing} {
		assert.Equal(t, want, Readable(v))
	}
	assert.Equal(t, "0.00", Fixed(-0.001, 2))
	assert.Equal(t, "−0.01", Fixed(-0.01, 2))
	assert.Equal(t, "15800", Fixed(15784, -2))
	assert.Equal(t, Missing, Fixed(math.NaN(), 2))
}

func TestCellsHaveTheDigitsThatAPersonReads(t *testing.T) {
	for want, cell := range map[string]any{
		"−1166.42": Nats(-1166.4229916), "64 %": Share(0.6439891), "5.3 %": Share(0.053), "97.1 %": Share(0.971), "< 0.1 %": Share(1e-9), "> 99.9 %": Share(0.99999),
		"0 %": Share(0.), "100 %": Share(1.), "4.29 ± 0.41": Spread(4.2896385, 0.412308), "80.0 ± 6.0": Spread(79.96783, 6.004202), "1200 ± 140": Spread(1200.4, 140.1), "50900 ± 15800": Spread(50937., 15784.),
		"3 ± 0": Spread(3., 0.), "7": 7, "0.4123": 0.412308, "a": "a", "true": true,
	} {
		assert.Equal(t, want, strings.ReplaceAll(Of(cell).String(), NoBreak, " "))
	}
	assert.Equal(t, "0.412308", Shaded(0.412308, 1).Digits())
	assert.Empty(t, Of(0.5).Digits(), "the text has all digits")
}

// Dates have their times where these matter.
func TestDatesHaveTheirTimes(t *testing.T) {
	date := func(days, sd float64) string { return Cell{Value: days, SD: sd, As: Dates}.String() }
	assert.Equal(t, "2024-01-31 ± 12.0 days", date(19753.4, 12))
	assert.Equal(t, "2024-01-31 09:36 ± 0.20 days", date(19753.4, 0.2))
	assert.Equal(t, "1969-12-30 12:00 ± 0.20 days", date(-1.5, 0.2))
	assert.Equal(t, Spread(1e8, 2.).String(), date(1e8, 2), "beyond the years that have four digits")
}

func TestCellsOfGoValues(t *testing.T) {
	var table Table
	type nats float64
	table.Add("a", 2, nats(0.25), Share(0.5), true)
	assert.Equal(t, []Cell{{Value: 2, As: Counts}, {Value: 0.25, As: Numbers}, {Value: 0.5, As: Shares}}, table.Rows[0][1:4])
	assert.Empty(t, table.Values(0), "words are no numbers")
	assert.Equal(t, []float64{0.25}, table.Values(2))
	assert.Equal(t, "true", table.Rows[0][4].String())
	assert.Equal(t, `a\nb`, Of("a\nb").String())
	assert.Panics(t, func() { table.Add([]int{1}) })
	assert.Panics(t, table.Check, "rows and columns differ in number")
}

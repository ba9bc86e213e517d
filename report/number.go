package report

import (
	"encoding/json"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Missing stands for a number that is absent or not finite.
const Missing = "–"

// NoBreak is a space at which no line breaks.
const NoBreak = "\u00a0"

// String returns the value as a page shows it.
func (c Cell) String() string {
	switch c.As {
	case Words:
		return Printable(c.Text)
	case Counts:
		return strconv.FormatFloat(c.Value, 'f', 0, 64)
	case Scores, Hundredths:
		return Fixed(c.Value, 2)
	case Percents:
		return Fixed(100*c.Value, 1)
	case Shares:
		return Percentage(c.Value)
	case Settings:
		if size := math.Abs(c.Value); size >= 1 && size < 1e9 {
			return Fixed(c.Value, 3)
		}
	case Dates:
		return dates(c.Value, c.SD)
	case Spreads:
		return spread(c.Value, c.SD)
	}
	return Readable(c.Value)
}

// Digits returns the value with the digits of JSON if String shows fewer digits. Otherwise, and for texts, spreads
// and dates, it returns "".
func (c Cell) Digits() string {
	if c.As == Words || c.As == Spreads || c.As == Dates {
		return ""
	}
	if digits := Digits(c.Value); digits != c.String() {
		return digits
	}
	return ""
}

// Digits formats v with the digits of encoding/json. It returns [Missing] if v is not finite, because JSON has no
// number for it.
func Digits(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // finite numbers have a form
	}
	return string(text)
}

// Readable formats v with four significant digits. Whole numbers below ten million keep all digits; other large and
// small numbers get three digits and a power of ten. It returns [Missing] if v is not finite.
func Readable(v float64) string {
	const digits, most, least = 4, 1e7, 1e-4
	size := math.Abs(v)
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return Missing
	case v == math.Trunc(v) && size < most:
		return minus(strconv.FormatFloat(v, 'f', 0, 64))
	case size >= most || size < least:
		mantissa, power, _ := strings.Cut(strconv.FormatFloat(v, 'e', digits-2, 64), "e")
		n, err := strconv.Atoi(power)
		if err != nil {
			panic(err) // FormatFloat writes one
		}
		return minus(fmt.Sprintf("%s×10%s", mantissa, superscript(n)))
	}
	text := Fixed(v, max(0, digits-1-int(math.Floor(math.Log10(size)))))
	if short := minus(strconv.FormatFloat(v, 'f', -1, 64)); len(short) < len(text) { // 0.1 is exact
		return short
	}
	return text
}

// Fixed formats v with so many decimals. Negative decimals round to tens, hundreds and so on. It returns [Missing] if
// v is not finite.
func Fixed(v float64, decimals int) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing
	}
	if decimals < 0 {
		unit := math.Pow10(-decimals)
		v, decimals = math.Round(v/unit)*unit, 0
	}
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(text, "-0.") == "" {
		text = strings.TrimPrefix(text, "-")
	}
	return minus(text)
}

// minus has the sign that digits are as wide as.
func minus(text string) string { return strings.Replace(text, "-", "−", 1) }

func superscript(n int) string {
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷",
		"8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
}

// Percentage formats a share in percent, so that 0 % and 100 % appear for exactly 0 and 1 only.
func Percentage(p float64) string {
	const sign = NoBreak + "%"
	switch {
	case p > 0 && p < 0.001:
		return "<" + NoBreak + "0.1" + sign
	case p < 1 && p > 0.999:
		return ">" + NoBreak + "99.9" + sign
	case p > 0.0995 && p < 0.9005 || p == 0 || p == 1:
		return Fixed(100*p, 0) + sign
	case p != p:
		return Missing
	}
	return Fixed(100*p, 1) + sign
}

const plusMinus = NoBreak + "±" + NoBreak

// spread writes both with the decimals that the standard deviation needs for two digits, or three of which the first is
// 1.
func spread(mean, sd float64) string {
	if !(sd > 0) || math.IsInf(sd, 0) || sd < 1e-4 || math.Abs(mean) >= 1e7 || sd >= 1e7 {
		return Readable(mean) + plusMinus + Readable(sd)
	}
	decimals := 1 - int(math.Floor(math.Log10(sd/2)))
	return Fixed(mean, decimals) + plusMinus + Fixed(sd, decimals)
}

// dates writes the mean as a date, with the time where a standard deviation of less than a day makes that matter.
func dates(mean, sd float64) string {
	const year10000 = 2932896 // beyond which dates have no form
	if !(math.Abs(mean) < year10000) {
		return spread(mean, sd)
	}
	layout := time.DateOnly
	if sd < 1 {
		layout += " 15:04"
	}
	whole := math.Floor(mean)
	date := time.Date(1970, 1, 1, 0, 0, 0, 0, time.UTC).AddDate(0, 0, int(whole)).
		Add(time.Duration((mean - whole) * float64(24*time.Hour)))
	_, deviation, _ := strings.Cut(spread(mean, sd), plusMinus)
	return date.Format(layout) + " ± " + deviation + " days"
}

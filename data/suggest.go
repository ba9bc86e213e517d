package data

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/latent-go/latent/internal/fastcsv"
)

// A Cause is the reason why [Table.Suggest] gives a column its kind.
type Cause int

const (
	SingleValue     Cause = iota + 1 // the same value in every row
	RowNumbers                       // 1, 2, … up to the number of rows, or 0, 1, …, in any order
	InOrder                          // whole numbers that rise, or fall, from every row to the next
	NamedIdentifier                  // many whole numbers under a name such as id, zip or stratum
	GroupKeys                        // many whole numbers, each equally often, or several times and in order
	// whole numbers of ten digits and more, such as order numbers and telephone numbers
	LongDigits
	DifferentTexts     // texts of which hardly any occurs in two rows
	DigitCodes         // texts of digits, all of one length, such as postcodes; fewer than five rows each
	Dates              // days or times
	TwoValues          // two different numbers
	FewValues          // few different numbers, such as codes and grades, which do not vary as counts do
	VaryAsCounts       // whole numbers from 0 on that vary as counts do
	WholeNumbers       // whole numbers from 0 on, measured or counted, which vary more, or less, than one Poisson law
	Skewed             // positive numbers with a long tail, and without one on the scale of logarithms
	SkewedWholeNumbers // as Skewed, of whole numbers, measured or counted
	Numbers            // other numbers
	Levels             // texts
	OrderedLevels      // texts that have an order, such as low, medium and high
	ManyLevels         // texts, with fewer than five rows each
	DecimalCommas      // texts only because their decimals have commas
	TextsInNumbers     // texts, though most cells are numbers
	MissingTexts       // texts, some of which often stand for missing values
	DecimalPoints      // texts only because their decimals have points, where other columns have commas
	SeparatedThousands // texts only because thousands are separated
	SeveralUnits       // texts only because their units differ
	TextsBesideUnits   // texts, though most are numbers with a unit
)

// A Suggestion is a kind and the reason for it.
type Suggestion struct {
	Kind   Kind
	Cause  Cause
	Detail string   // the numbers or texts in question, for a message; may be empty
	Texts  []string // for TextsInNumbers and MissingTexts: the levels in question
	// Gaps, for TextsInNumbers, says that the texts probably stand for missing values: there are at most three,
	// without digits, apart from limits such as <0.05; they fill at most a tenth of the cells or are known for this use;
	// and the column has too many different numbers for codes.
	Gaps bool
}

// Suggest guesses the kind of a column. [Table.Kinds] uses the form of single values; Suggest also uses how they
// vary, and the order of the rows. The first rule that holds decides. L is the number of different values:
//
//	every column
//	  L = 1                                                        Unvarying
//	texts
//	  decimals with commas, or mostly numbers                      Categorical, to be doubted
//	  intervals, numbered texts or words of a scale, 3 ≤ L ≤ 12    Categorical, but in order
//	  dates or times, L > 7                                        Date
//	  numbers with units that differ, or other texts, L > 7        Identifier
//	  "?" and the like                                             Categorical, to be doubted
//	  L > half the rows, and 8 or more                             Identifier
//	  digits of one length, L > 7, fewer than 5 rows each          Identifier
//	  others                                                       Categorical
//	whole numbers
//	  L = 2                                                        Binary
//	  all different, 10 digits at least, as many each, few end in 00
//	                                                               Identifier
//	  17 digits and more, most of which do not end in zeros        Identifier
//	  dates such as 20240131, L > 7; years without a gap, L > 12   Date
//	  1, 2, … or 0, 1, … as rows, or in order; 8 rows or more      Identifier
//	  called id, zip, phone or the like, L > 7                     Identifier
//	  keys of groups of rows, L > 12                               Identifier
//	  L ≤ 7, 5 rows each, without 0, not all multiples of 5        Categorical
//	  L = 3, 5 rows each                                           Categorical
//	  L ≤ 7, 5 rows each, from 0 on                                the better of Categorical and Count
//	  L ≤ 12 from 0 on without a gap, 5 rows each                  the best of Categorical, Count and Continuous
//	  L ≤ 12 from 1 on without a gap, 5 rows each                  the better of Categorical and Continuous
//	  others, the least of which after 0 is 1 to 9                 the better of Count and Continuous
//	numbers, and whole ones that are Continuous by these rules
//	  L = 2                                                        Binary
//	  L ≤ 7, 5 rows each, in equal steps                           Categorical
//	  positive, skewness 1 or more and twice that of ln x          the better of Positive and Continuous
//	  others                                                       Continuous
//
// The better kind is the one with the larger BIC as a description of the column alone: Categorical by the shares of
// the values; Count, Continuous and Positive by one to three classes of Poisson, normal and lognormal distributions,
// the normal ones rounded if the numbers are whole. Continuous has to be better by 3 nats than Categorical, and than
// Count if one Poisson class is enough. If the variance of counts exceeds their mean, Count has to be better by 3
// nats for each further class, because broad distributions such as that of ages also look like several Poisson
// classes. Codes and marks end where Poisson distributions would go on. Large counts alone are Continuous: normal
// distributions fit them as well, and their variance is not tied to the mean.
//
// Suggest can be wrong: a measurement may be called id, and the rows may be sorted by a measurement. Weights are used
// as in [Table.Constant]. A column that does not exist is Continuous.
func (t *Table) Suggest(name string, weights []float64) Suggestion {
	j := t.place(name)
	switch {
	case j < 0:
		return Suggestion{Kind: Continuous, Cause: Numbers}
	case t.Constant(j, weights):
		detail := ""
		if f := t.columns[j].factor; f != nil && slices.Contains(f.codes, missingCode) {
			detail = fmt.Sprintf("(%.60q or nothing)", f.levels[slices.Max(f.codes)])
		}
		return Suggestion{Kind: Unvarying, Cause: SingleValue, Detail: detail}
	case t.columns[j].factor != nil:
		return t.suggestLevels(name)
	}
	x := t.column(j)
	h := newHistogram(x)
	switch different := len(h.values); {
	case different == 0 || math.IsInf(h.values[0], 0) || math.IsInf(h.values[different-1], 0):
		return Suggestion{Kind: Continuous, Cause: Numbers}
	case different == 2:
		return Suggestion{Kind: Binary, Cause: TwoValues, Detail: fmt.Sprintf("(%g and %g)", h.values[0], h.values[1])}
	case h.longDigits(len(x)):
		return Suggestion{Kind: Identifier, Cause: LongDigits,
			Detail: fmt.Sprintf("(%d digits)", len(strconv.FormatFloat(h.values[different-1], 'f', -1, 64)))}
	case !h.whole():
		return h.suggestNumbers()
	}
	if s, ok := h.identifies(name, x, t.Names); ok {
		return s
	}
	return h.suggestWhole()
}

// Identifies returns the suggestion of [Table.Suggest] if the column has numbers that identify rows or are dates.
// Otherwise ok is false; it recognises most other columns by their first values, and so is faster than Suggest.
func (t *Table) Identifies(name string, weights []float64) (s Suggestion, ok bool) {
	if j := t.place(name); j < 0 || t.columns[j].factor != nil || !t.mayIdentify(t.columns[j], name) {
		return s, false
	}
	s = t.Suggest(name, weights)
	return s, s.Kind == Identifier || s.Kind == Date
}

// mayIdentify says whether a column of numbers has whole ones, and they rise or fall throughout, or are as many as the
// rows and different, or dates, years or keys of groups, or have the name of an identifier.
func (t *Table) mayIdentify(c column, name string) bool {
	named := identifiers.MatchString(name) || numbering.MatchString(name) || groupings.MatchString(name)
	rises, falls, days, years, sorted, together := true, true, true, true, true, true
	var counts []int32 // of the numbers from 0 to that of the rows
	dense, long, before, run, runs := true, true, math.NaN(), 0, 0
	for row := range t.rows {
		if row == mostBalanced && dense && !sorted && !rises && !falls && !isBalanced(counts) {
			dense = false // and no more than a part of a large table is looked at
		}
		v := t.number(row, c)
		if v != math.Trunc(v) { // NaN, too
			if v == v {
				return false
			}
			rises, falls, dense, sorted, together = false, false, false, false, false
		} else {
			rises, falls, sorted = rises && !(v <= before), falls && !(v >= before), sorted && !(v < before)
			long = long && math.Abs(v) >= 1e9
			days = days && v >= 1800_01_01 && v < 2200_01_01
			years = years && v >= 1500 && v < 2200
			if counts == nil {
				counts = make([]int32, min(t.rows, math.MaxInt32)+1)
			}
			if dense = dense && v >= 0 && v < float64(len(counts)); dense {
				counts[int(v)]++
			}
			if v != before { // a run ends, of as many rows as the first
				if runs == 0 {
					runs = run
				}
				together, run = together && run == runs, 0
			}
			run, before = run+1, v
		}
		if !(named || rises || falls || days || years || dense || long || together) {
			return false
		}
	}
	return named || rises || falls || days || years || long || together && runs > 1 && run == runs ||
		dense && (sorted || isBalanced(counts))
}

// mostBalanced is how many rows show that numbers are no keys which every so many rows have.
const mostBalanced = 10_000

// isBalanced reports whether numbers from 0 or 1, more than codes are, occur equally often, give or take one time.
func isBalanced(counts []int32) bool {
	least, most, last := int32(math.MaxInt32), int32(0), len(counts)-1
	for last > 0 && counts[last] == 0 {
		last--
	}
	for v, n := range counts[:last+1] {
		if v > 0 || n > 0 {
			least, most = min(least, n), max(most, n)
		}
	}
	return last >= mostNumbered && least > 0 && most <= least+1
}

// fewestRows is how many rows it takes to take different values for names, rowsPerLevel how many a level should
// have, and mostCodes how many values codes and grades have at most; where they are numbered from 1 without a gap,
// mostNumbered.
const fewestRows, rowsPerLevel, mostCodes, mostNumbered = 8, 5, 7, 12

// whole says whether all values are integers that are exact.
func (h *histogram) whole() bool {
	return !slices.ContainsFunc(h.values, func(v float64) bool { return v != math.Trunc(v) || math.Abs(v) > 1<<53 })
}

// longDigits says whether the values in so many rows are integers of ten digits or more that identify rows: all are
// different and have as many digits, or they have 17 digits at least, which no float64 holds, and do not end in zeros
// as measurements in small units do.
func (h *histogram) longDigits(rows int) bool {
	const ten, seventeen, uint64s = 1e9, 1e16, 1 << 64
	if len(h.values) < fewestRows {
		return false
	}
	least, most := math.Inf(1), 0.0
	precise, round := 0, 0
	for _, v := range h.values {
		if v = math.Abs(v); v != math.Trunc(v) || v < ten {
			return false
		}
		least, most = min(least, v), max(most, v)
		if v >= seventeen && len(strconv.FormatFloat(v, 'e', -1, 64)) >= len("1.23456789012345e+16") {
			precise++
		}
		if math.Mod(v, 100) == 0 {
			round++
		}
	}
	alike := math.Floor(math.Log10(least)) == math.Floor(math.Log10(most))
	if least >= seventeen {
		return (alike || most < uint64s) && 2*precise > len(h.values)
	}
	return alike && len(h.values) == rows && 2*round < rows
}

// few says whether there are at most so many different values, with several rows of each.
func (h *histogram) few(most int) bool {
	return len(h.values) <= most && h.n >= float64(rowsPerLevel*len(h.values))
}

func (h *histogram) span() string {
	last := len(h.values) - 1
	return fmt.Sprintf("(%d values, %g to %g)", last+1, h.values[0], h.values[last])
}

// numbering are names of columns that hold no quantities where most rows have another number, identifiers those that
// do not elsewhere either, groupings those of what several rows belong to, and frequencies those that count rows.
var identifiers = regexp.MustCompile(`^(?i:id[0-9]*|uuid|guid|zip|zip[ _.-]?code|post(al)?[ _.-]?code|plz|phone|telephone|mobile|fax|ssn|isbn|ean|iban|unnamed: [0-9]+|row[ _.-]?(names?|numbers?)|__index_level_[0-9]+__|.+[ _.-]id)$|[a-z]I[dD]$`)

var (
	numbering = regexp.MustCompile(`^(?i:key|index|idx|nr|no|number|account|.+[ _.-](key|nr|no))$`)
	groupings = regexp.MustCompile(`^(?i:(.+[ _.-])?(stratum|strata|subject|subj|patient|participant|respondent|` +
		`household|hospital|clinic|institution|inst|herd|psu|school[ _.-]?(id|nr|no|code|number)))$`)
	frequencies = regexp.MustCompile(`^(?i:freq|frequency|counts?|cases|n)$`)
)

// CountsRows reports whether a column with this name, such as Freq, count or n, often says how often a row occurs.
func CountsRows(name string) bool { return frequencies.MatchString(name) }

// identifies looks at whole numbers that only tell rows apart.
func (h *histogram) identifies(name string, x []float64, names []string) (s Suggestion, ok bool) {
	last := len(h.values) - 1
	low, high := h.values[0], h.values[last]
	span := fmt.Sprintf("(%.0f to %.0f)", low, high)
	allDifferent := last+1 == len(x) && last+1 >= fewestRows
	switch {
	case last+1 > mostCodes && !slices.ContainsFunc(h.values, func(v float64) bool { return !isDay(v) }):
		return Suggestion{Kind: Date, Cause: Dates, Detail: span}, true
	case h.areYears(x):
		return Suggestion{Kind: Date, Cause: Dates, Detail: span}, true
	case len(names) == 2 && low == 0 && slices.ContainsFunc(names, CountsRows): // how often each occurs
	case allDifferent && (low == 0 || low == 1) && high == low+float64(last):
		return Suggestion{Kind: Identifier, Cause: RowNumbers, Detail: span}, true
	case allDifferent &&
		(slices.IsSorted(x) || slices.IsSortedFunc(x, func(a, b float64) int { return int(math.Copysign(1, b-a)) })):
		return Suggestion{Kind: Identifier, Cause: InOrder, Detail: span}, true
	case last+1 > mostCodes && (identifiers.MatchString(name) || last+1 > mostNumbered && groupings.MatchString(name) ||
		numbering.MatchString(name) && 2*(last+1) > len(x) && !isAnswer(name, names)):
		return Suggestion{Kind: Identifier, Cause: NamedIdentifier, Detail: span}, true
	case h.keys(x):
		return Suggestion{Kind: Identifier, Cause: GroupKeys, Detail: h.span()}, true
	}
	return s, false
}

// areYears looks for years of the rows of series: numbers of these centuries without a gap, more than codes are, with
// several rows each, which rise or occur equally often.
func (h *histogram) areYears(x []float64) bool {
	last := len(h.values) - 1
	return last >= mostNumbered && h.values[0] >= 1500 && h.values[last] < 2200 &&
		h.values[last] == h.values[0]+float64(last) && h.n >= 2*float64(last) &&
		(slices.IsSorted(x) || slices.Max(h.weights) == slices.Min(h.weights))
}

// isAnswer says whether a name that ends in no has another beside it that ends in yes.
func isAnswer(name string, names []string) bool {
	stem, is := strings.CutSuffix(strings.ToLower(name), "no")
	return is && slices.ContainsFunc(names, func(other string) bool { return strings.ToLower(other) == stem+"yes" })
}

// keys looks for numbers of groups of rows, which are more than codes are, with two rows each and more: numbers from 0
// or 1 without a gap that have as many rows each, but for one, or come in order with no more than twice as many as
// others; and any that come together and have as many rows each. Of measurements, all this is a rare chance.
func (h *histogram) keys(x []float64) bool {
	groups := len(h.values)
	if groups <= mostNumbered || h.n < 2*float64(groups) || h.n < float64(len(x)) {
		return false
	}
	runs := 1
	for i := 1; i < len(x); i++ {
		if x[i] != x[i-1] {
			runs++
		}
	}
	least, most := slices.Min(h.weights), slices.Max(h.weights)
	numbered := (h.values[0] == 0 || h.values[0] == 1) && h.values[groups-1] == h.values[0]+float64(groups-1)
	return numbered && most <= least+1 || runs == groups && most == least ||
		numbered && slices.IsSorted(x) && most <= 2*h.n/float64(groups)+1
}

// isDay says whether a number is a day of these centuries, such as 20240131.
func isDay(v float64) bool {
	_, err := time.Parse("20060102", fmt.Sprintf("%.0f", v))
	return err == nil && v >= 1800_01_01 && v < 2200_01_01
}

// suggestWhole compares codes, counts and measurements.
func (h *histogram) suggestWhole() Suggestion {
	last := len(h.values) - 1
	numbered := h.values[0] <= 1 && h.values[0] >= 0 && h.values[last] == h.values[0]+float64(last)
	few := (h.few(mostCodes) || numbered && h.few(mostNumbered)) && !h.graduated()
	detail := fmt.Sprintf("(variance %.3g, mean %.3g)", h.variance, h.mean)
	thin := h.thinned(mostLooked)
	codes, counts, numbers, handicap := math.Inf(-1), math.Inf(-1), math.Inf(-1), -undecided
	if few {
		codes = h.saturated()
	}
	if low := h.values[0]; low == 0 && h.values[1] < leastLarge || low > 0 && low < leastLarge && !few {
		classes := 0
		if counts, classes = thin.score(poisson); classes > 1 {
			handicap = undecided * float64(classes-1)
		}
	}
	if last >= mostCodes || !few {
		numbers, _ = thin.score(rounded)
	}
	switch {
	case few && (last < 3 || codes >= max(counts, numbers-undecided)): // a Poisson saves one number of two
		return Suggestion{Kind: Categorical, Cause: FewValues, Detail: h.span()}
	case counts >= numbers+handicap:
		return Suggestion{Kind: Count, Cause: VaryAsCounts, Detail: detail}
	}
	s := h.suggestNumbers()
	switch {
	case s.Kind == Positive:
		s.Cause = SkewedWholeNumbers
	case s.Kind == Continuous && h.values[0] >= 0:
		s.Cause, s.Detail = WholeNumbers, detail
	}
	return s
}

// Counts from leastLarge on are as good as normal. Differences of undecided nats, odds of 20 to 1, decide nothing.
const leastLarge, undecided = 10, 3.0

// mostLooked is how many values of a column are looked at.
const mostLooked = 200

// graduated reports whether whole numbers are marks of a scale, as of settings and classes of income, and not codes:
// three at least, all of them multiples of 5.
func (h *histogram) graduated() bool {
	return len(h.values) > 2 && h.values[0] >= 0 &&
		!slices.ContainsFunc(h.values, func(v float64) bool { return math.Mod(v, 5) != 0 })
}

// isEven reports whether the values have the same distance throughout, as grades in halves have.
func (h *histogram) isEven() bool {
	step := h.values[1] - h.values[0]
	for i, v := range h.values {
		if math.Abs(v-h.values[0]-float64(i)*step) > 1e-6*step {
			return false
		}
	}
	return true
}

// suggestNumbers looks for grades and for a tail.
func (h *histogram) suggestNumbers() Suggestion {
	if h.few(mostCodes) && h.isEven() && !h.graduated() {
		return Suggestion{Kind: Categorical, Cause: FewValues, Detail: h.span()}
	}
	if h.values[0] > 0 {
		skew, of := h.skewness(func(v float64) float64 { return v }), h.skewness(math.Log)
		if skew >= 1 && of <= skew/2 && h.prefersLogarithms() {
			return Suggestion{
				Kind: Positive, Cause: Skewed, Detail: fmt.Sprintf("(skewness %.2g, of logarithms %.2g)", skew, of),
			}
		}
	}
	return Suggestion{Kind: Continuous, Cause: Numbers}
}

// prefersLogarithms compares normal classes of the values with those of the logarithms. No class is narrower than
// a tenth of all.
func (h *histogram) prefersLogarithms() bool {
	thin := h.thinned(mostLooked)
	logs, jacobian, list := *thin, 0.0, []float64(nil)
	for i, v := range thin.values {
		jacobian += thin.weights[i] * math.Log(v)
		list = append(list, math.Log(v))
	}
	logs.values = list
	logs.mean, logs.variance = logs.moments()
	score, _ := logs.score(normal(logs.variance / 100))
	other, _ := thin.score(normal(h.variance / 100))
	return score-jacobian > other
}

// suggestLevels is Suggest for categorical columns.
func (t *Table) suggestLevels(name string) Suggestion {
	levels, err := t.Occurring(name)
	if err != nil {
		return Suggestion{Kind: Categorical, Cause: Levels}
	}
	texts, cells, numbers := t.Texts(name)
	rows := cells + numbers
	gaps := slices.DeleteFunc(slices.Clone(levels), func(level string) bool { return !standsForMissing(level) })
	known := slices.DeleteFunc(slices.Clone(levels), standsForMissing)
	_, err = t.Column(name)
	detail := fmt.Sprintf("(%s in %d rows)", plural(len(levels), "level"), rows)
	scarce := rows < rowsPerLevel*len(levels)
	units, others := t.factor(name).units()
	inOrder, isOrdered := Ordered(levels)
	switch {
	case errors.Is(err, ErrDecimalComma):
		return Suggestion{Kind: Categorical, Cause: DecimalCommas}
	case errors.Is(err, ErrDecimalPoint):
		return Suggestion{Kind: Categorical, Cause: DecimalPoints}
	case errors.Is(err, ErrGrouped):
		return Suggestion{Kind: Categorical, Cause: SeparatedThousands}
	case errors.Is(err, ErrUnits) && len(levels) > mostCodes:
		return Suggestion{Kind: Identifier, Cause: SeveralUnits, Detail: "(" + firstQuoted(units) + ")"}
	case isOrdered:
		return Suggestion{Kind: Categorical, Cause: OrderedLevels,
			Detail: fmt.Sprintf("(%.60q to %.60q)", inOrder[0], inOrder[len(inOrder)-1])}
	case cells > 0 && numbers > cells && !(rows == len(levels) && rows >= fewestRows && cells > 1 && areShort(levels)):
		return t.suggestMixed(name, texts, cells, numbers, len(levels))
	case len(known) > mostCodes && areDates(known):
		return Suggestion{Kind: Date, Cause: Dates, Detail: "(such as " + firstQuoted(known[:1]) + ")"}
	case len(others) > 0 && len(texts) > len(others) && len(units) <= mostUnits &&
		len(levels)-len(others) > max(mostCodes, len(others)):
		return Suggestion{Kind: Identifier, Cause: TextsBesideUnits, Texts: others, Detail: "(" + firstQuoted(others) + ")"}
	case len(gaps) > 0:
		return Suggestion{Kind: Categorical, Cause: MissingTexts, Detail: "(" + firstQuoted(gaps) + ")", Texts: gaps}
	case len(levels) >= fewestRows && 2*len(levels) > rows:
		return Suggestion{Kind: Identifier, Cause: DifferentTexts, Detail: detail}
	case len(levels) > mostCodes && scarce && areDigitCodes(levels):
		return Suggestion{Kind: Identifier, Cause: DigitCodes, Detail: detail}
	case len(levels) > 2*rowsPerLevel && scarce:
		return Suggestion{Kind: Categorical, Cause: ManyLevels, Detail: detail}
	}
	return Suggestion{Kind: Categorical, Cause: Levels}
}

// suggestMixed is suggestLevels of texts in so many cells among more numbers.
func (t *Table) suggestMixed(name string, texts []string, cells, numbers, levels int) Suggestion {
	f := t.factor(name)
	where := fmt.Sprintf("in row %d", t.Origin(slices.IndexFunc(f.codes, f.isText))+1)
	if cells > 1 {
		where = fmt.Sprintf("in %d cells, the first %s", cells, where)
	}
	marks := slices.DeleteFunc(slices.Clone(texts), func(text string) bool {
		_, is := limit(text)
		return is
	})
	known := len(marks) == len(texts) &&
		!slices.ContainsFunc(texts, func(text string) bool { return !standsForMissing(text) })
	return Suggestion{Kind: Categorical, Cause: TextsInNumbers, Texts: texts,
		Detail: fmt.Sprintf("(%s %s, among %s)", firstQuoted(texts), where, plural(numbers, "number")),
		Gaps: len(marks) > 0 && len(marks) <= 3 && levels-len(texts) > mostCodes && (known || 10*cells <= numbers+cells) &&
			!slices.ContainsFunc(marks, func(text string) bool { return strings.ContainsFunc(text, unicode.IsDigit) })}
}

// areShort reports whether no text has more than two characters, as numbers and letters that are names have.
func areShort(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return utf8.RuneCountInString(text) > 2 })
}

// areDigitCodes says whether all texts are digits, and as many.
func areDigitCodes(texts []string) bool {
	return !slices.ContainsFunc(texts,
		func(text string) bool { return len(text) != len(texts[0]) || !fastcsv.IsDigits(text) })
}

// Constant reports whether all present cells of column col, from 0, have the same value. With weights, one a row, it
// ignores rows without positive weight; nil weights include all rows. A column without any value is not constant.
func (t *Table) Constant(col int, weights []float64) bool {
	first := math.NaN()
	for row := range t.rows {
		v := t.Number(row, col)
		if math.IsNaN(v) || weights != nil && !(weights[row] > 0) {
			continue
		}
		if math.IsNaN(first) {
			first = v
		}
		if v != first {
			return false
		}
	}
	return !math.IsNaN(first)
}

// standsForMissing says whether tables often have the text where nothing is known.
func standsForMissing(level string) bool {
	marks := []string{"", "?", "-", "--", ".", "n.a.", "n. a.", "na", "n/a", "null", "none", "unknown", "missing"}
	return slices.Contains(marks, strings.ToLower(strings.TrimSpace(level)))
}

// firstQuoted lists three texts at most.
func firstQuoted(texts []string) string {
	const most = 3
	var list []string
	for _, text := range texts[:min(len(texts), most)] {
		list = append(list, fmt.Sprintf("%.60q", text))
	}
	if len(texts) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

func plural(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

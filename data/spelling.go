package data

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/latent-go/latent/internal/fastcsv"
)

// A Spelling says how a column of a CSV file writes its numbers, if they are not plain digits and decimals.
type Spelling struct {
	Column      string `json:"column"`
	Thousands   string `json:"thousands,omitempty"`   // the separator of thousands; empty: none
	Unit        string `json:"unit,omitempty"`        // beside the numbers, such as %, $ and EUR; 83.5% is 83.5
	Hexadecimal bool   `json:"hexadecimal,omitempty"` // as 0x10, which is 16
	Multiples   bool   `json:"multiples,omitempty"`   // as 1.5k and 3M, which are 1500 and 3000000
	Parentheses bool   `json:"parentheses,omitempty"` // about negative numbers: (5) is -5
	Dashes      bool   `json:"dashes,omitempty"`      // beside units, as $ -, which is 0 as spreadsheets write it
	Minutes     bool   `json:"minutes,omitempty"`     // and seconds, as 54:30, 54m 30s and PT54M30S, which are 54.5
	Trailing    bool   `json:"trailing,omitempty"`    // minus signs: 5- is -5
	Limits      bool   `json:"limits,omitempty"`      // among numbers, as <0.05 and >100, which are missing
	Marks       bool   `json:"marks,omitempty"`       // about numbers, which are left out: 12.3*, 12.3 p, ~12, 12.3±0.4
}

// String describes the spelling in a few words.
func (s Spelling) String() string {
	var list []string
	switch {
	case s.Hexadecimal:
		return "hexadecimal"
	case s.Minutes && strings.HasPrefix(s.Unit, "/"):
		return "durations in minutes" + s.Unit
	case s.Minutes:
		return "durations in minutes"
	case s.Unit == "%":
		list = append(list, "in percent")
	case s.Unit != "":
		list = append(list, "in "+s.Unit)
	}
	if s.Thousands != "" {
		name := s.Thousands
		if known := separatorNames[name]; known != "" {
			name = known
		}
		list = append(list, "thousands separated by "+name)
	}
	if s.Multiples {
		list = append(list, "k for thousands, M for millions and the like")
	}
	if s.Parentheses {
		list = append(list, "negative in parentheses")
	}
	if s.Trailing {
		list = append(list, "minus signs behind numbers")
	}
	if s.Limits {
		list = append(list, "cells such as <1 as missing")
	}
	if s.Dashes {
		list = append(list, "0 as a dash")
	}
	if s.Marks {
		list = append(list, "without marks such as * and ±")
	}
	return strings.Join(list, ", ")
}

// Number reads a cell that is a plain number, or one that is written as s says; decimals follow a comma, or else a
// point.
func (s Spelling) Number(cell string, decimal byte) (v float64, ok bool) {
	if s.Minutes {
		if v, parts := inUnits(cell, cmp.Or(decimal, '.')); parts > 0 {
			return v, true
		}
	}
	if s.Limits {
		if _, is := limit(cell); is {
			return math.NaN(), true
		}
	}
	if s.Marks {
		cell, _, _ = unmarked(cell)
	}
	w, ok := parseNumeral(cell, cmp.Or(decimal, '.'))
	return w.value, ok && (w.thousands == "" || w.thousands == s.Thousands) && sameUnit(w.unit, s.Unit) &&
		w.hex == s.Hexadecimal && (w.parts > 0) == s.Minutes &&
		(!w.multiple || s.Multiples) && (!w.enclosed || s.Parentheses) && (!w.dash || s.Dashes) &&
		(!w.trailing || s.Trailing)
}

var separatorNames = map[string]string{
	",": "commas", ".": "points", " ": "blanks", "\u00a0": "blanks", "\u202f": "blanks", "\u2009": "blanks",
	"'": "apostrophes", "’": "apostrophes",
}

// Spellings lists the columns that were read as numbers although cells have more than digits and decimals: separators
// of thousands, a currency, a percent sign or 0x. The caller must not change the list.
func (t *Table) Spellings() []Spelling { return t.spellings }

// UnsureDecimals lists columns of a CSV file whose points were read as decimal points but may separate thousands:
// three digits follow each point, and nothing else in the file shows the decimal mark. If the decimal mark was given,
// they are the columns with three digits after each mark. The caller must not change the list.
func (t *Table) UnsureDecimals() []string { return t.unsure }

// numeral is a number with what stands about it.
type numeral struct {
	value     float64
	whole     bool   // no decimals
	thousands string // what separates them
	groups    int    // of three digits
	digits    int
	bare      bool // several groups of digits, and nothing else
	unit      string
	hex       bool
	multiple  bool // of a power of ten that letters name
	unsure    bool // which may be part of a code
	enclosed  bool // in parentheses, and so negative
	dash      bool // and a unit, for 0
	parts     int  // of a duration: 2 of 54:30, 3 of 1:02:30
	trailing  bool // a minus sign
	limit     bool // stands for all below or above it
	marked    bool // by a note, an error or a sign
	lettered  bool // which may be part of a code
	attached  bool // likewise, without a blank before it
}

// limit is the number within a text that says less or more than one, such as <0.05.
func limit(text string) (number string, is bool) {
	text = strings.TrimSpace(text)
	for _, mark := range []string{"<=", ">=", "≤", "≥", "<", ">"} {
		if rest, is := strings.CutPrefix(text, mark); is {
			w, is := parseNumeral(rest, '.')
			if !is {
				w, is = parseNumeral(rest, ',')
			}
			if is && w.unit == "" && !w.multiple {
				return strings.TrimSpace(rest), true
			}
			break
		}
	}
	return text, false
}

// marksOfNotes stand behind numbers, or before them. Letters are those that offices of statistics have for values that
// are provisional, estimated, revised and the like, but none of a unit.
const marksOfNotes, marksBefore, lettersOfNotes, raised = "*†‡§¶", "~≈", "abcefnpruz", "¹²³⁴⁵⁶⁷⁸⁹⁰"

// reference is one to a note, as encyclopedias have it.
var reference = regexp.MustCompile(`\s*\[[^\[\]]{1,12}\]$`)

// unmarked is the number within a text that has a mark of a note, an error behind ± or a sign that it is a rough value.
// A letter or a raised digit may be part of a code as well.
func unmarked(text string) (number string, marked, lettered bool) {
	text = strings.TrimSpace(text)
	number = strings.TrimLeft(text, marksBefore)
	number = strings.TrimRight(reference.ReplaceAllString(number, ""), marksOfNotes)
	for _, sign := range []string{"±", "+/-"} {
		if before, after, is := strings.Cut(number, sign); is && strings.TrimSpace(before) != "" {
			if w, is := parseNumeral(after, '.'); is && w.unit == "" {
				number = before
			}
		}
	}
	marked = len(number) < len(text)
	last, size := utf8.DecodeLastRuneInString(number)
	if before := strings.TrimSpace(number[:len(number)-size]); before != "" && '0' <= before[len(before)-1] &&
		before[len(before)-1] <= '9' && strings.ContainsRune(lettersOfNotes+raised, last) {
		number, lettered = before, true
	}
	return strings.TrimSpace(number), marked, lettered
}

// multiples are what letters behind numbers stand for.
var multiples = [][2]string{
	{"k", "e3"}, {"K", "e3"}, {"Tsd", "e3"}, {"Tsd.", "e3"},
	{"M", "e6"}, {"Mio", "e6"}, {"Mio.", "e6"}, {"bn", "e9"}, {"Mrd", "e9"}, {"Mrd.", "e9"},
	{"B", "e9"}, {"T", "e12"},
}

// unsureMultiples are digits of codes, too, such as 2B and 3T: beside a currency or other multiples they are none.
const unsureMultiples = "BT"

// codesOfCurrencies may stand beside numbers as signs such as $ do.
var codesOfCurrencies = []string{
	"USD", "EUR", "GBP", "CHF", "JPY", "CNY", "INR", "CAD", "AUD", "NZD", "SEK", "NOK", "DKK", "PLN", "CZK", "BRL",
}

// measures may stand directly behind numbers, as may /km and other shares; other words are units only behind a blank.
var measures = []string{
	"kg", "g", "mg", "t", "lb", "lbs", "oz", "km", "m", "cm", "mm", "mi", "ft", "in", "l", "ml", "h", "min", "s", "ms",
	"°C", "°F", "kW", "kWh", "W", "V", "Hz", "kHz", "MHz", "GHz", "KB", "MB", "GB", "TB", "hPa", "mph", "km/h",
	"m²", "ppm",
}

// wordBehind splits the unit off a number: a measure, one word behind a blank, or the most that marks can be: 7/10.
func wordBehind(cell string) (number, unit string) {
	if at := strings.LastIndexByte(cell, '/'); at > 0 && fastcsv.IsDigits(cell[at+1:]) {
		return strings.TrimSpace(cell[:at]), cell[at:]
	}
	end := strings.LastIndexAny(cell, "0123456789)") + 1
	unit = strings.TrimSpace(cell[end:])
	measure := strings.TrimPrefix(unit, "/")
	first, _ := utf8.DecodeRuneInString(measure)
	word := unicode.IsLetter(first) && utf8.RuneCountInString(unit) <= 12 && !strings.ContainsFunc(unit, unicode.IsSpace)
	if end == 0 || !slices.Contains(measures, measure) && !(word && len(unit) < len(cell)-end) ||
		slices.ContainsFunc(multiples, func(m [2]string) bool { return m[0] == unit }) {
		return cell, ""
	}
	return strings.TrimSpace(cell[:end]), unit
}

// sameUnit reports whether two units are one, which may have an ending of the plural.
func sameUnit(a, b string) bool {
	if len(a) > len(b) {
		a, b = b, a
	}
	return a == b || a == "" || len(a) >= 3 && a[0] != '/' && strings.HasPrefix(b, a) && len(b) <= len(a)+2
}

// splitUnit takes sign and unit off a cell without blanks around it. Without a number, number is empty.
func splitUnit(cell string) (number, unit string, negative bool) {
	sign := func() {
		for _, mark := range []string{"-", "\u2212", "+"} {
			if rest, is := strings.CutPrefix(cell, mark); is {
				cell, negative = strings.TrimSpace(rest), mark != "+"
				return
			}
		}
	}
	signed := cell
	sign()
	first, size := utf8.DecodeRuneInString(cell)
	switch last, length := utf8.DecodeLastRuneInString(cell); {
	case unicode.Is(unicode.Sc, first):
		unit, cell = cell[:size], strings.TrimSpace(cell[size:])
	case unicode.Is(unicode.Sc, last) || last == '%':
		unit, cell = cell[len(cell)-length:], strings.TrimSpace(cell[:len(cell)-length])
	case len(cell) > 3 && slices.Contains(codesOfCurrencies, cell[:3]):
		unit, cell = cell[:3], strings.TrimSpace(cell[3:])
	case len(cell) > 3 && slices.Contains(codesOfCurrencies, cell[len(cell)-3:]):
		unit, cell = cell[len(cell)-3:], strings.TrimSpace(cell[:len(cell)-3])
	default:
		cell, unit = wordBehind(cell)
	}
	if !negative && unit != "" && cell != "" && signed[0] != '+' {
		sign()
	}
	return cell, unit, negative
}

// parseNumeral reads a cell whose decimals follow a comma, or else a point.
func parseNumeral(cell string, decimal byte) (w numeral, ok bool) {
	number, unit, negative := splitUnit(strings.TrimSpace(cell))
	if rest, is := strings.CutSuffix(number, "-"); is && !negative {
		number, negative, w.trailing = strings.TrimSpace(rest), true, true
	}
	if last := len(number) - 1; last > 0 && !negative && number[0] == '(' && number[last] == ')' {
		var within string
		if number, within, negative = splitUnit(strings.TrimSpace(number[1:last])); negative || unit != "" && within != "" {
			return w, false
		}
		w.enclosed, negative, unit = true, true, unit+within
	}
	w.unit = unit
	if number == "" && negative && unit != "" {
		w.whole, w.dash = true, true
		return w, !w.enclosed
	}
	power := ""
	for _, m := range multiples {
		if before, is := strings.CutSuffix(number, m[0]); is {
			number, power, w.multiple, w.unsure = strings.TrimSpace(before), m[1], true, strings.Contains(unsureMultiples, m[0])
			break
		}
	}
	if number == "" || (number[0] < '0' || number[0] > '9') && number[0] != decimal {
		return w, false
	}
	if digits := strings.TrimPrefix(strings.TrimPrefix(number, "0x"), "0X"); len(digits) < len(number) {
		v, err := strconv.ParseUint(digits, 16, 53)
		w.value, w.hex, w.whole = float64(v), true, true
		return w, err == nil && !negative && unit == ""
	}
	if strings.Contains(number, ":") {
		w.value, w.parts = minutes(number, unit == "h", decimal)
		w.whole = w.parts > 0
		if negative {
			w.value = -w.value
		}
		return w, w.whole && !w.multiple && !w.enclosed
	}
	var plain strings.Builder
	rest := number
	for {
		n := 0
		for n < len(rest) && rest[n]-'0' <= 9 {
			n++
		}
		if w.groups > 0 && n != 3 || w.groups == 0 && len(rest) < len(number) {
			return w, false
		}
		plain.WriteString(rest[:n])
		w.digits += n
		rest = rest[n:]
		mark, size := utf8.DecodeRuneInString(rest)
		separator := rest[:size]
		if separatorNames[separator] == "" || mark == rune(decimal) ||
			w.groups == 0 && (n > 3 || n == 0 || number[0] == '0') || w.groups > 0 && separator != w.thousands {
			break
		}
		w.thousands, w.groups, rest = separator, w.groups+1, rest[size:]
	}
	v, kind := fastcsv.ParseDecimal(plain.String()+rest+power, decimal)
	if w.value = v; negative {
		w.value = -v
	}
	w.whole = rest == ""
	w.bare = w.groups > 1 && w.whole && w.digits == len(strings.Join(strings.Fields(cell), ""))
	exponent := w.multiple && strings.ContainsAny(rest, "eE")
	return w, kind == fastcsv.Number && !exponent && !math.IsInf(v, 0) && (w.groups == 0 || w.whole || rest[0] == decimal)
}

// minutes are those of a duration, m:ss or h:mm:ss with or without decimals of a second, or h:mm where hours stand
// behind it; parts is 0 of other texts.
func minutes(cell string, hours bool, decimal byte) (v float64, parts int) {
	list := strings.Split(cell, ":")
	if len(list) > 3 {
		return 0, 0
	}
	for i, part := range list {
		x, kind := fastcsv.ParseDecimal(part, decimal)
		if digits := strings.IndexFunc(part+":", func(r rune) bool { return r < '0' || r > '9' }); kind != fastcsv.Number ||
			i > 0 && (digits != 2 || x >= 60) || i < len(list)-1 && digits < len(part) {
			return 0, 0
		}
		if i < 2 {
			v = 60*v + x
		} else {
			v += x / 60
		}
	}
	if len(list) == 2 && !hours {
		v /= 60
	}
	return v, len(list)
}

// durationInUnits is 1d 4h, 54m 30s, 2 hours and the like, and as ISO 8601 has them, such as PT54M30S.
var durationInUnits = regexp.MustCompile(`^(?i)(-?)P?(?:(\d+)\s*d(?:ays?)?)?\s*T?(?:(\d+)\s*h(?:(?:ou)?rs?)?)?\s*` +
	`(?:(\d+)\s*m(?:in(?:ute)?s?)?)?\s*(?:(\d+(?:[.,]\d+)?)\s*s(?:ec(?:ond)?s?)?)?$`)

// inUnits are the minutes of a duration of so many parts, each with its unit; a P before them is one, too. Of other
// texts parts is 0.
func inUnits(cell string, decimal byte) (v float64, parts int) {
	cell = strings.TrimSpace(cell)
	list := durationInUnits.FindStringSubmatch(cell)
	if list == nil {
		return 0, 0
	}
	for i, minutes := range [...]float64{24 * 60, 60, 1, 1. / 60} {
		if part := list[2+i]; part != "" {
			x, kind := fastcsv.ParseDecimal(part, decimal)
			if kind != fastcsv.Number {
				return 0, 0
			}
			v, parts = v+x*minutes, parts+1
		}
	}
	if parts > 0 && strings.ContainsAny(cell, "Pp") {
		parts++
	}
	if list[1] != "" {
		v = -v
	}
	return v, parts
}

// allInUnits reads texts that are all durations in units, if one has two parts at least: 5m alone may be metres.
func allInUnits(texts []string, decimal byte) (values []float64, ok bool) {
	for _, text := range texts {
		v, parts := inUnits(text, decimal)
		if parts == 0 {
			return nil, false
		}
		values, ok = append(values, v), ok || parts > 1
	}
	return values, ok
}

// spellingOf reads the texts of a column as numbers, and says how they are written. ok is false where some are none,
// and where separators might be those of thousands and of decimals: seen says that the file shows what decimals follow.
// What is unsure is as in an earlier table.
func spellingOf(texts []string, decimal byte, seen bool, earlier Spelling) (values []float64, s Spelling, ok bool) {
	if values, ok := allInUnits(texts, decimal); ok {
		return values, Spelling{Minutes: true}, true
	}
	if values, s, ok = spelled(texts, decimal, seen, earlier, false); !ok {
		values, s, ok = spelled(texts, decimal, seen, earlier, true)
	}
	return values, s, ok
}

// spelled is spellingOf with or without marks of notes.
func spelled(texts []string, decimal byte, seen bool, earlier Spelling, marks bool) (
	values []float64, s Spelling, ok bool) {
	var numbers tally
	for i, text := range texts {
		number, limited := limit(text)
		marked, lettered := false, false
		if marks {
			number, marked, lettered = unmarked(number)
		}
		w, is := parseNumeral(number, decimal)
		w.limit, w.marked, w.lettered = limited, marked || lettered, lettered
		w.attached = lettered && !strings.ContainsFunc(strings.TrimSpace(text), unicode.IsSpace)
		if !is || !s.takes(w) {
			return nil, s, false
		}
		if i == 0 {
			values = make([]float64, 0, len(texts))
		}
		if values = append(values, w.value); limited {
			values[i] = math.NaN()
		}
		numbers.sees(w)
	}
	bare := func(text string) bool { return !strings.ContainsRune(text, '%') }
	switch {
	case len(texts) == 0 || s == (Spelling{}) || numbers.mixed() || areAddresses(texts):
	case s.Multiples && s.Unit == "" && !numbers.powers && !earlier.Multiples: // codes such as 2B
	case s.Trailing && numbers.marks() && !earlier.Trailing:
	case s.Limits && numbers.classes() && !earlier.Limits:
	case !numbers.annotated() && !earlier.Marks:
	case s.Unit == "" && numbers.timesOfDay() && !earlier.Minutes:
	case s.Unit == "%" && slices.ContainsFunc(texts, bare): // 83.5% is not 0.835 here
	case s.Thousands == "." || s.Thousands == ",":
		return values, s, !numbers.long && (seen || numbers.thousands())
	case s.Thousands != "" && s.Unit == "" && len(texts) > 1 && numbers.telephones() && sameLengths(texts):
	default:
		return values, s, true
	}
	return nil, s, false
}

// takes adds to a spelling what a number of the same column has; false if two of these exclude each other.
func (s *Spelling) takes(w numeral) bool {
	if w.thousands != "" && s.Thousands != "" && w.thousands != s.Thousands || !sameUnit(w.unit, s.Unit) {
		return false
	}
	s.Thousands, s.Unit = cmp.Or(s.Thousands, w.thousands), cmp.Or(s.Unit, w.unit)
	s.Hexadecimal, s.Multiples = s.Hexadecimal || w.hex, s.Multiples || w.multiple
	s.Parentheses, s.Trailing = s.Parentheses || w.enclosed, s.Trailing || w.trailing
	s.Dashes, s.Minutes = s.Dashes || w.dash, s.Minutes || w.parts > 0
	s.Limits, s.Marks = s.Limits || w.limit, s.Marks || w.marked
	return true
}

// areAddresses reports whether all texts are addresses of the Internet, such as 192.168.100.200.
func areAddresses(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool {
		_, err := netip.ParseAddr(strings.TrimSpace(text))
		return err != nil
	})
}

func sameLengths(texts []string) bool {
	return !slices.ContainsFunc(texts, func(text string) bool { return len(text) != len(texts[0]) })
}

// mostEarly are six hours, or one with seconds, as minutes would be written: times of day are not mostly before.
var mostEarly = [...]float64{2: 6, 3: 60}

// A tally is what the numbers of a column have in common, which tells numbers from codes of the same form.
type tally struct {
	numbers, hexadecimal, limits, short, grouped, durations, lettered, fractions int

	attached map[float64]int // of numbers with a letter directly behind them, how many letters they have

	powers bool // a letter stands for a power of ten
	long   bool // one has four digits without a separator

	// of durations
	parts, early int
	longest      float64

	// of separators of thousands
	sure    bool
	small   [2]float64
	largest float64 // without a separator
	least   float64 // with one
}

func (t *tally) sees(w numeral) {
	count := func(n *int, is bool) {
		if is {
			*n++
		}
	}
	v := math.Abs(w.value)
	count(&t.numbers, true)
	count(&t.hexadecimal, w.hex)
	count(&t.limits, w.limit)
	count(&t.short, w.whole && w.digits < 3)
	count(&t.grouped, w.bare)
	count(&t.durations, w.parts > 0)
	count(&t.lettered, w.lettered)
	count(&t.fractions, !w.whole)
	if w.attached {
		if t.attached == nil {
			t.attached = map[float64]int{}
		}
		t.attached[w.value]++
	}
	t.powers = t.powers || w.multiple && !w.unsure
	t.long = t.long || w.groups == 0 && !w.multiple && v >= 1000
	if w.parts > 0 {
		t.parts, t.longest = t.parts|1<<w.parts, max(t.longest, v)
		count(&t.early, v < mostEarly[w.parts])
	}
	switch {
	case w.multiple: // of which 1.234 M may be a decimal or not
		return
	case w.groups == 0:
		t.largest = max(t.largest, v)
	case t.least == 0 || v < t.least:
		t.least = v
	}
	switch {
	case w.groups > 1 || w.groups > 0 && !w.whole:
		t.sure = true
	case w.groups > 0 || !w.whole || v < 2 || v > 999:
	case t.small[0] == 0:
		t.small[0] = v
	case v != t.small[0]:
		t.small[1] = v
	}
}

// mixed says whether some numbers are hexadecimal, or durations, and others are not.
func (t *tally) mixed() bool {
	return t.hexadecimal > 0 && t.hexadecimal < t.numbers || t.durations > 0 && t.durations < t.numbers
}

// marks are those of a school, which have minus signs behind them, too.
func (t *tally) marks() bool { return t.short == t.numbers }

// classes have limits, as <5 and >10 beside few others.
func (t *tally) classes() bool { return t.numbers-t.limits <= mostNumbered || 2*t.limits > t.numbers }

// annotated says that letters behind numbers, if there are any, are marks of notes: most numbers have none, and most
// have decimals.
func (t *tally) annotated() bool {
	return t.lettered == 0 || 2*t.lettered <= t.numbers && 2*t.fractions >= t.numbers && !t.codes()
}

// codes have several letters directly behind one number, as 1.2a and 1.2b, more often than not.
func (t *tally) codes() bool {
	several, all := 0, 0
	for _, letters := range t.attached {
		if all += letters; letters > 1 {
			several += letters
		}
	}
	return several > 0 && 2*several >= all
}

// timesOfDay are all within a day, and not mostly early.
func (t *tally) timesOfDay() bool {
	return (t.parts == 1<<2 && t.longest < 24 || t.parts == 1<<3 && t.longest < 24*60) && 2*t.early <= t.durations
}

// telephones have several groups of digits each.
func (t *tally) telephones() bool { return t.grouped == t.numbers }

// thousands says what speaks for their separators: several in a number, decimals behind them, or two numbers at least
// of one to three digits, which would have decimals, too, if those behind the separator of others were ones, and the
// largest of which is nearer to the others with their thousands than to these as decimals.
func (t *tally) thousands() bool {
	return t.sure || t.small[1] > 0 && t.largest*t.largest > t.least*t.least/1000
}

// takeSpellings makes columns of texts numeric that hold numbers which are written in another way.
func (b *csvBuilder) takeSpellings(t *Table) (*Table, error) {
	var places []int
	var columns [][]float64
	var spellings []Spelling
	for j, c := range t.columns {
		if c.factor == nil || b.asText[j] {
			continue
		}
		values, s, ok := spellingOf(c.factor.levels, b.Decimal, b.decimalSeen, b.earlier[t.Names[j]])
		if !ok {
			continue
		}
		list := make([]float64, t.rows)
		for row, code := range c.factor.codes {
			list[row] = math.NaN()
			if code != missingCode {
				list[row] = values[code]
			}
		}
		s.Column = t.Names[j]
		places, columns, spellings = append(places, j), append(columns, list), append(spellings, s)
	}
	if len(places) == 0 {
		return t, nil
	}
	made, err := t.withNumbers(places, columns)
	if err != nil {
		return nil, fmt.Errorf("numbers in %d columns: %w", len(places), err)
	}
	made.spellings = spellings
	return made, nil
}

package htmlreport

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// A Table of numbers and names. The first cell of a row names the row. Where the screen is too narrow for its columns, each row
// becomes a paragraph whose cells have the names of their columns.
type Table struct {
	Caption string
	Head    []string
	Groups  []int // of the columns, for their colours; negative: none. nil: none has a group
	Rows    [][]Cell
	Open    bool // shown at once, not only when its caption is chosen
	// Low and High say what the strongest shades of negative and of positive cells mean; with both empty there is no key.
	Low, High string
}

// A Cell of a table.
type Cell struct {
	Text  string
	Value string  // the number in the digits of JSON, where Text has fewer; empty: Text is all there is
	Shade float64 // from −1 to 1: the strength of its colour, one for negative and one for positive values; 0: none
}

// Missing stands for a number that is not there or not finite.
const Missing = "–"

// Number writes v in the digits of encoding/json; what JSON has no number for is [Missing].
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // finite numbers have a form
	}
	return string(text)
}

// Readable writes v in four significant digits, whole numbers below ten million in all of theirs, and other large and small ones in
// three with a power of ten; what is not finite is [Missing].
func Readable(v float64) string {
	const digits, most, least = 4, 1e7, 1e-4
	size := math.Abs(v)
	switch {
	case !finite(v):
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

// Fixed writes v with so many decimals, or, of a negative number, rounded to tens, hundreds and so on; what is not finite is [Missing].
func Fixed(v float64, decimals int) string {
	if !finite(v) {
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
	return strings.NewReplacer("-", "⁻", "0", "⁰", "1", "¹", "2", "²", "3", "³", "4", "⁴", "5", "⁵", "6", "⁶", "7", "⁷", "8", "⁸", "9", "⁹").Replace(strconv.Itoa(n))
}

const (
	// shadeSteps is how many strengths a shade of a table has.
	shadeSteps = 6
	// faintest is the least shade that is coloured at all.
	faintest = 0.04
)

// Class is that of the cell's shade in the style sheet.
func (c Cell) Class() string {
	size := math.Abs(c.Shade)
	if !finite(size) || size < faintest {
		return ""
	}
	step := strconv.Itoa(min(shadeSteps, 1+int(size*shadeSteps)))
	if c.Shade < 0 {
		return "n" + step
	}
	return "p" + step
}

// Key are the classes of the shades from low to high, for the table's key.
func (t Table) Key() (classes []string) {
	if t.Low != "" {
		for i := shadeSteps; i > 0; i-- {
			classes = append(classes, "n"+strconv.Itoa(i))
		}
	}
	for i := 1; t.High != "" && i <= shadeSteps; i++ {
		classes = append(classes, "p"+strconv.Itoa(i))
	}
	return classes
}

// Group is the group of a column, negative where it has none.
func (t Table) Group(column int) int {
	if column >= len(t.Groups) {
		return -1
	}
	return t.Groups[column]
}

// Tables are laid out by how wide they are, in rem: those that fit a phone as they are, others in steps up to the width of a page.
const (
	narrowest, widestTable, widthStep = 22, 72, 2

	widthOfLetter  = 0.56 // rem, of the size that tables have
	widthOfPadding = 1.2
	bolder         = 1.15 // letters of heads

	widthOfNames = 24 // letters, from which on names are broken between words
)

// Width is the class for about how many rem the table takes; empty of one that fits a phone.
func (t Table) Width() string {
	rem := 0.0
	for j, head := range t.Head {
		longest := bolder * float64(broken(head))
		if t.Group(j) >= 0 {
			longest += 2
		}
		for _, row := range t.Rows {
			n := letters(row[j].Text)
			if j == 0 { // names are broken between words
				n = min(n, max(widthOfNames, longestWord(row[j].Text)))
			}
			longest = max(longest, float64(n))
		}
		rem += widthOfLetter*longest + widthOfPadding
	}
	const phone = 20
	step := narrowest + widthStep*int(math.Ceil(max(0, rem-narrowest)/widthStep))
	switch {
	case rem <= phone:
		return ""
	case step > widestTable:
		return "stack"
	}
	return "w" + strconv.Itoa(step)
}

// broken is the length of the longer line of a head that is broken into two between words.
func broken(head string) int {
	words := strings.Fields(head)
	least := letters(head)
	for i := 1; i < len(words); i++ {
		least = min(least, max(letters(strings.Join(words[:i], " ")), letters(strings.Join(words[i:], " "))))
	}
	return least
}

func longestWord(text string) (longest int) {
	for word := range strings.FieldsSeq(text) {
		longest = max(longest, letters(word))
	}
	return longest
}

// letters is the length of the longest line of a text.
func letters(text string) (longest int) {
	for line := range strings.Lines(text) {
		longest = max(longest, len([]rune(strings.TrimSuffix(line, "\n"))))
	}
	return longest
}

// stackedRules make paragraphs of the rows of tables that are wider than their section, by the variables of the style sheet that say how
// tables are laid out. A container query cannot compare with the table, and so there is one for each width.
func stackedRules() string {
	const stack = "--block:block;--none:none;--flex:flex;--inline:inline;--wrap:normal"
	var text strings.Builder
	for w := narrowest; w <= widestTable; w += widthStep {
		fmt.Fprintf(&text, "@container (max-width: %drem){.w%d{%s}}\n", w, w, stack)
	}
	fmt.Fprintf(&text, ".stack{%s}\n", stack)
	return text.String()
}

// check panics where rows and heads differ in length.
func (t Table) check() {
	if i := slices.IndexFunc(t.Rows, func(row []Cell) bool { return len(row) != len(t.Head) }); i >= 0 {
		panic(fmt.Sprintf("htmlreport: row %d of table %q has %d cells, and its head %d", i, t.Caption, len(t.Rows[i]), len(t.Head)))
	}
}

package html

import (
	"github.com/latent-go/latent/report"

	"fmt"
	"math"
	"strconv"
	"strings"
)

const (
	// shadeSteps is how many strengths a shade of a table has.
	shadeSteps = 6
	// faintest is the least shade that is coloured at all.
	faintest = 0.04
)

// classOf is the class of the cell's shade in the style sheet.
func classOf(c report.Cell) string {
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

// shadesOf are the classes of the shades from low to high, for the table's key.
func shadesOf(t report.Table) (classes []string) {
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

// Tables are laid out by how wide they are, in rem: those that fit a phone as they are, others in steps up to the width
// of a page.
const (
	narrowest, widestTable, widthStep = 22, 72, 2

	widthOfLetter  = 0.56 // rem, of the size that tables have
	widthOfPadding = 1.2
	bolder         = 1.15 // letters of heads

	widthOfNames = 24 // letters, from which on names are broken between words
)

// widthOf is the class for about how many rem the table takes; empty of one that fits a phone. Where the screen is too
// narrow for its columns, each row becomes a paragraph whose cells have the names of their columns.
func widthOf(t report.Table) string {
	rem := 0.0
	for j, column := range t.Columns {
		longest := bolder * float64(broken(column.Name))
		if column.Class > 0 {
			longest += 2
		}
		for _, row := range t.Rows {
			text := row[j].String()
			n := letters(text)
			if j == 0 { // names are broken between words
				n = min(n, max(widthOfNames, longestWord(text)))
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

// stackedRules make paragraphs of the rows of tables that are wider than their section, by the variables of the style
// sheet that say how tables are laid out. A container query cannot compare with the table, and so there is one for each
// width.
func stackedRules() string {
	const stack = "--block:block;--none:none;--flex:flex;--inline:inline;--wrap:normal"
	var text strings.Builder
	for w := narrowest; w <= widestTable; w += widthStep {
		fmt.Fprintf(&text, "@container (max-width: %drem){.w%d{%s}}\n", w, w, stack)
	}
	fmt.Fprintf(&text, ".stack{%s}\n", stack)
	return text.String()
}

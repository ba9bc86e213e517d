// Package wording has what sentences about fits are made of: counts of things, lists, and what there is no room for.
package wording

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/latent-go/latent/report"
)

// How much text and page have room for.
const (
	MostRows     = 40 // of a table that a person is shown
	MostProfiles = 80 // rows of heat maps and of tables like them
	// classes or dimensions of a table in shaded columns; of more there is a heat map, with the numbers below
	MostShaded     = 8
	MostItems      = 12  // dimensions of which the page says something first
	MostIterations = 600 // points of a curve
)

// Counted is a number of things: "1 level", "2 levels".
func Counted(n int, thing string) string {
	if n == 1 {
		return "1 " + thing
	}
	return fmt.Sprintf("%d %ss", n, thing)
}

// Are is a number of things with its verb: "1 cell is", "2 cells are".
func Are(n int, thing string) string { return Counted(n, thing) + " " + Plural(n, "is", "are") }

// Plural is a word for one thing or for several.
func Plural(n int, one, more string) string {
	if n == 1 {
		return one
	}
	return more
}

// A is the word with its article, an before a vowel and before names that are spelled out, such as hmm and lds.
func A(word string) string {
	sounds := "aeio"
	if !strings.ContainsAny(word, "aeiouy") {
		sounds = "fhlmnrsx"
	}
	if strings.IndexAny(word, sounds) == 0 {
		return "an " + word
	}
	return "a " + word
}

// Capital begins a sentence with a word.
func Capital(word string) string { return strings.ToUpper(word[:1]) + word[1:] }

// Enumerated joins things as a sentence does.
func Enumerated(list []string) string {
	if len(list) < 2 {
		return strings.Join(list, "")
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " and " + list[last]
}

// Quoted are the first names.
func Quoted(names []string) string {
	var list []string
	for _, name := range names {
		list = append(list, fmt.Sprintf("%.60q", name))
	}
	return Listed(list, 20)
}

// Listed joins the first names; the count stands for those that there is no room for.
func Listed(names []string, most int) string {
	if len(names) > most {
		return fmt.Sprintf("%s, … (%d in all)", strings.Join(names[:most], ", "), len(names))
	}
	return strings.Join(names, ", ")
}

// LeftOut is a sentence about what a figure has no room for, or nothing.
func LeftOut(n int, thing, which string) string {
	switch {
	case n <= 0:
		return ""
	case which == "":
		return fmt.Sprintf(" %s not listed (--format json has all).", Are(n, thing))
	}
	return fmt.Sprintf(" %s, %s, %s not listed (--format json has all).", Counted(n, thing), which, Plural(n, "is", "are"))
}

// Isolated keeps the direction in which a name is written from what stands beside it.
func Isolated(name string) string {
	const first, last = "\u2068", "\u2069" // first strong isolate, pop directional isolate
	if strings.IndexFunc(name, func(r rune) bool {
		return unicode.In(r, unicode.Hebrew, unicode.Arabic, unicode.Syriac, unicode.Thaana, unicode.Nko, unicode.Adlam)
	}) < 0 {
		return name
	}
	return first + name + last
}

// Signed is a number with its sign, as a person reads it.
func Signed(v float64) string {
	text := report.Readable(v)
	if v > 0 {
		text = "+" + text
	}
	return text
}

// Nats writes a criterion in the three decimals that mean something.
func Nats(v float64) string {
	switch {
	case v != v:
		return "failed"
	case v >= 1e9 || v <= -1e9:
		return strconv.FormatFloat(v, 'g', 12, 64)
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// Percent is a share in two decimals.
func Percent(share float64) string { return fmt.Sprintf("%.2f %%", 100*share) }

// Numbered are names with the numbers from 1 to n.
func Numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i+1))
	}
	return names
}

// UpTo lists the integers from first to last.
func UpTo(first, last int) (list []int) {
	for k := first; k <= last; k++ {
		list = append(list, k)
	}
	return list
}

// Largest are the places of the largest values, in their order; at most so many.
func Largest(values []float64, most int) []int {
	places := UpTo(0, len(values)-1)
	if len(places) <= most {
		return places
	}
	places = ByValue(values, places)[:most]
	slices.Sort(places)
	return places
}

// ByValue puts places into the order of their values, the largest first.
func ByValue(values []float64, places []int) []int {
	list := slices.Clone(places)
	slices.SortStableFunc(list, func(i, j int) int { return cmp.Compare(values[j], values[i]) })
	return list
}

// Either is one of two words.
func Either(yes bool, one, other string) string {
	if yes {
		return one
	}
	return other
}

// ASCII has the minus sign that can be copied from a terminal into a program.
func ASCII(number string) string {
	return strings.NewReplacer("−", "-", report.NoBreak, " ").Replace(number)
}

// Readable writes a number for a terminal in digits that a person reads: four that mean something, or a whole number.
func Readable(v float64) string { return ASCII(report.Readable(v)) }

// Thinned are the places 0 to n − 1, or about so many of them as there should be at most: first, last,
// the required ones, as far as half of them reaches, and the others at equal distances.
func Thinned(n, most int, required []int) []int {
	if n <= most {
		return UpTo(0, n-1)
	}
	list := slices.Clone(required[:min(len(required), most/2)])
	left := most - len(list)
	for i := range left {
		list = append(list, int(float64(i)/float64(left-1)*float64(n-1)))
	}
	slices.Sort(list)
	return slices.Compact(list)
}

// Items are the parts of a list with commas, at least one. A comma of a part has a backslash before it.
func Items(text string) (list []string) {
	item, escaped := "", false
	for _, r := range text {
		switch {
		case escaped && r != ',':
			item, escaped = item+`\`+string(r), false
		case escaped:
			item, escaped = item+",", false
		case r == '\\':
			escaped = true
		case r == ',':
			list, item = append(list, item), ""
		default:
			item += string(r)
		}
	}
	if escaped {
		item += `\`
	}
	if item != "" || list == nil {
		list = append(list, item)
	}
	return list
}

var plainWord = regexp.MustCompile(`^[\pL\pN_.][\pL\pN_.,:=/@%+-]*$`)

// Word is a text as a shell takes it for one argument.
func Word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// Item is the name of a column as a flag with a list of names takes it.
func Item(name string) string { return Word(strings.ReplaceAll(name, ",", `\,`)) }

// FiniteOr is v, or another number where it is not finite.
func FiniteOr(v, other float64) float64 {
	if v-v != 0 {
		return other
	}
	return v
}

// MostNoted is how many things a note names.
const MostNoted = 3

// Abridged joins the texts of the first few things, as many as a note has room for.
func Abridged[T any](things []T, separator string, write func(T) string) string {
	var list []string
	for _, one := range things[:min(len(things), MostNoted)] {
		list = append(list, write(one))
	}
	if len(things) > MostNoted {
		list = append(list, "…")
	}
	return strings.Join(list, separator)
}

// QuotedCell is a cell as notes quote it.
func QuotedCell(text string) string { return fmt.Sprintf("%.60q", text) }

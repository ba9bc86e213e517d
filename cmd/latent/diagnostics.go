package main

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
)

// A diagnostic is what may have misled --family auto. Columns with the same one share a note.
type diagnostic struct {
	claim  string // about the columns, whose names and details follow
	advice func(list []suspect, given *columnFamilies) string
}

// A suspect is a column that a diagnostic applies to.
type suspect struct {
	name, detail string
	texts        []string // that may be missing values
}

var (
	likeRowNumbers = diagnostic{"numbered as rows are", dropThem}
	likeNames      = diagnostic{"another text in every row, as names have", dropThem}
	oneValue       = diagnostic{"with a single value, which tells no rows apart", dropThem}
	manyLevels     = diagnostic{"taken for categorical, with few rows a level", dropThem}
	someTexts      = diagnostic{"taken for categorical because some cells are no numbers", markThem}
	likeGaps       = diagnostic{"with levels that often stand for missing values", markThem}
	commas         = diagnostic{"taken for categorical because of commas in decimals", func([]suspect, *columnFamilies) string { return "replace the commas by points" }}
	fewValues      = diagnostic{"taken for numbers, but with few different values, as codes and grades have", as(familyCategorical)}
	tooVaried      = diagnostic{"taken for Poisson counts, but with a larger variance than those have", as(familyGaussian)}
	tooEven        = diagnostic{"taken for Poisson counts, but with a smaller variance than any mixture of those has", as(familyGaussian)}
)

// diagnostics are in the order in which they are told.
var diagnostics = []*diagnostic{&likeRowNumbers, &likeNames, &oneValue, &manyLevels, &commas, &someTexts, &likeGaps, &fewValues, &tooVaried, &tooEven}

// most is how many columns of one diagnostic a note has room for.
const most = 3

func dropThem(list []suspect, _ *columnFamilies) string {
	them := "it"
	if len(list) > 1 {
		them = "them"
	}
	return "--drop " + abridgedTexts(list, ",", func(c suspect) string { return item(c.name) }) + " leaves " + them + " out"
}

func markThem(list []suspect, _ *columnFamilies) string {
	var texts []string
	for _, c := range list {
		for _, text := range c.texts {
			if len(texts) <= most && !slices.Contains(texts, text) { // more are not shown
				texts = append(texts, text)
			}
		}
	}
	return abridgedTexts(texts, " ", func(text string) string { return "--na=" + word(strings.TrimSpace(text)) }) + " reads such cells as missing"
}

func as(family string) func([]suspect, *columnFamilies) string {
	return func(list []suspect, given *columnFamilies) string {
		var names []string
		for _, c := range list[:min(len(list), most)] {
			names = append(names, c.name)
		}
		flag := given.with(names, family)
		if len(list) > most {
			flag += " and so on"
		}
		return flag + " may suit better"
	}
}

// diagnose notes where the values of columns may have misled --family auto. Those whose families
// were given are no business of auto.
func (in *input) diagnose(s *session, columns []column, given *columnFamilies) {
	found := map[*diagnostic][]suspect{}
	for _, c := range columns {
		if given.family[c.Name] != "" {
			continue
		}
		if why, detail, texts := in.diagnoseColumn(c); why != nil {
			found[why] = append(found[why], suspect{c.Name, detail, texts})
		}
	}
	for _, why := range diagnostics {
		list := found[why]
		if len(list) == 0 {
			continue
		}
		names := abridgedTexts(list, ", ", func(c suspect) string { return strings.TrimSpace(fmt.Sprintf("%.60q %s", c.name, c.detail)) })
		if len(list) > most {
			names += fmt.Sprintf(" (%d columns)", len(list))
		}
		s.note("%s: %s: %s: %s", in.name, why.claim, names, why.advice(list, given))
	}
}

// fewestInOrder is how many rows it takes to see more than chance in different values, and
// fewest how many a level or value should have.
const fewestInOrder, fewest = 3, 5

// diagnoseColumn says what is strange about a column that was described by its values.
func (in *input) diagnoseColumn(c column) (why *diagnostic, detail string, texts []string) {
	if c.Family == familyCategorical {
		return in.diagnoseLevels(c)
	}
	x, err := in.Column(c.Name)
	if err != nil {
		return nil, "", nil
	}
	v := survey(x)
	switch {
	case len(v.different) == 1:
		return &oneValue, fmt.Sprintf("(%g)", v.different[0]), nil
	case c.Family == familyBernoulli:
		return nil, "", nil
	case runs(x):
		return &likeRowNumbers, fmt.Sprintf("(1 to %d)", len(x)), nil
	}
	spread := fmt.Sprintf("(variance %.3g, mean %.3g)", v.variance, v.mean)
	switch counts := c.Family == familyPoisson; {
	case counts && v.variance > 20*v.mean:
		return &tooVaried, spread, nil
	case v.fewDifferent() && (!counts || v.likeCodes()):
		return &fewValues, fmt.Sprintf("(%d values, %g to %g)", len(v.different), v.different[0], v.different[len(v.different)-1]), nil
	case counts && v.tooEven():
		return &tooEven, spread, nil
	}
	return nil, "", nil
}

// diagnoseLevels is diagnoseColumn for columns of texts.
func (in *input) diagnoseLevels(c column) (why *diagnostic, detail string, texts []string) {
	texts, cells, numbers := in.Texts(c.Name)
	_, err := in.Column(c.Name)
	gaps := slices.DeleteFunc(slices.Clone(c.Levels), func(level string) bool { return !standsForGaps(level) })
	switch rows := cells + numbers; {
	case errors.Is(err, data.ErrDecimalComma):
		return &commas, "", nil
	case cells > 0 && numbers > cells:
		return &someTexts, fmt.Sprintf("(%s in %s, among %s)", abridgedTexts(texts, ", ", quotedCell), counted(cells, "cell"), counted(numbers, "number")), texts
	case len(gaps) > 0:
		return &likeGaps, "(" + abridgedTexts(gaps, ", ", quotedCell) + ")", gaps
	case len(c.Levels) >= fewestInOrder && len(c.Levels) == rows:
		return &likeNames, "", nil
	case len(c.Levels) > 2*fewest && rows < fewest*len(c.Levels):
		return &manyLevels, fmt.Sprintf("(%s in %d rows)", counted(len(c.Levels), "level"), rows), nil
	}
	return nil, "", nil
}

// standsForGaps tells the texts that tables have where nothing is known.
func standsForGaps(level string) bool {
	return slices.Contains([]string{"", "?", "-", "--", ".", "n/a", "#n/a", "<na>", "null", "none", "unknown", "missing"}, strings.ToLower(strings.TrimSpace(level)))
}

// runs tells whether numbers are 1, 2, … up to how many they are, in any order.
func runs(x []float64) bool {
	seen := make([]bool, len(x))
	for _, v := range x {
		if !(v >= 1 && v <= float64(len(x))) || v != math.Trunc(v) || seen[int(v)-1] {
			return false
		}
		seen[int(v)-1] = true
	}
	return len(x) >= fewestInOrder
}

// values are the numbers of a column that are not missing.
type values struct {
	n, mean, variance float64
	different         []float64 // sorted; no more of them than mostCodes + 1
}

// mostCodes is how many values codes and grades have at most.
const mostCodes = 7

func survey(x []float64) values {
	var v values
	for _, one := range x {
		if math.IsNaN(one) {
			continue
		}
		v.n++
		step := one - v.mean
		v.mean += step / v.n
		v.variance += step * (one - v.mean)
		if at, ok := slices.BinarySearch(v.different, one); !ok && len(v.different) <= mostCodes {
			v.different = slices.Insert(v.different, at, one)
		}
	}
	v.variance /= v.n
	return v
}

// fewDifferent wants several rows a value.
func (v *values) fewDifferent() bool {
	d := len(v.different)
	return d >= 2 && d <= mostCodes && v.n >= float64(fewestInOrder*d)
}

// likeCodes tells few different integers from small counts, which have 0 among them and
// leave out none but large ones, and vary as much as their mean.
func (v *values) likeCodes() bool {
	d := len(v.different)
	low, high := v.different[0], v.different[d-1]
	return low > 0 || high-low+1 >= 1.5*float64(d) || v.tooEven()
}

// tooEven tells that a variance is below the mean by three standard errors of Fisher's index
// of dispersion. Mixing Poisson distributions only adds variance.
func (v *values) tooEven() bool { return v.variance < v.mean*(1-3*math.Sqrt(2/v.n)) }

var plainWord = regexp.MustCompile(`^[\pL\pN_.][\pL\pN_.,:=/@%+-]*$`)

// word is a text as a shell takes it for one argument.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// item is the name of a column as a flag with a list of names takes it.
func item(name string) string { return word(strings.ReplaceAll(name, ",", `\,`)) }

// abridgedTexts joins the texts of the first things.
func abridgedTexts[T any](things []T, separator string, write func(T) string) string {
	var list []string
	for _, one := range things[:min(len(things), most)] {
		list = append(list, write(one))
	}
	if len(things) > most {
		list = append(list, "…")
	}
	return strings.Join(list, separator)
}

func quotedCell(text string) string { return fmt.Sprintf("%.60q", text) }

// are is a number of things with its verb: "1 cell is", "2 cells are".
func are(n int, thing string) string {
	if n == 1 {
		return counted(n, thing) + " is"
	}
	return counted(n, thing) + " are"
}

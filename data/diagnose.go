package data

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
)

// A Cause is a reason to doubt that a column is what the form of its values suggests, see [Table.Diagnose].
type Cause int

const (
	RowNumbers     Cause = iota + 1 // 1, 2, … up to the number of rows, in any order
	RowNames                        // another text in every row
	SingleValue                     // the same number in every row
	ManyLevels                      // categorical, with fewer than five rows a level
	DecimalCommas                   // categorical for the commas in its decimals alone
	TextsInNumbers                  // categorical, though most cells are numbers
	MissingTexts                    // categorical, with levels that often stand for missing values
	FewValues                       // numeric, with few different values, as codes and grades have
	Overdispersed                   // counts whose variance is more than 20 times their mean
	Underdispersed                  // counts whose variance is below that of any mixture of Poisson distributions
)

// A Diagnosis is a cause with what it was seen by. The zero value is that of an unsuspicious column.
type Diagnosis struct {
	Cause  Cause
	Detail string   // the numbers or texts in question, for a message; may be empty
	Texts  []string // of TextsInNumbers and MissingTexts: the levels in question
}

// Diagnose looks for what may mislead a reader who takes a column for what [Table.Kinds] says it is, which is
// given by kind. It finds at most one cause; none where there is no such column.
func (t *Table) Diagnose(name string, kind Kind) Diagnosis {
	if kind == Categorical {
		return t.diagnoseLevels(name)
	}
	x, err := t.Column(name)
	if err != nil {
		return Diagnosis{}
	}
	v := summarize(x)
	n := len(v.different)
	switch {
	case n == 1:
		return Diagnosis{Cause: SingleValue, Detail: fmt.Sprintf("(%g)", v.different[0])}
	case n == 0 || kind == Binary:
		return Diagnosis{}
	case areRowNumbers(x):
		return Diagnosis{Cause: RowNumbers, Detail: fmt.Sprintf("(1 to %d)", len(x))}
	}
	dispersion := fmt.Sprintf("(variance %.3g, mean %.3g)", v.variance, v.mean)
	switch {
	case kind == Count && v.variance > 20*v.mean:
		return Diagnosis{Cause: Overdispersed, Detail: dispersion}
	case v.few() && (kind != Count || v.likeCodes()):
		return Diagnosis{Cause: FewValues, Detail: fmt.Sprintf("(%d values, %g to %g)", n, v.different[0], v.different[n-1])}
	case kind == Count && v.underdispersed():
		return Diagnosis{Cause: Underdispersed, Detail: dispersion}
	}
	return Diagnosis{}
}

// Constant reports whether all cells of a column, counted from 0, that are not missing have the same value; with
// weights, one a row, it looks at rows of positive weight alone (nil: at all). A column without any value is not
// constant.
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

// fewestRows is how many rows it takes to see more than chance in different values, and rowsPerLevel how many
// rows a level should have.
const fewestRows, rowsPerLevel = 3, 5

// diagnoseLevels is Diagnose for categorical columns.
func (t *Table) diagnoseLevels(name string) Diagnosis {
	levels, err := t.Occurring(name)
	if err != nil {
		return Diagnosis{}
	}
	texts, cells, numbers := t.Texts(name)
	rows := cells + numbers
	gaps := slices.DeleteFunc(slices.Clone(levels), func(level string) bool { return !standsForMissing(level) })
	_, err = t.Column(name)
	switch {
	case errors.Is(err, ErrDecimalComma):
		return Diagnosis{Cause: DecimalCommas}
	case cells > 0 && numbers > cells:
		detail := fmt.Sprintf("(%s in %s, among %s)", firstQuoted(texts), plural(cells, "cell"), plural(numbers, "number"))
		return Diagnosis{TextsInNumbers, detail, texts}
	case len(gaps) > 0:
		return Diagnosis{MissingTexts, "(" + firstQuoted(gaps) + ")", gaps}
	case len(levels) >= fewestRows && len(levels) == rows:
		return Diagnosis{Cause: RowNames}
	case len(levels) > 2*rowsPerLevel && rows < rowsPerLevel*len(levels):
		return Diagnosis{Cause: ManyLevels, Detail: fmt.Sprintf("(%s in %d rows)", plural(len(levels), "level"), rows)}
	}
	return Diagnosis{}
}

// standsForMissing says whether tables often have the text where nothing is known.
func standsForMissing(level string) bool {
	return slices.Contains([]string{"", "?", "-", "--", ".", "n/a", "#n/a", "<na>", "null", "none", "unknown", "missing"}, strings.ToLower(strings.TrimSpace(level)))
}

// areRowNumbers says whether numbers are 1, 2, … up to how many they are, in any order.
func areRowNumbers(x []float64) bool {
	seen := make([]bool, len(x))
	for _, v := range x {
		if !(v >= 1 && v <= float64(len(x))) || v != math.Trunc(v) || seen[int(v)-1] {
			return false
		}
		seen[int(v)-1] = true
	}
	return len(x) >= fewestRows
}

// values summarises the numbers of a column that are not missing.
type values struct {
	n, mean, variance float64
	different         []float64 // sorted; no more of them than mostCodes + 1
}

// mostCodes is how many values codes and grades have at most.
const mostCodes = 7

func summarize(x []float64) (v values) {
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

// few says whether there are few different values, and several rows of each.
func (v *values) few() bool {
	return len(v.different) <= mostCodes && v.n >= float64(fewestRows*len(v.different))
}

// likeCodes distinguishes few different integers from small counts, which have 0 among them, leave out none but large
// ones and vary as much as their mean.
func (v *values) likeCodes() bool {
	last := len(v.different) - 1
	low, high := v.different[0], v.different[last]
	return low > 0 || high-low+1 >= 1.5*float64(last+1) || v.underdispersed()
}

// underdispersed says whether the variance is below the mean by three standard errors of Fisher's index of
// dispersion. Mixing Poisson distributions only adds variance.
func (v *values) underdispersed() bool { return v.variance < v.mean*(1-3*math.Sqrt(2/v.n)) }

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

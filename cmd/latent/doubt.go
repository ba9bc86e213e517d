package main

import (
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
)

// doubt notes where the values of a column may have misled --family auto.
func (in *input) doubt(s *session, columns []column, given *columnFamilies) {
	for _, c := range columns {
		if given.family[c.Name] != "" {
			continue
		}
		if note := in.doubtful(c); note != "" {
			s.note("column %q of %s %s", c.Name, in.name, note)
		}
	}
}

// fewestInOrder is how many rows it takes to see more than chance in different values.
const fewestInOrder = 3

// doubtful says what is strange about a column that was described by its values.
func (in *input) doubtful(c column) string {
	drop := "--drop " + word(c.Name)
	if c.Family == familyCategorical {
		texts, cells, numbers := in.Texts(c.Name)
		switch {
		case cells > 0 && numbers > cells:
			return fmt.Sprintf("is taken for categorical because %s no number (%s), while %d are: %s reads such cells as missing",
				are(cells, "cell"), abridgedTexts(texts, ", ", strconv.Quote), numbers, abridgedTexts(texts, " ", func(text string) string { return "--na " + word(strings.TrimSpace(text)) }))
		case len(c.Levels) >= fewestInOrder && len(c.Levels) == cells+numbers:
			return "has another text in every row, as names have: " + drop + " leaves it out"
		}
		return ""
	}
	x, err := in.Column(c.Name)
	if err != nil {
		return ""
	}
	if runs(x) {
		return fmt.Sprintf("has the numbers from 1 to %d, each once, as row numbers are: %s leaves it out", len(x), drop)
	}
	mean, variance := moments(x)
	if c.Family == familyPoisson && variance > 20*mean {
		return fmt.Sprintf("is taken for a Poisson count, but its variance is %.3g and its mean %.3g: --columns %s=gaussian may suit it better", variance, mean, word(c.Name))
	}
	return ""
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

// moments are the mean and the variance of the numbers that are not missing.
func moments(x []float64) (mean, variance float64) {
	n := 0.
	for _, v := range x {
		if !math.IsNaN(v) {
			n++
			step := v - mean
			mean += step / n
			variance += step * (v - mean)
		}
	}
	return mean, variance / n
}

var plainWord = regexp.MustCompile(`^[\pL\pN_.][\pL\pN_.-]*$`)

// word is a text as a shell takes it for one argument.
func word(text string) string {
	if plainWord.MatchString(text) {
		return text
	}
	return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'"
}

// abridgedTexts joins at most three texts.
func abridgedTexts(texts []string, separator string, write func(string) string) string {
	const most = 3
	var list []string
	for _, text := range texts[:min(len(texts), most)] {
		list = append(list, write(text))
	}
	if len(texts) > most {
		list = append(list, "…")
	}
	return strings.Join(list, separator)
}

// are is a number of things with its verb: "1 cell is", "2 cells are".
func are(n int, thing string) string {
	if n == 1 {
		return counted(n, thing) + " is"
	}
	return counted(n, thing) + " are"
}

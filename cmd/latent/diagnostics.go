package main

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
)

// A diagnostic puts a cause of doubt in --family auto into words. Columns with the same one share a note.
type diagnostic struct {
	cause  data.Cause
	claim  string // about the columns, whose names and details follow
	advice func(list []suspect, given *columnFamilies) string
}

// A suspect is a column that a diagnostic applies to.
type suspect struct {
	name string
	data.Diagnosis
}

// diagnostics are in the order of their notes.
var diagnostics = []diagnostic{
	{data.RowNumbers, "numbered as rows are", dropThem},
	{data.RowNames, "another text in every row, as names have", dropThem},
	{data.SingleValue, "with a single value, which distinguishes no rows", dropThem},
	{data.ManyLevels, "taken for categorical, with few rows a level", dropThem},
	{data.DecimalCommas, "taken for categorical because of commas in decimals", func([]suspect, *columnFamilies) string { return "replace the commas by points" }},
	{data.TextsInNumbers, "taken for categorical because some cells are no numbers", markThem},
	{data.MissingTexts, "with levels that often stand for missing values", markThem},
	{data.FewValues, "taken for numbers, but with few different values, as codes and grades have", as(familyCategorical)},
	{data.Overdispersed, "taken for Poisson counts, but with a larger variance than those have", as(familyGaussian)},
	{data.Underdispersed, "taken for Poisson counts, but with a smaller variance than any mixture of those has", as(familyGaussian)},
}

// most is how many columns of one diagnostic a note has room for.
const most = 3

func dropThem(list []suspect, _ *columnFamilies) string {
	them := "it"
	if len(list) > 1 {
		them = "them"
	}
	return "--drop " + abridged(list, ",", func(c suspect) string { return item(c.name) }) + " leaves " + them + " out"
}

func markThem(list []suspect, _ *columnFamilies) string {
	var texts []string
	for _, c := range list {
		for _, text := range c.Texts {
			if len(texts) <= most && !slices.Contains(texts, text) { // more are not shown
				texts = append(texts, text)
			}
		}
	}
	return abridged(texts, " ", func(text string) string { return "--na=" + word(strings.TrimSpace(text)) }) + " reads such cells as missing"
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
func (in *input) diagnose(s *session, kinds []data.Kind, given *columnFamilies) {
	found := map[data.Cause][]suspect{}
	for j, name := range in.Names {
		if given.family[name] == "" {
			d := in.Diagnose(name, kinds[j])
			found[d.Cause] = append(found[d.Cause], suspect{name, d})
		}
	}
	for _, why := range diagnostics {
		list := found[why.cause]
		if len(list) == 0 {
			continue
		}
		names := abridged(list, ", ", func(c suspect) string { return strings.TrimSpace(fmt.Sprintf("%.60q %s", c.name, c.Detail)) })
		if len(list) > most {
			names += fmt.Sprintf(" (%d columns)", len(list))
		}
		s.note("%s: %s: %s: %s", in.name, why.claim, names, why.advice(list, given))
	}
}

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

// abridged joins the texts of the first things.
func abridged[T any](things []T, separator string, write func(T) string) string {
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

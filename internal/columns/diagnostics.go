package columns

import (
	"fmt"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
)

// A diagnostic puts what --family auto saw in a column into words. Columns with the same one share a note.
type diagnostic struct {
	cause  data.Cause
	reason string // of the family, for the list of columns
	claim  string // of a note about the columns, whose names and details follow; empty: there is nothing to note
	advice func(list []suspect, given *classes.ColumnFamilies) string
}

// A suspect is a column that a diagnostic applies to.
type suspect struct {
	name string
	data.Suggestion
}

// diagnostics are in the order of their notes.
var diagnostics = []diagnostic{
	{data.RowNumbers, "", "left out as numbers of the rows", keep(families.Gaussian)},
	{data.InOrder, "", "left out as identifiers, which rise or fall from row to row", keep(families.Gaussian)},
	{data.NamedIdentifier, "", "left out as identifiers, by name and with many numbers", keep(families.Gaussian)},
	{data.GroupKeys, "", "left out as keys of groups or numbers of steps, each with the same number of rows or nearly " +
		"so", keep(families.Gaussian)},
	{data.LongDigits, "", "left out as identifiers, whole numbers of many digits", keep(families.Gaussian)},
	{data.DifferentTexts, "", "left out as names, of which hardly any occurs in two rows", keep(families.Categorical)},
	{data.DigitCodes, "", "left out as codes such as postcodes, digits of one length with few rows " +
		"each", keep(families.Categorical)},
	{data.Dates, "days since 1970", "left out, dates or times", datesAsNumbers},
	{data.SingleValue, "", "left out, with the same value in every row", fillThem},
	{data.ManyLevels, "texts", "treated as categorical, with few rows for each level", dropThem},
	{data.DecimalCommas, "texts", "treated as categorical because of commas in " +
		"decimals", say("write points or commas throughout (--decimal)")},
	{data.DecimalPoints, "texts", "treated as categorical because of points in " +
		"decimals", say("write points or commas throughout (--decimal)")},
	{data.SeparatedThousands, "texts", "treated as categorical because of separators of " +
		"thousands, or of decimals", say("--decimal . or --decimal , says which")},
	{data.SeveralUnits, "", "left out, numbers in several units", say("write them in one unit, or in separate columns")},
	{data.TextsBesideUnits, "", "left out, numbers with units beside other texts", markThem},
	{data.TextsInNumbers, "texts", "treated as categorical because some cells are not numbers", markThem},
	{data.MissingTexts, "texts", "with levels that often stand for missing values", markThem},
	{data.OrderedLevels, "texts", "treated as categorical, although the texts show an order", inOrder},
	{data.FewValues, "few values", "treated as categorical, with few different numbers", inOrder},
	{cause: data.TwoValues, reason: "two values"},
	{cause: data.VaryAsCounts, reason: "counts"},
	{cause: data.WholeNumbers, reason: "whole numbers"},
	{cause: data.Skewed, reason: "long tail"},
	{cause: data.SkewedWholeNumbers, reason: "whole numbers, long tail"},
	{cause: data.Numbers, reason: "numbers"},
	{cause: data.Levels, reason: "texts"},
}

func say(advice string) func([]suspect, *classes.ColumnFamilies) string {
	return func([]suspect, *classes.ColumnFamilies) string { return advice }
}

func dropThem(list []suspect, _ *classes.ColumnFamilies) string {
	return "--drop " + wording.Abridged(list, ",", func(c suspect) string { return wording.Item(c.name) }) +
		" leaves " + them(list) + " out"
}

// fillThem advises where a mark stands in some cells, and nothing in the others.
func fillThem(list []suspect, _ *classes.ColumnFamilies) string {
	if !slices.ContainsFunc(list, func(c suspect) bool { return c.Detail != "" }) {
		return ""
	}
	return "write no into empty cells that mean no"
}

func them(list []suspect) string {
	if len(list) > 1 {
		return "them"
	}
	return "it"
}

// markThem advises to read texts as missing.
func markThem(list []suspect, _ *classes.ColumnFamilies) string {
	var texts []string
	for _, c := range list {
		for _, text := range c.Texts {
			if len(texts) <= wording.MostNoted && !slices.Contains(texts, text) { // more are not shown
				texts = append(texts, text)
			}
		}
	}
	return wording.Abridged(texts, " ", func(text string) string {
		return "--na=" +
			wording.Word(strings.TrimSpace(text))
	}) +
		" reads such cells as missing"
}

// as is the flag that gives the columns of a note a family.
func as(family string, list []suspect, given *classes.ColumnFamilies) string {
	var names []string
	for _, c := range list[:min(len(list), wording.MostNoted)] {
		names = append(names, c.name)
	}
	flag := columnsFlag(given, names, family)
	if len(list) > wording.MostNoted {
		flag += " and so on"
	}
	return flag
}

func keep(family string) func([]suspect, *classes.ColumnFamilies) string {
	return func(list []suspect, given *classes.ColumnFamilies) string {
		if given == nil {
			return "--select with all columns to fit keeps " + them(list)
		}
		verb := " keeps "
		if len(list) > wording.MostNoted {
			verb = " keep "
		}
		return as(family, list, given) + verb + them(list)
	}
}

func datesAsNumbers(list []suspect, _ *classes.ColumnFamilies) string {
	return "--dates " + wording.Abridged(list, ",", func(c suspect) string { return wording.Item(c.name) }) + " takes " +
		them(list) + " as days since 1970"
}

func inOrder(list []suspect, given *classes.ColumnFamilies) string {
	return as(families.Ordinal, list, given) + " if their order matters"
}

// notesOn puts what is left out or in doubt into words; given is nil where columns have no families of their own.
func notesOn(list []suspect, given *classes.ColumnFamilies) (notes []string) {
	found := map[data.Cause][]suspect{}
	for _, c := range list {
		if c.Cause != data.Dates || c.Kind == data.Date { // else they are numbers, as was asked
			found[c.Cause] = append(found[c.Cause], c)
		}
	}
	for _, why := range diagnostics {
		list := found[why.cause]
		if len(list) == 0 || why.claim == "" {
			continue
		}
		note := why.claim + ": " + detailed(list)
		if why.advice != nil {
			note = strings.TrimSuffix(note+": "+why.advice(list, given), ": ")
		}
		notes = append(notes, note)
	}
	return notes
}

// detailed lists columns with what they were seen by.
func detailed(list []suspect) string {
	text := wording.Abridged(list, ", ",
		func(c suspect) string { return strings.TrimSpace(fmt.Sprintf("%.60q %s", c.name, c.Detail)) })
	if len(list) > wording.MostNoted {
		text += fmt.Sprintf(" (%d columns)", len(list))
	}
	return text
}

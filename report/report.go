// Package report defines a document of typed values: results as sentences, tables and figures, independent of the
// format in which they are written. Package report/html writes it as a page.
//
//	table := report.Table{Caption: "weights", Columns: report.Columns("component", "weight")}
//	table.Add(1, report.Share(0.64))
//	table.Add(2, report.Share(0.36))
//	weights := report.Section{Title: "Components", Tables: []report.Table{table}}
//	d := &report.Document{Title: "A fit", Sections: []report.Section{weights}}
//
// A cell holds a value and says how to show it, so that a page can round it while a file keeps all digits. Figures
// draw columns of the tables in their section, so that every drawn number can also be read.
package report

import (
	"strconv"
	"strings"
	"unicode"
)

// A Document is a title, a sentence beneath it (Lead), sections, and a sentence at the end (Foot).
type Document struct {
	Title, Lead string
	Sections    []Section
	Foot        string
}

// A Section has a title and, each optional, a text, warnings, items, a figure, facts and tables, in this order.
type Section struct {
	Title    string
	Text     string
	Warnings []string
	Items    []Item
	// label for choosing among many items, such as "Choose a component": each is listed briefly, the chosen one in full
	Choose string
	Figure Figure      // a Chart, Heat or Matrix; nil: none
	Facts  [][2]string // names and values, which may have several lines
	Tables []Table
	Wide   bool // takes the full width of a large screen
}

// Single returns a list of one section, which shows a figure, if any, above its tables.
func Single(title string, figure Figure, tables ...Table) []Section {
	return []Section{{Title: title, Figure: figure, Tables: tables}}
}

// An Item describes one class, such as a component.
type Item struct {
	Group int // index of its colour, from 0, as in Point
	Name  string
	Size  string  // in words
	Share float64 // from 0 to 1, drawn as a bar
	Brief string  // a few words, for sections whose items can be chosen; may be empty
	Text  string
}

// Printable replaces characters that a terminal would obey, such as line ends and escapes, by visible ones.
func Printable(name string) string {
	if strings.IndexFunc(name, func(r rune) bool { return !unicode.IsPrint(r) }) < 0 {
		return name
	}
	var text strings.Builder
	for _, r := range name {
		if quoted := strconv.QuoteRune(r); !unicode.IsPrint(r) {
			text.WriteString(quoted[1 : len(quoted)-1])
		} else {
			text.WriteRune(r)
		}
	}
	return text.String()
}

// Package report defines a document of typed values: results as sentences, tables and figures, independent of the
// format in which they are written. Package report/html writes it as a page, report/text as text, encoding/json as an
// object with all digits, and [Table.Write] one table as a file.
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
	Title    string    `json:"title"`
	Lead     string    `json:"lead"`
	Sections []Section `json:"sections"`
	Foot     string    `json:"foot,omitempty"`
}

// A Section has a title and, each optional, a text, warnings, items, a figure, facts and tables, in this order. JSON
// has no figure, because its numbers are those of the tables.
type Section struct {
	Title    string   `json:"title"`
	Text     string   `json:"text,omitempty"`
	Warnings []string `json:"warnings,omitempty"`
	Items    []Item   `json:"items,omitempty"`
	// label for choosing among many items, such as "Choose a component": each is listed briefly, the chosen one in full
	Choose string      `json:"-"`
	Figure Figure      `json:"-"`               // a Chart, Heat or Matrix; nil: none
	Facts  [][2]string `json:"facts,omitempty"` // names and values, which may have several lines
	Tables []Table     `json:"tables,omitempty"`
	Wide   bool        `json:"-"` // takes the full width of a large screen
}

// Single returns a list of one section, which shows a figure, if any, above its tables.
func Single(title string, figure Figure, tables ...Table) []Section {
	return []Section{{Title: title, Figure: figure, Tables: tables}}
}

// An Item describes one class, such as a component.
type Item struct {
	Group int     `json:"-"` // index of its colour, from 0, as in Point
	Name  string  `json:"name"`
	Size  string  `json:"size"`            // in words
	Share float64 `json:"share"`           // from 0 to 1, drawn as a bar
	Brief string  `json:"brief,omitempty"` // a few words, for sections whose items can be chosen; may be empty
	Text  string  `json:"text"`
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

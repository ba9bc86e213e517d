// Package text writes reports as text for a terminal or a file: sentences broken between words, and tables with as many
// columns as there is room for.
package text

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
	"golang.org/x/term"

	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// A Page is text that is written at once: its buffer has it. It is a [report.Page].
type Page struct {
	bytes.Buffer
	Width int // of a line, in columns of a terminal; 0: no limit
}

// WidthOfFiles is the width of a page that no terminal shows.
const WidthOfFiles = 80

// NewPage returns an empty page for w. It is as wide as COLUMNS says, or else as the terminal that w is, or has 80
// columns.
func NewPage(w io.Writer) *Page {
	p := &Page{Width: WidthOfFiles}
	if f, ok := w.(*os.File); ok {
		if width, _, err := term.GetSize(int(f.Fd())); err == nil && width > 0 {
			p.Width = width
		}
	}
	if width, err := strconv.Atoi(os.Getenv("COLUMNS")); err == nil && width > 0 {
		p.Width = width
	}
	return p
}

// Narrow reports whether the page has no room for tables: then it lists the cells of each row.
func (p *Page) Narrow() bool { return p.Width > 0 && p.Width < WidthOfFiles/2 }

// Line writes one line as it is.
func (p *Page) Line(format string, args ...any) { fmt.Fprintf(p, format+"\n", args...) }

// Prose writes a line that is broken between words where the page ends. Its further lines are indented.
func (p *Page) Prose(indent int, format string, args ...any) {
	used := 0
	if p.Narrow() {
		indent = min(indent, 4)
	}
	for i, word := range strings.Split(fmt.Sprintf(format, args...), " ") {
		wide := text.StringWidth(word)
		switch {
		case i == 0:
		case p.Width > 0 && used > indent && used+1+wide > p.Width:
			p.WriteString("\n" + strings.Repeat(" ", indent))
			used = indent
		default:
			p.WriteString(" ")
			used++
		}
		p.WriteString(word)
		used += wide
	}
	p.WriteString("\n")
}

// widthOfNames is that of the names of columns and levels in tables.
const widthOfNames = 24

// Short returns a name as tables have it: printable, and cut to the width of a column.
func Short(name string) string {
	name = report.Printable(name)
	if text.StringWidth(name) > widthOfNames {
		name = text.Trim(name, widthOfNames-1) + "…"
	}
	return name
}

// rendering is a grid as text.
func rendering(g *report.Grid) string {
	w := table.NewWriter()
	w.SetStyle(table.StyleLight)
	w.Style().Options = table.Options{SeparateHeader: true}
	w.Style().Format.Header = text.FormatDefault
	var configs []table.ColumnConfig
	for i, name := range g.Names {
		c := table.ColumnConfig{Number: i + 1, AlignHeader: text.AlignRight, Align: text.AlignRight}
		if slices.Contains(g.Wrapped, name) {
			c.Align, c.AlignHeader = text.AlignLeft, text.AlignLeft
			c.WidthMax, c.WidthMaxEnforcer = 30, text.WrapSoft
		}
		configs = append(configs, c)
	}
	w.AppendHeader(tableRow(g.Names))
	w.SetColumnConfigs(configs)
	for _, row := range g.Rows {
		w.AppendRow(tableRow(row))
	}
	return w.Render()
}

func tableRow(list []string) (row table.Row) {
	for _, cell := range list {
		row = append(row, cell)
	}
	return row
}

// Grid writes a grid, or on a narrow page that has no room for it the cells of one row after another.
func (p *Page) Grid(g *report.Grid) {
	if !p.Narrow() || p.Fits(g) {
		p.Line("%s", isolatedGrid(g))
		return
	}
	for _, row := range g.Rows {
		p.Prose(2, "%s %s", g.Names[0], wording.Isolated(row[0]))
		for j, cell := range row[1:] {
			if cell = strings.TrimSpace(cell); cell != "" {
				p.Prose(4, "  %s: %s", wording.Isolated(strings.ReplaceAll(g.Names[j+1], "\n", " ")), wording.Isolated(cell))
			}
		}
	}
}

// Widest returns the grid with as many of n columns as the page has room for, one at least, and their number.
func (p *Page) Widest(n int, grid func(n int) *report.Grid) (shown int, g *report.Grid) {
	if p.Narrow() {
		shown = min(n, 8)
		return shown, grid(shown)
	}
	shown, g = 1, grid(1)
	for shown < n {
		wider := grid(shown + 1)
		if !p.Fits(wider) {
			break
		}
		shown, g = shown+1, wider
	}
	return shown, g
}

// Fits reports whether the page is wide enough for a grid.
func (p *Page) Fits(g *report.Grid) bool {
	return p.Width == 0 || text.LongestLineLen(rendering(g)) <= p.Width
}

// Short is [Short].
func (*Page) Short(name string) string { return Short(name) }

// isolatedGrid is a grid as text with every text that is written from right to left isolated; the columns are set
// before, as isolates have no width.
func isolatedGrid(g *report.Grid) string {
	var texts []string
	for _, cell := range slices.Concat(append([][]string{g.Names}, g.Rows...)...) {
		for line := range strings.SplitSeq(cell, "\n") {
			if line = strings.TrimSpace(line); wording.Isolated(line) != line {
				texts = append(texts, line)
			}
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be part of another
	var pairs []string
	for _, one := range texts {
		pairs = append(pairs, one, wording.Isolated(one))
	}
	return strings.NewReplacer(pairs...).Replace(rendering(g))
}

// Section writes the sentences of a section without tables, and the tables that are not Long.
func (p *Page) Section(s report.Section) {
	if s.Text != "" && s.Tables == nil {
		p.Line("")
		p.Prose(0, "%s", wording.ASCII(s.Text))
	}
	for _, t := range s.Tables {
		if !t.Long {
			p.Table(t)
		}
	}
}

// Table writes the first rows of a table, with as many columns as there is room for: those of classes are left out
// first.
func (p *Page) Table(t report.Table) {
	rows := t.Rows[:min(len(t.Rows), wording.MostRows)]
	n, g := p.Widest(len(t.Columns)-1, func(n int) *report.Grid {
		columns := firstColumns(t.Columns, 1+n)
		var heads []string
		for _, j := range columns {
			heads = append(heads, Short(t.Columns[j].Name))
		}
		g := report.NewGrid(heads...)
		for _, row := range rows {
			var cells []string
			for at, j := range columns {
				cell := written(row[j])
				if at == 0 {
					cell = Short(cell)
				} else if Short(cell) != cell {
					g.Wrap(heads[at])
				}
				cells = append(cells, cell)
			}
			g.Row(cells...)
		}
		return g
	})
	p.Line("")
	caption := wording.Capital(t.Caption)
	if !strings.HasSuffix(caption, "?") {
		caption += ":"
	}
	p.Prose(0, "%s", caption)
	p.Grid(g)
	var out []string
	if left := len(t.Rows) - len(rows); left > 0 {
		out = append(out, wording.Counted(left, "row"))
	}
	if left := len(t.Columns) - 1 - n; left > 0 {
		out = append(out, wording.Counted(left, "column"))
	}
	if len(out) > 0 {
		p.Prose(0, "%s left out (--format json has all).", strings.Join(out, " and "))
	}
}

// written is a cell as text has it: nats with the decimals of the sentences beside.
func written(c report.Cell) string {
	if c.As == report.Scores && c.Value-c.Value == 0 {
		return wording.Nats(c.Value)
	}
	return wording.ASCII(c.String())
}

// firstColumns are the places of n columns of a table: of those of classes the first ones.
func firstColumns(columns []report.Column, n int) []int {
	places := wording.UpTo(0, len(columns)-1)
	for j := len(columns) - 1; j > 0 && len(places) > n; j-- {
		if columns[j].Class > 0 {
			places = slices.Delete(places, j, j+1)
		}
	}
	return places[:n]
}

// Entry writes a name, such as a flag, in so many columns, and what is said of it beside.
func (p *Page) Entry(wide int, name, text string) {
	indent := wide + 4
	if p.Narrow() || len(name) > wide {
		p.Line("  %s", name)
		name = ""
	}
	if p.Narrow() {
		p.Prose(4, "    %s", text)
		return
	}
	p.Prose(indent, "  %-*s  %s", wide, name, text)
}

// Paragraph writes prose after an empty line; an empty text is none.
func (p *Page) Paragraph(text string) {
	if text != "" {
		p.Line("")
		p.Prose(0, "%s", text)
	}
}

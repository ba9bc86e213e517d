package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/latent-go/latent/report"
)

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

// Grid shows a grid, or on a narrow page that has no room for it the cells of one row after another.
func (p *page) Grid(g *report.Grid) {
	if !p.narrow() || p.Fits(g) {
		p.Line("%s", isolatedGrid(g))
		return
	}
	for _, row := range g.Rows {
		p.Prose(2, "%s %s", g.Names[0], isolated(row[0]))
		for j, cell := range row[1:] {
			if cell = strings.TrimSpace(cell); cell != "" {
				p.Prose(4, "  %s: %s", isolated(strings.ReplaceAll(g.Names[j+1], "\n", " ")), isolated(cell))
			}
		}
	}
}

// Widest is the grid with as many of n columns as the page has room for, one at least.
func (p *page) Widest(n int, grid func(n int) *report.Grid) (shown int, g *report.Grid) {
	if p.narrow() {
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

// Fits says whether the page is wide enough for a grid.
func (p *page) Fits(g *report.Grid) bool {
	return p.width == 0 || text.LongestLineLen(rendering(g)) <= p.width
}

// Short is a name as tables have it.
func (*page) Short(name string) string { return short(name) }

// isolatedGrid is a grid as text with every text that is written from right to left isolated; the columns are set
// before, as isolates have no width.
func isolatedGrid(g *report.Grid) string {
	var texts []string
	for _, cell := range slices.Concat(append([][]string{g.Names}, g.Rows...)...) {
		for line := range strings.SplitSeq(cell, "\n") {
			if line = strings.TrimSpace(line); isolated(line) != line {
				texts = append(texts, line)
			}
		}
	}
	slices.SortFunc(texts, func(a, b string) int { return cmp.Compare(len(b), len(a)) }) // one may be part of another
	var pairs []string
	for _, one := range texts {
		pairs = append(pairs, one, isolated(one))
	}
	return strings.NewReplacer(pairs...).Replace(rendering(g))
}

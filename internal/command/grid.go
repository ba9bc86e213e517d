package command

import (
	"cmp"
	"slices"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

// A grid is a table of strings, numbers to the right.
type grid struct {
	table.Writer
	names   []string
	rows    [][]string
	configs []table.ColumnConfig
}

func newGrid(names ...string) *grid {
	g := &grid{Writer: table.NewWriter(), names: names}
	g.SetStyle(table.StyleLight)
	g.Style().Options = table.Options{SeparateHeader: true}
	g.Style().Format.Header = text.FormatDefault
	header := table.Row{}
	for i, name := range names {
		header = append(header, name)
		g.configs = append(g.configs, table.ColumnConfig{Number: i + 1, AlignHeader: text.AlignRight, Align: text.AlignRight})
	}
	g.AppendHeader(header)
	g.SetColumnConfigs(g.configs)
	return g
}

// prose sets columns to the left and breaks them into lines.
func (g *grid) prose(names ...string) {
	for i := range g.configs {
		if c := &g.configs[i]; slices.Contains(names, g.names[i]) {
			c.Align, c.AlignHeader = text.AlignLeft, text.AlignLeft
			c.WidthMax, c.WidthMaxEnforcer = 30, text.WrapSoft
		}
	}
	g.SetColumnConfigs(g.configs)
}

func (g *grid) row(cells ...string) {
	row := table.Row{}
	for _, cell := range cells {
		row = append(row, cell)
	}
	g.AppendRow(row)
	g.rows = append(g.rows, cells)
}

// grid shows a grid, or on a narrow page that has no room for it the cells of one row after another.
func (p *page) grid(g *grid) {
	if !p.narrow() || p.fits(g) {
		p.line("%s", g.isolated(g.Render()))
		return
	}
	for _, row := range g.rows {
		p.prose(2, "%s %s", g.names[0], isolated(row[0]))
		for j, cell := range row[1:] {
			if cell = strings.TrimSpace(cell); cell != "" {
				p.prose(4, "  %s: %s", isolated(strings.ReplaceAll(g.names[j+1], "\n", " ")), isolated(cell))
			}
		}
	}
}

// widest is the grid with as many of n columns as the page has room for, one at least.
func (p *page) widest(n int, grid func(n int) *grid) (shown int, g *grid) {
	if p.narrow() {
		shown = min(n, 8)
		return shown, grid(shown)
	}
	shown, g = 1, grid(1)
	for shown < n {
		wider := grid(shown + 1)
		if !p.fits(wider) {
			break
		}
		shown, g = shown+1, wider
	}
	return shown, g
}

// fits says whether the page is wide enough for a grid.
func (p *page) fits(g *grid) bool { return p.width == 0 || text.LongestLineLen(g.Render()) <= p.width }

// isolated has every text of the grid that is written from right to left isolated; the columns are set before, as
// isolates have no width.
func (g *grid) isolated(rendered string) string {
	var texts []string
	for _, cell := range slices.Concat(append([][]string{g.names}, g.rows...)...) {
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
	return strings.NewReplacer(pairs...).Replace(rendered)
}

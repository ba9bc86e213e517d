package report

// A Page takes text for people: sentences, and grids with as many columns as there is room for.
type Page interface {
	// Line writes one line as it is.
	Line(format string, args ...any)
	// Prose writes a line that is broken between words at the width of the page. Its further lines are indented.
	Prose(indent int, format string, args ...any)
	// Grid writes a grid, and Fits reports whether the page is wide enough for it.
	Grid(g *Grid)
	Fits(g *Grid) bool
	// Widest returns the grid with as many of n columns as there is room for, but at least one, and their number.
	Widest(n int, grid func(n int) *Grid) (shown int, g *Grid)
	// Short returns a name as grids show it: printable, and cut to a column's width.
	Short(name string) string
}

// A Grid is a table of strings. The first cell of a row names the row; columns are aligned to the right.
type Grid struct {
	Names   []string // of the columns; they may have several lines
	Rows    [][]string
	Wrapped []string // names of columns of words, which are aligned to the left and broken into lines
}

// NewGrid returns a grid without rows.
func NewGrid(names ...string) *Grid { return &Grid{Names: names} }

// Row adds a row.
func (g *Grid) Row(cells ...string) { g.Rows = append(g.Rows, cells) }

// Wrap says which columns have words.
func (g *Grid) Wrap(names ...string) { g.Wrapped = append(g.Wrapped, names...) }

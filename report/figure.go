package report

import "math"

// A Figure is a [Chart], a [Heat] or a [Matrix].
type Figure interface{ isFigure() }

func (Chart) isFigure()  {}
func (Heat) isFigure()   {}
func (Matrix) isFigure() {}

// A Chart is a stack of panels over one x axis.
type Chart struct {
	Title, About string
	XName        string
	X            []float64 // x of the series, ascending
	Names        []string  // for an axis of names: the names at X = 0, 1, …; nil: an axis of numbers
	IntegerX     bool      // ticks of x at integers alone
	Panels       []Panel
	Events       []int    // indices of X that a vertical line marks
	EventsName   string   // what the events are, for the legend
	Notes        []string // for each x, a text added to its tooltip; nil: none
}

// A Panel has its own y axis. Its contents are drawn in the order of the fields.
type Panel struct {
	Name     string
	Bins     []Bin
	Ellipses []Ellipse
	Points   []Point
	Series   []Series
	Levels   []Level

	BinsName, EllipsesName string   // what bins and ellipses are, for the legend
	Groups                 []string // names of the groups of points and ellipses, for the legend

	Bars    bool // series are drawn as bars beside each other, not as curves
	Steps   bool // curves keep their value until the next x
	Dots    bool // curves have a dot at each x
	Log     bool // y has a log scale; values that are not positive are omitted
	Integer bool // ticks of y at integers alone
	// Late allows the scale to omit low values in the first tenth of many x, which would compress the rest.
	Late   bool
	Height float64 // 0: the default
}

// A Series has a value for each x, NaN if there is none.
type Series struct {
	Name string
	Y    []float64
	Tip  string // on hover; may be empty
}

// A Level is a horizontal line.
type Level struct {
	Name  string
	Value float64
}

// A Point is one row. Points of one group, from 0, share a colour.
type Point struct {
	X, Y  float64
	Group int
	Tip   string
}

// A Bin is a bar of a histogram; its height is a density.
type Bin struct {
	From, To, Height float64
	Tip              string
}

// An Ellipse is a normal distribution, drawn as its contours around half and around 95 % of its mass.
type Ellipse struct {
	X, Y       float64 // mean
	XX, XY, YY float64 // covariance
	Group      int
	Name, Tip  string
}

// Heat is a table of coloured cells.
type Heat struct {
	Title, About  string
	Rows, Columns []string    // names of the rows and columns
	Heads         []string    // for each row, a heading above it for the rows from there on; empty: none
	Classes       bool        // columns correspond to the section's items, in order, and the chosen one is framed
	ColumnsName   string      // what the columns are
	Shade         [][]float64 // a cell's value on a scale from −1 over 0, which has no colour, to 1; NaN: an empty cell
	Texts         [][]string  // texts of the cells' tooltips
	Low, High     string      // what −1 and 1 mean; if Low is empty, the scale starts at 0
	Root          bool        // colours grow with the square root of a shade, so that small values are visible
}

// Matrix is a square or rectangular picture of many small cells, such as an adjacency matrix.
type Matrix struct {
	Title, About  string
	Cells         [][]float64 // rows from the top, cells from 0 (blank) to 1
	Rows, Columns []float64   // positions of dividing lines, as shares of the picture's height and width
	// RowNames and ColumnNames are the names of the parts into which Rows and Columns divide the picture; there is
	// one more of each.
	RowNames, ColumnNames []string
	ColumnsName           string // a text above the picture
}

// Relative converts values to shades by dividing them by the largest magnitude among them.
func Relative(values [][]float64) [][]float64 {
	largest := 0.0
	for _, row := range values {
		for _, v := range row {
			if v-v == 0 {
				largest = max(largest, math.Abs(v))
			}
		}
	}
	shades := make([][]float64, len(values))
	for i, row := range values {
		for _, v := range row {
			if largest > 0 {
				v /= largest
			}
			shades[i] = append(shades[i], v)
		}
	}
	return shades
}

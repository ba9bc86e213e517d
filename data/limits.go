package data

import (
	"cmp"
	"errors"
	"fmt"

	"github.com/latent-go/latent/internal/memory"
)

// Limits bound the memory that a damaged or hostile file can take. 0 selects the default.
type Limits struct {
	Cell int64 // bytes of one cell of a CSV text, at least 1 MiB; default 16 MiB
	Row  int64 // bytes of one of its rows, at least 1 MiB; default 256 MiB
	// Ratio bounds the size of a gzipped file's contents relative to the file, if the contents exceed 1 GB; default
	// 200. Most tables have 2 to 20, and a table of zeros alone has 1000.
	Ratio float64
}

// least is that of the lengths: the fast path of CSV reads lines up to there, and does not look at limits.
const least = 1 << 20

func (l Limits) cell() int64 { return max(cmp.Or(l.Cell, 1<<24), least) }

func (l Limits) row() int64 { return max(cmp.Or(l.Row, 1<<28), least) }

func (l Limits) ratio() float64 { return cmp.Or(l.Ratio, 200) }

// ErrLimit reports that an input is beyond its [Limits].
var ErrLimit = errors.New("beyond the limit")

// longRow is the error about a row that begins at a line and is too long.
func (l Limits) longRow(line int) error {
	return fmt.Errorf("line %d: a row of more than %s begins there, %w of rows: do its quotes end?", line,
		memory.Size(float64(l.row())), ErrLimit)
}

// longCell is the error about a cell that is.
func (l Limits) longCell(line, column int, cell string) error {
	return fmt.Errorf("line %d: column %d has a cell of %s, %w of cells", line, column,
		memory.Size(float64(len(cell))), ErrLimit)
}

package family

import (
	"errors"
	"math"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// Observed is a factor's data of some rows of a block; chunks reuse its memory. A factor of another package sets the
// exported fields.
type Observed struct {
	N        int       // rows
	Complete bool      // no cell is missing
	X        []float64 // the columns one after the other, each padded to Padded rows (see Transpose)
	Base     []float64 // ln h(x) of each row; nil if it is 0
	Work     []float64 // scratch
	// Exposures are those of the cells, 0 where one is missing, if not complete, as the factor lays them out.
	Exposures []float64

	Memory any // the factor's own, from one chunk to the next

	rows      blocks.Rows
	at        int       // first column
	first     int       // first row
	t         []float64 // n rows of S statistics, stride apart, of exponential families
	stride    int
	own       []float64 // memory for t where it is not the rows themselves
	sparse    bool      // of rows as entries, with one number of t an entry and e as scratch
	labels    []float64 // of categorical cells, column-major, once they are asked for
	labelling labelling
	coded     bool // of rows whose labels stand for t
}

// labelling says whether the cells of a chunk are labels.
type labelling int

const (
	labelsUnknown labelling = iota
	labelled
	notLabelled
)

// Padded is the number of rows, padded to a multiple of the vector kernels' lanes.
func (o *Observed) Padded() int { return simd.Padded(o.N) }

// Transpose keeps rows first to first+n of a block and puts d columns, from column at on, into X.
// finite reports whether all their numbers are finite.
func (o *Observed) Transpose(b blocks.Rows, at, first, n, d int) (finite bool, err error) {
	if b.Entries != nil {
		return false, errSparse
	}
	*o = Observed{
		N:        n,
		Complete: true,
		X:        o.X,
		Work:     o.Work,
		rows:     b,
		at:       at,
		first:    first,
		Memory:   o.Memory,
	}
	o.X = linalg.Resize(o.X, d*o.Padded())
	return simd.Columns(o.X, b.X[first*b.Stride+at:], n, d, b.Stride), nil
}

var errSparse = errors.New("family: sparse rows need one family with one statistic a column, such as bernoulli")

// Place is the number in the source, from 0, of row i of the chunk.
func (o *Observed) Place(i int) int { return o.rows.First + o.first + i }

// Row is row i of the chunk, the d columns of the factor.
func (o *Observed) Row(i, d int) []float64 { return o.rows.Row(o.first + i)[o.at : o.at+d] }

// Real reads one column of finite numbers, NaN if missing, for a factor and its family: embed it.
type Real struct{}

// Columns is 1.
func (Real) Columns() int { return 1 }

// Observe puts the column into X, and returns an error for infinite numbers.
func (Real) Observe(b blocks.Rows, at, first, n int, o *Observed) error {
	return o.Numbers(b, at, first, n, 1)
}

// Features are the numbers.
func (Real) Features(o *Observed, dst []float64, width, at int) {
	o.CopyTo(dst, width, at, 1)
}

// Numbers keeps rows first to first+n of a block, d columns from column at on, of finite numbers, NaN if missing.
func (o *Observed) Numbers(b blocks.Rows, at, first, n, d int) error {
	if whole, err := o.Transpose(b, at, first, n, d); whole || err != nil {
		return err
	}
	o.Complete = false
	for i := range n {
		for j, v := range o.Row(i, d) {
			if math.IsInf(v, 0) {
				return blocks.NotFinite(b.First+first+i, at+j, v)
			}
		}
	}
	return nil
}

// CopyTo puts d columns into dst, n×width from its column at on.
func (o *Observed) CopyTo(dst []float64, width, at, d int) {
	for i := range o.N {
		copy(dst[i*width+at:], o.Row(i, d))
	}
}

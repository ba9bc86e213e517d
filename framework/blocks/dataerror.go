package blocks

import (
	"errors"
	"fmt"
	"math"
)

// A DataError is a fault of an entry of the table, a row or a column. Programs find it by errors.As, and can report it
// with the names of columns and rows in their files. The errors of several restarts are joined, and each may hold a
// DataError.
type DataError struct {
	Row    int     // in the source, from 0; −1 if the fault concerns no single row
	Column int     // from 0; −1 if the fault concerns no single column
	Value  float64 // of the entry that Row and Column name; NaN if it is missing
	// Reason describes the fault of the entry, such as "remove the row"; for a row or a column it is a predicate, such as
	// "is constant".
	Reason error
}

// Error counts rows and columns from 1.
func (e *DataError) Error() string {
	switch {
	case e.Row >= 0 && e.Column >= 0 && math.IsNaN(e.Value) && !errors.Is(e.Reason, ErrNotFinite):
		return fmt.Sprintf("row %d, column %d is missing: %v", e.Row+1, e.Column+1, e.Reason)
	case e.Row >= 0 && e.Column >= 0:
		return fmt.Sprintf("row %d, column %d is %v: %v", e.Row+1, e.Column+1, e.Value, e.Reason)
	case e.Row >= 0:
		return fmt.Sprintf("row %d %v", e.Row+1, e.Reason)
	}
	return fmt.Sprintf("column %d %v", e.Column+1, e.Reason)
}

// Unwrap returns Reason.
func (e *DataError) Unwrap() error { return e.Reason }

// Reasons of a [DataError] about a column.
var (
	ErrConstant = errors.New("is constant, to working precision: drop it, or rescale it")
	ErrNoValue  = errors.New("has no value at all: drop it")
)

// ErrNotFinite is the Reason of a [DataError] about an entry that is NaN or infinite where a finite
// number is needed.
var ErrNotFinite = errors.New("remove the row or the column, or fill the entry in")

// NotFinite returns the error about an entry that is not finite.
func NotFinite(row, column int, value float64) error {
	return &DataError{row, column, value, ErrNotFinite}
}

// FaultyRow returns the [DataError] about a row that no single entry makes faulty; the reason is
// formatted as by [fmt.Errorf].
func FaultyRow(row int, reason string, args ...any) error {
	return &DataError{Row: row, Column: -1, Reason: fmt.Errorf(reason, args...)}
}

// FaultyColumn is [FaultyRow] of a column.
func FaultyColumn(column int, reason error) error {
	return &DataError{Row: -1, Column: column, Reason: reason}
}

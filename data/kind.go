package data

import (
	"fmt"
	"math"
)

// Kind says what the values of a column look like, and so which family of distributions may suit it.
type Kind int

const (
	Continuous  Kind = iota // any numbers
	Count                   // 0, 1, 2, …
	Binary                  // 0 and 1, or only one of them
	Categorical             // levels without an order

	// What a look at all values of a column may find besides (see Table.Suggest), the last three being no variables.

	Positive   // positive numbers with a long tail
	Unvarying  // the same value in every row
	Identifier // names or numbers of rows, or codes of nearly as many things
	Date       // days or times
)

// String returns the kind in one lower-case word.
func (k Kind) String() string {
	if k < 0 || int(k) >= len(kindNames) {
		return fmt.Sprintf("Kind(%d)", int(k))
	}
	return kindNames[k]
}

var kindNames = [...]string{
	"continuous", "count", "binary", "categorical", "positive", "unvarying", "identifier", "date",
}

// Kinds guesses the kind of each column from its values. Missing values and the order of the rows have no influence.
// Only a reader of the table knows whether 0, 1 and 2 are counts or names of classes, and can say so by
// [Table.Factor]. [Table.Suggest] examines more.
//
// A numeric column is Binary if it holds nothing but 0 and 1, otherwise Count if it holds nothing but integers
// from 0 to 2⁵³, beyond which every float64 is an integer, otherwise Continuous; so is a column without any
// value. A column of text is Categorical however few its levels are: TRUE and FALSE, or y and n, keep
// their names.
func (t *Table) Kinds() []Kind {
	kinds := make([]Kind, len(t.columns))
	for j, c := range t.columns {
		switch {
		case c.factor != nil:
			kinds[j] = Categorical
		case !t.empty(c):
			kinds[j] = Binary
		}
	}
	// Column by column within some rows: those are in the cache then.
	rows := max(1, (1<<14)/max(t.stride, 1))
	for first := 0; first < t.rows; first += rows {
		last := min(first+rows, t.rows)
		for j, c := range t.columns {
			for row := first; row < last && (kinds[j] == Binary || kinds[j] == Count); row++ {
				if v := t.number(row, c); !math.IsNaN(v) {
					kinds[j] = min(kinds[j], kindOf(v))
				}
			}
		}
	}
	return kinds
}

// kindOf is the last kind, in their order, of which a number can be a value.
func kindOf(v float64) Kind {
	switch {
	case v*v == v && v <= 1: // 0 or 1, without a branch between them that no processor can foresee
		return Binary
	case 0 <= v && v <= 1<<53 && v == math.Trunc(v):
		return Count
	}
	return Continuous
}

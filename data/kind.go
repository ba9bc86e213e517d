package data

import (
	"fmt"
	"math"
)

// Kind is what the values of a column look like, and so which family of distributions may suit it.
type Kind int

const (
	Continuous  Kind = iota // any numbers
	Count                   // 0, 1, 2, …
	Binary                  // 0 and 1, or only one of them
	Categorical             // levels without an order
)

// String is the kind in one lower-case word.
func (k Kind) String() string {
	switch k {
	case Continuous:
		return "continuous"
	case Count:
		return "count"
	case Binary:
		return "binary"
	case Categorical:
		return "categorical"
	}
	return fmt.Sprintf("Kind(%d)", int(k))
}

// Kinds tells the kind of each column from its values; missing ones have no say, nor has the order of the
// rows. It is a guess by form: whether 0, 1 and 2 are counts or the names of classes, only a reader of the
// table knows, who can say so by [Table.Factor].
//
// A numeric column is Binary if it holds nothing but 0 and 1, else Count if it holds nothing but integers
// from 0 to 2⁵³, beyond which every float64 is an integer, else Continuous; so is a column without any
// value. A column of text is Categorical however few its levels are: TRUE and FALSE, or y and n, keep
// their names.
func (t *Table) Kinds() []Kind {
	kinds := make([]Kind, len(t.columns))
	for j, c := range t.columns {
		kinds[j] = t.kind(c)
	}
	return kinds
}

func (t *Table) kind(c column) Kind {
	if c.factor != nil {
		return Categorical
	}
	kind, empty := Binary, true
	for row := range t.rows {
		v := t.number(row, c)
		if math.IsNaN(v) {
			continue
		}
		empty = false
		switch {
		case v == 0 || v == 1:
		case 0 <= v && v <= 1<<53 && v == math.Trunc(v):
			kind = Count
		default:
			return Continuous
		}
	}
	if empty {
		return Continuous
	}
	return kind
}

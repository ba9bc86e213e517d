package family

import (
	"errors"
	"fmt"
	"strings"
)

// A Product describes a row by independent families, each for a column or a group of columns, from left to right: a
// table of mixed types is one model. A family of any number of columns, such as one Gaussian, takes the columns that
// the others leave. Missing entries (NaN) are integrated out, column by column.
type Product []Family

// Name lists the families, with equal neighbours once.
func (p Product) Name() string {
	var names []string
	for i := 0; i < len(p); {
		n := 1
		name := nameOf(p[i])
		for i+n < len(p) && nameOf(p[i+n]) == name {
			n++
		}
		if n > 1 {
			name = fmt.Sprintf("%s×%d", name, n)
		}
		names = append(names, name)
		i += n
	}
	return strings.Join(names, "+")
}

// Columns is the sum over the families; 0 if a family takes all columns that the others leave.
func (p Product) Columns() int {
	n := 0
	for _, f := range p {
		if f == nil { // reported where the product is put to use
			continue
		}
		if f.Columns() == 0 {
			return 0
		}
		n += f.Columns()
	}
	return n
}

// widths are the columns of each family. One that takes any number has those that the others leave.
func (p Product) widths(columns int) ([]int, error) {
	widths, open, rest := make([]int, len(p)), -1, columns
	for i, f := range p {
		switch {
		case f == nil:
			return nil, errNoFamily
		case f.Columns() > 0:
			widths[i] = f.Columns()
			rest -= widths[i]
		case open >= 0:
			return nil, fmt.Errorf("family: in the product %s both %s and %s take all columns that the others leave: "+
				"give one of them a number by family.Of", p.Name(), p[open].Name(), f.Name())
		default:
			open = i
		}
	}
	if open < 0 && rest != 0 {
		return nil, fmt.Errorf("family: the product %s describes %d columns, and the table has %d", p.Name(),
			columns-rest, columns)
	}
	if open >= 0 && rest < 1 {
		return nil, fmt.Errorf("family: the product %s describes %d columns, and the table of %d leaves none for %s",
			p.Name(), columns-rest, columns, p[open].Name())
	}
	if open >= 0 {
		widths[open] = rest
	}
	return widths, nil
}

func nameOf(f Family) string {
	if f == nil {
		return "nothing"
	}
	return f.Name()
}

// On lays out each family on its columns. Neighbours that can share a kernel become one factor (see [Joiner]).
func (p Product) On(columns int) ([]Factor, error) {
	widths, err := p.widths(columns)
	if err != nil {
		return nil, err
	}
	var list []Factor
	for i, f := range p {
		some, err := layOut(f, widths[i])
		if err != nil {
			return nil, err
		}
		for _, next := range some {
			list = join(list, next)
		}
	}
	return list, nil
}

var errNoFamily = errors.New("family: a family of the product is nil")

// join appends a factor, or joins it to the last.
func join(list []Factor, next Factor) []Factor {
	if n := len(list); n > 0 {
		if last, ok := list[n-1].(Joiner); ok {
			if joined, ok := last.Join(next); ok {
				list[n-1] = joined
				return list
			}
		}
	}
	return append(list, next)
}

// Repeats says that rows often are equal (see [Repeating]).
func (p Product) Repeats() bool {
	for _, f := range p {
		if !Repeats(f) {
			return false
		}
	}
	return true
}

// An Of is a family on a given number of neighbouring columns, as an element of a
// [Product]: independent copies of a family of fewer columns, or one Gaussian over all.
type Of struct {
	Family Family
	Width  int
}

// Name is the name of the family.
func (o Of) Name() string { return nameOf(o.Family) }

// Columns is Width.
func (o Of) Columns() int { return o.Width }

// On is that of the family, for this number of columns alone.
func (o Of) On(columns int) ([]Factor, error) {
	if o.Width != columns {
		return nil, fmt.Errorf("family: %s of %d columns cannot describe %d", o.Name(), o.Width, columns)
	}
	if o.Family == nil {
		return nil, errNoFamily
	}
	return layOut(o.Family, columns)
}

// Repeats is that of the family.
func (o Of) Repeats() bool { return Repeats(o.Family) }

// same compares families that are plain values.
func same(a, b Family) (equal bool) {
	defer func() { _ = recover() }() // values that cannot be compared are not the same
	return a == b
}

// Repeating families describe counts or codes, so that rows are often equal and worth counting once.
type Repeating interface{ Repeats() bool }

// Repeats reports whether a family is [Repeating].
func Repeats(f Family) bool {
	r, ok := f.(Repeating)
	return ok && r.Repeats()
}

// Floored families have parts with an adjustable floor of variances (see normal.Family).
type Floored interface{ WithFloor(floor float64) Family }

// WithFloor returns a family with another Floor in those parts that have one.
func WithFloor(f Family, floor float64) Family {
	if g, ok := f.(Floored); ok {
		return g.WithFloor(floor)
	}
	return f
}

// WithFloor changes the parts.
func (o Of) WithFloor(floor float64) Family { return Of{WithFloor(o.Family, floor), o.Width} }

// WithFloor changes the parts.
func (p Product) WithFloor(floor float64) Family {
	list := make(Product, len(p))
	for j, one := range p {
		list[j] = WithFloor(one, floor)
	}
	return list
}

// NoFloor is the Floor of a family without one.
const NoFloor = -1

package numeric

import (
	"fmt"

	"github.com/latent-go/latent/framework"
)

// A caller records which method of the author is running, so that a panic there is distinguished from one of its own,
// and an error gets the method's name.
type caller struct {
	of     string // type of the density
	method string // while in it
	row    int    // from 0 in the source; −1 where the call is about no row
	k      int    // component, from 0; −1 where it is about none
}

func (c *caller) enter(method string, row, k int) { c.method, c.row, c.k = method, row, k }

func (c *caller) leave() { c.method = "" }

// recover, deferred, turns a panic in a method of the author into an error.
func (c *caller) recover(err *error) {
	if c.method == "" {
		return
	}
	if p := recover(); p != nil {
		*err = panicked(fmt.Sprintf("numeric: %s panicked%s: %v", c.call(), c.place(), p))
		c.leave()
	}
}

func (c *caller) call() string { return c.method + " of " + c.of }

// place is " at row 3, component 2", as far as that is known; both count from 1.
func (c *caller) place() string {
	switch {
	case c.row >= 0 && c.k >= 0:
		return fmt.Sprintf(" at row %d, component %d", c.row+1, c.k+1)
	case c.row >= 0:
		return fmt.Sprintf(" at row %d", c.row+1)
	case c.k >= 0:
		return fmt.Sprintf(" for component %d", c.k+1)
	}
	return ""
}

// violated is the error that the method last entered violated its contract.
func (c *caller) violated(format string, args ...any) error {
	err := fmt.Errorf("numeric: %s%s: %w: %w", c.call(), c.place(), framework.ErrContract, fmt.Errorf(format, args...))
	c.leave()
	return err
}

// panicked is the error of a panic in a method of the author.
type panicked string

func (p panicked) Error() string { return string(p) }

// Is reports that a panic is a [framework.ErrContract].
func (p panicked) Is(target error) bool { return target == framework.ErrContract }

// refused is the error that the method last entered has no valid result for these rows or parameters, which need not
// be its author's fault.
func (c *caller) refused(format string, args ...any) error {
	err := fmt.Errorf("numeric: %s%s: %w", c.call(), c.place(), fmt.Errorf(format, args...))
	c.leave()
	return err
}

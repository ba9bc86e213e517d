// Package faults says errors of the library in the terms of who gave the data and the flags: which kind an error is of,
// and its message in one line, with names of columns and numbers of rows in the file.
package faults

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/prior"
)

// UsageError is an error of the caller and not of the data.
type UsageError struct{ Err error }

func (e UsageError) Error() string { return e.Err.Error() }
func (e UsageError) Unwrap() error { return e.Err }

// Misused returns a [UsageError].
func Misused(format string, args ...any) error { return UsageError{Err: fmt.Errorf(format, args...)} }

// Rendered is an error in the words in which the user is to read it.
type Rendered string

func (r Rendered) Error() string { return string(r) }

// A Renderer puts errors of the library into the user's terms: columns have their names, rows
// their numbers in the file, and parameters of a prior are those of --prior.
type Renderer struct {
	Columns []string          // nil: only their numbers are known
	Origin  func(row int) int // nil: rows are where they were read
	// prior is a parameter of a prior as it was given, with its flag; nil: none was given
	Prior  func(e *prior.ParameterError) string
	Advise func(err error) string // nil: there is nothing to advise
	Part   string                 // what a latent dimension is called; empty: that
}

// OneLine is the message of an error about no data.
func OneLine(err error) string { return Renderer{}.Render(err) }

// Render is an error's message in one line, with what the flags can do about it.
func (t Renderer) Render(err error) string {
	var lines []string
	for line := range strings.Lines(t.text(err)) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if t.Advise == nil {
		return text
	}
	return text + t.Advise(err)
}

// text is an error's message, without the names of the packages it came through. What an
// error wraps is found in its message, and replaced there by its own text.
func (t Renderer) text(err error) string {
	switch e := err.(type) {
	case Rendered:
		return string(e)
	case *blocks.DataError:
		return t.fault(e)
	case interface{ Named(columns []string) string }: // an error of a model, about further columns
		if t.Columns != nil {
			return e.Named(t.Columns)
		}
	case *framework.DegenerateError:
		text := fmt.Sprintf("%s %d: %s", cmp.Or(t.Part, "latent dimension"), e.Dimension+1, t.text(e.Reason))
		if !errors.Is(e.Reason, framework.ErrDegenerate) {
			text += ": " + t.text(framework.ErrDegenerate)
		}
		return text
	case *prior.ParameterError:
		if t.Prior != nil {
			return t.Prior(e) + ": " + e.Reason
		}
	}
	if err == framework.ErrDegenerate && t.Part != "" {
		return "too many " + t.Part + "s"
	}
	parts := wrapped(err)
	if err.Error() == joinedTexts(parts) {
		return t.restarts(parts)
	}
	rest, text := err.Error(), ""
	find := strings.Index
	if len(parts) == 1 {
		find = strings.LastIndex // what is wrapped mostly comes last, and names may look like it
	}
	for i, part := range parts {
		at := find(rest, part.Error())
		if at < 0 {
			continue
		}
		before := rest[:at]
		if i == 0 {
			before = withoutPackage(before)
		}
		text += before + t.text(part)
		rest = rest[at+len(part.Error()):]
	}
	if text == "" {
		return withoutPackage(rest)
	}
	return text + rest
}

// wrapped are the errors that an error wraps.
func wrapped(err error) []error {
	switch e := err.(type) {
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		if one := e.Unwrap(); one != nil {
			return []error{one}
		}
	}
	return nil
}

func joinedTexts(errs []error) string {
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return strings.Join(texts, "\n")
}

// withoutPackage takes off the name of a package of the library.
func withoutPackage(text string) string {
	for _, name := range []string{"framework: ", "family: ", "bpca: ", "mixture: ", "factor: ", "experts: ",
		"lineargaussian: ", "blockmodel: ", "topics: ", "features: ", "lds: ", "vbmf: ", "prior: ", "laplace: ",
		"pruning: ",
		"threestep: ", "bootstrap: ", "fitted: "} {
		if rest, ok := strings.CutPrefix(text, name); ok {
			return rest
		}
	}
	return text
}

// fault is a fault of the data.
func (t Renderer) fault(e *blocks.DataError) string {
	row, column, reason := e.Row+1, fmt.Sprintf("column %d", e.Column+1), t.text(e.Reason)
	if e.Row >= 0 && t.Origin != nil {
		row = t.Origin(e.Row) + 1
	}
	if e.Column >= 0 && e.Column < len(t.Columns) {
		column = fmt.Sprintf("column %.60q", t.Columns[e.Column])
	}
	switch {
	case e.Row >= 0 && e.Column >= 0 && math.IsNaN(e.Value):
		return fmt.Sprintf("row %d of %s is missing: %s", row, column, reason)
	case e.Row >= 0 && e.Column >= 0:
		return fmt.Sprintf("row %d of %s is %v: %s", row, column, e.Value, reason)
	case e.Row >= 0:
		return fmt.Sprintf("row %d %s", row, reason)
	}
	return column + " " + reason
}

// restarts lists the errors of several runs by their causes: two at most.
func (t Renderer) restarts(errs []error) string {
	const most = 2
	var texts []string
	causes := map[string]bool{}
	for _, err := range errs {
		if why := cause(err); !causes[why] {
			causes[why] = true
			texts = append(texts, t.text(err))
		}
	}
	if len(texts) > most {
		texts = append(texts[:most], "…")
	}
	return strings.Join(texts, "; ")
}

// cause is what lies at the bottom of an error, and the column that it is about.
func cause(err error) string {
	column := ""
	for {
		if fault, ok := err.(*blocks.DataError); ok {
			column = fmt.Sprint(fault.Column)
		}
		below := errors.Unwrap(err)
		if named, ok := err.(*framework.DegenerateError); ok {
			below = named.Reason
		}
		if below == nil {
			return column + " " + err.Error()
		}
		err = below
	}
}

// InData are the faults of data in an error: the starts of a fit may fail at different columns.
func InData(err error) (list []*blocks.DataError) {
	if fault, ok := err.(*blocks.DataError); ok {
		return []*blocks.DataError{fault}
	}
	for _, part := range wrapped(err) {
		list = append(list, InData(part)...)
	}
	return list
}

// Together makes one error of those about columns that have one reason, in the order of the first of each.
func Together(errs []error) (list []error) {
	places := map[string]int{}
	for _, err := range errs {
		fault, is := err.(*blocks.DataError)
		if !is || fault.Row >= 0 {
			list = append(list, err)
			continue
		}
		reason := fault.Reason.Error()
		at, before := places[reason]
		if !before {
			at = len(list)
			places[reason], list = at, append(list, alike(nil))
		}
		list[at] = append(list[at].(alike), fault)
	}
	for i, err := range list {
		if all, is := err.(alike); is && len(all) == 1 {
			list[i] = all[0]
		}
	}
	return list
}

// alike are faults of several columns, of one reason.
type alike []*blocks.DataError

func (a alike) Error() string { return a.Named(nil) }

// Unwrap returns the fault of each column.
func (a alike) Unwrap() (list []error) {
	for _, fault := range a {
		list = append(list, fault)
	}
	return list
}

// Named says the reason once, and the names of the first columns.
func (a alike) Named(columns []string) string {
	return fmt.Sprintf("each of %s (%s) %v", wording.Counted(len(a), "column"),
		wording.Abridged(a, ", ", func(fault *blocks.DataError) string {
			if fault.Column < len(columns) {
				return wording.QuotedCell(columns[fault.Column])
			}
			return strconv.Itoa(fault.Column + 1)
		}), a[0].Reason)
}

// An ElsewhereError is of what makes passes elsewhere, and not of the data.
type ElsewhereError struct{ Err error }

func (e ElsewhereError) Error() string { return e.Err.Error() }
func (e ElsewhereError) Unwrap() error { return e.Err }

// ErrInterrupted is the error of work that was told to end.
var ErrInterrupted = errors.New("interrupted")

// ErrOutOfMemory is why a command was ended that took more memory than it may.
var ErrOutOfMemory = errors.New("out of memory")

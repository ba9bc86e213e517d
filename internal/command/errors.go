package command

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/prior"
)

// usageError is an error of the caller and not of the data.
type usageError struct{ error }

func (e usageError) Unwrap() error { return e.error }

func misused(format string, args ...any) error { return usageError{fmt.Errorf(format, args...)} }

// rendered is an error in the words in which the user is to read it.
type rendered string

func (r rendered) Error() string { return string(r) }

// A renderer puts errors of the library into the user's terms: columns have their names, rows
// their numbers in the file, and parameters of a prior are those of --prior.
type renderer struct {
	columns []string               // nil: only their numbers are known
	origin  func(row int) int      // nil: rows are where they were read
	prior   *hyperparameters       // nil: none was given
	advise  func(err error) string // nil: there is nothing to advise
	part    string                 // what a latent dimension is called; empty: that
}

// oneLine is the message of an error about no data.
func oneLine(err error) string { return renderer{}.render(err) }

// render is an error's message in one line, with what the flags can do about it.
func (t renderer) render(err error) string {
	var lines []string
	for line := range strings.Lines(t.text(err)) {
		if line = strings.TrimSpace(line); line != "" && !slices.Contains(lines, line) {
			lines = append(lines, line)
		}
	}
	text := strings.Join(lines, "; ")
	if t.advise == nil {
		return text
	}
	return text + t.advise(err)
}

// text is an error's message, without the names of the packages it came through. What an
// error wraps is found in its message, and replaced there by its own text.
func (t renderer) text(err error) string {
	switch e := err.(type) {
	case rendered:
		return string(e)
	case *framework.DataError:
		return t.fault(e)
	case interface{ Named(columns []string) string }: // an error of a model, about further columns
		if t.columns != nil {
			return e.Named(t.columns)
		}
	case *framework.DegenerateError:
		text := fmt.Sprintf("%s %d: %s", cmp.Or(t.part, "latent dimension"), e.Dimension+1, t.text(e.Reason))
		if !errors.Is(e.Reason, framework.ErrDegenerate) {
			text += ": " + t.text(framework.ErrDegenerate)
		}
		return text
	case *prior.ParameterError:
		if t.prior != nil && t.prior.text != "" {
			return t.prior.flag(e) + ": " + e.Reason
		}
	}
	if err == framework.ErrDegenerate && t.part != "" {
		return "too many " + t.part + "s"
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
		"blockmodel: ", "topics: ", "features: ", "lds: ", "vbmf: ", "prior: ", "laplace: ", "pruning: "} {
		if rest, ok := strings.CutPrefix(text, name); ok {
			return rest
		}
	}
	return text
}

// fault is a fault of the data.
func (t renderer) fault(e *framework.DataError) string {
	row, column, reason := e.Row+1, fmt.Sprintf("column %d", e.Column+1), t.text(e.Reason)
	if e.Row >= 0 && t.origin != nil {
		row = t.origin(e.Row) + 1
	}
	if e.Column >= 0 && e.Column < len(t.columns) {
		column = fmt.Sprintf("column %.60q", t.columns[e.Column])
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
func (t renderer) restarts(errs []error) string {
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
		if fault, ok := err.(*framework.DataError); ok {
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

// faults are the faults of data in an error: the starts of a fit may fail at different columns.
func faults(err error) (list []*framework.DataError) {
	if fault, ok := err.(*framework.DataError); ok {
		return []*framework.DataError{fault}
	}
	for _, part := range wrapped(err) {
		list = append(list, faults(part)...)
	}
	return list
}

func (in *input) renderer() renderer {
	t := renderer{advise: in.advise}
	if in.Table != nil {
		t.columns, t.origin = in.Names, in.Origin
	}
	if in.shown != nil {
		t.columns = in.shown
	}
	if in.flags != nil {
		t.prior, t.part = &in.flags.Prior, in.flags.model().Part
	}
	return t
}

// render is the message of an error about the data, or about a fit to them.
func (in *input) render(err error) string { return in.renderer().render(err) }

// wrap puts the name of the input before an error, unless the error names it.
func (in *input) wrap(err error) error {
	var path *fs.PathError
	var usage usageError
	var elsewhere elsewhereError
	if err == nil || errors.As(err, &path) || errors.As(err, &usage) || errors.As(err, &elsewhere) {
		return err
	}
	return rendered(in.name + ": " + in.render(err))
}

// explain puts the name of the data before an error about them.
func explain(err error, in *input) error {
	if errors.Is(err, errInterrupted) {
		return err
	}
	return in.wrap(err)
}

// advise says what flags can do about an error.
func (in *input) advise(err error) string {
	advice := in.flagsAbout(err)
	if advice == "" {
		return ""
	}
	return " (" + advice + ")"
}

func (in *input) flagsAbout(err error) string {
	switch {
	case errors.Is(err, data.ErrHeader):
		return "--header yes"
	case errors.Is(err, data.ErrWhichHeader):
		return "--header yes or --header no"
	case errors.Is(err, data.ErrNoHeader):
		return "--header no"
	case errors.Is(err, data.ErrEncoding):
		return "--encoding NAME"
	case errors.Is(err, data.ErrDecimalComma):
		return "--decimal ,"
	case errors.Is(err, data.ErrDecimalPoint):
		return "--decimal ."
	case errors.Is(err, data.ErrGrouped):
		return "--decimal . or --decimal ,"
	case errors.Is(err, data.ErrEitherWay):
		return "--dates COL=FORM"
	case errors.Is(err, data.ErrMissing):
		return "--missing drop"
	case errors.Is(err, data.ErrLimit):
		return "if the file is right, raise it by --limit"
	case errors.Is(err, data.ErrText):
		return in.marking(in.texts()) + dropping(in.texts())
	case in.flags == nil: // no fit
		return ""
	case errors.Is(err, framework.ErrNoValue) && len(in.faulty(err)) == 0:
		return "--missing empty"
	case errors.Is(err, framework.ErrConstant), errors.Is(err, framework.ErrNoValue):
		return dropping(in.faulty(err))
	case errors.Is(err, normal.ErrDependent):
		return dropping(in.faulty(err)) + ", or --family gaussian-diagonal"
	case errors.Is(err, family.ErrSupport) && in.flags.oneFamily():
		return "correct it, " + dropping(in.faulty(err)) + ", or take --model mixture --family auto"
	case errors.Is(err, family.ErrSupport):
		return "correct it, " + dropping(in.faulty(err)) + ", or give it another family by --columns"
	case errors.Is(err, framework.ErrDegenerate) && slices.Contains(in.flags.model().methods, methodMAP):
		return "--method map, or gfab with --kmax"
	case in.flags.model().Advice != nil:
		return in.flags.model().Advice(err)
	}
	return ""
}

// oneFamily says whether all columns have one family, by the model or as they are described together.
func (f *modelFlags) oneFamily() bool {
	of := f.model().Families
	return families.Joint(f.Family) || of != nil && len(of.Names(false)) == 1
}

// faulty are the columns that an error is about.
func (in *input) faulty(err error) (names []string) {
	for _, fault := range faults(err) {
		if j := fault.Column; j >= 0 && !slices.Contains(names, in.about()[j]) {
			names = append(names, in.about()[j])
		}
	}
	return names
}

// about are the columns that errors of a fit are about.
func (in *input) about() []string {
	if in.shown != nil {
		return in.shown
	}
	return in.Names
}

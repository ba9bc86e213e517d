package tables

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// Renderer says errors about the table in the terms of who gave it.
func (in *Input) Renderer() faults.Renderer {
	t := faults.Renderer{Advise: in.advise}
	if in.Table != nil {
		t.Columns, t.Origin = in.Names, in.Origin
	}
	if in.Shown != nil {
		t.Columns = in.Shown
	}
	if in.For != nil {
		t.Part, t.Prior = in.For.Kind().Part, in.For.PriorFlag()
	}
	return t
}

// Render is the message of an error about the data, or about a fit to them.
func (in *Input) Render(err error) string { return in.Renderer().Render(err) }

// Wrap puts the name of the input before an error, unless the error names it.
func (in *Input) Wrap(err error) error {
	var path *fs.PathError
	var usage faults.UsageError
	var elsewhere faults.ElsewhereError
	if err == nil || errors.As(err, &path) || errors.As(err, &usage) || errors.As(err, &elsewhere) {
		return err
	}
	return faults.Rendered(in.Name + ": " + in.Render(err))
}

// Explain puts the name of the data before an error about them.
func Explain(err error, in *Input) error {
	if errors.Is(err, faults.ErrInterrupted) {
		return err
	}
	return in.Wrap(err)
}

// advise says what flags can do about an error.
func (in *Input) advise(err error) string {
	advice := in.flagsAbout(err)
	if advice == "" {
		return ""
	}
	return " (" + advice + ")"
}

func (in *Input) flagsAbout(err error) string {
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
		return in.Marking(in.TextColumns()) + Dropping(in.TextColumns())
	case in.For == nil:
		return ""
	case errors.Is(err, blocks.ErrNoValue) && len(in.faulty(err)) == 0:
		return "--missing empty"
	case errors.Is(err, blocks.ErrConstant), errors.Is(err, blocks.ErrNoValue):
		return Dropping(in.faulty(err))
	case errors.Is(err, normal.ErrDependent):
		return Dropping(in.faulty(err)) + ", or --family gaussian-diagonal"
	case errors.Is(err, family.ErrSupport) && in.For.OneFamily():
		return "correct it, " + Dropping(in.faulty(err)) + ", or take --model mixture --family auto"
	case errors.Is(err, family.ErrSupport):
		return "correct it, " + Dropping(in.faulty(err)) + ", or give it another family by --columns"
	}
	of := in.For.Kind()
	if _, has := of.MethodNamed("map"); has && errors.Is(err, framework.ErrDegenerate) {
		return "--method map, or gfab with --kmax"
	}
	if of.Advice != nil {
		return of.Advice(err)
	}
	return ""
}

// faulty are the columns that an error is about.
func (in *Input) faulty(err error) (names []string) {
	for _, fault := range faults.InData(err) {
		if j := fault.Column; j >= 0 && !slices.Contains(names, in.about()[j]) {
			names = append(names, in.about()[j])
		}
	}
	return names
}

// about are the columns that errors of a fit are about.
func (in *Input) about() []string {
	if in.Shown != nil {
		return in.Shown
	}
	return in.Names
}

// Describe names the data in one line.
func (in *Input) Describe(n float64) string {
	if in.What != "" {
		return report.Printable(in.Name) + ": " + in.What
	}
	line := fmt.Sprintf("%s: %s × %s", report.Printable(in.Name), wording.Counted(in.Rows(), "row"),
		wording.Counted(in.Cols(), "column"))
	if in.WeightColumn != "" {
		line += fmt.Sprintf(", weighted by column %q: N = %.10g", in.WeightColumn, n)
	}
	return line
}

// Shortened are warnings that name the file without its folders.
func (in *Input) Shortened(warnings []string) (list []string) {
	for _, one := range warnings {
		list = append(list, report.Printable(strings.ReplaceAll(one, in.Name, filepath.Base(in.Name))))
	}
	return list
}

// Title is the name of the file, without its folders.
func (in *Input) Title() string { return report.Printable(filepath.Base(in.Name)) }

// Contents are the rows and columns, without the name of the table.
func (in *Input) Contents(n float64) string {
	return strings.TrimPrefix(in.Describe(n), report.Printable(in.Name)+": ")
}

// NoteAll are remarks of a model about the table.
func (in *Input) NoteAll(s *Session, list []string) {
	for _, note := range list {
		s.Note("%s: %s", in.Name, note)
	}
}

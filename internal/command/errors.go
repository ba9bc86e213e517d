package command

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/faults"
)

func (in *input) renderer() faults.Renderer {
	t := faults.Renderer{Advise: in.advise}
	if in.Table != nil {
		t.Columns, t.Origin = in.Names, in.Origin
	}
	if in.shown != nil {
		t.Columns = in.shown
	}
	if in.flags != nil {
		t.Part = in.flags.model().Part
		if in.flags.Prior.text != "" {
			t.Prior = in.flags.Prior.flag
		}
	}
	return t
}

// render is the message of an error about the data, or about a fit to them.
func (in *input) render(err error) string { return in.renderer().Render(err) }

// wrap puts the name of the input before an error, unless the error names it.
func (in *input) wrap(err error) error {
	var path *fs.PathError
	var usage faults.UsageError
	var elsewhere faults.ElsewhereError
	if err == nil || errors.As(err, &path) || errors.As(err, &usage) || errors.As(err, &elsewhere) {
		return err
	}
	return faults.Rendered(in.name + ": " + in.render(err))
}

// explain puts the name of the data before an error about them.
func explain(err error, in *input) error {
	if errors.Is(err, faults.ErrInterrupted) {
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
	for _, fault := range faults.InData(err) {
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

package command

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
)

// fittingFlags say what is fitted to which rows.
type fittingFlags struct {
	Data           string `group:"table" brief:"Table: a CSV, NPY, Parquet or Arrow file, - for standard input, or an embedded data set (latent datasets)." placeholder:"FILE|NAME" help:"CSV, NPY (also gzipped), Parquet or Arrow file, or a pattern such as 'part-*.csv' of files that are one table; - for standard input; or an embedded data set, see latent datasets. Default: one that shows the model, such as faithful for mixture."`
	tables.Options `group:"table"`
	idFlags        `group:"table"`
	modelFlags
	Shards int `group:"large" default:"16" placeholder:"N" range:"[1,65536]" help:"Partial sums of an iteration: at most this many goroutines, of all processes together, share it. Another number changes the rounding."`

	parts   bool      // processes read the rows of their parts alone
	decided *Decision // for them
	rival   string    // the family of one of several fits that are compared, which the table may not have; empty: one fit
}

// source is what --data names, or the data set that shows the model.
func (f *fittingFlags) source() string { return cmp.Or(f.Data, f.model().Example) }

// setup readies the model for the data, and the options of fits with up to kmax, or so many
// as there is room for.
func (f *fittingFlags) setup(s *session, in *tables.Input, kmax *int, least int) (*task, framework.Options, error) {
	t, err := f.ready(s, in)
	if err != nil {
		return nil, framework.Options{}, err
	}
	f.settle(t.Starts, t.rows, in.Cols())
	o := f.options(valueOr(kmax, max(least, t.KMax)))
	o.Shards = f.Shards
	o.Group = s.group()
	if err := t.CheckK(o.K); err != nil {
		return nil, framework.Options{}, err
	}
	if idle := s.crew.Idle(o.Shards); idle != "" {
		s.aside("%s", idle)
	}
	return t, o, s.sendAway(f, t)
}

// narrow has --select, or the flags that name all columns of a regression, say which columns are read where the format
// lets it, with those of the flags that name columns which need not be selected.
func (f *fittingFlags) narrow(label string) {
	chosen := f.Select
	if r := f.Explained(); len(chosen) == 0 && r != nil && r.By != nil {
		chosen = append(slices.Concat(r.By, r.Powers), r.Response, r.Over)
	}
	if len(chosen) == 0 {
		return
	}
	given, _ := f.Given()
	f.Require(without(slices.Concat(chosen, f.ID, given, f.Dates.Names, []string{label, f.Weights, f.Sequence(),
		f.KnownColumn()}), setOf([]string{""})))
}

// load reads the table: it takes out known classes, chooses columns, leaves out rows and takes out the weights.
func (f *fittingFlags) load(s *tables.Session, label string) (*tables.Input, error) {
	f.narrow(label)
	if f.model().Float32 {
		f.KeepFloat32s()
	}
	if f.model().Pairs {
		if len(f.ID) > 0 {
			return nil, misused("--id cannot be used with --model %s, whose rows are pairs of names", f.Model)
		}
		in, err := f.OpenPairs(s, f.source(), f.Weights)
		if err == nil {
			in.For = &f.modelFlags
			err = f.TakeKnownNames(s, in, f.KnownNames())
		}
		return in, err
	}
	if err := f.checkRoles(label); err != nil {
		return nil, err
	}
	gaps, err := f.Missings(f.needsAll())
	if err != nil {
		return nil, err
	}
	texts := append(slices.Clone(f.ID), label, f.Sequence(), f.KnownColumn())
	reading := f.reading
	if f.from != nil {
		reading = tables.Reading(f.from.Columns)
	}
	in, err := f.Open(s, f.source(), tables.AsText(reading, texts...))
	if err != nil {
		return nil, err
	}
	in.For = &f.modelFlags
	weights, sequence := f.Weights, f.Sequence()
	given, flag := f.Given()
	used := append(slices.Clone(given), weights, sequence, label, f.KnownColumn())
	if f.from != nil && len(f.ID) == 0 {
		f.ID = without(f.from.Settings.ID, setOf(without(f.from.Settings.ID, setOf(in.Names))))
	} else if err := f.takeRowNames(s, in, used...); err != nil {
		return nil, err
	}
	if f.model().Sequences && tables.LeavesOut(gaps) {
		return nil, tables.ErrJoins
	}
	if at := slices.IndexFunc(f.ID, isHead); at >= 0 {
		return nil, misused("--id: column %q has the name of a column of the predictions: rename it", f.ID[at])
	}
	if err := in.TakeIDs(f.ID); err != nil {
		return nil, err
	}
	if err := in.TakeLabels(label); err != nil {
		return nil, err
	}
	if err := cmp.Or(in.TakeSequences(sequence), in.TakeKnown(s, f.KnownColumn())); err != nil {
		return nil, err
	}
	if gaps == tables.MissingKeep && f.from == nil {
		if err := f.columns(s, in, false).TakeCodes(s); err != nil {
			return nil, err
		}
	}
	all := in.Table
	if weights != "" {
		if _, err := all.Column(weights); err != nil {
			return nil, in.Wrap(fmt.Errorf("--weights: %w", err))
		}
	}
	if f.from != nil {
		if err := f.from.match(s, in, weights); err != nil {
			return nil, err
		}
		return f.weigh(s, in, all, weights, gaps)
	}
	asked := slices.Concat(given, f.Aside())
	if r := f.Explained(); r != nil {
		asked = append(slices.Concat(r.By, given), r.Response)
	}
	if slices.Contains(asked, in.Label) {
		in.Label = ""
	}
	unlabelled, err := f.Choose(in)
	if err != nil {
		return nil, err
	}
	if unlabelled {
		s.Note("left out the class labels of %s, column %q (--select chooses columns)", in.Name, in.Label)
	}
	if r := f.Explained(); r != nil {
		if err := in.Arrange(r, weights, f.Aside()); err != nil {
			return nil, err
		}
	}
	if len(f.Aside()) > 0 {
		given = f.Aside()
	}
	if len(given) > 0 {
		own := in.Names
		if f.Explained() == nil { // a regression names its columns
			own = without(own, setOf(append([]string{weights}, given...)))
		}
		if in.Table, err = all.Select(append(slices.Clone(own), without(given, setOf(own))...)...); err != nil {
			return nil, in.Wrap(fmt.Errorf("%s: %w", flag, err))
		}
		if len(own) == 0 {
			return nil, misused("%s names every column and leaves none to the %ss", flag,
				cmp.Or(f.model().Part, "latent dimension"))
		}
	}
	kinds := f.columns(s, in, len(f.Select) > 0)
	if err := cmp.Or(kinds.LeaveEmpty(s), kinds.LeaveIdentifiers(s), in.RefuseEmpty()); err != nil {
		return nil, err
	}
	kinds.Remark(s)
	return f.weigh(s, in, all, weights, gaps)
}

// weigh leaves rows out by what becomes of missing values, and takes the weights out, which are a column of all.
func (f *fittingFlags) weigh(s *tables.Session, in *tables.Input, all *data.Table, weights, gaps string) (
	*tables.Input, error) {
	f.NoteNA(s, in)
	if weights == "" {
		return in, in.Complete(s, gaps)
	}
	// The weights come last, so that rows can be left out by them too.
	var err error
	names := slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return name == weights })
	if in.Table, err = all.Select(append(names, weights)...); err != nil {
		return nil, in.Wrap(err)
	}
	in.WeightColumn = weights
	if err := in.Complete(s, gaps); err != nil {
		return nil, err
	}
	if in.Weights, err = in.Column(weights); err != nil {
		return nil, in.Wrap(err)
	}
	if row := slices.IndexFunc(in.Weights, math.IsNaN); row >= 0 {
		return nil, in.Wrap(fmt.Errorf("the weight of row %d is missing, column %q: --missing drop leaves such rows out",
			in.Origin(row)+1, weights))
	}
	if sum := floats.Sum(in.Weights); math.IsInf(sum, 0) {
		return nil, in.Wrap(
			fmt.Errorf("the weights sum to more than a 64-bit float holds, column %q: divide them by a large number", weights),
		)
	}
	in.Table, err = in.Table.Drop(weights)
	return in, in.Wrap(err)
}

// takeRowNames has the first column name the rows, as --id does, where it has no name in the header and no flag names
// it.
func (f *fittingFlags) takeRowNames(s *tables.Session, in *tables.Input, asked ...string) error {
	name, is := in.RowNames()
	asked = slices.Concat(asked, f.Select, f.Drop, f.ID, f.Described().Names, f.Dates.Names)
	if r := f.Explained(); r != nil {
		asked = append(slices.Concat(asked, r.By), r.Response)
	}
	if !is || slices.Contains(asked, name) {
		return nil
	}
	what := "names"
	if in.Levels(name) == nil {
		what = "numbers"
	}
	if len(f.ID) > 0 {
		s.Note("%s: left out column 1, which has no name in the header and %s the rows", in.Name, what)
		var err error
		in.Table, err = in.Table.Drop(name)
		return in.Wrap(err)
	}
	s.Note("%s: column 1, which has no name in the header, %s the rows and is not data (--id %s)", in.Name, what,
		item(name))
	f.ID = []string{name}
	return nil
}

// settings are what a model file keeps of the flags.
func (f *fittingFlags) settings(in *tables.Input) outcome.Settings {
	kept := f.modelFlags.settings()
	kept.Spelt = f.Spelt(in, f.ID)
	return kept
}

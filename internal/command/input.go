package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/progress"
)

// fittingFlags say what is fitted to which rows.
type fittingFlags struct {
	Data       string `group:"table" brief:"Table: a CSV, NPY, Parquet or Arrow file, - for standard input, or an embedded data set (latent datasets)." placeholder:"FILE|NAME" help:"CSV, NPY (also gzipped), Parquet or Arrow file, or a pattern such as 'part-*.csv' of files that are one table; - for standard input; or an embedded data set, see latent datasets. Default: one that shows the model, such as faithful for mixture."`
	inputFlags `group:"table"`
	idFlags    `group:"table"`
	modelFlags
	Shards int `group:"large" default:"16" placeholder:"N" range:"[1,65536]" help:"Partial sums of an iteration: at most this many goroutines, of all processes together, share it. Another number changes the rounding."`
}

// source is what --data names, or the data set that shows the model.
func (f *fittingFlags) source() string { return cmp.Or(f.Data, f.model().Example) }

// setup readies the model for the data, and the options of fits with up to kmax, or so many
// as there is room for.
func (f *fittingFlags) setup(s *session, in *input, kmax *int, least int) (*task, framework.Options, error) {
	t, err := f.bind(s, in)
	if err != nil {
		return nil, framework.Options{}, err
	}
	f.settle(t.starts, in.Rows(), in.Cols())
	o := f.options(valueOr(kmax, max(least, t.largest)))
	o.Shards = f.Shards
	o.Group = s.group()
	if err := t.checkSize(o.K); err != nil {
		return nil, framework.Options{}, err
	}
	s.crew.noteIdle(s, o.Shards)
	return t, o, s.sendAway(f, t)
}

// inputFlags say how the rows are read and which columns are used.
type inputFlags struct {
	Select   []string    `brief:"Use these columns only." placeholder:"COL" help:"Use these columns only, in this order."`
	Drop     []string    `brief:"Leave these columns out." placeholder:"COL" help:"Leave these columns out."`
	Header   string      `default:"auto" enum:"auto,yes,no" help:"Whether the first row of a CSV file names the columns: auto, yes or no."`
	NA       []string    `name:"na" sep:"none" placeholder:"TEXT" help:"Cells of this text are missing values, like empty cells, NA, NaN, N/A, NULL and k.A. Repeatable. latent predict also uses those of the fit."`
	Decimal  decimalFlag `placeholder:".|," help:"Decimal mark of a CSV file: a point or a comma; the other one separates thousands. Default: by the numbers at its beginning; latent predict uses that of the fit."`
	Encoding string      `placeholder:"NAME" help:"Encoding of a CSV file, such as windows-1252, latin1, utf-16le, macintosh, shift_jis or gb18030. Default: UTF-8, UTF-16 by its byte order mark, and Windows-1252 if it is neither."`
	Limit    limitsFlag  `placeholder:"KEY=VALUE,…" help:"Limits against damaged and hostile files: cell and row of a CSV file (16MiB, 256MiB), and ratio of the contents of a gzipped file to its size (200, beyond 1GB)."`
	Dates    dateColumns `placeholder:"COL[=FORM],…" help:"Columns of dates, read as days since 1 January 1970, with times as fractions: 2024-01-31, 31.1.2024, 1/31/24, 31 Jan 2024, 20240131 and the like. FORM, such as DD/MM/YYYY or %d/%m/%Y, is needed if day and month are ambiguous. latent predict uses the form of the fit."`
	Missing  *string     `enum:"error,drop,keep,empty" placeholder:"HOW" help:"Missing values: error rejects them, drop leaves their rows out, keep integrates them out, and empty is keep without rows that have no value. keep and empty exclude spherical and other structured covariances without a matrix, multinomial, bpca, ppca and vbmf. Default: keep where possible, otherwise error."`

	fitted      []string               // further texts that are missing values, those of the fit of a saved model
	fittedDates dateColumns            // those of its fit
	spellings   []data.Spelling        // likewise
	spelled     bool                   // Decimal is that of its fit
	wanted      func(name string) bool // of the columns of Parquet and Arrow files, those that are read; nil: all are
	required    []string               // of those, the ones that a table without them lacks
}

// An input is a table as it was read.
type input struct {
	data.Named
	name      string        // for messages
	label     string        // column of known classes, of embedded data sets only
	known     *labels       // of --label
	sequences []string      // of --sequence: what they are called
	ids       ids           // of --id
	dates     dateColumns   // columns that were dates, with their forms
	written   *data.Table   // these columns as they were read
	left      []string      // columns that were not read, as --drop names them
	unread    []string      // other columns that were not read, as nothing asks for them
	unnamed   bool          // as they were read, the columns were called V1, V2, …
	gaps      string        // what becomes of missing values
	marks     []string      // texts among numbers that are taken for missing values, as --na does
	flags     *modelFlags   // of a fit; nil where a saved model is applied
	shown     []string      // what the columns of the model are called in messages, where there are others than Names
	tally     *rowTally     // of the tables of some rows each that are read one after another; nil: this is all
	asked     bool          // its columns are those that a model asks for
	weights   string        // column of the row weights, which is not in the table any more
	list      *fitted.Pairs // of models of pairs; nil: the rows are a table
	what      string        // what the pairs amount to, such as documents and words
}

// open reads the table, and says how far it is. It gives up waiting when the session is interrupted.
func (f *inputFlags) open(s *session, source string, reading func(name string) data.Reading) (*input, error) {
	type answer struct {
		in  *input
		err error
	}
	done := make(chan answer, 1)
	far := progress.NewReading(source)
	go func() {
		in, err := f.read(s, source, reading, far)
		if err == nil {
			in.unnamed = generated(in.Names)
		}
		done <- answer{in, err}
	}()
	status := s.status()
	defer status.Close()
	a, here := progress.Receive(s, done, status, far)
	if !here {
		return nil, fmt.Errorf("interrupted while reading %s", source)
	}
	if a.err == nil {
		(&rowTally{skipped: a.in.skipped()}).noteSkipped(s, a.in)
		f.noteNumbers(s, a.in)
		a.err = cmp.Or(f.noteNameless(s, a.in), f.takeDates(s, a.in))
	}
	return a.in, a.err
}

func (f *inputFlags) read(
	s *session, source string, reading func(name string) data.Reading, far *progress.Reading,
) (*input, error) {
	if set, ok := data.Lookup(source); ok {
		if len(f.NA) > 0 {
			return nil, misused("--na requires a file: %s is an embedded data set, whose missing values are known", source)
		}
		t, err := data.Load(source)
		return &input{Named: data.Named{Table: t}, name: set.Name, label: set.Label}, err
	}
	in, r, err := f.reader(s, source, reading, far)
	if err != nil {
		return nil, err
	}
	if in.Table, err = r.whole(); err != nil && !errors.Is(err, columnar.ErrNoColumn) {
		return in, r.explain(in, err)
	}
	return in, cmp.Or(f.checkRequired(in), r.explain(in, err))
}

// checkRequired is the error about a required column that is not there, where others are not read: it lists all.
func (f *inputFlags) checkRequired(in *input) error {
	var names []string
	if in.Table != nil {
		names = in.Names
	}
	if lacking := without(f.required, setOf(slices.Concat(names, in.left))); len(lacking) > 0 && len(in.unread) > 0 {
		return in.wrap(fmt.Errorf("no column %.60q; the columns are %s", lacking[0], quoted(slices.Concat(names, in.unread))))
	}
	return nil
}

// choose applies --select and --drop. Where no column was selected, the class labels
// of an embedded data set go too; it returns whether they did.
func (f *inputFlags) choose(in *input) (unlabelled bool, err error) {
	drop := slices.DeleteFunc(slices.Clone(f.Drop), func(name string) bool { return slices.Contains(in.left, name) })
	if len(f.Select) > 0 {
		if in.Table, err = in.Table.Select(without(f.Select, setOf(in.left))...); err != nil {
			return false, in.wrap(err)
		}
	} else if in.label != "" && !slices.Contains(drop, in.label) {
		unlabelled = true
		drop = append([]string{in.label}, drop...)
	}
	if len(drop) > 0 {
		if in.Table, err = in.Table.Drop(drop...); err != nil {
			return false, in.wrap(err)
		}
	}
	return unlabelled, nil
}

// What --missing can say.
const (
	missingError = "error"
	missingDrop  = "drop"
	missingKeep  = "keep"
	missingEmpty = "empty"
)

// gaps resolves --missing for a model that needs all values or does not.
func (f *inputFlags) gaps(needsAll bool) (string, error) {
	switch {
	case f.Missing == nil && needsAll:
		return missingError, nil
	case f.Missing == nil:
		return missingKeep, nil
	case (*f.Missing == missingKeep || *f.Missing == missingEmpty) && needsAll:
		return "", misused("--missing %s cannot be used with this model, which needs complete rows (--missing drop)",
			*f.Missing)
	}
	return *f.Missing, nil
}

var errJoins = misused("--missing drop and empty would join the steps before and after a gap: --missing keep " +
	"integrates missing values of sequences out")

// complete leaves out rows with missing values, if --missing says so.
func (in *input) complete(s *session, gaps string) error {
	in.gaps = gaps
	var complete *data.Table
	var err error
	dropped := 0
	switch gaps {
	case missingDrop:
		complete, dropped, err = in.DropMissing()
	case missingEmpty:
		complete, dropped, err = in.DropEmpty(in.weights)
	default:
		return nil
	}
	if err != nil {
		return in.wrap(err)
	}
	if in.tally != nil {
		in.tally.dropped += dropped
		in.Table = complete
		return nil
	}
	if complete.Rows() == 0 {
		return in.noneLeft()
	}
	(&rowTally{rows: in.Rows(), dropped: dropped}).noteDropped(s, in)
	in.Table = complete
	return nil
}

// noneLeft is the error about a table of whose rows --missing leaves none.
func (in *input) noneLeft() error {
	advice := ""
	if !in.asked {
		advice = fmt.Sprintf("; --drop %s, which lacks most", item(in.emptiest()))
	}
	return in.wrap(fmt.Errorf("no rows left by --missing drop: every row has a missing value%s", advice))
}

// emptiest is the column with the most missing values.
func (in *input) emptiest() string {
	missing := make(map[string]int, in.Cols())
	for j, name := range in.Names {
		for row := range in.Rows() {
			if v := in.Number(row, j); v != v {
				missing[name]++
			}
		}
	}
	return slices.MaxFunc(in.Names, func(a, b string) int { return cmp.Compare(missing[a], missing[b]) })
}

// refuseEmpty refuses columns without any value, all at once.
func (in *input) refuseEmpty() error {
	var empty []string
	for _, name := range in.Names {
		if in.flags != nil && in.flags.Explained() != nil && name == in.flags.Explained().Response && in.Empty(name) {
			return in.wrap(fmt.Errorf("the response, column %q, has no value at all", name))
		}
		if in.Empty(name) {
			empty = append(empty, name)
		}
	}
	return in.wrap(refusal(empty, len(in.Names), "no column has a value", "has no value at all", "have no value at all"))
}

// refusal is the error about columns that no fit can use, all at once, or about all that
// there are; nil where there is none.
func refusal(names []string, all int, every, is, are string) error {
	switch len(names) {
	case 0:
		return nil
	case all:
		return errors.New(every + ": there is nothing to fit")
	case 1:
		return fmt.Errorf("column %.60q %s: %s", names[0], is, dropping(names))
	}
	return fmt.Errorf("columns %s %s: %s", quoted(names), are, dropping(names))
}

// dropping is the flag that leaves columns out.
func dropping(names []string) string {
	const most = 20
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, item(name))
	}
	flag := "--drop " + strings.Join(list, ",")
	if len(names) > most {
		flag += ",…"
	}
	return flag
}

// noteNA notes what the texts of --na did to the columns that are used.
func (f *inputFlags) noteNA(s *session, in *input) {
	if in.tally != nil {
		in.tally.mark(in)
		return
	}
	t := new(rowTally)
	t.mark(in)
	t.noteNA(s, in, f.NA)
}

// reportGaps refuses missing values among the numbers of the table, or notes that they are
// integrated out.
func (in *input) reportGaps(s *session, x []float64, needsAll bool) error {
	d := in.Cols()
	t, last := in.tally, -1
	if t == nil {
		t = &rowTally{rows: in.Rows()}
	}
	for i, v := range x {
		if v == v {
			continue
		}
		if in.gaps == missingError {
			advice := "--missing keep integrates it out, --missing drop leaves the row out"
			if needsAll {
				advice = "this family needs complete rows; --missing drop leaves such rows out"
				if in.flags != nil && !in.flags.model().responds {
					advice += "; full, tied and diagonal covariances, and --family auto, do not need them"
				}
			}
			return &framework.DataError{Row: i / d, Column: i % d, Value: v, Reason: errors.New(advice)}
		}
		t.values++
		if i/d != last {
			t.gaps, last = t.gaps+1, i/d
		}
	}
	if in.tally == nil {
		t.noteGaps(s, in)
	}
	return nil
}

// arrange keeps the columns of a regression: the response, what it counts over, and the regressors. weights are none of
// them, and the columns of a gate only those that --regress names.
func (in *input) arrange(f *fitted.Explained, weights string, gate []string) error {
	own := []string{f.Response}
	if f.Over != "" {
		own = append(own, f.Over)
	}
	names := f.By
	if names == nil {
		names = without(in.Names, setOf(slices.Concat(own, gate, []string{weights})))
	}
	for _, one := range []struct {
		flag  string
		names []string
	}{{"--response", own[:1]}, {"--trials or --exposure", own[1:]}, {"--regress", names}, {"--power", f.Powers}} {
		for _, name := range one.names {
			if !slices.Contains(in.Names, name) || name == weights {
				return in.wrap(fmt.Errorf("%s: no column %.60q; the columns are %s", one.flag, name, quoted(in.Names)))
			}
		}
	}
	for _, name := range f.Powers {
		if !slices.Contains(names, name) {
			return in.wrap(fmt.Errorf("--power: column %.60q is not a regressor", name))
		}
	}
	var err error
	in.Table, err = in.Table.Select(append(own, names...)...)
	return in.wrap(err)
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
	f.required = without(slices.Concat(chosen, f.ID, given, f.Dates.Names, []string{label, f.Weights, f.Sequence()}),
		setOf([]string{""}))
	asked := setOf(f.required)
	f.wanted = func(name string) bool { return asked[name] }
}

// load reads the table: it takes out known classes, chooses columns, leaves out rows and takes out the weights.
func (f *fittingFlags) load(s *session, label string) (*input, error) {
	f.narrow(label)
	if f.model().Pairs {
		if len(f.ID) > 0 {
			return nil, misused("--id cannot be used with --model %s, whose rows are pairs of names", f.Model)
		}
		in, err := f.openTriples(s, f.source(), f.Weights)
		if err == nil {
			in.flags = &f.modelFlags
		}
		return in, err
	}
	if err := f.checkRoles(label); err != nil {
		return nil, err
	}
	gaps, err := f.gaps(f.model().needsAll(f.Family))
	if err != nil {
		return nil, err
	}
	in, err := f.open(s, f.source(), asText(f.reading, append(slices.Clone(f.ID), label, f.Sequence())...))
	if err != nil {
		return nil, err
	}
	in.flags = &f.modelFlags
	weights, sequence := f.Weights, f.Sequence()
	given, flag := f.Given()
	if err := f.takeRowNames(s, in, append(slices.Clone(given), weights, sequence, label)...); err != nil {
		return nil, err
	}
	if f.model().Sequences && (gaps == missingDrop || gaps == missingEmpty) {
		return nil, errJoins
	}
	if err := in.takeIDs(f.ID); err != nil {
		return nil, err
	}
	if err := in.takeLabels(label); err != nil {
		return nil, err
	}
	if err := in.takeSequences(sequence); err != nil {
		return nil, err
	}
	all := in.Table
	if weights != "" {
		if _, err := all.Column(weights); err != nil {
			return nil, in.wrap(fmt.Errorf("--weights: %w", err))
		}
	}
	asked := given
	if r := f.Explained(); r != nil {
		asked = append(slices.Concat(r.By, given), r.Response)
	}
	if slices.Contains(asked, in.label) {
		in.label = ""
	}
	unlabelled, err := f.choose(in)
	if err != nil {
		return nil, err
	}
	if unlabelled {
		s.note("left out the class labels of %s, column %q (--select chooses columns)", in.name, in.label)
	}
	if r := f.Explained(); r != nil {
		if err := in.arrange(r, weights, given); err != nil {
			return nil, err
		}
	}
	if len(given) > 0 {
		own := in.Names
		if !f.model().responds { // a regression names its columns
			own = without(own, setOf(append([]string{weights}, given...)))
		}
		if in.Table, err = all.Select(append(slices.Clone(own), without(given, setOf(own))...)...); err != nil {
			return nil, in.wrap(fmt.Errorf("%s: %w", flag, err))
		}
		if len(own) == 0 {
			return nil, misused("%s names every column and leaves none to the %ss", flag,
				cmp.Or(f.model().Part, "latent dimension"))
		}
	}
	if err := cmp.Or(f.leaveEmpty(s, in), f.leaveIdentifiers(s, in), in.refuseEmpty()); err != nil {
		return nil, err
	}
	f.remark(s, in)
	f.noteNA(s, in)
	if weights == "" {
		return in, in.complete(s, gaps)
	}
	// The weights come last, so that rows can be left out by them too.
	names := slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return name == weights })
	if in.Table, err = all.Select(append(names, weights)...); err != nil {
		return nil, in.wrap(err)
	}
	in.weights = weights
	if err := in.complete(s, gaps); err != nil {
		return nil, err
	}
	if in.Weights, err = in.Column(weights); err != nil {
		return nil, in.wrap(err)
	}
	if row := slices.IndexFunc(in.Weights, math.IsNaN); row >= 0 {
		return nil, in.wrap(fmt.Errorf("the weight of row %d is missing, column %q: --missing drop leaves such rows out",
			in.Origin(row)+1, weights))
	}
	if sum := floats.Sum(in.Weights); math.IsInf(sum, 0) {
		return nil, in.wrap(
			fmt.Errorf("the weights sum to more than a 64-bit float holds, column %q: divide them by a large number", weights),
		)
	}
	in.Table, err = in.Table.Drop(weights)
	return in, in.wrap(err)
}

// numbers are those of the table, n×d: codes where it has levels that models of classes know, NaN where an entry is
// missing, and complete where the model needs all.
func (in *input) numbers(s *session, classes, needsAll bool) (x []float64, n, d int, err error) {
	if !classes && (needsAll || len(in.texts()) > 0) {
		return in.Matrix()
	}
	if x, n, d, err = in.Values(); err != nil {
		return nil, n, d, err
	}
	return x, n, d, in.reportGaps(s, x, needsAll)
}

// source gives numbers of the table the weights of its rows.
func (in *input) source(x []float64, rows, cols int, err error) (*framework.Table, error) {
	if err != nil {
		return nil, err
	}
	return classes.TableOf(framework.Rows{N: rows, D: cols, X: x}, in.Weights)
}

func datasetNames() []string {
	var names []string
	for _, d := range data.Datasets() {
		names = append(names, d.Name)
	}
	return names
}

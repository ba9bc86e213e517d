package tables

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"golang.org/x/exp/constraints"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/progress"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/prior"
)

// Options say how the rows are read and which columns are used.
type Options struct {
	Select   []string    `brief:"Use these columns only." placeholder:"COL" help:"Use these columns only, in this order."`
	Drop     []string    `brief:"Leave these columns out." placeholder:"COL" help:"Leave these columns out."`
	Header   string      `default:"auto" enum:"auto,yes,no" help:"Whether the first row of a CSV file names the columns: auto, yes or no."`
	NA       []string    `name:"na" sep:"none" placeholder:"TEXT" help:"Cells of this text are missing values, like empty cells, NA, NaN, N/A, NULL and k.A. Repeatable. latent predict also uses those of the fit."`
	Decimal  decimalFlag `placeholder:".|," help:"Decimal mark of a CSV file: a point or a comma; the other one separates thousands. Default: by the numbers at its beginning; latent predict uses that of the fit."`
	Encoding string      `placeholder:"NAME" help:"Encoding of a CSV file, such as windows-1252, latin1, utf-16le, macintosh, shift_jis or gb18030. Default: UTF-8, UTF-16 by its byte order mark, and Windows-1252 if it is neither."`
	Limit    limitsFlag  `placeholder:"KEY=VALUE,…" help:"Limits against damaged and hostile files: cell and row of a CSV file (16MiB, 256MiB), and ratio of the contents of a gzipped file to its size (200, beyond 1GB)."`
	Dates    Dates       `placeholder:"COL[=FORM],…" help:"Columns of dates, read as days since 1 January 1970, with times as fractions: 2024-01-31, 31.1.2024, 1/31/24, 31 Jan 2024, 20240131 and the like. FORM, such as DD/MM/YYYY or %d/%m/%Y, is needed if day and month are ambiguous. latent predict uses the form of the fit."`
	Missing  *string     `enum:"error,drop,keep,empty" placeholder:"HOW" help:"Missing values: error rejects them, drop leaves their rows out, keep integrates them out, and empty is keep without rows that have no value. keep and empty exclude spherical and other structured covariances without a matrix, multinomial, bpca, ppca and vbmf. Default: keep where possible, otherwise error."`

	fitted      []string               // further texts that are missing values, those of the fit of a saved model
	fittedDates Dates                  // those of its fit
	spellings   []data.Spelling        // likewise
	spelled     bool                   // Decimal is that of its fit
	float32s    bool                   // numbers of float32 are kept so
	wanted      func(name string) bool // of the columns of Parquet and Arrow files, those that are read; nil: all are
	required    []string               // of those, the ones that a table without them lacks
}

// Want has those columns of Parquet and Arrow files read which wanted says; nil: all.
func (f *Options) Want(wanted func(name string) bool) { f.wanted = wanted }

// KeepFloat32s has the numbers of files of float32 kept in float32, for [Input.ReadRows].
func (f *Options) KeepFloat32s() { f.float32s = true }

// Require has some columns alone read, which are all required, where the format lets it.
func (f *Options) Require(names []string) {
	asked := SetOf(names)
	f.required, f.wanted = names, func(name string) bool { return asked[name] }
}

// An Asker is a fit for which a table is read.
type Asker interface {
	Kind() fitted.Definition      // of its model
	Explained() *fitted.Explained // nil where no column is explained by others
	// PriorFlag says a parameter of the prior as it was given, with its flag; nil where none was given.
	PriorFlag() func(e *prior.ParameterError) string
	OneFamily() bool // of all columns
}

// An Input is a table as it was read.
type Input struct {
	data.Named
	Name          string        // for messages
	Label         string        // column of known classes, of embedded data sets only
	Known         *Labels       // of --label
	SequenceNames []string      // of --sequence: what they are called
	IDs           IDs           // of --id
	dates         Dates         // columns that were dates, with their forms
	written       *data.Table   // these columns as they were read
	left          []string      // columns that were not read, as --drop names them
	unread        []string      // other columns that were not read, as nothing asks for them
	Unnamed       bool          // as they were read, the columns were called V1, V2, …
	Missing       string        // what becomes of missing values
	marks         []string      // texts among numbers that are taken for missing values, as --na does
	For           Asker         // for which the table is read; nil where a saved model is applied
	Shown         []string      // what the columns of the model are called in messages, where there are others than Names
	Tally         *rowTally     // of the tables of some rows each that are read one after another; nil: this is all
	asked         bool          // its columns are those that a model asks for
	ClassColumn   string        // column of --known
	WeightColumn  string        // column of the row weights, which is not in the table any more
	Pairs         *fitted.Pairs // of models of pairs; nil: the rows are a table
	What          string        // what the pairs amount to, such as documents and words
	rows          int           // before some were left out; 0: none were
	origin        func(int) int // places of the rows of other processes' parts in the files; nil: the table has them
}

// Origin is the place of a row in what was read.
func (in *Input) Origin(row int) int {
	if in.origin != nil {
		return in.origin(row)
	}
	return in.Table.Origin(row)
}

// Out are the rows that were left out, in ascending order.
func (in *Input) Out() (out []int) {
	next := 0
	for row := range in.rows {
		if next < in.Rows() && in.Origin(next) == row {
			next++
		} else {
			out = append(out, row)
		}
	}
	return out
}

// Open reads the table, and says how far it is. It gives up waiting when the session is interrupted.
func (f *Options) Open(s *Session, source string, reading func(name string) data.Reading) (*Input, error) {
	type answer struct {
		in  *Input
		err error
	}
	done := make(chan answer, 1)
	far := progress.NewReading(source)
	go func() {
		in, err := f.read(s, source, reading, far)
		if err == nil {
			in.Unnamed = Generated(in.Names)
		}
		done <- answer{in, err}
	}()
	status := s.Line()
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

func (f *Options) read(
	s *Session, source string, reading func(name string) data.Reading, far *progress.Reading,
) (*Input, error) {
	if set, ok := data.Lookup(source); ok {
		if len(f.NA) > 0 {
			return nil, faults.Misused("--na requires a file: %s is an embedded data set, whose missing values are known",
				source)
		}
		t, err := data.Load(source)
		return &Input{Named: data.Named{Table: t}, Name: set.Name, Label: set.Label}, err
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
func (f *Options) checkRequired(in *Input) error {
	var names []string
	if in.Table != nil {
		names = in.Names
	}
	if lacking := Without(f.required, SetOf(slices.Concat(names, in.left))); len(lacking) > 0 && len(in.unread) > 0 {
		return in.Wrap(fmt.Errorf("no column %.60q; the columns are %s", lacking[0],
			wording.Quoted(slices.Concat(names, in.unread))))
	}
	return nil
}

// Choose applies --select and --drop. Where no column was selected, the class labels
// of an embedded data set go too; it returns whether they did.
func (f *Options) Choose(in *Input) (unlabelled bool, err error) {
	drop := slices.DeleteFunc(slices.Clone(f.Drop), func(name string) bool { return slices.Contains(in.left, name) })
	if len(f.Select) > 0 {
		if in.Table, err = in.Table.Select(Without(f.Select, SetOf(in.left))...); err != nil {
			return false, in.Wrap(err)
		}
	} else if in.Label != "" && !slices.Contains(drop, in.Label) {
		unlabelled = true
		drop = append([]string{in.Label}, drop...)
	}
	if len(drop) > 0 {
		if in.Table, err = in.Table.Drop(drop...); err != nil {
			return false, in.Wrap(err)
		}
	}
	return unlabelled, nil
}

// What --missing can say.
const (
	missingError = "error"
	missingDrop  = "drop"
	MissingKeep  = "keep"
	missingEmpty = "empty"
)

// Missings resolves --missing for a model that needs all values or does not.
func (f *Options) Missings(needsAll bool) (string, error) {
	switch {
	case f.Missing == nil && needsAll:
		return missingError, nil
	case f.Missing == nil:
		return MissingKeep, nil
	case (*f.Missing == MissingKeep || *f.Missing == missingEmpty) && needsAll:
		return "", faults.Misused("--missing %s cannot be used with this model, which needs complete rows (--missing drop)",
			*f.Missing)
	}
	return *f.Missing, nil
}

// LeavesOut says whether a value of --missing leaves rows out.
func LeavesOut(missing string) bool { return missing == missingDrop || missing == missingEmpty }

var ErrJoins = faults.Misused("--missing drop and empty would join the steps before and after a gap: --missing keep " +
	"integrates missing values of sequences out")

// Complete leaves out rows with missing values, if --missing says so.
func (in *Input) Complete(s *Session, gaps string) error {
	in.Missing = gaps
	var complete *data.Table
	var err error
	dropped := 0
	switch gaps {
	case missingDrop:
		complete, dropped, err = in.DropMissing(in.ClassColumn)
	case missingEmpty:
		complete, dropped, err = in.DropEmpty(in.WeightColumn, in.ClassColumn)
	default:
		return nil
	}
	if err != nil {
		return in.Wrap(err)
	}
	if in.Tally != nil {
		in.Tally.dropped += dropped
		in.Table = complete
		return nil
	}
	if complete.Rows() == 0 {
		return in.NoneLeft()
	}
	(&rowTally{rows: in.Rows(), dropped: dropped}).noteDropped(s, in)
	in.rows, in.Table = in.Rows(), complete
	return nil
}

// NoneLeft is the error about a table of whose rows --missing leaves none.
func (in *Input) NoneLeft() error {
	advice := ""
	if !in.asked {
		advice = fmt.Sprintf("; --drop %s, which lacks most", wording.Item(in.emptiest()))
	}
	return in.Wrap(fmt.Errorf("no rows left by --missing drop: every row has a missing value%s", advice))
}

// emptiest is the column with the most missing values.
func (in *Input) emptiest() string {
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

// RefuseEmpty refuses columns without any value, all at once.
func (in *Input) RefuseEmpty() error {
	var empty []string
	for _, name := range in.Names {
		if in.For != nil && in.For.Explained() != nil && name == in.For.Explained().Response && in.Empty(name) {
			return in.Wrap(fmt.Errorf("the response, column %q, has no value at all", name))
		}
		if in.Empty(name) {
			empty = append(empty, name)
		}
	}
	return in.Wrap(Refusal(empty, len(in.Names), "no column has a value", "has no value at all", "have no value at all"))
}

// Refusal is the error about columns that no fit can use, all at once, or about all that
// there are; nil where there is none.
func Refusal(names []string, all int, every, is, are string) error {
	switch len(names) {
	case 0:
		return nil
	case all:
		return errors.New(every + ": there is nothing to fit")
	case 1:
		return fmt.Errorf("column %.60q %s: %s", names[0], is, Dropping(names))
	}
	return fmt.Errorf("columns %s %s: %s", wording.Quoted(names), are, Dropping(names))
}

// Dropping is the flag that leaves columns out.
func Dropping(names []string) string {
	const most = 20
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, wording.Item(name))
	}
	flag := "--drop " + strings.Join(list, ",")
	if len(names) > most {
		flag += ",…"
	}
	return flag
}

// NoteNA notes what the texts of --na did to the columns that are used.
func (f *Options) NoteNA(s *Session, in *Input) {
	if in.Tally != nil {
		in.Tally.mark(in)
		return
	}
	t := new(rowTally)
	t.mark(in)
	t.noteNA(s, in, f.NA)
}

// reportGaps refuses missing values among the numbers of the table, or notes that they are
// integrated out.
func reportGaps[F constraints.Float](s *Session, in *Input, x []F, needsAll bool) error {
	d := in.Cols()
	t, last := in.Tally, -1
	if t == nil {
		t = &rowTally{rows: in.Rows()}
	}
	for i, v := range x {
		if v == v || in.ClassColumn != "" && in.Names[i%d] == in.ClassColumn {
			continue
		}
		if in.Missing == missingError {
			advice := "--missing keep integrates it out, --missing drop leaves the row out"
			if needsAll {
				advice = "this family needs complete rows; --missing drop leaves such rows out"
				if in.For != nil && in.For.Kind().Sequences {
					advice = "this family needs complete rows: fill it in"
				}
				if in.For != nil && in.For.Explained() == nil {
					advice += "; full, tied and diagonal covariances, and --family auto, do not need them"
				}
			}
			return &blocks.DataError{Row: i / d, Column: i % d, Value: float64(v), Reason: errors.New(advice)}
		}
		t.values++
		if i/d != last {
			t.gaps, last = t.gaps+1, i/d
		}
	}
	if in.Tally == nil {
		t.noteGaps(s, in)
	}
	return nil
}

// Arrange keeps the columns of a regression: the response, what it counts over, and the regressors. weights are none of
// them, and the columns of a gate only those that --regress names.
func (in *Input) Arrange(f *fitted.Explained, weights string, gate []string) error {
	own := []string{f.Response}
	if f.Over != "" {
		own = append(own, f.Over)
	}
	names := f.By
	if names == nil {
		names = Without(in.Names, SetOf(slices.Concat(own, gate, []string{weights})))
	}
	for _, one := range []struct {
		flag  string
		names []string
	}{{"--response", own[:1]}, {"--trials or --exposure", own[1:]}, {"--regress", names}, {"--power", f.Powers}} {
		for _, name := range one.names {
			if !slices.Contains(in.Names, name) || name == weights {
				return in.Wrap(fmt.Errorf("%s: no column %.60q; the columns are %s", one.flag, name, wording.Quoted(in.Names)))
			}
		}
	}
	for _, name := range f.Powers {
		if !slices.Contains(names, name) {
			return in.Wrap(fmt.Errorf("--power: column %.60q is not a regressor", name))
		}
	}
	var err error
	in.Table, err = in.Table.Select(append(own, names...)...)
	return in.Wrap(err)
}

// ReadNumbers are those of the table, n×d: codes where it has levels that models of classes know, NaN where an entry is
// missing, and complete where the model needs all.
func (in *Input) ReadNumbers(s *Session, classes, needsAll bool) (x []float64, n, d int, err error) {
	if !classes && (needsAll || len(in.TextColumns()) > 0) {
		return in.Matrix()
	}
	if x, n, d, err = in.Values(); err != nil {
		return nil, n, d, err
	}
	return x, n, d, reportGaps(s, in, x, needsAll)
}

// ReadRows are the numbers of ReadNumbers with the weights of the rows, in float32 where the table has kept them so.
func (in *Input) ReadRows(s *Session, classes, needsAll bool) (*blocks.Table, error) {
	x, complete := in.Float32s()
	if x == nil || needsAll && !complete {
		return in.Weighted(in.ReadNumbers(s, classes, needsAll))
	}
	if err := reportGaps(s, in, x, needsAll); err != nil {
		return nil, err
	}
	t, err := blocks.FromFloat32(x, in.Rows(), in.Cols())
	if err == nil && in.Weights != nil {
		t, err = t.WithWeights(in.Weights)
	}
	return t, err
}

// Weighted gives numbers of the table the weights of its rows.
func (in *Input) Weighted(x []float64, rows, cols int, err error) (*blocks.Table, error) {
	if err != nil {
		return nil, err
	}
	return classes.TableOf(blocks.Rows{N: rows, D: cols, X: x}, in.Weights)
}

// DatasetNames are those of the embedded data sets.
func DatasetNames() []string {
	var names []string
	for _, d := range data.Datasets() {
		names = append(names, d.Name)
	}
	return names
}

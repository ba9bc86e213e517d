package command

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/fitted/drift"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/report"
)

type predictCommand struct {
	Data       string `group:"table" brief:"Table: a CSV, NPY, Parquet or Arrow file, - for standard input, or an embedded data set." required:"" placeholder:"FILE|NAME" help:"CSV, NPY (also gzipped), Parquet or Arrow file, or a pattern such as 'part-*.csv' of files that are one table; - for standard input; or an embedded data set, see latent datasets."`
	inputFlags `group:"table"`
	Unseen     string   `group:"table" default:"error" enum:"error,missing" help:"Levels of categorical columns that the model has not seen: error rejects them, missing reads them as missing values."`
	Saved      string   `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	ID         []string `group:"table" brief:"Pass these columns through, before the predictions. Default: those of the fit." name:"id" placeholder:"COL" help:"Pass these columns through, as texts and before the predictions: names and numbers of rows, say. They need not be in the model. Default: those of the fit, where the data have them."`
	Sequence   string   `group:"table" placeholder:"COL" help:"hmm and lds: the column that says which sequence a row belongs to. Default: the one of the fit, where the data have it; else the table is one sequence."`
	Forecast   *int     `group:"output" brief:"hmm and lds: predict this many further steps." placeholder:"STEPS" range:"[0,inf)" help:"hmm and lds: predict this many steps after each sequence instead of its own steps: probabilities of the states, means and standard deviations of the columns, and probabilities of the levels of categorical ones."`
	Label      string   `group:"table" brief:"Known classes of the rows, compared with the components." placeholder:"COL" help:"Known classes of the rows (mixtures, hmm): compare components to this column by the adjusted Rand index and a cross-table, in JSON, on standard output where --out names a file, or else on standard error."`
	Fill       bool     `group:"output" brief:"Write the rows with their missing entries filled in." help:"Write the rows with their missing entries filled in by their means given the others (factor, features), instead of predictions."`
	Out        string   `group:"output" brief:"File to write, .csv or .parquet. Default: standard output." placeholder:"FILE" help:"File to write: Parquet where its name ends in .parquet. Default, and -: standard output."`
	Format     string   `group:"output" brief:"Output: csv or json." default:"csv" enum:"csv,json" help:"Output: csv or json."`
	Report     string   `group:"output" brief:"Write DIR/index.html, which compares the rows with those of the fit." placeholder:"DIR" help:"Write DIR/index.html, which compares the rows with those of the fit: components then and now, how likely the rows are, which columns moved, and rows that the model does not expect."`
	Fail       bool     `group:"output" brief:"Exit status 3 where the rows are unlike those of the fit." name:"fail-on-drift" help:"End with exit status 3 where the rows are unlike those of the fit, as --report says it; the predictions, and the report, are written all the same."`

	drift *drift.Drift // of --report and --fail-on-drift
}

// rowHead heads the column of row numbers.
const rowHead = "row"

// Run writes what the model says of each row: components and their probabilities or latent means, and the
// log-likelihood; of rows among which some are left out, also their numbers.
func (c *predictCommand) Run(s *session) error {
	m, err := s.known.read(c.Saved)
	if err != nil {
		return err
	}
	c.asFitted(m)
	if err := cmp.Or(c.checkSequences(m), c.checkFormat()); err != nil {
		return err
	}
	if _, fills := m.saved.Model.(fitted.Filler); c.Fill && !fills {
		return misused("--fill requires a model that fills in missing entries, such as factor: %s is a %s model",
			c.Saved, m.Model)
	}
	if err := c.compare(s, m); err != nil {
		return err
	}
	if lists, is := m.saved.Model.(fitted.ListScorer); is {
		return c.scoreList(s, m, lists)
	}
	if m.layout.Note != "" {
		s.note("%s: %s", c.Saved, m.layout.Note)
	}
	gaps, err := c.gaps(!m.input.Gaps)
	if err != nil {
		return err
	}
	if err := s.checkWritten(c.inputFiles(), c.out()); err != nil {
		return err
	}
	if m.kind.Pairs {
		p, err := c.readPairs(s, m)
		if err != nil {
			return err
		}
		return c.emit(s, p)
	}
	if err := c.checkColumns(m, namesOf(m.Columns)); err != nil {
		return err
	}
	next, stop := c.inputs(s, m)
	defer stop()
	p, err := c.next(s, m, gaps, next)
	if err != nil {
		return err
	}
	if c.Forecast != nil {
		return c.forecast(s, m, p)
	}
	total := p.in.tally
	if total != nil {
		quiet := *s // what is to be noted of the columns, the first rows have shown
		p.following = func() (*prediction, error) { return c.next(&quiet, m, gaps, next) }
	}
	if err := c.emit(s, p); err != nil {
		return err
	}
	if total != nil {
		total.noteSkipped(s, p.in)
		total.noteNA(s, p.in, c.NA)
		total.noteUnseen(s, p.in)
		total.noteDropped(s, p.in)
		total.noteGaps(s, p.in)
	}
	if a := p.agreement(); a != nil && c.Format == "csv" {
		if err := c.printAgreement(s, a); err != nil {
			return err
		}
	}
	return c.report(s, p.in)
}

// driftName is the file of --report with what it says, for programs.
const driftName = "drift.json"

// report says how the rows lie beside those of the fit.
func (c *predictCommand) report(s *session, in *input) error {
	if c.drift == nil {
		return nil
	}
	found := c.drift.Find(s.notes)
	if c.Report != "" {
		page := c.drift.Document(isolated(in.title()), filepath.Base(c.Saved), found)
		page.Sections[0].Warnings = in.shortened(found.Warnings)
		if err := writePage(c.Report, page); err != nil {
			return err
		}
		write := func(w io.Writer) error { return writeJSON(w, found) }
		if err := atomicfile.WriteIn(c.Report, driftName, write); err != nil {
			return err
		}
	}
	switch {
	case c.Fail && found.Verdict == "":
		return fmt.Errorf("--fail-on-drift: %s draws no rows to compare with", c.Saved)
	case c.Fail && found.Drift:
		return driftError{fmt.Errorf("%s: the rows are unlike those of the fit of %s: mean log-likelihood %s nats, "+
			"expected %s", in.name, c.Saved, report.Nats(float64(found.LogLik)), report.Nats(float64(found.Expected)))}
	}
	return nil
}

// A driftError says that rows are unlike those of the fit; results are written.
type driftError struct{ error }

// inputs are the table: some rows after others, or all rows at once where what is written is not one row after another.
// Numbers of those lie in the store.
func (c *predictCommand) inputs(s *session, m *modelFile) (next func() (*input, error), stop func()) {
	reading := asText(m.reading(), c.own(m)...)
	c.wanted = c.columnsOf(m)
	if !m.input.Sequence && c.Label == "" && c.Format == "csv" {
		status := s.status()
		if c.Out == "" || c.Out == "-" { // the terminal may have the rows
			status.Hide()
		}
		return c.openBlocks(s, c.Data, reading, status)
	}
	read := false
	return func() (*input, error) {
		if read {
			return nil, nil
		}
		read = true
		return c.open(s, c.Data, reading)
	}, func() {}
}

// columnsOf says which columns have to be read, where the model's are found by their names; nil: all.
func (c *predictCommand) columnsOf(m *modelFile) func(name string) bool {
	if names := namesOf(m.Columns); !generated(names) {
		asked := setOf(slices.Concat(names, c.own(m), c.Select))
		return func(name string) bool { return asked[name] }
	}
	return nil
}

// own are columns that are asked for, and are none of the model's.
func (c *predictCommand) own(m *modelFile) []string {
	asked := append(slices.Concat(c.ID, m.Settings.ID), c.Label, c.sequence(m))
	return without(slices.Compact(slices.Sorted(slices.Values(asked))), setOf(namesOf(m.Columns)))
}

func (c *predictCommand) sequence(m *modelFile) string {
	return cmp.Or(c.Sequence, m.Settings.Sequence())
}

// next readies the model for the next rows, nil after the last. It is an error if no row at all is left.
func (c *predictCommand) next(s *session, m *modelFile, gaps string, next func() (*input, error)) (*prediction, error) {
	var last *input
	for {
		in, err := next()
		if err != nil {
			return nil, err
		}
		if in == nil {
			if last != nil && last.tally.dropped == last.tally.rows {
				err = last.noneLeft()
			}
			return nil, err
		}
		if p, err := c.prediction(s, m, gaps, in); err != nil || p.rows > 0 {
			return p, err
		}
		last = in
	}
}

// prediction readies the model for rows.
func (c *predictCommand) prediction(s *session, m *modelFile, gaps string, in *input) (p *prediction, err error) {
	p = &prediction{drift: c.drift, in: in, first: in.Origin(0), layout: m.layout, score: m.score}
	if p.ids, err = c.read(s, m, in); err != nil {
		return nil, err
	}
	columns := m.Columns
	own := len(m.Columns) - m.input.Given
	if gate, is := m.saved.Model.(fitted.Prior); is && in.lacks(m.Columns[:own]) {
		s.note("%s has no column of the components, whose probabilities are then those of the gate", in.name)
		prior, err := gate.NewPriorScorer()
		if err != nil {
			return nil, err
		}
		columns, p.score = m.Columns[own:], m.scoreBy(prior)
	}
	if m.input.Optional > 0 && !in.unnamed {
		columns, p.score = m.present(in)
	}
	p.columns = namesOf(columns)
	if c.drift != nil && len(p.columns) < len(m.Columns) {
		return nil, in.wrap(misused("--report compares rows with those of the fit, and needs all columns of the model: %s",
			quoted(without(namesOf(m.Columns), setOf(p.columns)))))
	}
	order, err := in.match(s, p.columns)
	if err != nil {
		return nil, in.wrap(err)
	}
	before := in.Table
	if err := in.recode(columns, order, c.Unseen == "missing"); err != nil {
		return nil, in.wrap(err)
	}
	c.noteNA(s, in)
	c.noteUnseen(s, in, before)
	if err := in.complete(s, gaps); err != nil {
		return nil, err
	}
	if p.errors = in.renderer(); in.Rows() == 0 {
		return p, nil
	}
	if p.x, p.rows, _, err = in.numbers(s, m.kind.Classes, !m.input.Gaps); err != nil {
		return nil, in.wrap(err)
	}
	p.errors.Columns, p.errors.Origin = namesOf(columns), p.origin
	if m.input.Optional > 0 { // whose errors are about all columns
		p.errors.Columns = namesOf(m.Columns)
	}
	for j, place := range order {
		p.errors.Columns[slices.Index(p.errors.Columns, columns[j].Name)] = in.Names[place]
	}
	if c.Fill {
		p.score, p.layout = m.saved.Model.(fitted.Filler).Fill, fitted.Layout{List: "filled", Items: p.columns}
	}
	if !slices.IsSorted(order) {
		p.order = order
	}
	if m.input.Sequence {
		p.ends = in.EndsOf(p.rows)
		p.score = func(b framework.Rows) ([]float64, error) { return m.scoreSequences(p.series(b)) }
	}
	if p.numbers = c.Forecast == nil && (gaps == missingDrop || gaps == missingEmpty); p.numbers {
		p.layout.First = append([]string{rowHead}, p.layout.First...)
	}
	return p, nil
}

// noteUnseen notes the cells that --unseen makes missing, which had a level before.
func (c *predictCommand) noteUnseen(s *session, in *input, before *data.Table) {
	switch {
	case c.Unseen != "missing":
	case in.tally != nil:
		in.tally.addUnseen(in, before)
	default:
		t := new(rowTally)
		t.addUnseen(in, before)
		t.noteUnseen(s, in)
	}
}

// inputFiles are the files that are read.
func (c *predictCommand) inputFiles() []string { return []string{c.Data, c.Saved} }

func (c *predictCommand) out() written { return written{flag: "--out", path: c.Out, stdout: true} }

// compare readies what --report and --fail-on-drift say.
func (c *predictCommand) compare(s *session, m *modelFile) (err error) {
	flag := "--report"
	if c.Report == "" {
		flag = "--fail-on-drift"
	}
	switch {
	case c.Report == "" && !c.Fail:
		return nil
	case m.kind.Pairs:
		return misused("%s compares rows with those of the fit: %s is a %s model, which is not about rows", flag,
			c.Saved, m.Model)
	case c.Forecast != nil || c.Fill:
		return misused("%s cannot be used with --forecast or --fill: it compares observed rows", flag)
	}
	if err := s.checkWritten(c.inputFiles(), c.out(), written{flag: "--report", path: c.Report, page: true}); err != nil {
		return err
	}
	c.drift, err = drift.New(m.saved)
	if errors.Is(err, fitted.ErrNoLikelihood) {
		return misused("%s needs the likelihood of rows, which a %s model does not have", flag, m.Model)
	}
	return err
}

// checkFormat refuses what a Parquet file cannot hold.
func (c *predictCommand) checkFormat() error {
	switch {
	case isParquet(c.Out) && c.Format == "json":
		return misused("--out %s is Parquet, and --format json is not: leave one of them out", word(c.Out))
	case isParquet(c.Out) && c.Forecast != nil:
		return misused("--out %s: forecasts are written as CSV or JSON: name another file", word(c.Out))
	}
	return nil
}

// present are the model's columns less those that it does without where the data lack them, and the score of rows of
// the others.
func (m *modelFile) present(in *input) (columns []data.Column, score func(rows framework.Rows) ([]float64, error)) {
	places := make([]int, len(m.Columns))
	for j, c := range m.Columns {
		if places[j] = -1; slices.Contains(in.Names, c.Name) || j >= m.input.Optional {
			places[j] = len(columns)
			columns = append(columns, c)
		}
	}
	return columns, func(b framework.Rows) ([]float64, error) {
		wide := framework.Rows{First: b.First, N: b.N, D: len(places), Stride: len(places)}
		for i := range b.N {
			row := b.Row(i)
			for _, j := range places {
				v := math.NaN()
				if j >= 0 {
					v = row[j]
				}
				wide.X = append(wide.X, v)
			}
		}
		return m.score(wide)
	}
}

// emit writes the predictions.
func (c *predictCommand) emit(s *session, p *prediction) error {
	if c.Format == "json" {
		return s.emit(c.Out, func(w io.Writer) error {
			if err := p.writeJSON(s, w); err != nil {
				return err
			}
			return s.store.Check()
		})
	}
	return s.emitTable(c.Out, p.heads(), func(to data.Writer) error {
		if err := p.writeTable(s, to); err != nil {
			return err
		}
		return s.store.Check()
	})
}

// read takes out of the table the columns that are passed through or compared, and chooses others.
func (c *predictCommand) read(s *session, m *modelFile, in *input) (passed ids, err error) {
	sequence, own := c.sequence(m), c.own(m)
	if len(c.ID) == 0 { // those of the fit
		c.ID = slices.DeleteFunc(slices.Clone(m.Settings.ID),
			func(name string) bool { return !slices.Contains(in.Names, name) })
	}
	if passed, err = in.passThrough(c.ID); err != nil {
		return passed, err
	}
	if err := in.takeLabels(c.Label); err != nil {
		return passed, err
	}
	switch {
	case sequence != "" && (slices.Contains(c.Drop, sequence) || slices.Contains(c.Select, sequence)):
		return passed, misused("column %q says which sequence a row belongs to: it cannot be selected or dropped", sequence)
	case c.Sequence == "" && sequence != "" && !slices.Contains(in.Names, sequence):
		s.note("%s has no column %.60q, by which the model was fitted to sequences: its rows are treated as one sequence",
			in.name, sequence)
	default:
		if err := in.takeSequences(sequence); err != nil {
			return passed, err
		}
	}
	if own = slices.DeleteFunc(own, func(name string) bool { return !slices.Contains(in.Names, name) }); len(own) > 0 {
		if in.Table, err = in.Table.Drop(own...); err != nil {
			return passed, in.wrap(err)
		}
		if slices.Contains(own, in.label) {
			in.label = ""
		}
	}
	if slices.Contains(namesOf(m.Columns), in.label) {
		in.label = "" // to the model, a column like others
	}
	unlabelled, err := c.choose(in)
	if err != nil {
		return passed, err
	}
	if unlabelled {
		s.note("1 column of %s left out, as not in the model (--id passes columns through): %q", in.name, in.label)
	}
	return passed, nil
}

// checkColumns refuses --id and --label that cannot be.
func (c *predictCommand) checkColumns(m *modelFile, names []string) error {
	for i, id := range c.ID {
		switch {
		case slices.Contains(c.ID[:i], id):
			return misused("--id names column %q twice", id)
		case id == rowHead || slices.Contains(m.layout.Names(), id):
			return misused("--id would add a second column named %q to the predictions", id)
		}
	}
	if slices.Contains(names, c.Label) {
		return misused("--label: column %q is one of the model's", c.Label)
	}
	return m.kind.checkLabel(m.Model, c.Label)
}

// printAgreement keeps out of the way of the predictions.
func (c *predictCommand) printAgreement(s *session, a *agreementTable) error {
	p := s.page()
	p.Line("%s: %s", a.fact()[0], a.fact()[1])
	a.print(p)
	w := s.stderr
	if c.Out != "" && c.Out != "-" {
		w = s.stdout
	}
	_, err := w.Write(p.Bytes())
	return err
}

// ids are columns that are passed through, as texts.
type ids struct {
	names []string
	cells []func(row int) string // of every row of the table
}

// passThrough keeps columns of the table, which stays as it is.
func (in *input) passThrough(names []string) (list ids, err error) {
	list.names = names
	for _, name := range names {
		cell := func(int) string { return "" }
		if !in.Empty(name) || !slices.Contains(in.Names, name) {
			t := in.Table
			if slices.Contains(in.dates.Names, name) {
				t = in.written
			}
			if _, err := t.Select(name); err != nil {
				return list, in.wrap(fmt.Errorf("--id: %w", err))
			}
			if t.Codes(name) == nil {
				list.cells = append(list.cells, digitsOf(t, slices.Index(t.Names, name)))
				continue
			}
			levels, codes := t.Levels(name), t.Codes(name)
			cell = func(row int) string {
				if codes[row] < 0 {
					return ""
				}
				return levels[codes[row]]
			}
		}
		list.cells = append(list.cells, cell)
	}
	return list, nil
}

// digitsOf are the numbers of a column as texts, whole ones in all their digits.
func digitsOf(t *data.Table, column int) func(row int) string {
	return func(row int) string {
		switch v := t.Number(row, column); {
		case v != v:
			return ""
		case v == math.Trunc(v) && math.Abs(v) < 1e15:
			return strconv.FormatFloat(v, 'f', -1, 64)
		default:
			return strconv.FormatFloat(v, 'g', -1, 64)
		}
	}
}

// match keeps the model's columns, in the order in which the table has them, and returns
// where each column of the model is. Names decide when the table has all of the
// model's. Otherwise, where either side has made-up names, the places do; and where both
// have, there must be as many.
func (in *input) match(s *session, names []string) (order []int, err error) {
	missing := without(names, setOf(in.Names))
	all := slices.Concat(in.Names, in.unread)
	made, differ := generated(names), in.Cols() != len(names)
	switch {
	case len(missing) > 0 && !made && !in.unnamed:
		return nil, fmt.Errorf("columns of the model are missing in the data: %s; the data have %s",
			quoted(missing), quoted(all))
	case len(missing) > 0 && differ:
		return nil, fmt.Errorf("the data have %d columns and the model %d; by name, these are missing: %s (--select "+
			"or --drop leaves as many)", in.Cols(), len(names), quoted(missing))
	case made && in.unnamed && differ:
		return nil, fmt.Errorf("the data have %d columns and the model %d; neither has names to go by: choose "+
			"columns with --select or --drop", in.Cols(), len(names))
	case len(missing) > 0:
		s.note("the columns of %s are matched by their places: %s are %s of the model", in.name,
			quoted(in.Names), quoted(names))
		names = in.Names
	}
	asked := setOf(names)
	extra := without(all, asked)
	if len(extra) > 0 {
		s.note("%s of %s left out, as not in the model (--id passes columns through): %s",
			counted(len(extra), "column"), in.name, quoted(extra))
	}
	kept := without(in.Names, setOf(extra))
	at := make(map[string]int, len(kept))
	for j, name := range kept {
		at[name] = j
	}
	for _, name := range names {
		order = append(order, at[name])
	}
	in.asked = true
	in.Table, err = in.Table.Select(kept...)
	return order, err
}

// lacks says whether the table has names, and none of those of the columns.
func (in *input) lacks(columns []data.Column) bool {
	return !in.unnamed && len(without(in.Names, setOf(namesOf(columns)))) == in.Cols()
}

func setOf(names []string) map[string]bool {
	set := make(map[string]bool, len(names))
	for _, name := range names {
		set[name] = true
	}
	return set
}

// without are the names that are not in the set.
func without(names []string, set map[string]bool) (rest []string) {
	for _, name := range names {
		if !set[name] {
			rest = append(rest, name)
		}
	}
	return rest
}

// generated says whether names are V1, V2, …, which package data gives to columns
// without one.
func generated(names []string) bool {
	for j, name := range names {
		if name != "V"+strconv.Itoa(j+1) {
			return false
		}
	}
	return true
}

package command

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/fitted/drift"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

type predictCommand struct {
	Data           string `group:"table" brief:"Table: a CSV, NPY, Parquet or Arrow file, - for standard input, or an embedded data set." required:"" placeholder:"FILE|NAME" help:"CSV, NPY (also gzipped), Parquet or Arrow file, or a pattern such as 'part-*.csv' of files that are one table; - for standard input; or an embedded data set, see latent datasets."`
	tables.Options `group:"table"`
	Unseen         string   `group:"table" default:"error" enum:"error,missing" help:"Levels of categorical columns that the model has not seen: error rejects them, missing reads them as missing values."`
	Saved          string   `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	ID             []string `group:"table" brief:"Pass these columns through, before the predictions. Default: those of the fit." name:"id" placeholder:"COL" help:"Pass these columns through, as texts and before the predictions: names and numbers of rows, say. They need not be in the model. Default: those of the fit, where the data have them."`
	Sequence       string   `group:"table" placeholder:"COL" help:"hmm and lds: the column that says which sequence a row belongs to. Default: the one of the fit, where the data have it; else the table is one sequence."`
	Forecast       *int     `group:"output" brief:"hmm and lds: predict this many further steps." placeholder:"STEPS" range:"[0,inf)" help:"hmm and lds: predict this many steps after each sequence instead of its own steps: probabilities of the states, means and standard deviations of the columns, and probabilities of the levels of categorical ones."`
	Label          string   `group:"table" brief:"Known classes of the rows, compared with the components." placeholder:"COL" help:"Known classes of the rows (mixtures, hmm): compare components to this column by the adjusted Rand index and a cross-table, in JSON, on standard output where --out names a file, or else on standard error."`
	Fill           bool     `group:"output" brief:"Write the rows with their missing entries filled in." help:"Write the rows with their missing entries filled in by their means given the others, codes by the most probable one, instead of predictions (mixtures and hmm, except structures without gaps, factor, features). Other cells stay as they are."`
	Draws          *int     `group:"output" brief:"With --fill: draw the missing entries this many times." placeholder:"M" range:"[1,100000]" help:"With --fill: draw the missing entries given the others, and write each row M times, with the number of the draw in the column draw: M completed tables (multiple imputation)."`
	Seed           uint64   `group:"output" default:"1" help:"Seed of --draws."`
	Out            string   `group:"output" brief:"File to write, .csv or .parquet. Default: standard output." placeholder:"FILE" help:"File to write: Parquet where its name ends in .parquet. Default, and -: standard output."`
	Format         string   `group:"output" brief:"Output: csv or json." default:"csv" enum:"csv,json" help:"Output: csv or json."`
	Report         string   `group:"output" brief:"Write DIR/index.html, which compares the rows with those of the fit." placeholder:"DIR" help:"Write DIR/index.html, which compares the rows with those of the fit: components then and now, how likely the rows are, which columns moved, and rows that the model does not expect."`
	Fail           bool     `group:"output" brief:"Exit status 3 where the rows are unlike those of the fit." name:"fail-on-drift" help:"End with exit status 3 where the rows are unlike those of the fit, as --report says it; the predictions, and the report, are written all the same."`

	rng   *rand.Rand   // of --draws
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
	c.AsFitted(m.Settings.Spelt)
	if err := cmp.Or(c.checkSequences(m), c.checkFormat()); err != nil {
		return err
	}
	if err := c.checkFill(m); err != nil {
		return err
	}
	if err := c.compare(s, m); err != nil {
		return err
	}
	if lists, is := m.saved.Model.(fitted.ListScorer); is {
		return c.scoreList(s, m, lists)
	}
	if m.layout.Note != "" {
		s.Note("%s: %s", c.Saved, m.layout.Note)
	}
	gaps, err := c.Missings(!m.input.Gaps)
	if err != nil {
		return err
	}
	if err := s.checkWritten(c.inputFiles(), c.out()); err != nil {
		return err
	}
	if m.kind.Pairs {
		p, err := c.readPairs(s.Session, m)
		if err != nil {
			return err
		}
		return c.emit(s, p)
	}
	if err := c.checkColumns(m, namesOf(m.Columns)); err != nil {
		return err
	}
	next, stop := c.inputs(s.Session, m)
	defer stop()
	p, err := c.next(s.Session, m, gaps, next)
	if err != nil {
		return err
	}
	if c.Forecast != nil {
		return c.forecast(s, m, p)
	}
	total := p.in.Tally
	if total != nil {
		quiet := s.Quietly() // what is to be noted of the columns, the first rows have shown
		p.following = func() (*prediction, error) { return c.next(quiet, m, gaps, next) }
	}
	if err := c.emit(s, p); err != nil {
		return err
	}
	if total != nil {
		total.Note(s.Session, p.in, c.NA)
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
func (c *predictCommand) report(s *session, in *tables.Input) error {
	if c.drift == nil {
		return nil
	}
	found := c.drift.Find(s.Notes)
	if c.Report != "" {
		page := c.drift.Document(isolated(in.Title()), filepath.Base(c.Saved), found)
		page.Sections[0].Warnings = in.Shortened(found.Warnings)
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
			"expected %s", in.Name, c.Saved, report.Nats(float64(found.LogLik)), report.Nats(float64(found.Expected)))}
	}
	return nil
}

// A driftError says that rows are unlike those of the fit; results are written.
type driftError struct{ error }

// inputs are the table: some rows after others, or all rows at once where what is written is not one row after another.
// Numbers of those lie in the store.
func (c *predictCommand) inputs(s *tables.Session, m *modelFile) (next func() (*tables.Input, error), stop func()) {
	reading := tables.AsText(tables.Reading(m.Columns), c.own(m)...)
	if c.Fill {
		reading = c.AsWritten(reading)
	}
	c.Want(c.columnsOf(m))
	if !m.input.Sequence && c.Label == "" && c.Format == "csv" {
		status := s.Line()
		if c.Out == "" || c.Out == "-" { // the terminal may have the rows
			status.Hide()
		}
		return c.OpenBlocks(s, c.Data, reading, status)
	}
	read := false
	return func() (*tables.Input, error) {
		if read {
			return nil, nil
		}
		read = true
		return c.Open(s, c.Data, reading)
	}, func() {}
}

// columnsOf says which columns have to be read, where the model's are found by their names; nil: all.
func (c *predictCommand) columnsOf(m *modelFile) func(name string) bool {
	if names := namesOf(m.Columns); !tables.Generated(names) {
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
func (c *predictCommand) next(s *tables.Session, m *modelFile, gaps string,
	next func() (*tables.Input, error)) (*prediction, error) {
	var last *tables.Input
	for {
		in, err := next()
		if err != nil {
			return nil, err
		}
		if in == nil {
			if last != nil && last.Tally.None() {
				err = last.NoneLeft()
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
func (c *predictCommand) prediction(s *tables.Session, m *modelFile, gaps string, in *tables.Input) (p *prediction,
	err error) {
	p = &prediction{drift: c.drift, in: in, first: in.Origin(0), layout: m.layout, score: m.score}
	if p.ids, err = c.read(s, m, in); err != nil {
		return nil, err
	}
	columns := m.Columns
	own := len(m.Columns) - m.input.Given
	if gate, is := m.saved.Model.(fitted.Prior); is && !c.Fill && in.Lacks(m.Columns[:own]) {
		s.Note("%s has no column of the components, whose probabilities are then those of the gate", in.Name)
		prior, err := gate.NewPriorScorer()
		if err != nil {
			return nil, err
		}
		columns, p.score = m.Columns[own:], m.scoreBy(prior)
	} else if (m.input.Optional > 0 || m.input.Known > 0) && !in.Unnamed {
		if columns, p.wide = m.present(in); len(columns) < len(m.Columns) {
			p.score = func(b blocks.Rows) ([]float64, error) { return m.score(p.widened(b)) }
		}
	}
	p.columns = namesOf(columns)
	if known := m.input.Known; known > 0 {
		in.ClassColumn = m.Columns[known-1].Name
	}
	if lacking := p.lacking(m); c.drift != nil && len(lacking) > 0 {
		return nil, in.Wrap(misused("--report compares rows with those of the fit, and needs all columns of the model: %s",
			quoted(lacking)))
	}
	order, err := in.Match(s, p.columns)
	if err != nil {
		return nil, in.Wrap(err)
	}
	if c.Fill {
		if p.fill, err = c.filling(m, in, columns, order); err != nil {
			return nil, err
		}
		p.ids.Names, p.ids.Cells = append(p.ids.Names, p.fill.Names...), append(p.ids.Cells, p.fill.Cells...)
	}
	before := in.Table
	if err := in.Recode(columns, order, c.Unseen == "missing"); err != nil {
		if level, is := errors.AsType[tables.LevelError](err); is {
			err = fmt.Errorf("%w (--unseen missing takes it for a missing value)", level)
		}
		return nil, in.Wrap(err)
	}
	c.NoteNA(s, in)
	if c.Unseen == "missing" {
		in.NoteUnseen(s, before)
	}
	if err := in.Complete(s, gaps); err != nil {
		return nil, err
	}
	if p.errors = in.Renderer(); in.Rows() == 0 {
		return p, nil
	}
	if err := p.take(s, m, order, gaps); err != nil {
		return nil, err
	}
	if c.Fill {
		p.layout = fitted.Layout{List: "filled", Items: slices.Repeat(p.columns, max(1, p.fill.draws))}
		p.score = func(b blocks.Rows) ([]float64, error) { return p.fill.table(p, b) }
	}
	p.errors.Columns, p.errors.Origin = namesOf(columns), p.origin
	if m.input.Optional > 0 || m.input.Known > 0 { // whose errors are about all columns
		p.errors.Columns = namesOf(m.Columns)
	}
	for j, place := range order {
		p.errors.Columns[slices.Index(p.errors.Columns, columns[j].Name)] = in.Names[place]
	}
	return p, nil
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
		return misused("%s compares rows with those of the fit: %s is %s model, which is not about rows", flag,
			c.Saved, wording.A(m.Model))
	case c.Forecast != nil || c.Fill:
		return misused("%s cannot be used with --forecast or --fill: it compares observed rows", flag)
	}
	if err := s.checkWritten(c.inputFiles(), c.out(), written{flag: "--report", path: c.Report, page: true}); err != nil {
		return err
	}
	c.drift, err = drift.New(m.saved)
	if errors.Is(err, fitted.ErrNoLikelihood) {
		return misused("%s needs the likelihood of rows, which %s model does not have", flag, wording.A(m.Model))
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

// present are the model's columns less those that it does without where the data lack them, and the place of each of
// all its columns among them, −1 where there is none.
func (m *modelFile) present(in *tables.Input) (columns []data.Column, places []int) {
	places = make([]int, len(m.Columns))
	for j, c := range m.Columns {
		if places[j] = -1; slices.Contains(in.Names, c.Name) || j >= m.input.Optional && j != m.input.Known-1 {
			places[j] = len(columns)
			columns = append(columns, c)
		}
	}
	return columns, places
}

// lacking are the columns of the model that the data lack, but for that of known classes, which are then not known.
func (p *prediction) lacking(m *modelFile) []string {
	names := namesOf(m.Columns)
	if known := m.input.Known; known > 0 {
		names = slices.Delete(names, known-1, known)
	}
	return without(names, setOf(p.columns))
}

// widened are rows with a missing value in each column that the data lack.
func (p *prediction) widened(b blocks.Rows) blocks.Rows {
	if len(p.wide) == len(p.columns) || p.wide == nil {
		return b
	}
	wide := blocks.Rows{First: b.First, N: b.N, D: len(p.wide), Stride: len(p.wide)}
	for i := range b.N {
		row := b.Row(i)
		for _, j := range p.wide {
			v := math.NaN()
			if j >= 0 {
				v = row[j]
			}
			wide.X = append(wide.X, v)
		}
	}
	return wide
}

// emit writes the predictions.
func (c *predictCommand) emit(s *session, p *prediction) error {
	if c.Format == "json" {
		return s.emit(c.Out, func(w io.Writer) error {
			if err := p.writeJSON(s, w); err != nil {
				return err
			}
			return s.Store.Check()
		})
	}
	return s.emitTable(c.Out, p.heads(), func(to data.Writer) error {
		if err := p.writeTable(s, to); err != nil {
			return err
		}
		return s.Store.Check()
	})
}

// read takes out of the table the columns that are passed through or compared, and chooses others.
func (c *predictCommand) read(s *tables.Session, m *modelFile, in *tables.Input) (passed tables.IDs, err error) {
	sequence, own := c.sequence(m), c.own(m)
	if len(c.ID) == 0 { // those of the fit
		c.ID = slices.DeleteFunc(slices.Clone(m.Settings.ID),
			func(name string) bool { return !slices.Contains(in.Names, name) })
	}
	if passed, err = in.PassThrough(c.ID); err != nil {
		return passed, err
	}
	if err := in.TakeLabels(c.Label); err != nil {
		return passed, err
	}
	switch {
	case sequence != "" && (slices.Contains(c.Drop, sequence) || slices.Contains(c.Select, sequence)):
		return passed, misused("column %q says which sequence a row belongs to: it cannot be selected or dropped", sequence)
	case c.Sequence == "" && sequence != "" && !slices.Contains(in.Names, sequence):
		s.Note("%s has no column %.60q, by which the model was fitted to sequences: its rows are treated as one sequence",
			in.Name, sequence)
	default:
		if err := in.TakeSequences(sequence); err != nil {
			return passed, err
		}
	}
	if own = slices.DeleteFunc(own, func(name string) bool { return !slices.Contains(in.Names, name) }); len(own) > 0 {
		if in.Table, err = in.Table.Drop(own...); err != nil {
			return passed, in.Wrap(err)
		}
		if slices.Contains(own, in.Label) {
			in.Label = ""
		}
	}
	if slices.Contains(namesOf(m.Columns), in.Label) {
		in.Label = "" // to the model, a column like others
	}
	unlabelled, err := c.Choose(in)
	if err != nil {
		return passed, err
	}
	if unlabelled {
		s.Note("1 column of %s left out, as not in the model (--id passes columns through): %q", in.Name, in.Label)
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
func (c *predictCommand) printAgreement(s *session, a *outcome.Agreement) error {
	p := s.page()
	p.Line("%s: %s", a.Fact()[0], a.Fact()[1])
	p.Section(a.Section())
	w := s.stderr
	if c.Out != "" && c.Out != "-" {
		w = s.stdout
	}
	_, err := w.Write(p.Bytes())
	return err
}

// readPairs reads a list of pairs of names, which come before what the model says of them.
func (c *predictCommand) readPairs(s *tables.Session, m *modelFile) (*prediction, error) {
	if len(c.ID) > 0 || c.Label != "" {
		return nil, misused("--id and --label cannot be used with %s, %s model: the predictions begin with the "+
			"names of each pair", c.Saved, wording.A(m.Model))
	}
	in, err := c.OpenPairs(s, c.Data, "")
	if err != nil {
		return nil, err
	}
	x := make([]float64, 2*in.Rows())
	for side, names := range in.Pairs.Names {
		coder := data.NewCoder(m.saved.Columns()[side].Levels)
		for row, at := range in.Pairs.Index[side] {
			code := coder.Code(names[at], '.')
			if code < 0 {
				return nil, in.Wrap(blocks.FaultyRow(row,
					"has the node %.60q, which is not in the graph that the model was fitted to: it has no block", names[at]))
			}
			x[2*row+side] = float64(code)
		}
	}
	p := &prediction{
		score:   m.score,
		layout:  m.layout,
		in:      in,
		x:       x,
		rows:    in.Rows(),
		columns: []string{"from", "to"},
		errors:  in.Renderer(),
	}
	p.ids.Names = p.columns
	for side, names := range in.Pairs.Names {
		p.ids.Cells = append(p.ids.Cells, func(row int) string { return names[in.Pairs.Index[side][row]] })
	}
	return p, nil
}

// scoreList writes what a model says of a list of pairs as a whole.
func (c *predictCommand) scoreList(s *session, m *modelFile, model fitted.ListScorer) error {
	if err := cmp.Or(m.kind.checkLabel(m.Model, c.Label), s.checkWritten(c.inputFiles(), c.out())); err != nil {
		return err
	}
	if len(c.ID) > 0 {
		return misused("--id cannot be used with %s model: its predictions begin with the names of the %s",
			wording.A(m.Model), m.Model)
	}
	in, err := c.OpenPairs(s.Session, c.Data, m.Settings.Weights)
	if err != nil {
		return err
	}
	said, err := model.ScoreList(s, in.Pairs)
	if err != nil {
		return in.Wrap(err)
	}
	in.NoteAll(s.Session, said.Notes)
	if c.Format == "json" {
		text, err := jsontext.Object(said.Fields, struct {
			Warnings []string `json:"warnings"`
		}{append([]string{}, s.Notes...)})
		return cmp.Or(err, s.emit(c.Out, func(w io.Writer) error { return writeJSON(w, json.RawMessage(text)) }))
	}
	if err := s.save(c.Out, said.Table); err != nil {
		return err
	}
	w := s.stderr
	if c.Out != "" && c.Out != "-" {
		w = s.stdout
	}
	_, err = fmt.Fprintln(w, said.About)
	return err
}

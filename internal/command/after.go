package command

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/jsontext"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/threestep"
)

type afterCommand struct {
	Saved          string `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	Data           string `group:"table" brief:"Table: a CSV, NPY, Parquet or Arrow file, - for standard input, or an embedded data set." required:"" placeholder:"FILE|NAME" help:"The table that the model was fitted to, with the further columns: as for latent predict."`
	tables.Options `group:"table"`
	Outcome        []string       `group:"table" placeholder:"COL" help:"Columns that may follow from the class: what they are in each class, and whether they are equal in all. Measurements (mean and standard deviation), counts (mean), or levels (shares)."`
	Covariates     []string       `group:"table" placeholder:"COL" help:"Columns that may say who is in which class: log odds of the classes against the first. Texts become indicators of all levels except the first."`
	Columns        columnFamilies `group:"table" placeholder:"COL=FAMILY,…" help:"What outcomes and covariates are: gaussian, poisson, bernoulli or categorical. Default: what their values look like."`
	Weights        string         `group:"table" placeholder:"COL" help:"Frequency weights of the rows. Default: those of the fit."`
	Sequence       string         `group:"table" placeholder:"COL" help:"hmm: as for latent predict."`
	Assignment     string         `default:"modal" enum:"modal,proportional" help:"Rows belong to their most probable class (modal) or to all classes in parts of their probabilities (proportional)."`
	Draws          int            `default:"100" placeholder:"N" range:"[0,inf)" help:"Models refitted to tables drawn from the model, which say how much the uncertainty about the classes adds to standard errors; 0: standard errors of the last step alone."`
	Seed           uint64         `default:"1" help:"Seed of the draws."`
	Format         string         `group:"output" default:"text" enum:"text,json" help:"Output: text or json."`
	Report         string         `group:"output" placeholder:"DIR" help:"Write DIR/index.html."`
}

// Run relates the classes of rows to columns that had no part in finding them.
func (c *afterCommand) Run(s *session) error {
	m, err := s.known.read(c.Saved)
	switch {
	case err != nil:
		return err
	case m.layout.List != "responsibilities":
		return misused("latent after needs classes of rows, which %s model does not have", wording.A(m.Model))
	case len(c.Outcome)+len(c.Covariates) == 0:
		return misused("latent after needs --outcome COL, --covariates COL, or both")
	}
	if err := s.checkWritten([]string{c.Data, c.Saved},
		written{flag: "--report", path: c.Report, page: true}); err != nil {
		return err
	}
	c.Weights = cmp.Or(c.Weights, m.Settings.Weights)
	named := slices.DeleteFunc(slices.Concat(c.Outcome, c.Covariates, []string{c.Weights}),
		func(name string) bool { return name == "" })
	asked := without(named, setOf(namesOf(m.Columns)))
	if own := without(named, setOf(asked)); len(own) > 0 {
		s.Note("%s found the classes by %s, which differ between them for that reason alone", c.Saved, quoted(own))
	}
	read := predictCommand{Data: c.Data, Options: c.Options, Saved: c.Saved, Sequence: c.Sequence, ID: asked}
	read.AsFitted(m.Settings.Spelt)
	gaps, err := read.Missings(!m.input.Gaps)
	if err = cmp.Or(err, read.checkSequences(m)); err != nil {
		return err
	}
	read.Want(read.columnsOf(m))
	in, err := read.Open(s.Session, c.Data, tables.Reading(m.Columns))
	if err != nil {
		return err
	}
	a, err := c.analysis(in, m)
	if err != nil {
		return in.Wrap(err)
	}
	kept := append(namesOf(m.Columns), asked...)
	if len(without(kept, setOf(in.Names))) == 0 { // others are of no use
		others := without(in.Names, setOf(append(kept, read.sequence(m))))
		if in.Table, err = in.Table.Drop(others...); err != nil {
			return in.Wrap(err)
		}
		in.Label = ""
	}
	p, err := read.prediction(s.Session, m, gaps, in)
	if err != nil {
		return err
	}
	if err := c.estimate(s, m, a, p); err != nil {
		return in.Wrap(faults.Rendered(in.Render(err)))
	}
	return c.write(s, in, a)
}

// analysis has the columns that are asked for.
func (c *afterCommand) analysis(in *tables.Input, m *modelFile) (*threestep.Analysis, error) {
	table := &data.Named{Table: in.Table}
	if c.Weights != "" {
		var err error
		if table.Weights, err = in.Column(c.Weights); err != nil {
			return nil, fmt.Errorf("--weights: %w", err)
		}
	}
	a, err := threestep.Read(table, c.Outcome, c.Covariates, c.Columns.Family)
	if err == nil {
		a.Part = cmp.Or(m.kind.Part, a.Part)
		a.How = map[string]threestep.Assignment{"proportional": threestep.Proportional}[c.Assignment]
	}
	return a, err
}

// estimate finds the classes of the rows that the model takes, and relates the columns to them.
func (c *afterCommand) estimate(s *session, m *modelFile, a *threestep.Analysis, p *prediction) error {
	if lacking := p.lacking(m); len(lacking) > 0 {
		return fmt.Errorf("latent after needs all columns of the model: %s", quoted(lacking))
	}
	rows := upTo(0, p.rows-1)
	for i := range rows {
		rows[i] = p.origin(i) - p.first
	}
	a.Keep(rows)
	var q []float64
	if err := p.blocks(s, func(part *prediction, _, n int, table []float64) error {
		for row := range slices.Chunk(table, len(table)/n) {
			q = append(q, row[len(part.layout.First):][:len(part.layout.Items)]...)
		}
		return nil
	}); err != nil {
		return err
	}
	if err := a.Estimate(s, q, len(m.layout.Items)); err != nil {
		return err
	}
	if m.input.Sequence {
		s.Note("standard errors take the steps of a sequence for independent, given their states")
	}
	why := errors.New("--draws is 0")
	if c.Draws > 0 {
		status := s.line()
		defer status.Close()
		r := fitted.Refitting{Rows: p.widened(p.block(0, p.rows)), Ends: p.ends, Options: bootstrap.Options{Draws: c.Draws,
			Seed: c.Seed, Fit: framework.Options{Tolerance: 1e-7}}}
		outcome.Watch(status, &r.Options, "standard errors")
		drawn, err := a.Refit(s, m.saved.Model, r)
		if err == nil {
			outcome.NewRefits(s.Session, p.in, r.Options, drawn.Outcome, "")
			return nil
		}
		why = cmp.Or(s.Err(), err)
	}
	if s.Err() == nil {
		s.Note("standard errors are those of the last step alone, as if the classes were known: %s", p.in.Render(why))
	}
	return s.Err()
}

// write shows the analysis.
func (c *afterCommand) write(s *session, in *tables.Input, a *threestep.Analysis) error {
	for _, warning := range a.Warnings {
		s.Note("%s", in.Render(warning))
	}
	lead := fmt.Sprintf("%s: %s of %s", in.Describe(0), counted(a.Classification.K, a.Part), filepath.Base(c.Saved))
	if c.Report != "" {
		if err := writePage(c.Report, a.Page(isolated(in.Title()), lead+".", s.Notes)); err != nil {
			return err
		}
	}
	if c.Format == "json" {
		text, err := jsontext.Object(a.Fields(), struct {
			Warnings []string `json:"warnings"`
		}{append([]string{}, s.Notes...)})
		if err != nil {
			return err
		}
		_, err = s.stdout.Write(append(text, '\n'))
		return err
	}
	page := s.page()
	page.Prose(0, "%s", lead)
	page.Paragraph(a.Finding())
	for _, one := range a.Sections() {
		page.Section(one)
	}
	return s.show(page)
}

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/fitted/goodness"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

type checkCommand struct {
	Data           string `group:"table" brief:"Table: that of the fit, or rows like it." required:"" placeholder:"FILE|NAME" help:"The table that the model was fitted to, or another one with its columns: a file, - for standard input, or an embedded data set, as latent predict takes it."`
	tables.Options `group:"table"`
	Saved          string `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	Sequence       string `group:"table" placeholder:"COL" help:"hmm and lds: the column that says which sequence a row belongs to. Default: the one of the fit, where the data have it."`
	Draws          int    `group:"search" default:"99" range:"[19,1000000]" placeholder:"B" help:"Tables that are drawn from the model. Default: 99."`
	Refit          *bool  `group:"search" negatable:"" help:"Fit the model to each of them, so that p-values take into account what the fit has adapted to; --no-refit does not. Default: mixtures and hmm where rows × columns × K are at most 20,000."`
	Seed           uint64 `group:"search" default:"1" help:"Seed of the draws."`
	Workers        int    `group:"search" default:"0" range:"[0,inf)" help:"Draws at a time; 0: one per processor. Results do not depend on it."`
	Format         string `group:"output" brief:"Output: text or json." default:"text" enum:"text,json" help:"Output: text or json."`
	Report         string `group:"output" brief:"Write DIR/index.html." placeholder:"DIR" help:"Write DIR/index.html: what was found, on a page."`
}

const (
	mostRefitted = 20_000 // rows × columns × K up to which draws are fitted by default
	refitStarts  = 3      // of fits that do not begin at the model
)

// Run says whether a saved model fits a table.
func (c *checkCommand) Run(s *session) error {
	m, err := s.known.read(c.Saved)
	if err != nil {
		return err
	}
	page := written{flag: "--report", path: c.Report, page: true}
	if err := s.checkWritten([]string{c.Data, c.Saved}, page); err != nil {
		return err
	}
	p, t, err := c.table(s, m)
	if err != nil {
		return err
	}
	o := goodness.Options{Draws: c.Draws, Seed: c.Seed, Workers: c.Workers, Free: float64(m.Df),
		Name: func(row int) string { return strconv.Itoa(p.origin(row) + 1) }}
	if valueOr(c.Refit, m.kind.Classes && p.rows*len(m.Columns)*max(1, m.K) <= mostRefitted) {
		o.Refit = func(ctx context.Context, drawn *fitted.Table) (fitted.Model, error) {
			return s.known.Refit(ctx, m.saved, drawn, framework.Options{Seed: c.Seed, Workers: 1, Restarts: refitStarts})
		}
	}
	status := s.Line()
	defer status.Close()
	o.Progress = status.Draws("tables", o.Draws)
	r, err := goodness.Check(s, m.saved.Model, t, o)
	if err != nil {
		return p.in.Wrap(outcome.Interrupted(cmp.Or(errors.Unwrap(err), err), nil)) // without the package's name
	}
	if c.Report != "" {
		lead := fmt.Sprintf("Whether the %s that %s holds fits %s.", m.Model, isolated(word(c.Saved)), counted(r.Rows, "row"))
		if err := writePage(c.Report, r.Document(isolated(p.in.Title()), lead)); err != nil {
			return err
		}
	}
	if c.Format == "json" {
		return writeJSON(s.stdout, r)
	}
	text := s.page()
	found := r.Describe()
	text.Paragraph(wording.ASCII(found.Finding.Text))
	for _, one := range found.Sections {
		text.Section(one)
	}
	for _, note := range r.Notes {
		s.Note("%s", note)
	}
	return s.show(text)
}

// table reads the rows with the columns of the model, and their weights where the fit had some.
func (c *checkCommand) table(s *session, m *modelFile) (*prediction, *fitted.Table, error) {
	read := predictCommand{Data: c.Data, Options: c.Options, Saved: c.Saved, Unseen: "error", Format: "json",
		Sequence: c.Sequence}
	read.AsFitted(m.Settings.Spelt)
	if err := read.checkSequences(m); err != nil {
		return nil, nil, err
	}
	if m.kind.Pairs {
		return nil, nil, misused("latent check requires a model of rows: %s is %s model", c.Saved, wording.A(m.Model))
	}
	gaps, err := read.Missings(!m.input.Gaps)
	if err != nil {
		return nil, nil, err
	}
	if m.Settings.Weights != "" { // passed through as texts
		m.Settings.ID = []string{m.Settings.Weights}
	}
	next, stop := read.inputs(s.Session, m)
	defer stop()
	p, err := read.next(s.Session, m, gaps, next)
	if err != nil {
		return nil, nil, err
	}
	if lacking := p.lacking(m); len(lacking) > 0 {
		return nil, nil, p.in.Wrap(fmt.Errorf("columns of the model are missing: %s", quoted(lacking)))
	}
	if m.Settings.Weights != "" {
		if len(p.ids.Cells) == 0 {
			return nil, nil, p.in.Wrap(fmt.Errorf("no column %.60q, which has the weights of the rows", m.Settings.Weights))
		}
		var row []string
		for i := range p.rows {
			row = p.appendIDs(row[:0], i)
			w, err := strconv.ParseFloat(row[0], 64)
			if err != nil {
				return nil, nil, p.in.Wrap(fmt.Errorf("the weight of row %d is %.40q: must be a number", p.origin(i)+1, row[0]))
			}
			p.in.Weights = append(p.in.Weights, w)
		}
	}
	b := p.widened(p.block(0, p.rows))
	t := &fitted.Table{Columns: m.Columns}
	if t.Rows, err = p.in.Weighted(b.X, b.N, b.D, nil); err == nil && m.input.Sequence {
		t.Sequences, err = p.in.AsSequences(t.Rows)
	}
	return p, t, p.in.Wrap(err)
}

package command

import (
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/crew"
	"github.com/latent-go/latent/internal/tables"
)

// A Decision is what the process that has read a whole table has found out about it. With it, others bind the model
// without reading the table, and each reads the rows of its own part of the passes.
type Decision struct {
	Columns        []data.Column
	Family, Method string
	Accelerate     bool
	Facts          *fitted.Facts
	Spelt          tables.Spelt
	Out            []int // rows that are left out, as they lack values
}

// open reads the table of one fit. Of a process that reads the rows of its part alone, the input is empty until the
// first process has decided.
func (f *fittingFlags) open(s *session, label string, one bool) (*tables.Input, error) {
	f.parts = one && (s.crew != nil || hostOf(s).Passes != nil) && f.divisible(s)
	if f.parts && !s.crew.Writes() {
		return &tables.Input{Named: data.Named{Table: new(data.Table)}, Name: f.source()}, nil
	}
	return f.load(s.Session, label)
}

// divisible reports whether processes can read the rows of their parts alone: rows of Parquet files, each by itself.
func (f *fittingFlags) divisible(s *session) bool {
	m := f.model()
	return !m.Pairs && !m.Sequences && s.Divisible(f.source())
}

// ready binds the model to the table, or to the rows of this process's part of it.
func (f *fittingFlags) ready(s *session, in *tables.Input) (t *task, err error) {
	if !f.parts {
		return f.bind(s.Session, in)
	}
	d, err := crew.FromFirst(s, s.crew, func() (d Decision, err error) {
		if t, err = f.bind(s.Session, in); err == nil {
			d = Decision{t.columns, f.Family, f.Method, f.Accelerate, t.Facts, f.Spelt(in, f.ID), in.Out()}
		}
		return d, err
	})
	if err != nil {
		return nil, err
	}
	if t == nil {
		return f.follow(s, in, d)
	}
	f.decided = &d
	return t, nil
}

// follow binds the model to rows that are read when they are asked for.
func (f *fittingFlags) follow(s *session, in *tables.Input, d Decision) (*task, error) {
	f.AsFitted(d.Spelt)
	f.Family, f.Method, f.byTable, f.Accelerate = d.Family, d.Method, false, d.Accelerate
	if f.facts = d.Facts; f.facts == nil || f.facts.Structures == nil {
		f.compared = nil
	}
	one, rows, err := f.Parts(s.Session, f.source(), d.Columns, f.Weights, d.Out)
	if err != nil {
		return nil, err
	}
	s.reading = rows
	*in = *one
	in.For = &f.modelFlags
	f.table = &fitted.Table{Columns: d.Columns, Rows: blocks.Read(rows, len(d.Columns)), Data: &in.Named}
	return f.bind(s.Session, in)
}

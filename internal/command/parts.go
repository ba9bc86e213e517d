package command

import (
	"errors"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
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
	Out            []int     // rows that are left out, as they lack values
	Ends           []int     // of sequences; nil: the model is none of sequences
	Weights        []float64 // of these; nil: all weigh 1
	Refused        string    // why the table has no such fit, of several that are compared; empty: it has
}

// parts are rows that are read when they are asked for, by fits one after the other to the same columns.
type parts struct {
	rows    *columnar.Rows
	in      tables.Input
	columns []data.Column
}

// readAlike reports whether the numbers of two columns are read in the same way, whatever family describes them.
func readAlike(a, b data.Column) bool { return a.Name == b.Name && slices.Equal(a.Levels, b.Levels) }

func (s *session) closeParts() error {
	if s.parts == nil {
		return nil
	}
	return s.parts.rows.Close()
}

// open reads the table. Of a process that reads the rows of its part alone, the input is empty until the first process
// has decided.
func (f *fittingFlags) open(s *session, label string) (*tables.Input, error) {
	f.parts = (s.crew != nil || hostOf(s).Passes != nil) && f.divisible(s)
	if f.parts && !s.crew.Writes() {
		return &tables.Input{Named: data.Named{Table: new(data.Table)}, Name: f.source()}, nil
	}
	return f.load(s.Session, label)
}

// divisible reports whether processes can read the rows of their parts alone: rows of Parquet files, each by itself.
func (f *fittingFlags) divisible(s *session) bool { return !f.model().Pairs && s.Divisible(f.source()) }

// decision is what was found out about the table.
func (f *fittingFlags) decision(in *tables.Input, t *task) (d Decision, err error) {
	d = Decision{Columns: t.columns, Family: f.Family, Method: f.Method, Accelerate: f.Accelerate, Facts: t.Facts,
		Spelt: f.Spelt(in, f.ID), Out: in.Out()}
	if f.model().Sequences {
		d.Ends = in.EndsOf(t.rows)
		d.Weights, err = in.SequenceWeights(t.rows)
	}
	return d, err
}

// ready binds the model to the table, or to the rows of this process's part of it. That the table has no such fit ends
// the command, and with it the other processes, unless the fit is one of several.
func (f *fittingFlags) ready(s *session, in *tables.Input) (t *task, err error) {
	if !f.parts {
		return f.bind(s.Session, in)
	}
	var refused error // here
	d, err := crew.FromFirst(s, s.crew, func() (d Decision, err error) {
		if t, err = f.bind(s.Session, in); err == nil {
			d, err = f.decision(in, t)
			f.decided = &d
		} else if f.rival != "" {
			d.Refused, refused, err = err.Error(), err, nil
		}
		return d, err
	})
	switch {
	case t != nil || err != nil:
	case refused != nil:
		err = refused
	case d.Refused != "":
		err = errors.New(d.Refused)
	default:
		return f.follow(s, in, d)
	}
	return t, err
}

// follow binds the model to rows that are read when they are asked for.
func (f *fittingFlags) follow(s *session, in *tables.Input, d Decision) (*task, error) {
	f.AsFitted(d.Spelt)
	f.Family, f.Method, f.byTable, f.Accelerate = d.Family, d.Method, false, d.Accelerate
	if f.facts = d.Facts; f.facts == nil || f.facts.Structures == nil {
		f.compared = nil
	}
	if p := s.parts; p == nil || !slices.EqualFunc(p.columns, d.Columns, readAlike) {
		err := s.closeParts()
		if s.parts = nil; err != nil { // closed once
			return nil, err
		}
		of := columnar.Options{Out: d.Out, Sequences: d.Ends}
		if d.Ends == nil {
			of.Weights = f.Weights
		}
		one, rows, err := f.Parts(s.Session, f.source(), d.Columns, of)
		if err != nil {
			return nil, err
		}
		s.parts = &parts{rows, *one, d.Columns}
	}
	*in = s.parts.in
	in.For = &f.modelFlags
	f.table = &fitted.Table{Columns: d.Columns, Rows: blocks.Read(s.parts.rows, len(d.Columns)), Data: &in.Named}
	if d.Ends != nil {
		var err error
		if f.table.Sequences, err = classes.SequencesOf(f.table.Rows, d.Ends, d.Weights); err != nil {
			return nil, err
		}
	}
	return f.bind(s.Session, in)
}

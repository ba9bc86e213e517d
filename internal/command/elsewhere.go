package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"sync/atomic"
	"time"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/memory"
	"github.com/latent-go/latent/internal/tables"
)

// A Job is what processes elsewhere open to make the passes of a command: see [Open].
type Job struct {
	Args []string // of the command
	// Candidate is the family whose fit this is, where the command compares several; empty: it does not
	Candidate string
	Data      string   // in place of --data, whatever folder a process is in
	Files     []string // that the rows are read from
	Rows      int
	// Decided is what was found out about the table, so that others read the rows of their parts alone; nil: they cannot
	Decided *Decision
}

// Passes makes passes elsewhere.
type Passes interface {
	fitted.Passes
	Close() error
}

// told are passes whose errors are not of the data, and that are counted.
type told struct {
	Passes
	made atomic.Int64
}

func (p *told) Make(ctx context.Context, state []byte, shards int) ([][]byte, error) {
	p.made.Add(1)
	parts, err := p.Passes.Make(ctx, state, shards)
	if err != nil {
		err = faults.ElsewhereError{Err: err}
	}
	return parts, err
}

// sendAway has the passes of a task made elsewhere where the host says so.
func (s *session) sendAway(f *fittingFlags, t *task) error {
	begin := hostOf(s).Passes
	if begin == nil {
		return nil
	}
	e, shares := t.Problem.(fitted.Sharer)
	if !shares || !e.Shared() {
		s.asideHere()
		return nil
	}
	j := Job{Args: s.args, Candidate: f.rival, Data: f.source(), Rows: e.Rows(), Decided: f.decided}
	src, err := s.Source(j.Data)
	if err != nil {
		return err
	}
	if _, embedded := data.Lookup(j.Data); !embedded && src == nil {
		if j.Data, err = filepath.Abs(j.Data); err != nil {
			return err
		}
		if j.Files, err = tables.FilesOf(j.Data); err != nil {
			return err
		}
	}
	passes, err := begin(s, j)
	if err != nil {
		return faults.ElsewhereError{Err: err}
	}
	s.passes = &told{Passes: passes}
	s.Context = fitted.WithPasses(s.Context, s.passes)
	return nil
}

func (s *session) asideHere() {
	const text = "the fit was computed by this process: it makes no passes over shards"
	if !slices.Contains(s.asides, text) { // of several
		s.aside(text)
	}
}

// closePasses gives back what passes elsewhere hold, and says where there were none: rows that repeat, or that a few
// sums stand for, are condensed by the driver.
func (s *session) closePasses() {
	if s.passes == nil {
		return
	}
	if s.passes.made.Load() == 0 {
		s.asideHere()
	}
	_ = s.passes.Close() // the result is written
	s.passes = nil
}

// Opened is what a process elsewhere has opened.
type Opened interface {
	fitted.Sharer
	io.Closer
}

// opened gives its rows back.
type opened struct {
	fitted.Sharer
	*session
}

// Close closes what rows are read from.
func (o opened) Close() error { return o.session.close() }

// Open opens the rows of a job and readies its model, one of those of the host, for shares of its passes.
func Open(ctx context.Context, h Host, j Job) (_ Opened, err error) {
	h.Group, h.Passes = nil, nil
	ctx = context.WithValue(ctx, surroundingsKey{}, &surroundings{host: h, now: time.Now})
	s := sessionOf(ctx, nil, io.Discard, io.Discard)
	if s.known, err = registryOf(h.Models); err != nil {
		return nil, err
	}
	var all commands
	parser, err := newParser(&all, s.known, s.name, j.Args, kong.Writers(io.Discard, io.Discard))
	if err != nil {
		return nil, err
	}
	command, err := parser.Parse(j.Args)
	if err != nil {
		return nil, err
	}
	s.Store = data.NewStore(int64(min(cmp.Or(float64(all.Memory), memory.Available())/2, math.MaxInt64/2)))
	defer func() {
		if p := recover(); p != nil {
			if err = unread(p); err == nil {
				panic(p)
			}
		}
		if err != nil {
			s.close() //nolint:errcheck // nothing is used of it
		}
	}()
	var t *task
	var in *tables.Input
	switch command.Selected().Name {
	case "fit":
		t, in, err = all.Fit.opened(s, j)
	case "select":
		t, in, err = all.Select.opened(s, j)
	default:
		err = fmt.Errorf("latent %s makes no passes", command.Selected().Name)
	}
	if err != nil && in != nil {
		err = tables.Explain(err, in)
	}
	if err != nil {
		return nil, err
	}
	if e, shares := t.Problem.(fitted.Sharer); shares && e.Shared() {
		return opened{e, s}, nil
	}
	return nil, errors.New("the model makes no passes over shards")
}

func (c *fitCommand) opened(s *session, j Job) (*task, *tables.Input, error) {
	c.Data = j.Data
	if err := c.check(s); err != nil {
		return nil, nil, err
	}
	return c.reopened(s, j, c.Label, cmp.Or(c.K, c.Kmax), 1)
}

func (c *selectCommand) opened(s *session, j Job) (*task, *tables.Input, error) {
	c.Data = j.Data
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	if j.Candidate != "" {
		c = c.of(j.Candidate)
	}
	return c.reopened(s, j, c.Label, c.Kmax, c.Kmin)
}

// reopened readies the model for the rows of a job.
func (f *fittingFlags) reopened(s *session, j Job, label string, kmax *int, least int) (
	t *task, in *tables.Input, err error) {
	if j.Decided != nil {
		in = new(tables.Input)
		t, err = f.follow(s, in, *j.Decided)
		return t, in, err
	}
	if in, err = f.load(s.Session, label); err == nil {
		t, _, err = f.setup(s, in, kmax, least)
	}
	return t, in, err
}

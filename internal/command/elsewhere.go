package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
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
	Args  []string // of the command
	Data  string   // in place of --data, whatever folder a process is in
	Files []string // that the rows are read from
	Rows  int
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
	j := Job{Args: s.args, Data: f.source(), Rows: e.Rows()}
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
	s.aside("the fit was computed by this process: it makes no passes over shards")
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
	*data.Store
}

// Open opens the rows of a job and readies its model, one of those of the host, for shares of its passes.
func Open(ctx context.Context, h Host, j Job) (Opened, error) {
	h.Group, h.Passes = nil, nil
	ctx = context.WithValue(ctx, surroundingsKey{}, &surroundings{host: h, now: time.Now})
	s := sessionOf(ctx, nil, io.Discard, io.Discard)
	var err error
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
	var t *task
	var in *tables.Input
	switch command.Selected().Name {
	case "fit":
		t, in, err = all.Fit.opened(s, j.Data)
	case "select":
		t, in, err = all.Select.opened(s, j.Data)
	default:
		err = fmt.Errorf("latent %s makes no passes", command.Selected().Name)
	}
	if err != nil && in != nil {
		err = tables.Explain(err, in)
	}
	if err == nil {
		if e, shares := t.Problem.(fitted.Sharer); shares && e.Shared() {
			return opened{e, s.Store}, nil
		}
		err = errors.New("the model makes no passes over shards")
	}
	s.Store.Close() //nolint:errcheck // nothing is used of it
	return nil, err
}

func (c *fitCommand) opened(s *session, source string) (*task, *tables.Input, error) {
	c.Data = source
	if err := c.check(s); err != nil {
		return nil, nil, err
	}
	in, err := c.load(s.Session, c.Label)
	if err != nil {
		return nil, nil, err
	}
	t, _, err := c.setup(s, in, cmp.Or(c.K, c.Kmax), 1)
	return t, in, err
}

func (c *selectCommand) opened(s *session, source string) (*task, *tables.Input, error) {
	c.Data = source
	if err := c.check(); err != nil {
		return nil, nil, err
	}
	in, err := c.load(s.Session, "")
	if err != nil {
		return nil, nil, err
	}
	t, _, err := c.setup(s, in, c.Kmax, c.Kmin)
	return t, in, err
}

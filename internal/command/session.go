package command

import (
	"context"
	"io"
	"time"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/crew"
	"github.com/latent-go/latent/internal/tables"
)

// A Host is that of the public package, whose Models are set.
type Host struct {
	Name    string
	Models  fitted.Registry
	Sources map[string]tables.Source
	Group   framework.Group
	Local   int
	Passes  func(ctx context.Context, j Job) (Passes, error)
}

// Run runs the command with its arguments, and returns the exit status.
func Run(ctx context.Context, h Host, args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	return run(context.WithValue(ctx, surroundingsKey{}, &surroundings{host: h, now: time.Now}), args, stdin, stdout,
		stderr)
}

func (h Host) name() string {
	if h.Name == "" {
		return "latent"
	}
	return h.Name
}

// hostOf is the host of a command.
func hostOf(ctx context.Context) Host {
	if around, ok := ctx.Value(surroundingsKey{}).(*surroundings); ok {
		return around.host
	}
	return Host{}
}

// crewOf is that of the host, nil where it is one process.
func crewOf(h Host) *crew.Crew { return crew.Of(h.Group, h.Local) }

// takesPart says whether this process runs a command: what makes no fit together, the first one does alone.
func (s *session) takesPart(command string) bool {
	return s.crew.Writes() || command == "fit" || command == "select"
}

// sessionOf is the session of a command with its surroundings. What all but the first of its processes print, nobody
// reads.
func sessionOf(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) *session {
	host := hostOf(ctx)
	s := &session{Session: &tables.Session{Context: ctx, Stdin: stdin, Sources: host.Sources}, stdout: stdout,
		stderr: stderr, complains: stderr,
		name: host.name(), crew: crewOf(host)}
	s.Session.Line = s.line
	if !s.crew.Writes() {
		s.stdout, s.stderr = io.Discard, io.Discard
	}
	return s
}

// complete is where a fit is over and nothing is written yet: its files are as they were, for every process.
func (s *session) complete() error {
	if err := s.Store.Check(); err != nil {
		return err
	}
	return s.crew.Agree(s)
}

// shares refuses what processes, or the workers of a cluster, cannot share.
func (s *session) shares(source, from string, draws *int, online int) error {
	elsewhere := hostOf(s).Passes != nil
	processes := 1
	if s.crew != nil {
		_, processes = s.crew.Rank()
	}
	switch {
	case elsewhere && source == "-":
		return misused("--data -: the workers of a cluster cannot read the standard input of this process: name a file")
	case elsewhere && from != "":
		return misused("--from %s: the workers of a cluster do not have it: fit without it, or by latent", from)
	case elsewhere && draws != nil:
		return misused("--bootstrap fits tables that workers of a cluster do not have: fit without it, or by latent")
	case online > 0 && (elsewhere || s.crew != nil):
		return misused("--online %d: mini-batches follow one another, and processes cannot share them: fit without it, or "+
			"in one process", online)
	case s.crew == nil:
		return nil
	case source == "-":
		return misused("--data -: one process alone can read standard input, and %d share the fit: name a file",
			processes)
	case draws != nil:
		return misused("%d processes cannot share --bootstrap: fit without it, or in one process",
			processes)
	}
	return nil
}

// group is what fits share their passes with, nil for nothing.
func (s *session) group() framework.Group {
	if s.crew == nil {
		return nil
	}
	return s.crew
}

package command

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/tables"
)

// A Host is what a program that runs the command sets; without a group and passes it is one process.
type Host struct {
	Name   string          // of the program in its messages; empty: latent
	Models fitted.Registry // the default of --model first
	Group  framework.Group // processes that run the command together, with the same arguments; nil: one process alone
	// Passes readies passes that are made elsewhere, such as by a cluster; nil: here. Not with a Group.
	Passes func(ctx context.Context, j Job) (Passes, error)
	Local  int // how many of them, with this one, share the memory of this machine; at least 1 with a Group
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

// A crew is the processes of a group during one command: all of them read the data and share the passes of its fits,
// and the first one alone writes. Where one of them ends with an error, the others hear of it at their next exchange,
// whatever it is about. A nil crew is one process.
type crew struct {
	group             framework.Group
	rank, size, local int
	over              error // what ended the exchanges
	lost              bool  // and the others may not know it
}

// What processes exchange, by the first byte of a message.
const (
	ofPass = iota // of a fit, by package framework
	ofStep        // of the command
	ofEnd         // of the command: its status and the error
)

var purposes = [...]string{ofPass: "a pass", ofStep: "a step of the command", ofEnd: "the end of the command"}

// crewOf is that of the host, nil where it is one process.
func crewOf(h Host) *crew {
	if h.Group == nil {
		return nil
	}
	rank, size := h.Group.Rank()
	if size == 1 {
		return nil
	}
	return &crew{group: h.Group, rank: rank, size: size, local: max(1, h.Local)}
}

// hostOf is the host of a command.
func hostOf(ctx context.Context) Host {
	if around, ok := ctx.Value(surroundingsKey{}).(*surroundings); ok {
		return around.host
	}
	return Host{}
}

// writes says whether results, files and messages are this process's to write.
func (c *crew) writes() bool { return c == nil || c.rank == 0 }

// Rank is which of the processes this is, and of how many.
func (c *crew) Rank() (rank, size int) { return c.rank, c.size }

// Gather exchanges messages of a fit.
func (c *crew) Gather(ctx context.Context, mine []byte) ([][]byte, error) {
	return c.exchange(ctx, ofPass, mine)
}

// A toldError is that of another process.
type toldError struct {
	text   string
	status int
	kind   byte
}

func (e toldError) Error() string { return e.text }

// How a command ends.
const (
	endsWell = iota
	endsInterrupted
	endsInError
)

// endOf is how a command ends with an error.
func endOf(err error) byte {
	told, isTold := errors.AsType[toldError](err)
	switch {
	case err == nil:
		return endsWell
	case isTold:
		return told.kind
	case errors.Is(err, errOutOfMemory):
		return endsInError
	case errors.Is(err, faults.ErrInterrupted), errors.Is(err, context.Canceled):
		return endsInterrupted
	}
	return endsInError
}

// exchange returns the messages of all, or the error of one that has come to its end.
func (c *crew) exchange(ctx context.Context, purpose byte, mine []byte) ([][]byte, error) {
	if c.over != nil {
		return nil, c.over
	}
	all, err := c.group.Gather(ctx, append([]byte{purpose}, mine...))
	if err == nil && (len(all) != c.size || slices.ContainsFunc(all, func(m []byte) bool { return len(m) == 0 })) {
		err = errors.New("a message is missing")
	}
	if err != nil {
		c.lost = true
		c.over = faults.ElsewhereError{Err: fmt.Errorf("process %d of %d: %w", c.rank, c.size, err)}
		return nil, c.over
	}
	if told := c.endings(all); told != nil {
		c.over = *told
		return nil, c.over
	}
	for rank, m := range all {
		if m[0] != purpose {
			c.over = faults.ElsewhereError{Err: fmt.Errorf("process %d is at %s, and process %d at %s: their data or "+
				"options differ",
				c.rank, purposes[purpose], rank, purposes[min(m[0], ofEnd)])}
			return nil, c.over
		}
		all[rank] = m[1:]
	}
	return all, nil
}

// endings finds the error with which another process has come to its end: the first one, if all that there is are
// interrupts.
func (c *crew) endings(all [][]byte) (worst *toldError) {
	for rank, m := range all {
		if rank == c.rank || m[0] != ofEnd || len(m) < 3 || m[2] == endsWell || worst != nil && worst.kind >= m[2] {
			continue
		}
		worst = &toldError{fmt.Sprintf("process %d: %s", rank, m[3:]), int(m[1]), m[2]}
	}
	return worst
}

// agree waits until all processes have come as far, before one of them writes.
func (c *crew) agree(ctx context.Context) error {
	if c == nil {
		return nil
	}
	_, err := c.exchange(ctx, ofStep, nil)
	return err
}

// meet refuses processes with other arguments than the first has.
func (c *crew) meet(ctx context.Context, args []string) error {
	if c == nil {
		return nil
	}
	mine := strings.Join(args, "\x00")
	all, err := c.exchange(ctx, ofStep, []byte(mine))
	if err != nil {
		return err
	}
	for rank, theirs := range all {
		if !bytes.Equal(theirs, all[0]) {
			c.over = misused("process %d was started with other arguments than process 0: give all of them the same", rank)
			return c.over
		}
	}
	return nil
}

// fromFirst gives all processes what the first one has, or has failed to find.
func fromFirst[T any](ctx context.Context, c *crew, find func() (T, error)) (T, error) {
	if c == nil {
		return find()
	}
	var mine bytes.Buffer
	var found T
	var err error
	if c.rank == 0 {
		if found, err = find(); err == nil {
			err = gob.NewEncoder(&mine).Encode(&found)
		}
		if err != nil {
			return found, err // it is told at the end of the command, to which this leads
		}
	}
	all, err := c.exchange(ctx, ofStep, mine.Bytes())
	if err == nil && c.rank > 0 {
		err = gob.NewDecoder(bytes.NewReader(all[0])).Decode(&found)
	}
	return found, err
}

// end tells the others how the command ends, and returns the error that it ends with for all of them.
func (c *crew) end(ctx context.Context, err error) error {
	if c == nil {
		return err
	}
	if c.over != nil {
		if told, isTold := errors.AsType[toldError](c.over); isTold && told.kind == endsInError { // err, if any, came of it
			return told
		}
		return err
	}
	message := []byte{byte(statusOf(err)), endOf(err)}
	if err != nil {
		message = append(message, oneLine(err)...)
	}
	_, theirs := c.exchange(ctx, ofEnd, message)
	switch {
	case err == nil:
		return theirs
	case endOf(err) == endsInterrupted && endOf(theirs) == endsInError: // which is why it was interrupted
		return fmt.Errorf("%w: %w", theirs, err)
	}
	return err
}

// speaks says whether an error is this process's to print: one that the first process cannot know is any's.
func (c *crew) speaks() bool { return c.writes() || c.lost }

// neighbours is how many processes share the memory of this machine.
func (c *crew) neighbours() int {
	if c == nil {
		return 1
	}
	return c.local
}

// takesPart says whether this process runs a command: what makes no fit together, the first one does alone.
func (c *crew) takesPart(command string) bool {
	return c.writes() || command == "fit" || command == "select"
}

// sessionOf is the session of a command with its surroundings. What all but the first of its processes print, nobody
// reads.
func sessionOf(ctx context.Context, stdin io.Reader, stdout, stderr io.Writer) *session {
	host := hostOf(ctx)
	s := &session{Session: &tables.Session{Context: ctx, Stdin: stdin}, stdout: stdout, stderr: stderr, complains: stderr,
		name: host.name(), crew: crewOf(host)}
	s.Session.Line = s.line
	if !s.crew.writes() {
		s.stdout, s.stderr = io.Discard, io.Discard
	}
	return s
}

// complete is where a fit is over and nothing is written yet: its files are as they were, for every process.
func (s *session) complete() error {
	if err := s.Store.Check(); err != nil {
		return err
	}
	return s.crew.agree(s)
}

// shares refuses what processes, or the workers of a cluster, cannot share.
func (s *session) shares(source string, draws *int) error {
	elsewhere := hostOf(s).Passes != nil
	switch {
	case elsewhere && source == "-":
		return misused("--data -: the workers of a cluster cannot read the standard input of this process: name a file")
	case elsewhere && draws != nil:
		return misused("--bootstrap fits tables that workers of a cluster do not have: fit without it, or by latent")
	case s.crew == nil:
		return nil
	case source == "-":
		return misused("--data -: one process alone can read standard input, and %d share the fit: name a file",
			s.crew.size)
	case draws != nil:
		return misused("%d processes cannot share --bootstrap: fit without it, or in one process",
			s.crew.size)
	}
	return nil
}

// noteIdle notes that processes have no part in the passes of a fit.
func (c *crew) noteIdle(s *session, shards int) {
	if c != nil && c.size > shards {
		s.aside("%d of %d processes have no part in the fit: --shards %d gives each one a part", c.size-shards, c.size,
			c.size)
	}
}

// group is what fits share their passes with, nil for nothing.
func (s *session) group() framework.Group {
	if s.crew == nil {
		return nil
	}
	return s.crew
}

// Package crew is the processes that run one command together, each with the same arguments: what one has read or found
// wrong, the others hear of.
package crew

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/faults"
)

// A Crew is the processes of a group during one command: all of them read the data and share the passes of its fits,
// and the first one alone writes. Where one of them ends with an error, the others hear of it at their next exchange,
// whatever it is about. A nil crew is one process.
type Crew struct {
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

// Of is that of a group, so many of whose processes share the memory of this machine; nil where it is one process.
func Of(group framework.Group, local int) *Crew {
	if group == nil {
		return nil
	}
	rank, size := group.Rank()
	if size == 1 {
		return nil
	}
	return &Crew{group: group, rank: rank, size: size, local: max(1, local)}
}

// Writes says whether results, files and messages are this process's to write.
func (c *Crew) Writes() bool { return c == nil || c.rank == 0 }

// Rank is which of the processes this is, and of how many.
func (c *Crew) Rank() (rank, size int) { return c.rank, c.size }

// Gather exchanges messages of a fit.
func (c *Crew) Gather(ctx context.Context, mine []byte) ([][]byte, error) {
	return c.exchange(ctx, ofPass, mine)
}

// A ToldError is that of another process.
type ToldError struct {
	text   string
	Status int
	kind   byte
}

func (e ToldError) Error() string { return e.text }

// How a command ends.
const (
	endsWell = iota
	endsInterrupted
	endsInError
)

// endOf is how a command ends with an error.
func endOf(err error) byte {
	told, isTold := errors.AsType[ToldError](err)
	switch {
	case err == nil:
		return endsWell
	case isTold:
		return told.kind
	case errors.Is(err, faults.ErrOutOfMemory):
		return endsInError
	case errors.Is(err, faults.ErrInterrupted), errors.Is(err, context.Canceled):
		return endsInterrupted
	}
	return endsInError
}

// exchange returns the messages of all, or the error of one that has come to its end.
func (c *Crew) exchange(ctx context.Context, purpose byte, mine []byte) ([][]byte, error) {
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
func (c *Crew) endings(all [][]byte) (worst *ToldError) {
	for rank, m := range all {
		if rank == c.rank || m[0] != ofEnd || len(m) < 3 || m[2] == endsWell || worst != nil && worst.kind >= m[2] {
			continue
		}
		worst = &ToldError{fmt.Sprintf("process %d: %s", rank, m[3:]), int(m[1]), m[2]}
	}
	return worst
}

// Agree waits until all processes have come as far, before one of them writes.
func (c *Crew) Agree(ctx context.Context) error {
	if c == nil {
		return nil
	}
	_, err := c.exchange(ctx, ofStep, nil)
	return err
}

// Meet refuses processes with other arguments than the first has.
func (c *Crew) Meet(ctx context.Context, args []string) error {
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
			c.over = faults.Misused("process %d was started with other arguments than process 0: give all of them the same",
				rank)
			return c.over
		}
	}
	return nil
}

// FromFirst gives all processes what the first one has, or has failed to find.
func FromFirst[T any](ctx context.Context, c *Crew, find func() (T, error)) (T, error) {
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

// End tells the others how the command ends, and returns the error that it ends with for all of them.
func (c *Crew) End(ctx context.Context, err error, status int) error {
	if c == nil {
		return err
	}
	if c.over != nil {
		if told, isTold := errors.AsType[ToldError](c.over); isTold && told.kind == endsInError { // err, if any, came of it
			return told
		}
		return err
	}
	message := []byte{byte(status), endOf(err)}
	if err != nil {
		message = append(message, faults.OneLine(err)...)
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

// Speaks says whether an error is this process's to print: one that the first process cannot know is any's.
func (c *Crew) Speaks() bool { return c.Writes() || c.lost }

// Neighbours is how many processes share the memory of this machine.
func (c *Crew) Neighbours() int {
	if c == nil {
		return 1
	}
	return c.local
}

// Idle says that processes have no part in the passes of a fit; empty where all have.
func (c *Crew) Idle(shards int) string {
	if c == nil || c.size <= shards {
		return ""
	}
	return fmt.Sprintf("%d of %d processes have no part in the fit: --shards %d gives each one a part", c.size-shards,
		c.size,
		c.size)
}

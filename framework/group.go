package framework

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/gob"
	"errors"
	"fmt"
	"reflect"
	"runtime"
	"slices"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/fingerprint"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/panics"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/internal/wire"
	"github.com/latent-go/latent/laplace"
)

// A Group is several processes that make one fit together (see [Options].Group): each calls [Fit] or [Select] with the
// same model, rows and options, reads its share of the blocks in every pass, and gets the same result, to the bits of
// one process alone. Module mpi provides a Group of MPI ranks.
type Group interface {
	// Rank returns the number of this process, from 0, and the number of processes.
	Rank() (rank, size int)
	// Gather returns the messages of all processes, by rank: all of them call it, in the same order. An error, such as the
	// loss of a process, ends the fit.
	Gather(ctx context.Context, mine []byte) ([][]byte, error)
}

// An ensemble is a group during one call of Fit or Select. Every process that leaves the call says so, whatever the
// reason: what happens to one of them, such as a cancelled context or a full disk, is an error of all and leaves nobody
// waiting.
type ensemble struct {
	group      Group
	rank, size int
	cancel     context.CancelCauseFunc
	sequence   uint64
	broken     error // what ended it
}

type ensembleKey struct{}

// ensembleOf is what passes are shared with, nil if they are not.
func ensembleOf(ctx context.Context) *ensemble {
	e, _ := ctx.Value(ensembleKey{}).(*ensemble)
	return e
}

// What processes exchange.
const (
	ofStart      = "the start"
	ofCondensing = "the condensing of rows"
	ofPass       = "a pass"
	ofRun        = "the end of a run"
	ofEnd        = "the end"
)

// A credential is what must be the same for all processes.
type credential struct {
	Task    string // models and options
	Rows    int
	Machine string // what the bits of a step depend on
}

// machine is what differs where two processes may round otherwise.
func machine() string {
	return fmt.Sprintf("%s/%s, %s, %s kernels, %s", runtime.GOOS, runtime.GOARCH, runtime.Version(),
		simd.Instructions(), linalg.Backend())
}

// together makes a context in which passes are shared with the group; leave, with the error of the call, ends that and
// returns the error of all. Without a group passes are not shared.
func together(
	ctx context.Context, g Group, task any, rows int,
) (shared context.Context, leave func(*error), err error) {
	if g == nil {
		if ensembleOf(ctx) != nil { // a fit within a start of another
			ctx = context.WithValue(ctx, ensembleKey{}, (*ensemble)(nil))
		}
		return ctx, func(*error) {}, nil
	}
	e := &ensemble{group: g}
	e.rank, e.size = g.Rank()
	if e.size < 1 || e.rank < 0 || e.rank >= e.size {
		return nil, nil, fmt.Errorf("framework: the Group has rank %d of %d processes; must be from 0 "+
			"to %d", e.rank, e.size, e.size-1)
	}
	ctx, e.cancel = context.WithCancelCause(ctx)
	mine := credential{fmt.Sprint(task), rows, machine()}
	_, err = e.exchange(ctx, message{Kind: ofStart, Credential: mine}, nil)
	if err != nil {
		e.cancel(err)
		return nil, nil, err
	}
	return context.WithValue(ctx, ensembleKey{}, e), func(err *error) {
		p := panics.Of(recover()) // this is deferred
		if p != nil {
			*err = p
		}
		e.leave(ctx, err)
		if p != nil {
			panic(p)
		}
	}, nil
}

// leave tells the others the error of the call, and hears theirs.
func (e *ensemble) leave(ctx context.Context, err *error) {
	defer e.cancel(nil)
	*err = e.agree(ctx, ofEnd, *err)
}

// agree tells the others the error that something ended with, and returns it, or theirs. Where it is not that of all,
// it ends the ensemble.
func (e *ensemble) agree(ctx context.Context, what string, err error) error {
	if e == nil || e.broken != nil && err != nil {
		return err
	}
	m := message{Kind: what}
	if err != nil {
		m.Failure = failureOf(err, 0)
	}
	_, theirs := e.exchange(ctx, m, nil)
	if err != nil {
		return err
	}
	return theirs
}

// A message is what a process tells the others; the sums of its roots follow.
type message struct {
	Kind       string
	Sequence   uint64
	Credential credential        // at the start
	State      [sha256.Size]byte // of the parameters of a pass
	Failure    *failure
	Rows       int64     // that a first pass has seen
	Roots      []int     // shards that sums follow of
	Entropy    []float64 // of each
	Condensed  int       // what the first process has condensed the rows to, which follow if they are few
}

// A reply is the message of one process.
type reply struct {
	message
	sums *wire.Decoder
}

// exchange sends a message, and sums that encode adds to it, and returns those of all, or the failure of the first.
func (e *ensemble) exchange(ctx context.Context, m message, encode func(*gob.Encoder) error) ([]reply, error) {
	if e.broken != nil {
		return nil, e.broken
	}
	e.sequence++
	m.Sequence = e.sequence
	mine, err := m.encoded(encode)
	if err != nil {
		m.Failure, m.Roots = failureOf(err, 0), nil
		if mine, err = m.encoded(nil); err != nil {
			return nil, err
		}
	}
	all, err := e.group.Gather(ctx, mine)
	if err == nil && len(all) != e.size {
		err = fmt.Errorf("%d messages from %d processes", len(all), e.size)
	}
	if err != nil {
		return nil, e.breaks(fmt.Errorf("framework: process %d of %d is disconnected from the "+
			"others: %w", e.rank, e.size, err))
	}
	replies, err := read(all)
	if err != nil {
		return nil, e.breaks(err)
	}
	return replies, e.judge(replies)
}

func (m message) encoded(encode func(*gob.Encoder) error) ([]byte, error) {
	var buf bytes.Buffer
	enc := gob.NewEncoder(&buf)
	if err := enc.Encode(m); err != nil {
		return nil, err
	}
	if encode != nil {
		if err := encode(enc); err != nil {
			return nil, fmt.Errorf("framework: cannot encode the sums: %w", err)
		}
	}
	return buf.Bytes(), nil
}

// breaks ends the ensemble: no trial goes on after this error.
func (e *ensemble) breaks(err error) error {
	e.broken = &sourceError{err}
	return e.broken
}

// judge is the error that replies make for every process.
func (e *ensemble) judge(replies []reply) error {
	first, mine := replies[0].message, replies[e.rank].message
	for rank, r := range replies {
		f := r.Failure
		if f == nil || !f.Cancelled && r.Kind == mine.Kind {
			continue
		}
		if f.Cancelled {
			defer e.cancel(f.ending())
		}
		return e.breaks(e.from(rank, f))
	}
	for rank, r := range replies {
		switch {
		case r.Kind != first.Kind || r.Sequence != first.Sequence:
			return e.breaks(
				fmt.Errorf("framework: process 0 is at %s and process %d at %s: their results differ", first.Kind, rank, r.Kind),
			)
		case r.Credential != first.Credential:
			return e.breaks(first.Credential.differs(rank, r.Credential))
		case r.State != first.State:
			return e.breaks(fmt.Errorf("framework: the parameters of processes 0 and %d differ: the processes "+
				"read different rows, or a step of the model is random", rank))
		}
	}
	of, f := earliest(replies)
	if f == nil {
		return nil
	}
	err := e.from(of, f)
	if mine.Kind != ofPass && slices.ContainsFunc(replies, func(r reply) bool { return r.Failure == nil }) {
		return e.breaks(err)
	}
	return err // that of all, or of a pass, which the engine may answer
}

// from is the failure of a process; that of a model, which would have been the same anywhere, is not told to be of one.
func (e *ensemble) from(rank int, f *failure) error {
	if rank == e.rank && f.err != nil {
		return f.err
	}
	if f.Source || f.Cancelled {
		return fmt.Errorf("process %d: %w", rank, f)
	}
	return f
}

// differs is an error that names the first entry that differs from that of another process.
func (c credential) differs(rank int, other credential) error {
	here, there := reflect.ValueOf(c), reflect.ValueOf(other)
	for i := range here.NumField() {
		if a, b := here.Field(i).Interface(), there.Field(i).Interface(); a != b {
			return fmt.Errorf("framework: processes 0 and %d differ in %s: %v and %v", rank,
				[...]string{"the task", "the number of rows", "the machine"}[i], a, b)
		}
	}
	return nil
}

// A failure is an error as it travels: its text, and what the engine asks of it.
type failure struct {
	Text       string
	Block      int // that failed
	Degenerate bool
	Singular   bool
	Dimension  int // of a [DegenerateError], otherwise −1
	Contract   bool
	Source     bool
	Cancelled  bool
	Expired    bool // cancelled by a deadline
	Data       *entryFault

	err error // in the process where it occurred
}

// An entryFault is a [blocks.DataError] as it travels.
type entryFault struct {
	Row, Column int
	Value       float64
	Reason      string
}

func failureOf(err error, block int) *failure {
	f := &failure{Text: err.Error(), Block: block, Dimension: -1, err: err}
	var named *DegenerateError
	var source *sourceError
	var data *blocks.DataError
	if errors.As(err, &named) {
		f.Dimension = named.Dimension
	}
	f.Degenerate = errors.Is(err, ErrDegenerate)
	f.Singular = errors.Is(err, laplace.ErrSingular)
	f.Contract = errors.Is(err, ErrContract)
	f.Source = errors.As(err, &source)
	f.Expired = errors.Is(err, context.DeadlineExceeded)
	f.Cancelled = f.Expired || errors.Is(err, context.Canceled)
	if errors.As(err, &data) {
		f.Data = &entryFault{data.Row, data.Column, data.Value, data.Reason.Error()}
	}
	return f
}

// Error is the text of the error where it occurred.
func (f *failure) Error() string { return f.Text }

// Unwrap returns the errors that errors.Is and errors.As would have found there.
func (f *failure) Unwrap() (list []error) {
	if f.Dimension >= 0 {
		list = append(list, &DegenerateError{f.Dimension, ErrDegenerate})
	} else if f.Degenerate {
		list = append(list, ErrDegenerate)
	}
	if f.Singular {
		list = append(list, laplace.ErrSingular)
	}
	if f.Contract {
		list = append(list, ErrContract)
	}
	if f.Source {
		list = append(list, &sourceError{errors.New(f.Text)})
	}
	if f.Cancelled {
		list = append(list, f.ending())
	}
	if d := f.Data; d != nil {
		reason := errors.New(d.Reason)
		for _, known := range []error{blocks.ErrConstant, blocks.ErrNoValue, blocks.ErrNotFinite} {
			if known.Error() == d.Reason {
				reason = known
			}
		}
		list = append(list, &blocks.DataError{Row: d.Row, Column: d.Column, Value: d.Value, Reason: reason})
	}
	return list
}

// ending is how the context of a process that was cancelled has ended.
func (f *failure) ending() error {
	if f.Expired {
		return context.DeadlineExceeded
	}
	return context.Canceled
}

// taskOf describes what a fit is asked for, as far as it can be written down: what decides its bits, except for
// MaxIterations.
func taskOf[B, P any, S Statistics[S]](m Model[B, P, S], o Options, criteria ...Criterion) string {
	names := []string{o.Criterion.Name}
	for _, c := range append(o.Also, criteria...) {
		names = append(names, c.Name)
	}
	return fmt.Sprintf("%s, K = %d (fixed: %v, doubling to %d) by %v, criteria %v (all: %v), temper %v, prune %v, "+
		"tolerance %v, %d iterations, accelerate %v, moves %v, %d restarts, seed %d, %d shards, sample %d, online %d, "+
		"resumed %x",
		identity(m), o.K, o.FixedK, o.DoubleTo, o.Method, names, o.AlsoAll, o.Temper, o.Prune, o.Tolerance,
		o.MaxIterations, o.Accelerate, !o.NoMoves, o.Restarts, o.Seed, o.Shards, o.Sample, o.Online,
		fingerprint.Hash(o.Resume))
}

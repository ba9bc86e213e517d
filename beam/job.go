package beam

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/wire"
)

// Work is what a process of a job has opened.
type Work[B, P any, S framework.Statistics[S]] struct {
	Model  framework.Model[B, P, S]
	Source framework.Source[B] // the same rows in every process; one that is [optional.Divided] is read in part
	// Files are those that Source reads, by names that hold in every process. Every pass sees to it that they are the
	// same, by size and time, as when the fit began.
	Files []string
	// Close gives back what was opened; nil: nothing.
	Close func() error
}

// A Job is what a program can fit.
type Job[A, B, P any, S framework.Statistics[S]] struct {
	name string
	open func(ctx context.Context, spec A) (*Work[B, P, S], error)
}

// Register makes a job known under a name, which must be new. It is called as the program begins, in a variable of a
// package or in init, so that every process knows the same jobs. open makes the model and opens the rows that spec,
// which encoding/gob writes, describes: the same for the same spec in every process.
func Register[A, B, P any, S framework.Statistics[S]](
	name string, open func(ctx context.Context, spec A) (*Work[B, P, S], error),
) *Job[A, B, P, S] {
	RegisterShares(name, func(ctx context.Context, text []byte) (Shares, error) {
		var spec A
		if err := wire.Decode(text, &spec); err != nil {
			return nil, err
		}
		w, err := open(ctx, spec)
		if err != nil {
			return nil, err
		}
		return shares[B, P, S]{w}, nil
	})
	return &Job[A, B, P, S]{name, open}
}

// Shares is what a worker of a job of any type has opened (see [RegisterShares]).
type Shares interface {
	Rows() int
	// Share is [framework.Share], with the state as encoding/gob writes it.
	Share(ctx context.Context, state []byte, first, last, shards, threads int) ([]byte, error)
	Close() error
}

var jobs = map[string]func(ctx context.Context, spec []byte) (Shares, error){}

// RegisterShares is [Register] for a program that learns the types of its model from the spec. It makes passes by
// [Begin].
func RegisterShares(name string, open func(ctx context.Context, spec []byte) (Shares, error)) {
	if _, taken := jobs[name]; taken {
		panic(fmt.Sprintf("beam: two jobs of the name %q", name))
	}
	jobs[name] = open
}

// shares are those of a job whose types are known.
type shares[B, P any, S framework.Statistics[S]] struct{ *Work[B, P, S] }

func (w shares[B, P, S]) Rows() int { return w.Source.Rows() }

func (w shares[B, P, S]) Share(ctx context.Context, state []byte, first, last, shards, threads int) ([]byte, error) {
	var at framework.State[P]
	if err := wire.Decode(state, &at); err != nil {
		return nil, err
	}
	return framework.Share(ctx, w.Model, w.Source, at, first, last, shards, threads)
}

func (w shares[B, P, S]) Close() error {
	if w.Work.Close == nil {
		return nil
	}
	return w.Work.Close()
}

// An order is what the driver asks of the workers in a pass.
type order struct {
	Job     string
	Build   string // of the driver's program
	Spec    []byte
	Files   []file
	Rows    int
	State   []byte // a framework.State
	Shards  int
	Parts   int // tasks
	Threads int
}

// build names the program, so far as its workings depend on it.
var build = sync.OnceValue(func() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	return info.String()
})

// answer makes a task of an order.
func (o *order) answer(ctx context.Context, t task) ([]byte, error) {
	if o.Build != build() {
		return nil, errors.New("the driver is another build of the program than this worker: start the same binary on all")
	}
	open := jobs[o.Job]
	if open == nil {
		return nil, fmt.Errorf("no job %q is registered", o.Job)
	}
	if err := unchanged(o.Files); err != nil {
		return nil, err
	}
	w, release, err := opened(o, func() (Shares, error) { return open(ctx, o.Spec) })
	if err != nil {
		return nil, err
	}
	defer release()
	if rows := w.Rows(); rows != o.Rows {
		return nil, fmt.Errorf("the worker sees %d rows, and the driver %d: they read other data", rows, o.Rows)
	}
	text, err := w.Share(ctx, o.State, t.First, t.Last, o.Shards, o.Threads)
	if err != nil {
		return nil, err
	}
	return text, unchanged(o.Files)
}

func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	err := gob.NewEncoder(&b).Encode(v)
	return b.Bytes(), err
}

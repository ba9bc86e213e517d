package beam

import (
	"bytes"
	"context"
	"encoding/gob"
	"fmt"
	"runtime/debug"
	"sync"

	"github.com/latent-go/latent/framework"
)

// Work is what a process of a job has opened.
type Work[B, P any, S framework.Statistics[S]] struct {
	Model  framework.Model[B, P, S]
	Source framework.Source[B] // the same rows in every process; one that is [framework.Divided] is read in part
	// Files are those that Source reads, by names that hold in every process. Every pass sees to it that they are the same, by size and
	// time, as when the fit began.
	Files []string
	// Close gives back what was opened; nil: nothing.
	Close func() error
}

// A Job is what a program can fit.
type Job[A, B, P any, S framework.Statistics[S]] struct {
	name string
	open func(ctx context.Context, spec A) (*Work[B, P, S], error)
}

// A sharer makes the share of a worker in a pass, for a job of whatever types.
type sharer interface {
	share(ctx context.Context, o *order, t Task) ([]byte, error)
}

var jobs = map[string]sharer{}

// Register makes a job known under a name, which must be new. It is called as the program begins, in a variable of a package or in init,
// so that every process knows the same jobs. open makes the model and opens the rows that spec, which encoding/gob writes, describes:
// the same for the same spec in every process.
func Register[A, B, P any, S framework.Statistics[S]](name string, open func(ctx context.Context, spec A) (*Work[B, P, S], error)) *Job[A, B, P, S] {
	if _, taken := jobs[name]; taken {
		panic(fmt.Sprintf("beam: two jobs of the name %q", name))
	}
	j := &Job[A, B, P, S]{name, open}
	jobs[name] = j
	return j
}

// begin opens the work of a job, and takes down the files that it reads.
func (j *Job[A, B, P, S]) begin(ctx context.Context, spec A) (*Work[B, P, S], []file, error) {
	w, err := j.open(ctx, spec)
	if err != nil {
		return nil, nil, err
	}
	files, err := filesOf(w.Files)
	if err != nil {
		return nil, nil, w.closedAfter(err)
	}
	return w, files, nil
}

// closedAfter closes the work after an error.
func (w *Work[B, P, S]) closedAfter(err error) error {
	if w.Close != nil {
		_ = w.Close()
	}
	return err
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

// share answers an order with the bytes of [framework.Share].
func (j *Job[A, B, P, S]) share(ctx context.Context, o *order, t Task) ([]byte, error) {
	if o.Build != build() {
		return nil, fmt.Errorf("the driver is another build of the program than this worker: start the same binary on all")
	}
	var at framework.State[P]
	if err := decode(o.State, &at); err != nil {
		return nil, err
	}
	if err := unchanged(o.Files); err != nil {
		return nil, err
	}
	w, release, err := opened(o, func() (*Work[B, P, S], func() error, error) {
		var spec A
		if err := decode(o.Spec, &spec); err != nil {
			return nil, nil, err
		}
		w, err := j.open(ctx, spec)
		if err != nil {
			return nil, nil, err
		}
		if rows := w.Source.Rows(); rows != o.Rows {
			return nil, nil, w.closedAfter(fmt.Errorf("the worker sees %d rows, and the driver %d: they read other data", rows, o.Rows))
		}
		return w, w.Close, nil
	})
	if err != nil {
		return nil, err
	}
	defer release()
	text, err := framework.Share(ctx, w.Model, w.Source, at, t.First, t.Last, o.Shards, o.Threads)
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

func decode(text []byte, v any) error { return gob.NewDecoder(bytes.NewReader(text)).Decode(v) }

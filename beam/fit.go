package beam

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/latent-go/latent/framework"
)

// Options say where passes are made. The zero value is Prism and a worker in this process.
type Options struct {
	// Runner runs the pipelines, default [Prism] with a worker in this process. Whoever gives one closes it.
	Runner Runner
	// Dir is a folder that the driver and all workers see under this name, default that of temporary files. A run makes a
	// folder in it with the permissions that the umask leaves, and removes it at its end.
	Dir string
	// Parts is how many tasks a pass is divided into, at most the number of shards. Default 1, which suits a single
	// worker; on a cluster a few for every slot. Where it is a power of two, and so is Shards, a task sends one sum.
	Parts int
	// Threads is the number of goroutines of a task, default one a processor.
	Threads int
	// Attempts is how often the tasks of a pass that have no outcome are submitted, default 5, as when a worker has died;
	// between them are 1, 2, 4, … seconds. An error of rows or model is no reason for another.
	Attempts int
}

// A Runner runs pipelines. [Prism] and [Portable] make some; [RunnerFunc] is any other, such as Dataflow's.
type Runner interface {
	// Run runs a pipeline of so many tasks, which can all be made at a time, to its end.
	Run(ctx context.Context, p *sdk.Pipeline, tasks int) error
	// Close gives back what the runner holds.
	Close() error
}

// RunnerFunc is a [Runner] that holds nothing.
type RunnerFunc func(ctx context.Context, p *sdk.Pipeline, tasks int) error

// Run calls the function.
func (f RunnerFunc) Run(ctx context.Context, p *sdk.Pipeline, tasks int) error {
	return f(ctx, p, tasks)
}

// Close does nothing.
func (f RunnerFunc) Close() error { return nil }

// Fit is [framework.Fit] of a job, with the passes made by the runner, and the sums that Init asks for by
// [framework.Survey]. What else Init reads, and whatever an [optional.Coupled] model does, is the driver's.
func Fit[A, B, P any, S framework.Statistics[S]](
	ctx context.Context, j *Job[A, B, P, S], spec A, o framework.Options, opts Options,
) (*framework.Result[P, S], error) {
	var res *framework.Result[P, S]
	err := j.With(ctx, spec, opts, func(w *Work[B, P, S]) (err error) {
		res, err = framework.Fit(ctx, w.Model, w.Source, o)
		return err
	})
	return res, err
}

// With opens the work of a job for [framework.Fit], [framework.Select] and the like: the passes over its Source, which
// is good until do returns, are made by the runner. Several may be under way at a time.
func (j *Job[A, B, P, S]) With(ctx context.Context, spec A, opts Options, do func(w *Work[B, P, S]) error) (err error) {
	w, err := j.open(ctx, spec)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, shares[B, P, S]{w}.Close()) }()
	text, err := encode(spec)
	if err != nil {
		return fmt.Errorf("beam: the spec of job %q cannot be written: %w", j.name, err)
	}
	passes, err := Begin(ctx, j.name, text, w.Source.Rows(), w.Files, opts)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, passes.Close()) }()
	return do(
		&Work[B, P, S]{Model: w.Model, Source: framework.Elsewhere[B, P](w.Source, steps[P]{passes}), Files: w.Files},
	)
}

// steps makes passes of parameters of some type.
type steps[P any] struct{ *Passes }

// Step makes a pass (see [framework.Executor]).
func (s steps[P]) Step(ctx context.Context, at framework.State[P], shards int) ([][]byte, error) {
	state, err := encode(at)
	if err != nil {
		return nil, fmt.Errorf("beam: the parameters cannot be written: %w", err)
	}
	return s.Make(ctx, state, shards)
}

// Passes makes the passes of a run, for the driver.
type Passes struct {
	options Options
	order   order // what all passes have in common
	dir     string
	own     bool // the runner is the driver's
	passes  atomic.Int64
}

// Begin readies the passes of a job, with the rows and the files that the driver sees. [Fit] does so by itself.
func Begin(ctx context.Context, job string, spec []byte, rows int, files []string, opts Options) (*Passes, error) {
	initialise()
	list, err := filesOf(files)
	if err != nil {
		return nil, err
	}
	if opts.Dir == "" {
		opts.Dir = os.TempDir()
	}
	if opts.Attempts < 1 {
		opts.Attempts = 5
	}
	d := &Passes{
		options: opts, order: order{Job: job, Build: build(), Spec: spec, Files: list, Rows: rows, Threads: opts.Threads},
	}
	d.dir = filepath.Join(opts.Dir, fmt.Sprintf("latent-beam-%016x", rand.Uint64()))
	if err := os.Mkdir(d.dir, 0o777); err != nil {
		return nil, fmt.Errorf("beam: no folder for the run: %w", err)
	}
	if opts.Runner == nil {
		d.own = true
		if d.options.Runner, err = Prism(ctx, ""); err != nil {
			return nil, errors.Join(err, os.RemoveAll(d.dir))
		}
	}
	return d, nil
}

// Close removes the folder of the run.
func (d *Passes) Close() (err error) {
	if d.own {
		err = d.options.Runner.Close()
	}
	return errors.Join(err, os.RemoveAll(d.dir))
}

// Make makes a pass, of the state as encoding/gob writes it, and returns what [framework.Share] gave for each part (see
// [framework.Executor]).
func (d *Passes) Make(ctx context.Context, state []byte, shards int) ([][]byte, error) {
	dir := filepath.Join(d.dir, fmt.Sprintf("pass-%d", d.passes.Add(1)))
	if err := os.Mkdir(dir, 0o777); err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir) //nolint:errcheck // stop removes what is left
	o := d.order
	o.State, o.Shards = state, shards
	text, err := encode(o)
	if err != nil {
		return nil, err
	}
	if err := seal(filepath.Join(dir, orderName), text); err != nil {
		return nil, err
	}
	hash := hashOf(text)
	all := tasks(shards, d.options.Parts)
	sums := make([][]byte, len(all))
	for attempt := 1; ; attempt++ {
		var todo []Task
		for i, t := range all {
			if sums[i] == nil {
				todo = append(todo, t)
			}
		}
		failed := d.options.Runner.Run(ctx, pipelineOf(dir, hash, todo), len(todo))
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		missing, err := collect(dir, hash, all, sums)
		if err != nil {
			return nil, err
		}
		if missing == 0 {
			return sums, nil
		}
		if attempt == d.options.Attempts {
			return nil, fmt.Errorf("beam: %d of %d tasks of a pass have no outcome after %d attempts: %w", missing,
				len(all), attempt, reason(failed))
		}
		if err := pause(ctx, time.Second<<(attempt-1)); err != nil {
			return nil, err
		}
	}
}

var errNoOutcome = errors.New("the runner said that the pipeline had come to its end, but the workers' files are not " +
	"there: is the folder of the run on storage that they share with the driver?")

func reason(failed error) error {
	if failed == nil {
		return errNoOutcome
	}
	return failed
}

// collect reads the outcomes that are there, and counts those that are not.
func collect(dir, hash string, all []Task, sums [][]byte) (missing int, err error) {
	for i, t := range all {
		if sums[i] != nil {
			continue
		}
		text, err := unseal(t.path(dir))
		if errors.Is(err, os.ErrNotExist) {
			missing++
			continue
		}
		if err != nil {
			return 0, err
		}
		var p part
		if err := decode(text, &p); err != nil || p.Order != hash {
			return 0, fmt.Errorf("beam: %s is of another pass, or damaged", t.path(dir))
		}
		if p.Failure != "" {
			return 0, fmt.Errorf("beam: shards %d to %d: %s", t.First, t.Last-1, p.Failure)
		}
		sums[i] = p.Text
	}
	return missing, nil
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

package beam

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/latent-go/latent/framework"
)

// Options say where passes are made. The zero value is Prism and a worker in this process.
type Options struct {
	// Runner runs the pipelines, default [Prism] with a worker in this process. Whoever gives one closes it.
	Runner Runner
	// Dir is a folder that the driver and all workers see under this name, default that of temporary files, or the address
	// of one that [RegisterFolders] has made known. A run makes a folder in it with the permissions that the umask leaves,
	// and removes it at its end.
	Dir string
	// Parts is how many tasks a pass is divided into, at most the number of shards. Default 1, which suits a single
	// worker; on a cluster a few for every slot. Where it is a power of two, and so is Shards, a task sends one sum.
	Parts int
	// Threads is the number of goroutines of a task, default one a processor.
	Threads int
	// Attempts is how many pipelines a pass may take, default 5, where they fail, as when a worker has died; between them
	// are 1, 2, 4, … seconds. An error of rows or model is no reason for another.
	Attempts int
}

// A Runner runs pipelines. [Prism] and [Portable] make some; [RunnerFunc] is any other, such as Dataflow's.
type Runner interface {
	// Run runs a pipeline with so many places for workers, which should all work at a time, to its end: that of the fit.
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
	address string
	folder  Folder
	own     bool // the runner is the driver's
	ctx     context.Context
	stop    context.CancelFunc // of the pipeline
	beating sync.WaitGroup

	mu       sync.Mutex
	board    board
	passes   int
	pipeline *pipeline // the last one; nil before the first pass
}

// A pipeline is one that was submitted.
type pipeline struct {
	over chan struct{} // closed at its end
	err  error
}

// Begin readies the passes of a job, with the rows and the files that the driver sees. [Fit] does so by itself.
func Begin(
	ctx context.Context, job string, spec []byte, rows int, files []string, opts Options,
) (_ *Passes, err error) {
	initialise()
	list, err := filesOf(files)
	if err != nil {
		return nil, err
	}
	opts.Parts = max(1, opts.Parts)
	if opts.Attempts < 1 {
		opts.Attempts = 5
	}
	d := &Passes{
		options: opts, address: within(cmp.Or(opts.Dir, os.TempDir()), fmt.Sprintf("latent-beam-%016x", rand.Uint64())),
		order: order{Job: job, Build: build(), Spec: spec, Files: list, Rows: rows, Parts: opts.Parts, Threads: opts.Threads},
		board: board{Passes: map[string]string{}},
	}
	if _, is := schemeOf(d.address); !is {
		err = os.Mkdir(d.address, 0o777)
	}
	if err == nil {
		d.folder, err = openFolder(ctx, d.address)
	}
	if err == nil {
		err = d.post(ctx, func(*board) {})
	}
	if err != nil {
		if d.folder != nil {
			_ = d.discard(ctx) // the first error says why
		}
		return nil, fmt.Errorf("beam: no folder for the run: %w", err)
	}
	d.ctx, d.stop = context.WithCancel(ctx)
	if opts.Runner == nil {
		d.own = true
		if d.options.Runner, err = Prism(ctx, ""); err != nil {
			d.stop()
			return nil, errors.Join(err, d.discard(ctx))
		}
	}
	d.beating.Go(func() {
		for pause(d.ctx, beat) == nil {
			_ = d.post(d.ctx, func(*board) {}) // workers wait for a while
		}
	})
	return d, nil
}

// post changes the board.
func (d *Passes) post(ctx context.Context, change func(b *board)) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.board.Beat++
	change(&d.board)
	_, err := put(ctx, d.folder, boardName, d.board)
	return err
}

// Close ends the pipeline, and removes the folder of the run.
func (d *Passes) Close() (err error) {
	ctx, done := context.WithTimeout(context.WithoutCancel(d.ctx), patience)
	defer done()
	err = d.post(ctx, func(b *board) { b.Over = true })
	if d.pipeline != nil {
		select {
		case <-d.pipeline.over:
		case <-d.ctx.Done():
		case <-time.After(patience): // at a task of a pass that has failed
		}
		d.stop()
		<-d.pipeline.over
	}
	d.stop()
	d.beating.Wait()
	if d.own {
		err = errors.Join(err, d.options.Runner.Close())
	}
	return errors.Join(err, d.discard(ctx))
}

// discard removes the folder of the run.
func (d *Passes) discard(ctx context.Context) error {
	return errors.Join(d.folder.Remove(ctx, nil), d.folder.Close())
}

// running is the pipeline under way, or a new one.
func (d *Passes) running() *pipeline {
	d.mu.Lock()
	defer d.mu.Unlock()
	if p := d.pipeline; p != nil {
		select {
		case <-p.over:
		default:
			return p
		}
	}
	p := &pipeline{over: make(chan struct{})}
	d.pipeline = p
	go func() {
		defer close(p.over)
		p.err = d.options.Runner.Run(d.ctx, pipelineOf(d.address, d.options.Parts), d.options.Parts)
	}()
	return p
}

// Make makes a pass, of the state as encoding/gob writes it, and returns what [framework.Share] gave for each part (see
// [framework.Executor]).
func (d *Passes) Make(ctx context.Context, state []byte, shards int) (_ [][]byte, err error) {
	d.mu.Lock()
	d.passes++
	pass := passName(d.passes)
	d.mu.Unlock()
	o := d.order
	o.State, o.Shards = state, shards
	all := tasks(shards, o.Parts)
	names := []string{pass + orderName}
	var claims []string
	for i := range all {
		claims = append(claims, pass+claimName+strconv.Itoa(i))
		names = append(names, claims[i], pass+sumsName+strconv.Itoa(i))
	}
	hash, err := put(ctx, d.folder, pass+orderName, o)
	if err == nil {
		err = d.post(ctx, func(b *board) { b.Passes[pass] = hash })
	}
	if err != nil {
		return nil, err
	}
	defer func() {
		after := context.WithoutCancel(ctx)
		err = errors.Join(err, d.post(after, func(b *board) { delete(b.Passes, pass) }), d.folder.Remove(after, names))
	}()
	parts := make([]*part, len(all))
	for attempt := 1; ; attempt++ {
		p := d.running()
		missing, err := d.await(ctx, p, pass, hash, parts)
		switch {
		case err != nil:
			return nil, err
		case missing == 0:
			return textsOf(all, parts)
		case attempt == d.options.Attempts:
			return nil, fmt.Errorf("beam: %d of %d tasks of a pass have no outcome after %d attempts: %w", missing,
				len(all), attempt, reason(p.err))
		}
		if err := pause(ctx, time.Second<<(attempt-1)); err != nil {
			return nil, err
		}
		if err := d.folder.Remove(ctx, claims); err != nil { // whose workers are gone
			return nil, err
		}
	}
}

// textsOf are the sums of all tasks, or the failure of the first one that has one.
func textsOf(all []task, parts []*part) (sums [][]byte, err error) {
	for i, p := range parts {
		if p.Failure != "" {
			return nil, fmt.Errorf("beam: shards %d to %d: %s", all[i].First, all[i].Last-1, p.Failure)
		}
		sums = append(sums, p.Text)
	}
	return sums, nil
}

var errNoOutcome = errors.New("the runner said that the pipeline had come to its end, but the workers' files are not " +
	"there: is the folder of the run on storage that they share with the driver?")

func reason(failed error) error {
	if failed == nil {
		return errNoOutcome
	}
	return failed
}

// await reads outcomes as they come, until all are there or the pipeline has ended; it counts those that are missing.
func (d *Passes) await(ctx context.Context, p *pipeline, pass, hash string, parts []*part) (missing int, err error) {
	for begun := (poll{time.Now()}); ; {
		over := false
		select {
		case <-p.over:
			over = true
		default:
		}
		if missing, err = d.collect(ctx, pass, hash, parts); missing == 0 || err != nil || over {
			return missing, err
		}
		if err := begun.wait(ctx); err != nil {
			return missing, err
		}
	}
}

// collect reads the outcomes that are there, and counts those that are not.
func (d *Passes) collect(ctx context.Context, pass, hash string, parts []*part) (missing int, err error) {
	names, err := d.folder.List(ctx, pass+sumsName)
	if err != nil {
		return 0, err
	}
	for i := range parts {
		name := pass + sumsName + strconv.Itoa(i)
		if parts[i] != nil {
			continue
		}
		if !slices.Contains(names, name) {
			missing++
			continue
		}
		p := new(part)
		if err := get(ctx, d.folder, name, p); err != nil {
			return 0, fmt.Errorf("beam: %w", err)
		}
		if p.Order != hash {
			return 0, fmt.Errorf("beam: %s is of another pass", name)
		}
		parts[i] = p
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

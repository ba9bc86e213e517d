package beam

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/graphx"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/prism"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/runners/universal/runnerlib"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// initialise readies Beam, which would take over the program's log.
var initialise = sync.OnceFunc(func() {
	logger := slog.Default()
	sdk.Init()
	slog.SetDefault(logger)
})

// Serve is a worker: it makes tasks for the drivers of one machine, as Beam's external worker pool at a port of
// localhost, until the context ends. On a cluster each host of the runner's workers has one at the same port. ready,
// where not nil, is told the address.
func Serve(ctx context.Context, port int, ready func(address string)) error {
	initialise()
	pool, err := newPool(ctx, port)
	if err != nil {
		return fmt.Errorf("beam: no worker pool at port %d: %w", port, err)
	}
	defer pool.Close()
	if ready != nil {
		ready(pool.address)
	}
	<-ctx.Done()
	return nil
}

// A portable is a [Runner] behind Beam's job service.
type portable struct {
	client  jobpb.JobServiceClient
	conn    *grpc.ClientConn // nil: of Prism in this process
	pool    *pool            // nil: the workers are elsewhere
	workers string           // address of a worker pool
	relay   *relay           // to it, of Prism; nil: other hosts ask the pool
	most    int              // tasks at a time; 0: all of a pass
}

// Prism returns Beam's own runner for one machine, in this process. workers is the address of a worker pool (see
// [Serve]), such as localhost:50000; empty: a worker in this process.
func Prism(ctx context.Context, workers string) (Runner, error) {
	client, err := prism.CreateJobServer(context.WithoutCancel(ctx), prism.Options{})
	if err != nil {
		return nil, fmt.Errorf("beam: Prism does not start: %w", err)
	}
	r := &portable{client: client, workers: workers}
	if err := r.withPool(ctx); err != nil {
		return nil, err
	}
	if r.relay, err = newRelay(r.workers); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	r.workers = r.relay.address
	return r, nil
}

// Portable returns the runner behind a job service, such as that of Flink, at an address. workers is where each host of
// the cluster finds its worker pool (see [Serve]), such as localhost:50000; empty: a worker in this process, for a
// cluster on this machine. parallelism bounds the tasks that are made at a time; 0: all of a pass. Each takes a slot of
// the cluster until the fit is over. For slots that are not there Flink waits some minutes, and then the job fails.
func Portable(ctx context.Context, endpoint, workers string, parallelism int) (Runner, error) {
	if parallelism < 0 {
		return nil, fmt.Errorf("beam: a parallelism of %d: must be at least 1, or 0 for all tasks of a pass", parallelism)
	}
	conn, err := grpcx.Dial(ctx, endpoint, patience)
	if err != nil {
		return nil, fmt.Errorf("beam: no job service at %s: %w", endpoint, err)
	}
	r := &portable{client: jobpb.NewJobServiceClient(conn), conn: conn, workers: workers, most: parallelism}
	if err := r.withPool(ctx); err != nil {
		return nil, err
	}
	return r, nil
}

// patience is how long an answer may take that needs no computing.
const patience = 20 * time.Second

// withPool starts a worker in this process where none is named.
func (r *portable) withPool(ctx context.Context) (err error) {
	initialise()
	if r.workers != "" {
		return nil
	}
	if r.pool, err = newPool(context.WithoutCancel(ctx), 0); err != nil {
		return errors.Join(err, r.Close())
	}
	r.workers = r.pool.address
	return nil
}

// Close leaves the job service, and stops the worker in this process.
func (r *portable) Close() error {
	if r.pool != nil {
		r.pool.Close()
	}
	if r.conn != nil {
		return r.conn.Close()
	}
	return nil
}

// Run submits a pipeline and waits for its end. A cancelled one is cancelled there too.
func (r *portable) Run(ctx context.Context, p *sdk.Pipeline, tasks int) error {
	if r.relay != nil {
		run, end, err := r.relay.run(ctx)
		if err != nil {
			return err
		}
		defer end()
		ctx = run
	}
	if r.most > 0 {
		tasks = min(tasks, r.most)
	}
	job, err := r.submit(ctx, p, tasks)
	if err == nil {
		err = r.wait(ctx, job)
	}
	if ctx.Err() != nil { // perhaps within submit: Prism may ask for a worker before it answers
		cancelled, done := context.WithTimeout(context.WithoutCancel(ctx), patience)
		defer done()
		_, _ = r.client.Cancel(cancelled, &jobpb.CancelJobRequest{JobId: job})
		return context.Cause(ctx)
	}
	return err
}

// submit starts a pipeline, with so many tasks at a time. Workers have the program, so that no files are staged.
func (r *portable) submit(ctx context.Context, p *sdk.Pipeline, parallelism int) (job string, err error) {
	environment, err := graphx.CreateEnvironment(ctx, graphx.URNEnvExternal,
		func(context.Context) string { return r.workers })
	if err != nil {
		return "", err
	}
	environment.Dependencies = nil
	edges, _, err := p.Build()
	if err != nil {
		return "", err
	}
	graph, err := graphx.Marshal(edges, &graphx.Options{Environment: environment})
	if err != nil {
		return "", err
	}
	id, staging, token, err := runnerlib.Prepare(ctx, r.client, graph,
		&runnerlib.JobOptions{Name: "latent", Parallelism: parallelism})
	if err != nil {
		return "", err
	}
	if r.conn != nil {
		if token, err = runnerlib.Stage(ctx, id, staging, "", token); err != nil {
			return "", err
		}
	}
	return runnerlib.Submit(ctx, r.client, id, token)
}

// wait follows a job to its end.
func (r *portable) wait(ctx context.Context, job string) error {
	stream, err := r.client.GetMessageStream(ctx, &jobpb.JobMessagesRequest{JobId: job})
	if err != nil {
		return err
	}
	failed, said := false, ""
	for {
		msg, err := stream.Recv()
		if failed && (err != nil || said != "") {
			return fmt.Errorf("the runner's job %s failed: %s", job, said)
		}
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if m := msg.GetMessageResponse(); m.GetImportance() >= jobpb.JobMessage_JOB_MESSAGE_ERROR {
			said = m.GetMessageText()
		}
		switch msg.GetStateResponse().GetState() {
		case jobpb.JobState_DONE, jobpb.JobState_CANCELLED:
			return nil
		case jobpb.JobState_FAILED:
			failed = true
		}
	}
}

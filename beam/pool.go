package beam

import (
	"context"
	"fmt"
	"net"
	"sync"

	"github.com/apache/beam/sdks/v2/go/container/tools"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/core/runtime/harness"
	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"github.com/apache/beam/sdks/v2/go/pkg/beam/util/grpcx"
	"google.golang.org/grpc"
)

// A pool starts workers, which are goroutines of this process, for the runner's processes of this host. That of the SDK
// refuses an ID that it knows. But a runner's process counts its workers from 1: two of them on one host have workers
// of the same ID, and so has one that comes in the place of one that died. A worker is known by the runner's process,
// whose address it is given for its orders, and ends with that process or when it is asked for again.
type pool struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	address string
	server  *grpc.Server
	root    context.Context // of all workers
	stop    context.CancelFunc

	mu      sync.Mutex
	workers map[workerKey]*poolWorker
}

// A workerKey names a worker: its ID, and where its orders come from.
type workerKey struct{ id, control string }

type poolWorker struct{ end context.CancelFunc }

// newPool listens at a port of localhost; 0 is any that is free.
func newPool(ctx context.Context, port int) (*pool, error) {
	listener, err := net.Listen("tcp", fmt.Sprintf("localhost:%d", port))
	if err != nil {
		return nil, err
	}
	p := &pool{
		address: fmt.Sprintf("localhost:%d", listener.Addr().(*net.TCPAddr).Port), server: grpc.NewServer(),
		workers: map[workerKey]*poolWorker{},
	}
	p.root, p.stop = context.WithCancel(ctx)
	fnpb.RegisterBeamFnExternalWorkerPoolServer(p.server, p)
	go p.server.Serve(listener) //nolint:errcheck // until it is stopped
	return p, nil
}

// StartWorker starts a worker, in place of one with the same ID and the same runner's process.
func (p *pool) StartWorker(_ context.Context, r *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	key := workerKey{r.GetWorkerId(), r.GetControlEndpoint().GetUrl()}
	switch {
	case key.control == "":
		return &fnpb.StartWorkerResponse{Error: fmt.Sprintf("nobody is named to give worker %q its orders", key.id)}, nil
	case r.GetControlEndpoint().GetAuthentication() != nil, r.GetLoggingEndpoint().GetAuthentication() != nil:
		return &fnpb.StartWorkerResponse{Error: "workers cannot authenticate themselves"}, nil
	}
	ctx, end := context.WithCancel(grpcx.WriteWorkerID(p.root, key.id))
	w := &poolWorker{end}
	p.mu.Lock()
	defer p.mu.Unlock()
	if before := p.workers[key]; before != nil {
		before.end()
	}
	p.workers[key] = w
	var options harness.Options
	if at := r.GetProvisionEndpoint().GetUrl(); at != "" {
		if info, err := tools.ProvisionInfo(ctx, at); err == nil {
			options.StatusEndpoint = info.GetStatusEndpoint().GetUrl()
			options.RunnerCapabilities = info.GetRunnerCapabilities()
		}
	}
	go func() {
		defer p.remove(key, w)
		// An error is the loss of the runner's process, which has no use for it.
		_ = harness.MainWithOptions(ctx, r.GetLoggingEndpoint().GetUrl(), key.control, options)
	}()
	return &fnpb.StartWorkerResponse{}, nil
}

// remove ends a worker, and with it the task that it may be at.
func (p *pool) remove(key workerKey, w *poolWorker) {
	w.end()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.workers[key] == w {
		delete(p.workers, key)
	}
}

// StopWorker does nothing: a worker ends with the connection that gives it orders, which a runner closes first, and the
// ID alone does not tell whose worker it is.
func (*pool) StopWorker(context.Context, *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	return &fnpb.StopWorkerResponse{}, nil
}

// Close ends all workers.
func (p *pool) Close() {
	p.stop()
	p.server.Stop()
}

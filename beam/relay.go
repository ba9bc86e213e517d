package beam

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
)

// A relay is the worker pool that Prism sees. It asks the true one and always says yes: where a pool refuses or is
// gone, Prism would panic, and the relay ends the runs instead. It lives as long as the program, as Prism's server
// does, which may ask late.
type relay struct {
	fnpb.UnimplementedBeamFnExternalWorkerPoolServer
	workers string // address of the true pool
	conn    *grpc.ClientConn
	address string

	mu   sync.Mutex
	runs map[context.Context]context.CancelCauseFunc // under way
}

func newRelay(workers string) (*relay, error) {
	conn, err := grpc.NewClient(workers, grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		return nil, fmt.Errorf("beam: no worker can be at %q: %w", workers, err)
	}
	listener, err := net.Listen("tcp", "localhost:0")
	if err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	r := &relay{
		workers: workers, conn: conn, address: listener.Addr().String(), runs: map[context.Context]context.CancelCauseFunc{},
	}
	server := grpc.NewServer()
	fnpb.RegisterBeamFnExternalWorkerPoolServer(server, r)
	go server.Serve(listener) //nolint:errcheck // it never stops
	return r, nil
}

// StartWorker asks the pool for a worker, and ends all runs where there is none. [Passes.Make] begins them again.
func (r *relay) StartWorker(ctx context.Context, request *fnpb.StartWorkerRequest) (*fnpb.StartWorkerResponse, error) {
	ctx, done := context.WithTimeout(ctx, patience)
	defer done()
	answer, err := fnpb.NewBeamFnExternalWorkerPoolClient(r.conn).StartWorker(ctx, request)
	if said := answer.GetError(); said != "" {
		err = errors.New(said)
	}
	if err != nil {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, stop := range r.runs {
			stop(noWorker(r.workers, err))
		}
	}
	return &fnpb.StartWorkerResponse{}, nil
}

// StopWorker does nothing, as that of a [pool].
func (*relay) StopWorker(context.Context, *fnpb.StopWorkerRequest) (*fnpb.StopWorkerResponse, error) {
	return &fnpb.StopWorkerResponse{}, nil
}

// run is the context of a run, which ends, with the reason as its cause, when the workers are gone.
func (r *relay) run(ctx context.Context) (_ context.Context, end func(), err error) {
	if err := answers(r.workers); err != nil {
		return nil, nil, err
	}
	ctx, stop := context.WithCancelCause(ctx)
	r.mu.Lock()
	r.runs[ctx] = stop
	r.mu.Unlock()
	go func() {
		for pause(ctx, time.Second) == nil {
			if err := answers(r.workers); err != nil {
				stop(err)
			}
		}
	}()
	return ctx, func() {
		r.mu.Lock()
		delete(r.runs, ctx)
		r.mu.Unlock()
		stop(nil)
	}, nil
}

// answers is an error where nobody is at the address of a pool.
func answers(workers string) error {
	conn, err := net.DialTimeout("tcp", workers, patience)
	if err != nil {
		return noWorker(workers, err)
	}
	return conn.Close()
}

func noWorker(address string, err error) error {
	return fmt.Errorf("no worker at %s: %w", address, err)
}

package beam

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	fnpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/fnexecution_v1"
	jobpb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/jobmanagement_v1"
	pipepb "github.com/apache/beam/sdks/v2/go/pkg/beam/model/pipeline_v1"
	"github.com/stretchr/testify/require"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// A taskManager is a runner's process: what gives workers their orders. It has none.
type taskManager struct {
	fnpb.UnimplementedBeamFnControlServer
	server  *grpc.Server
	address string

	mu       sync.Mutex
	workers  int // connected
	attached int // in all
}

func newTaskManager(t *testing.T) *taskManager {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	m := &taskManager{server: grpc.NewServer(), address: listener.Addr().String()}
	fnpb.RegisterBeamFnControlServer(m.server, m)
	go m.server.Serve(listener) //nolint:errcheck // until it is stopped
	t.Cleanup(m.server.Stop)
	return m
}

func (m *taskManager) add(workers, attached int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.workers += workers
	m.attached += attached
}

func (m *taskManager) Control(stream fnpb.BeamFnControl_ControlServer) error {
	m.add(1, 1)
	defer m.add(-1, 0)
	<-stream.Context().Done()
	return nil
}

// has waits until so many workers are connected, of so many in all.
func (m *taskManager) has(t *testing.T, workers, attached int) {
	require.Eventually(t, func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.workers == workers && m.attached == attached
	}, 30*time.Second, 5*time.Millisecond)
}

func TestWorkersOfOneIDAreToldApartByTheirTaskManagers(t *testing.T) {
	initialise()
	p, err := newPool(t.Context(), 0)
	require.NoError(t, err)
	defer p.Close()
	start := func(m *taskManager) {
		at := &pipepb.ApiServiceDescriptor{Url: m.address}
		answer, err := p.StartWorker(t.Context(), &fnpb.StartWorkerRequest{WorkerId: "1-1", ControlEndpoint: at, LoggingEndpoint: at})
		require.NoError(t, err)
		require.Empty(t, answer.GetError())
	}
	known := func(n int) {
		require.Eventually(t, func() bool {
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.workers) == n
		}, 30*time.Second, 5*time.Millisecond)
	}
	one, two := newTaskManager(t), newTaskManager(t)
	start(one)
	start(two)
	one.has(t, 1, 1)
	two.has(t, 1, 1)
	start(one) // it has lost the first
	one.has(t, 1, 2)
	two.has(t, 1, 1)
	known(2)
	_, err = p.StopWorker(t.Context(), &fnpb.StopWorkerRequest{WorkerId: "1-1"})
	require.NoError(t, err)
	one.server.Stop() // it dies, and its worker with it
	known(1)
	two.has(t, 1, 1)

	answer, err := p.StartWorker(t.Context(), &fnpb.StartWorkerRequest{WorkerId: "1-2"})
	require.NoError(t, err)
	require.Equal(t, `nobody is named to give worker "1-2" its orders`, answer.GetError())
}

// A jobService refuses all jobs, and keeps the parallelism that they ask for.
type jobService struct {
	jobpb.UnimplementedJobServiceServer
	asked []string
}

func (s *jobService) Prepare(_ context.Context, r *jobpb.PrepareJobRequest) (*jobpb.PrepareJobResponse, error) {
	s.asked = append(s.asked, r.GetPipelineOptions().GetFields()["beam:option:parallelism:v1"].String())
	return nil, status.Error(codes.Unavailable, "no cluster")
}

func TestAJobAsksForAsManySlotsAsItHasTasks(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	s, server := &jobService{}, grpc.NewServer()
	jobpb.RegisterJobServiceServer(server, s)
	go server.Serve(listener) //nolint:errcheck // until it is stopped
	defer server.Stop()
	for _, most := range []int{0, 2, 9} {
		r, err := Portable(t.Context(), listener.Addr().String(), "", most)
		require.NoError(t, err)
		err = r.Run(t.Context(), pipelineOf(t.TempDir(), 5), 5)
		require.ErrorContains(t, err, "no cluster")
		require.NoError(t, r.Close())
	}
	require.Equal(t, []string{`number_value:5`, `number_value:2`, `number_value:5`}, s.asked)
	_, err = Portable(t.Context(), listener.Addr().String(), "", -1)
	require.ErrorContains(t, err, "a parallelism of -1: must be at least 1, or 0 for all tasks of a pass")
}

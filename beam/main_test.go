package beam

import (
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"iter"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

// workerEnv makes the test's program a worker.
const workerEnv = "LATENT_BEAM_TEST_WORKER"

func TestMain(m *testing.M) {
	log.SetLogger(&log.Standard{Level: log.SevWarn})
	slog.SetDefault(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError + 1})))
	if os.Getenv(workerEnv) != "" {
		if err := serve(); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// serve is a worker that ends with its parent.
func serve() error {
	port, err := strconv.Atoi(os.Getenv(workerEnv))
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		_, _ = io.Copy(io.Discard, os.Stdin)
		cancel()
	}()
	return Serve(ctx, port, func(address string) { fmt.Println(address) })
}

// worker starts a process that makes tasks.
func worker(t testing.TB) (address string, process *os.Process) { return workerAt(t, 0) }

func workerAt(t testing.TB, port int) (address string, process *os.Process) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", workerEnv, port))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	require.NoError(t, err)
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = in.Close()
		_ = cmd.Wait()
	})
	_, err = fmt.Fscanln(out, &address)
	require.NoError(t, err)
	return address, cmd.Process
}

type (
	rows       = blocks.Rows
	parameters = *mixture.Parameters
	statistics = *mixture.Statistics
	work       = Work[rows, parameters, statistics]
)

// A fileSpec is a mixture over an NPY file.
type fileSpec struct {
	Path string
	Fail string        // what a worker process says
	Slow time.Duration // what a pass takes in a worker process
	Mark string        // while this file is there, passes in a worker process wait, and it becomes empty (see inPass)
}

var ofFile = Register("file", func(_ context.Context, s fileSpec) (*work, error) {
	if s.Fail != "" && os.Getenv(workerEnv) != "" {
		return nil, fmt.Errorf("the disk of %s is not mounted", s.Fail)
	}
	store := data.NewStore(1 << 20) // larger ones are mapped
	f, err := os.Open(s.Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	table, err := data.Read(f, data.CSVOptions{Store: store})
	if err != nil {
		return nil, err
	}
	x, n, d, err := table.Values()
	if err != nil {
		return nil, err
	}
	src, err := blocks.FromSlice(x, n, d)
	if err != nil {
		return nil, err
	}
	return &work{Model: mixture.Model{Family: normal.Family{}}, Source: slow{src, s}, Files: []string{s.Path}, Close: store.Close}, nil
})

// decoded counts the rows that sources of this process have decoded, by file.
var decoded sync.Map

// ofParquet is a mixture over the row groups of a Parquet file.
var ofParquet = Register("parquet", func(_ context.Context, path string) (*work, error) {
	count, _ := decoded.LoadOrStore(path, new(atomic.Int64))
	before := 0
	r, err := columnar.OpenRows([]string{path}, columnar.Options{Progress: func(rows, _ int) {
		count.(*atomic.Int64).Add(int64(rows - before))
		before = rows
	}})
	if err != nil {
		return nil, err
	}
	return &work{Model: mixture.Model{Family: normal.Family{}}, Source: r, Files: []string{path}, Close: r.Close}, nil
})

// A slow source has passes take their time in a worker process.
type slow struct {
	*blocks.Table
	spec fileSpec
}

func (s slow) Blocks(ctx context.Context) iter.Seq2[rows, error] {
	blocks := s.Table.Blocks(ctx)
	if os.Getenv(workerEnv) == "" {
		return blocks
	}
	return func(yield func(rows, error) bool) {
		for s.spec.Mark != "" && os.Truncate(s.spec.Mark, 0) == nil {
			if pause(ctx, 10*time.Millisecond) != nil {
				return
			}
		}
		if pause(ctx, s.spec.Slow) == nil {
			blocks(yield)
		}
	}
}

// inPass does something once a worker is in the middle of a pass over a source with this mark, which goes on then.
func inPass(t testing.TB, mark string, do func()) (done <-chan struct{}) {
	require.NoError(t, os.WriteFile(mark, []byte("not yet"), 0o666))
	over := make(chan struct{})
	go func() {
		defer close(over)
		for {
			if info, err := os.Stat(mark); err != nil || info.Size() == 0 {
				break
			}
			time.Sleep(10 * time.Millisecond)
		}
		do()
		_ = os.Remove(mark)
	}()
	return over
}

// inSecondPass is a recorder that does something once a worker is in the middle of the second pass.
func inSecondPass(t testing.TB, mark string, do func()) func(framework.Event) error {
	return func(e framework.Event) error {
		if e.Iteration == 1 {
			inPass(t, mark, do)
		}
		return nil
	}
}

// table writes n rows of three clusters.
func table(t testing.TB, n, d int) (path string) {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.NormFloat64() + 6*float64(i/d%3)
	}
	path = filepath.Join(t.TempDir(), "rows.npy")
	writeNPY(t, path, x, n, d)
	return path
}

func writeNPY(t testing.TB, path string, x []float64, n, d int) {
	head := fmt.Sprintf("{'descr': '<f8', 'fortran_order': False, 'shape': (%d, %d), }", n, d)
	for (10+len(head)+1)%64 != 0 {
		head += " "
	}
	text := append([]byte("\x93NUMPY\x01\x00"), byte(len(head)+1), byte((len(head)+1)>>8))
	text = append(append(text, head...), '\n')
	for _, v := range x {
		text = binary.LittleEndian.AppendUint64(text, math.Float64bits(v))
	}
	require.NoError(t, os.WriteFile(path, text, 0o666))
}

package beam

import (
	"context"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"

	"github.com/latent-go/latent/framework"
)

// on is a fit by a worker process.
func on(t *testing.T, address string, s fileSpec, o framework.Options, opts Options) (*framework.Result[parameters, statistics], error) {
	if opts.Runner == nil {
		r, err := Prism(t.Context(), address)
		require.NoError(t, err)
		defer r.Close()
		opts.Runner = r
	}
	opts.Dir = t.TempDir()
	defer func() {
		left, err := os.ReadDir(opts.Dir)
		require.NoError(t, err)
		require.Empty(t, left, "what a run leaves behind")
	}()
	o.Seed, o.K = 1, 3
	return Fit(t.Context(), ofFile, s, o, opts)
}

func TestFilesThatChangeOrVanishEndTheFit(t *testing.T) {
	address, _ := worker(t)
	for name, c := range map[string]struct {
		change func(path string) error
		want   string
	}{
		"changed":  {func(path string) error { return os.Chtimes(path, time.Now(), time.Unix(1e9, 0)) }, "the file has changed since the fit began"},
		"vanished": {os.Remove, "no such file"},
		"shorter":  {func(path string) error { return os.Truncate(path, 1000) }, "the file has changed since the fit began"},
	} {
		t.Run(name, func(t *testing.T) {
			path := table(t, 300, 2)
			_, err := on(t, address, fileSpec{Path: path}, framework.Options{Recorder: func(r framework.Event) error {
				if r.Iteration == 3 {
					return c.change(path)
				}
				return nil
			}}, Options{})
			require.ErrorContains(t, err, c.want)
			require.ErrorContains(t, err, path)
			require.ErrorContains(t, err, "worker on")
		})
	}
}

func TestShardsThatNoWorkerCanReadEndTheFit(t *testing.T) {
	address, _ := worker(t)
	_, err := on(t, address, fileSpec{Path: table(t, 300, 2), Fail: "rows"}, framework.Options{}, Options{Parts: 4})
	require.ErrorContains(t, err, "shards 0 to 3: worker on")
	require.ErrorContains(t, err, "the disk of rows is not mounted")

	_, err = on(t, address, fileSpec{Path: filepath.Join(t.TempDir(), "none.npy")}, framework.Options{}, Options{})
	require.ErrorContains(t, err, "no such file", "of the driver")
}

// A model's error is the one of a fit in one process.
func TestErrorsOfTheModelArriveAsTheyWere(t *testing.T) {
	address, _ := worker(t)
	path := filepath.Join(t.TempDir(), "equal.npy")
	writeNPY(t, path, make([]float64, 40), 20, 2)
	w, err := ofFile.open(t.Context(), fileSpec{Path: path})
	require.NoError(t, err)
	o := framework.Options{K: 3, Seed: 1}
	_, want := framework.Fit(t.Context(), w.Model, w.Source, o)
	_, got := on(t, address, fileSpec{Path: path}, o, Options{})
	require.Error(t, want)
	require.EqualError(t, got, want.Error())
}

func TestAWorkerThatIsKilledIsReplaced(t *testing.T) {
	path := table(t, 300, 2)
	o := framework.Options{K: 3, Seed: 1, MaxIterations: 5}
	want := alone(t, path, o)
	first, process := worker(t)
	second, _ := worker(t)
	runners := []Runner{}
	for _, address := range []string{first, second} {
		r, err := Prism(t.Context(), address)
		require.NoError(t, err)
		defer r.Close()
		runners = append(runners, r)
	}
	s := fileSpec{Path: path, Mark: filepath.Join(t.TempDir(), "mark")}
	passes := 0
	r := RunnerFunc(func(ctx context.Context, p *sdk.Pipeline, tasks int) error {
		passes++
		switch {
		case passes < 3:
			return runners[0].Run(ctx, p, tasks)
		case passes == 3:
			inPass(t, s.Mark, func() { _ = process.Kill() })
			return runners[0].Run(ctx, p, tasks)
		}
		return runners[1].Run(ctx, p, tasks)
	})
	got, err := on(t, "", s, o, Options{Runner: r, Parts: 2})
	require.NoError(t, err)
	require.Greater(t, passes, 4)
	require.Equal(t, want.Parameters, got.Parameters)
	require.Equal(t, want.Trace, got.Trace)
}

func TestNobodyWaitsForWorkersThatAreGone(t *testing.T) {
	address, process := worker(t)
	require.NoError(t, process.Kill())
	_, err := on(t, address, fileSpec{Path: table(t, 300, 2)}, framework.Options{}, Options{Attempts: 2})
	require.ErrorContains(t, err, "have no outcome after 2 attempts: no worker at "+address)

	_, err = Portable(t.Context(), "localhost:1", "localhost:2", 1)
	require.ErrorContains(t, err, "no job service at localhost:1")
}

// A worker that dies between two questions, or whose pool refuses, is no reason to panic, as Prism would.
func TestPoolsThatHangUpEndTheFit(t *testing.T) {
	listener, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer listener.Close()
	go func() {
		for conn, err := listener.Accept(); err == nil; conn, err = listener.Accept() {
			_ = conn.Close()
		}
	}()
	address := listener.Addr().String()
	_, err = on(t, address, fileSpec{Path: table(t, 300, 2)}, framework.Options{}, Options{Attempts: 2})
	require.ErrorContains(t, err, "have no outcome after 2 attempts: no worker at "+address)
}

func TestWorkersElsewhereMustShareTheFolder(t *testing.T) {
	nothing := RunnerFunc(func(context.Context, *sdk.Pipeline, int) error { return nil })
	_, err := on(t, "", fileSpec{Path: table(t, 300, 2)}, framework.Options{}, Options{Runner: nothing, Attempts: 1})
	require.ErrorContains(t, err, "is the folder of the run on storage that they share with the driver?")
}

func TestACancelledFitEndsAtOnceAndLeavesNothing(t *testing.T) {
	address, _ := worker(t)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Prism(t.Context(), address)
	require.NoError(t, err)
	defer r.Close()
	dir := t.TempDir()
	time.AfterFunc(400*time.Millisecond, cancel)
	began := time.Now()
	_, err = Fit(ctx, ofFile, fileSpec{Path: table(t, 300, 2), Slow: time.Minute}, framework.Options{K: 2}, Options{Runner: r, Dir: dir})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, time.Since(began), 20*time.Second)
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

// A worker that the runner has given up, in the middle of a task, leaves no outcome: the task is another's.
func TestACancelledTaskHasNoOutcome(t *testing.T) {
	path, dir := table(t, 300, 2), t.TempDir()
	w, err := ofFile.open(t.Context(), fileSpec{Path: path})
	require.NoError(t, err)
	p, err := w.Model.Init(t.Context(), w.Source, 2, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	files, err := filesOf(w.Files)
	require.NoError(t, err)
	o := order{Job: "file", Build: build(), Files: files, Rows: 300, Shards: 16}
	o.Spec, err = encode(fileSpec{Path: path})
	require.NoError(t, err)
	o.State, err = encode(framework.State[parameters]{Parameters: p})
	require.NoError(t, err)
	text, err := encode(o)
	require.NoError(t, err)
	require.NoError(t, seal(filepath.Join(dir, orderName), text))
	f, task := passFn{Dir: dir, Order: hashOf(text)}, Task{0, 16}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, f.ProcessElement(ctx, task, func(Task) {}), context.Canceled)
	require.NoFileExists(t, task.path(dir))
	require.NoError(t, f.ProcessElement(t.Context(), task, func(Task) {}))
	require.FileExists(t, task.path(dir))
}

func TestDamagedFilesOfARunAreNoSums(t *testing.T) {
	path := filepath.Join(t.TempDir(), "sums")
	require.NoError(t, seal(path, []byte("what was written")))
	text, err := unseal(path)
	require.NoError(t, err)
	require.Equal(t, "what was written", string(text))
	whole, err := os.ReadFile(path)
	require.NoError(t, err)
	for range 20 {
		damaged := append([]byte(nil), whole...)
		damaged[rand.IntN(len(damaged))] ^= 1
		require.NoError(t, os.WriteFile(path, damaged, 0o666))
		_, err = unseal(path)
		require.ErrorContains(t, err, "is damaged")
	}
	require.NoError(t, os.WriteFile(path, whole[:10], 0o666))
	_, err = unseal(path)
	require.ErrorContains(t, err, "is damaged")
}

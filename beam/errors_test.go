package beam

import (
	"context"
	"fmt"
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
	runs := 0
	r := RunnerFunc(func(ctx context.Context, p *sdk.Pipeline, tasks int) error {
		runs++
		return runners[min(runs, 2)-1].Run(ctx, p, tasks)
	})
	o.Recorder = inSecondPass(t, s.Mark, func() { _ = process.Kill() })
	got, err := on(t, "", s, o, Options{Runner: r, Parts: 2})
	require.NoError(t, err)
	require.Equal(t, 2, runs)
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

// begun is a run of one pass over a file, which nobody has made.
func begun(t *testing.T) (d *Passes, pass string) {
	path := table(t, 300, 2)
	w, err := ofFile.open(t.Context(), fileSpec{Path: path})
	require.NoError(t, err)
	p, err := w.Model.Init(t.Context(), w.Source, 2, rand.New(rand.NewPCG(1, 1)))
	require.NoError(t, err)
	spec, err := encode(fileSpec{Path: path})
	require.NoError(t, err)
	state, err := encode(framework.State[parameters]{Parameters: p})
	require.NoError(t, err)
	d, err = Begin(t.Context(), "file", spec, 300, w.Files, Options{Dir: t.TempDir(), Parts: 2, Runner: RunnerFunc(nil)})
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, d.Close()) })
	o := d.order
	o.State, o.Shards = state, 16
	pass = passName(1)
	hash, err := put(t.Context(), d.folder, pass+orderName, o)
	require.NoError(t, err)
	require.NoError(t, d.post(t.Context(), func(b *board) { b.Passes[pass] = hash }))
	return d, pass
}

func handOf(d *Passes, slot int) *hand {
	return &hand{Folder: d.folder, slot: slot, name: fmt.Sprint("worker ", slot), at: map[string]*taken{}}
}

// A worker that the runner has given up, in the middle of a task, leaves no outcome: the task is another's.
func TestACancelledTaskHasNoOutcome(t *testing.T) {
	d, pass := begun(t)
	hash, sums := d.board.Passes[pass], filepath.Join(d.address, pass+sumsName+"0")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := handOf(d, 0).one(ctx, pass, hash)
	require.ErrorIs(t, err, context.Canceled)
	require.NoFileExists(t, sums)
	first, second := handOf(d, 0), handOf(d, 1)
	for _, w := range []*hand{first, second} { // the second task
		made, err := w.one(t.Context(), pass, hash)
		require.NoError(t, err)
		require.Equal(t, w == first, made)
	}
	require.NoFileExists(t, sums)
	second.at[pass].claims[0] = sighting{second.at[pass].claims[0].text, time.Now().Add(-2 * silence)} // a while later
	made, err := second.one(t.Context(), pass, hash)
	require.NoError(t, err)
	require.True(t, made)
	require.FileExists(t, sums)
	made, err = first.one(t.Context(), pass, hash)
	require.NoError(t, err)
	require.False(t, made)
	require.Nil(t, first.at[pass].tasks, "the pass is over")
}

func TestWorkersLeaveARunWhoseDriverIsGone(t *testing.T) {
	d, _ := begun(t)
	w := handOf(d, 0)
	b := board{Beat: -1}
	now := time.Now()
	require.NoError(t, w.gone(&b, d.board, now), "it has changed")
	require.NoError(t, w.gone(&b, d.board, now.Add(absence)))
	require.ErrorIs(t, w.gone(&b, d.board, now.Add(absence+1)), errNoDriver)
}

func TestDamagedFilesOfARunAreNoSums(t *testing.T) {
	dir := directory(t.TempDir())
	_, err := put(t.Context(), dir, "sums", "what was written")
	require.NoError(t, err)
	var text string
	require.NoError(t, get(t.Context(), dir, "sums", &text))
	require.Equal(t, "what was written", text)
	whole, err := dir.Get(t.Context(), "sums")
	require.NoError(t, err)
	for range 20 {
		damaged := append([]byte(nil), whole...)
		damaged[rand.IntN(len(damaged))] ^= 1
		require.ErrorContains(t, unseal("sums", damaged, &text), "sums is damaged")
	}
	require.ErrorContains(t, unseal("sums", whole[:10], &text), "sums is damaged")
}

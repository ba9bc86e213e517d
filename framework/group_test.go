package framework_test

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/ranks"
	"github.com/latent-go/latent/internal/tier"
)

// fitTogether is one fit by n processes, which must agree.
func fitTogether(t *testing.T, n int, src framework.Source[blocks.Rows], o framework.Options) *framework.Result[*rates, *counts] {
	t.Helper()
	results := make([]*framework.Result[*rates, *counts], n)
	for rank, err := range ranks.Each(n, func(r ranks.Rank) (err error) {
		o := o
		o.Group = r
		rank, _ := r.Rank()
		results[rank], err = framework.Fit(background, poisson{}, src, o)
		return err
	}) {
		require.NoError(t, err, "process %d of %d", rank, n)
	}
	for _, res := range results[1:] {
		requireBits(t, results[0], res)
	}
	return results[0]
}

func requireBits(t *testing.T, want, got *framework.Result[*rates, *counts]) {
	t.Helper()
	require.Equal(t, want.Trace, got.Trace)
	require.Equal(t, want.Parameters, got.Parameters)
	require.Equal(t, want.Scores, got.Scores)
	require.Equal(t, want.Restarts, got.Restarts)
}

// TestAnyNumberOfProcessesGivesTheBitsOfOne, also with more processes than shards or blocks, with blocks that are
// skipped or asked for, and with rounding that depends on every bit: weights are irrational.
func TestAnyNumberOfProcessesGivesTheBitsOfOne(t *testing.T) {
	x := mixed(700, 1)
	w := make([]float64, len(x))
	for i := range w {
		w[i] = 1 + 1/float64(i+3)
	}
	weighted, err := table(x).WithWeights(w)
	require.NoError(t, err)
	few, err := table(x[:100]).WithWeights(w[:100])
	require.NoError(t, err)
	more := map[string][]int{"one block": {2}, "many": {3}, "fewer than shards": {19}, "parts": {3}}
	for name, src := range map[string]framework.Source[blocks.Rows]{"one block": weighted, "many": chopped{weighted}, "fewer than shards": chopped{few}, "parts": parts{chopped{weighted}, new(atomic.Int64)}} {
		for _, o := range []framework.Options{
			{K: 3, Method: framework.EM, Also: []framework.Criterion{framework.BIC, framework.ICL}},
			{K: 5, Restarts: 3, Also: []framework.Criterion{framework.BIC}},
			{K: 4, Method: framework.FAB, Workers: 2, Shards: 7},
		} {
			o.MaxIterations = tier.Of(12, 12, 40)
			one, err := framework.Fit(background, poisson{}, src, o)
			require.NoError(t, err, name)
			for _, n := range tier.Of([]int{3}, more[name], []int{2, 3, 19}) {
				requireBits(t, one, fitTogether(t, n, src, o))
			}
		}
	}
}

// parts is a Divided source that counts its blocks.
type parts struct {
	chopped
	read *atomic.Int64
}

func (p parts) Part(ctx context.Context, first, last, shards int) iter.Seq2[blocks.Rows, error] {
	list := p.chopped.Blocks(ctx)
	return func(yield func(blocks.Rows, error) bool) {
		i := -1
		for b, err := range list {
			if i++; i%shards < first || i%shards >= last {
				continue
			}
			p.read.Add(1)
			if !yield(b, err) {
				return
			}
		}
	}
}

func TestProcessesReadTheirParts(t *testing.T) {
	src := parts{chopped{table(mixed(2000, 1))}, new(atomic.Int64)}
	list := 0
	for range src.Blocks(background) {
		list++
	}
	res := fitTogether(t, 3, src, framework.Options{K: 3, Method: framework.EM})
	assert.Equal(t, int64(list*(res.Passes)), src.read.Load())
}

func TestProcessesSelectTogether(t *testing.T) {
	src := chopped{table(mixed(500, 1))}
	ks := []int{1, 2, 3}
	o := framework.Options{Method: framework.EM, Also: []framework.Criterion{framework.BIC}}
	one, err := framework.Select(background, poisson{}, src, ks, o)
	require.NoError(t, err)
	for _, err := range ranks.Each(3, func(r ranks.Rank) error {
		o := o
		o.Group = r
		s, err := framework.Select(background, poisson{}, src, ks, o)
		if err == nil && fmt.Sprint(s.Values) != fmt.Sprint(one.Values) {
			err = errors.New("other values")
		}
		return err
	}) {
		require.NoError(t, err)
	}
}

// TestWhatHappensToOneProcessHappensToAll: in each case the last of three processes is in trouble.
func TestWhatHappensToOneProcessHappensToAll(t *testing.T) {
	src := chopped{table(mixed(1500, 3))}
	enough := errors.New("the disk is full")
	for name, c := range map[string]struct {
		spoil func(r ranks.Rank, o *framework.Options, src *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts])
		says  string
		is    error
	}{
		"another seed": {func(_ ranks.Rank, o *framework.Options, _ *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			o.Seed = 7
			return background, poisson{}
		}, "differ in the task", nil},
		"fewer rows": {func(_ ranks.Rank, _ *framework.Options, src *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			*src = chopped{table(mixed(1499, 3))}
			return background, poisson{}
		}, "differ in the number of rows: 1500 and 1499", nil},
		"other rows": {func(_ ranks.Rank, _ *framework.Options, src *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			*src = chopped{table(mixed(1500, 4))}
			return background, poisson{}
		}, "the parameters of processes 0 and 2 differ: the processes read different rows", nil},
		"a recorder": {func(_ ranks.Rank, o *framework.Options, _ *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			o.Recorder = func(e framework.Event) error {
				if e.Iteration == 3 {
					return enough
				}
				return nil
			}
			return background, poisson{}
		}, "the disk is full", nil},
		"a broken disk": {func(_ ranks.Rank, _ *framework.Options, src *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			*src = passes{chopped{table(mixed(1500, 3))}, new(int), func(pass int, yield func(blocks.Rows, error) bool, rest iter.Seq2[blocks.Rows, error]) {
				if pass > 9 {
					yield(blocks.Rows{}, errDisk)
					return
				}
				rest(yield)
			}}
			return background, poisson{}
		}, errDisk.Error(), nil},
		"a broken disk at the start": {func(_ ranks.Rank, _ *framework.Options, src *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			*src = passes{chopped{table(mixed(1500, 3))}, new(int), func(_ int, yield func(blocks.Rows, error) bool, _ iter.Seq2[blocks.Rows, error]) {
				yield(blocks.Rows{}, errDisk)
			}}
			return background, poisson{}
		}, errDisk.Error(), nil},
		"a cancelled context": {func(_ ranks.Rank, o *framework.Options, _ *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			ctx, cancel := context.WithCancel(background)
			o.Recorder = func(e framework.Event) error {
				if e.Iteration == 3 {
					cancel()
				}
				return nil
			}
			return ctx, poisson{}
		}, "cancelled", context.Canceled},
		"a deadline": {func(_ ranks.Rank, o *framework.Options, _ *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			ctx := &expiring{Context: background, over: make(chan struct{})}
			expire := sync.OnceFunc(func() { close(ctx.over) })
			o.Recorder = func(e framework.Event) error {
				if e.Iteration == 3 {
					expire()
				}
				return nil
			}
			return ctx, poisson{}
		}, "cancelled", context.DeadlineExceeded},
		"a panic": {func(ranks.Rank, *framework.Options, *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			return background, explosive{}
		}, "the task", nil},
		"a death": {func(r ranks.Rank, o *framework.Options, _ *framework.Source[blocks.Rows]) (context.Context, framework.Model[blocks.Rows, *rates, *counts]) {
			o.Recorder = func(framework.Event) error {
				r.Leave()
				select {}
			}
			return background, poisson{}
		}, "disconnected from the others", nil},
	} {
		t.Run(name, func(t *testing.T) {
			all := ranks.New(3)
			type end struct {
				rank int
				err  error
			}
			ends := make(chan end)
			for rank, r := range all {
				go func() {
					o, from, ctx, m := framework.Options{K: 4, Group: r}, framework.Source[blocks.Rows](src), background, framework.Model[blocks.Rows, *rates, *counts](poisson{})
					if rank == 2 {
						ctx, m = c.spoil(r, &o, &from)
					}
					_, err := framework.Fit(ctx, m, from, o)
					ends <- end{rank, err}
				}()
			}
			alive := 3
			if name == "a death" {
				alive = 2
			}
			for range alive {
				e := <-ends
				require.ErrorContains(t, e.err, c.says, "process %d", e.rank)
				if c.is != nil {
					require.ErrorIs(t, e.err, c.is, "process %d", e.rank)
				}
			}
		})
	}
}

// expiring is a context whose deadline passes when the test says so.
type expiring struct {
	context.Context
	over chan struct{}
}

func (e *expiring) Done() <-chan struct{} { return e.over }

func (e *expiring) Err() error {
	select {
	case <-e.over:
		return context.DeadlineExceeded
	default:
		return nil
	}
}

// TestAPanicInOneShardEndsAllProcesses, and is one in the process where it happened.
func TestAPanicInOneShardEndsAllProcesses(t *testing.T) {
	src := chopped{table(mixed(1000, 1))}
	for _, err := range ranks.Each(2, func(r ranks.Rank) error {
		_, err := framework.Fit(background, explosive{}, src, framework.Options{K: 2, Group: r})
		return err
	}) {
		require.ErrorContains(t, err, "boom")
	}
}

// TestACheckpointOfOneProcessIsThatOfMany: interrupted with two processes, resumed with three, to the bits of one.
func TestACheckpointOfOneProcessIsThatOfMany(t *testing.T) {
	src := chopped{table(mixed(1500, 3))}
	o := framework.Options{K: 5, Restarts: 2}
	one, err := framework.Fit(background, poisson{}, src, o)
	require.NoError(t, err)
	var saved []byte
	enough := errors.New("enough")
	for _, err := range ranks.Each(2, func(r ranks.Rank) error {
		o := o
		o.Group = r
		if rank, _ := r.Rank(); rank == 0 {
			o.Recorder = func(e framework.Event) (err error) {
				if e.Iteration == 6 {
					if saved, err = e.Checkpoint(); err == nil {
						err = enough
					}
				}
				return err
			}
		}
		_, err := framework.Fit(background, poisson{}, src, o)
		return err
	}) {
		require.ErrorContains(t, err, "enough")
	}
	o.Resume = saved
	requireBits(t, one, fitTogether(t, 3, src, o))
}

// cluster is an Executor whose workers know nothing but the state.
type cluster struct {
	chopped
	steps *int
}

func (c cluster) Step(ctx context.Context, at framework.State[*rates], shards int) ([][]byte, error) {
	*c.steps++
	var all [][]byte
	for _, part := range [][2]int{{5, shards}, {0, 3}, {3, 5}} {
		state, err := resent(at)
		if err != nil {
			return nil, err
		}
		share, err := framework.Share(ctx, poisson{}, c.chopped, state, part[0], part[1], shards, 2)
		if err != nil {
			return nil, err
		}
		all = append(all, share)
	}
	return all, nil
}

func TestAnExecutorGivesTheBitsOfOneProcess(t *testing.T) {
	src := chopped{table(mixed(2000, 1))}
	for _, o := range []framework.Options{{K: 5, Restarts: 2}, {K: 3, Method: framework.EM, Also: []framework.Criterion{framework.BIC}}} {
		one, err := framework.Fit(background, poisson{}, src, o)
		require.NoError(t, err)
		steps := 0
		o.Workers = 1
		res, err := framework.Fit(background, poisson{}, framework.Elsewhere[blocks.Rows](src, cluster{src, &steps}), o)
		require.NoError(t, err)
		requireBits(t, one, res)
		assert.GreaterOrEqual(t, steps, one.Passes)
	}
	_, err := framework.Fit(background, explosive{}, faultyCluster{cluster{src, new(int)}}, framework.Options{K: 2})
	require.ErrorContains(t, err, "boom")
}

// A source stays what it is where its passes are made elsewhere.
func TestElsewhereKeepsWhatASourceMeasures(t *testing.T) {
	tab := table(mixed(40, 1))
	seq, err := blocks.NewSequences(tab, []int{10, 40})
	require.NoError(t, err)
	plain := framework.Elsewhere[blocks.Rows, *rates](tab, cluster{})
	_, is := plain.(optional.Measured)
	assert.False(t, is)
	measured, is := framework.Elsewhere[blocks.Sequences, *rates](seq, cluster{}).(optional.Measured)
	require.True(t, is)
	assert.Equal(t, 40, measured.Observations())
}

// faultyCluster runs another model.
type faultyCluster struct{ cluster }

func (c faultyCluster) Step(ctx context.Context, at framework.State[*rates], shards int) ([][]byte, error) {
	share, err := framework.Share(ctx, explosive{}, c.chopped, at, 0, shards, shards, 1)
	return [][]byte{share}, err
}

// otherCluster says that it is another machine.
type otherCluster struct{ cluster }

func (c otherCluster) Step(ctx context.Context, at framework.State[*rates], shards int) ([][]byte, error) {
	all, err := c.cluster.Step(ctx, at, shards)
	for i, text := range all {
		all[i] = bytes.Replace(text, []byte(runtime.GOARCH), []byte(strings.Repeat("x", len(runtime.GOARCH))), 1)
	}
	return all, err
}

func TestWorkersThatRoundOtherwiseAreRefused(t *testing.T) {
	_, err := framework.Fit(background, poisson{}, otherCluster{cluster{chopped{table(mixed(2000, 1))}, new(int)}}, framework.Options{K: 2})
	require.ErrorContains(t, err, "a worker rounds differently from this process: the worker is "+runtime.GOOS+"/xxx")
}

// resent is a state as another process gets it.
func resent(at framework.State[*rates]) (got framework.State[*rates], err error) {
	var buf bytes.Buffer
	if err := gob.NewEncoder(&buf).Encode(at); err != nil {
		return got, err
	}
	return got, gob.NewDecoder(&buf).Decode(&got)
}

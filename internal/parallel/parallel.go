// Package parallel makes several calls at a time, with the outcome of a loop.
package parallel

import (
	"context"
	"runtime"
	"runtime/debug"
	"sync"

	"github.com/latent-go/latent/internal/panics"
)

// Do calls do(0), …, do(n−1), at most limit at a time (0: as many as processors), and waits for them. Like a loop it
// returns the error of the first call that fails, by index, and raises a panic again, as a [*panics.Panic]: whatever
// the timing, the calls before that one are made, and none is begun once it has failed. A fault of mapped memory is
// [panics.ErrFault].
func Do(n, limit int, do func(i int) error) error {
	return DoContext(context.Background(), n, limit, func(_ context.Context, i int) error { return do(i) })
}

// DoContext is [Do] until ctx ends. A call's own context also ends when a call before it fails.
func DoContext(ctx context.Context, n, limit int, do func(ctx context.Context, i int) error) error {
	if limit <= 0 {
		limit = runtime.GOMAXPROCS(0)
	}
	g := group{ctx: ctx, do: do, failed: n, running: make(map[int]context.CancelFunc, limit)}
	var workers sync.WaitGroup
	for range min(n, limit) {
		workers.Go(g.work)
	}
	workers.Wait()
	return Reraise(g.err)
}

type group struct {
	ctx context.Context
	do  func(ctx context.Context, i int) error

	mu      sync.Mutex
	next    int
	failed  int // index of the first call that failed; n for none
	err     error
	running map[int]context.CancelFunc
}

func (g *group) work() {
	debug.SetPanicOnFault(true)
	for {
		ctx, i, ok := g.begin()
		if !ok {
			return
		}
		g.call(ctx, i)
	}
}

func (g *group) begin() (ctx context.Context, i int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.next >= g.failed {
		return nil, 0, false
	}
	i = g.next
	g.next++
	ctx, g.running[i] = context.WithCancel(g.ctx)
	return ctx, i, true
}

func (g *group) call(ctx context.Context, i int) {
	var err error = exited // unless it returns or panics
	defer func() {
		if p := panics.Error(recover()); p != nil {
			err = p
		}
		g.end(i, err)
	}()
	if ctx.Err() == nil {
		err = g.do(ctx, i)
	} else {
		err = ctx.Err()
	}
}

func (g *group) end(i int, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.running[i]()
	delete(g.running, i)
	if err == nil || i > g.failed {
		return
	}
	g.failed, g.err = i, err
	for j, cancel := range g.running {
		if j > i {
			cancel()
		}
	}
}

// Counter returns what calls, made at the same time, call when they are done: progress gets their number, one call at a
// time. It may be nil.
func Counter(progress func(done int)) func() {
	var mu sync.Mutex
	done := 0
	return func() {
		mu.Lock()
		defer mu.Unlock()
		if done++; progress != nil {
			progress(done)
		}
	}
}

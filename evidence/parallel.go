package evidence

import (
	"context"
	"runtime"
	"sync"

	"golang.org/x/sync/errgroup"
)

// workersOr is the number of goroutines to use.
func workersOr(workers int) int {
	if workers == 0 {
		return runtime.GOMAXPROCS(0)
	}
	return workers
}

// parallel calls do(0), …, do(n−1), at most limit at a time, until one returns an error or
// ctx ends. A panic in one of them is raised again here, where the caller can see it.
func parallel(ctx context.Context, n, limit int, do func(ctx context.Context, i int) error) error {
	group, inner := errgroup.WithContext(ctx)
	group.SetLimit(limit)
	var (
		once     sync.Once
		panicked any
	)
	for i := range n {
		if inner.Err() != nil {
			break
		}
		group.Go(func() error {
			defer func() {
				if p := recover(); p != nil {
					once.Do(func() { panicked = p })
				}
			}()
			return do(inner, i)
		})
	}
	err := group.Wait()
	if panicked != nil {
		panic(panicked)
	}
	if err == nil {
		err = ctx.Err()
	}
	return err
}

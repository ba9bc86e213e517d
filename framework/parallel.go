package framework

import (
	"sync"

	"golang.org/x/sync/errgroup"

	"github.com/latent-go/latent/internal/panics"
)

// parallel calls do(0), …, do(n−1), at most limit at a time. A panic in one of them is
// raised again here, where the caller can see it, with the stack that it came from.
func parallel(n, limit int, do func(i int)) {
	var (
		group    errgroup.Group
		mu       sync.Mutex
		panicked *panics.Panic
	)
	group.SetLimit(limit)
	for i := range n {
		group.Go(func() error {
			defer func() {
				if p := panics.Of(recover()); p != nil {
					mu.Lock()
					panicked = p
					mu.Unlock()
				}
			}()
			do(i)
			return nil
		})
	}
	_ = group.Wait() // no call returns an error
	if panicked != nil {
		panic(panicked)
	}
}

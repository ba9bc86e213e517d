// Package ranks has groups of goroutines in the place of processes: framework.Group for tests.
package ranks

import (
	"context"
	"errors"
	"fmt"
	"sync"
)

// A Rank is one member of a group.
type Rank struct {
	rank int
	of   *group
}

type group struct {
	mu      sync.Mutex
	mine    [][]byte
	given   int
	all     chan struct{} // closed when all have given
	out     [][]byte
	gone    bool
	someone chan struct{} // closed when a member is gone
}

// New returns a group of n members.
func New(n int) []Rank {
	g := &group{mine: make([][]byte, n), all: make(chan struct{}), someone: make(chan struct{})}
	members := make([]Rank, n)
	for i := range members {
		members[i] = Rank{i, g}
	}
	return members
}

// Rank is which member this is, and of how many.
func (r Rank) Rank() (rank, size int) { return r.rank, len(r.of.mine) }

var errGone = errors.New("a member is gone")

// Gather returns what all give. It errs where one of them has left the group.
func (r Rank) Gather(_ context.Context, mine []byte) ([][]byte, error) {
	g := r.of
	g.mu.Lock()
	g.mine[r.rank] = mine
	done := g.all
	if g.given++; g.given == len(g.mine) {
		g.out, g.given, g.all = append([][]byte(nil), g.mine...), 0, make(chan struct{})
		close(done)
	}
	g.mu.Unlock()
	select {
	case <-done:
		g.mu.Lock()
		defer g.mu.Unlock()
		return append([][]byte(nil), g.out...), nil
	case <-g.someone:
		return nil, errGone
	}
}

// Leave is the death of a member: the others' Gather errs.
func (r Rank) Leave() {
	r.of.mu.Lock()
	defer r.of.mu.Unlock()
	if !r.of.gone {
		r.of.gone = true
		close(r.of.someone)
	}
}

// Each calls do for every member of a group of n, each on a goroutine of its own, and waits for them. A panic is an
// error.
func Each(n int, do func(r Rank) error) []error {
	errs := make([]error, n)
	var all sync.WaitGroup
	for i, r := range New(n) {
		all.Go(func() {
			defer func() {
				if p := recover(); p != nil {
					errs[i] = fmt.Errorf("panic: %v", p)
				}
			}()
			errs[i] = do(r)
		})
	}
	all.Wait()
	return errs
}

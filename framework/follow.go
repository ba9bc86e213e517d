package framework

import (
	"sync"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// A leader prepares the statistics of a local step: the first as the model does, and those that come after it as
// [optional.Follower]s of the first.
type leader[B, P any, S Statistics[S]] struct {
	mu    sync.Mutex
	first S
	ready bool
	err   error
}

// prepare empties s and prepares it. Goroutines may call it at the same time with different s.
func (l *leader[B, P, S]) prepare(m Model[B, P, S], p P, tilt *laplace.Tilt, s S) error {
	follower, follows := any(s).(optional.Follower[S])
	if !follows {
		return m.Prepare(p, tilt, s)
	}
	leads, err := l.lead(m, p, tilt, s)
	if !leads && err == nil {
		follower.Follow(l.first)
	}
	return err
}

// lead prepares s if none is prepared yet.
func (l *leader[B, P, S]) lead(m Model[B, P, S], p P, tilt *laplace.Tilt, s S) (leads bool, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if leads = !l.ready; leads {
		l.first, l.err = s, m.Prepare(p, tilt, s)
		l.ready = true // not after a panic
	}
	return leads, l.err
}

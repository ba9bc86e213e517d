package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime/debug"
	"time"

	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/memory"
)

// A sizeFlag is a number of bytes, 0 where it was not given.
type sizeFlag float64

// UnmarshalText reads 4GB and the like.
func (f *sizeFlag) UnmarshalText(text []byte) error {
	bytes, err := memory.ParseSize(string(text))
	*f = sizeFlag(bytes)
	return err
}

// boundMemory has the command end with a message where it takes more memory than it was given, or than there was when
// it began: what the Go runtime and the kernel do then is no message. What is known to be too large beforehand, package
// memory refuses. A step that takes all at once is met too, as the system hands memory out when it is first used.
// Processes that share the machine have equal parts.
func boundMemory(ctx context.Context, all sizeFlag, neighbours int) {
	given := float64(all) / float64(neighbours)
	memory.SetLimit(given)
	memory.SetNeighbours(neighbours)
	around, ok := ctx.Value(surroundingsKey{}).(*surroundings)
	if !ok || around.leave == nil {
		return
	}
	const share = 0.95 // of what there is: other programs take some too
	most, why := given, "--memory allows"
	if neighbours > 1 {
		why = fmt.Sprintf("--memory allows each of %d processes", neighbours)
	}
	if there := share * (memory.Available() + memory.Used()); given == 0 {
		most, why = there, "there were"
	}
	if most > math.MaxInt64/2 { // not known
		return
	}
	const collected = 0.9 // from here on the collector works harder
	debug.SetMemoryLimit(min(debug.SetMemoryLimit(-1), int64(collected*most)))
	go watchMemory(ctx, time.Tick(time.Second/50), memory.Used, most, why, around.leave)
}

// watchMemory looks at each tick.
func watchMemory(ctx context.Context, ticks <-chan time.Time, used func() float64, most float64, why string,
	leave context.CancelCauseFunc) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
		}
		if now := used(); now > most {
			leave(fmt.Errorf("%w: %s are in use, and %s %s", faults.ErrOutOfMemory, memory.Size(now), why, memory.Size(most)))
			return
		}
	}
}

// withCause puts before an error why the command was ended, where that was no signal.
func withCause(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); errors.Is(cause, faults.ErrOutOfMemory) {
		return fmt.Errorf("%w: %w", cause, err)
	}
	return err
}

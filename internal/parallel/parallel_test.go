package parallel_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/panics"
	"github.com/latent-go/latent/internal/parallel"
)

func TestEveryCallIsMadeOnce(t *testing.T) {
	for _, n := range []int{0, 1, 2, 17, 100} {
		for _, limit := range []int{-1, 0, 1, 3, 200} {
			calls := make([]atomic.Int32, n)
			require.NoError(t, parallel.Do(n, limit, func(i int) error { calls[i].Add(1); return nil }))
			for i := range calls {
				require.EqualValues(t, 1, calls[i].Load(), "%d of %d", i, n)
			}
		}
	}
}

func TestNoMoreThanTheLimitAtATime(t *testing.T) {
	var now, most atomic.Int32
	require.NoError(t, parallel.Do(200, 3, func(int) error {
		most.Store(max(most.Load(), now.Add(1)))
		runtime.Gosched()
		require.LessOrEqual(t, now.Load(), int32(3))
		now.Add(-1)
		return nil
	}))
	require.LessOrEqual(t, most.Load(), int32(3))
}

// TestAsManyAsTheLimitAtATime: calls that wait for one another end.
func TestAsManyAsTheLimitAtATime(t *testing.T) {
	var all sync.WaitGroup
	all.Add(3)
	require.NoError(t, parallel.Do(3, 3, func(int) error { all.Done(); all.Wait(); return nil }))
}

// failures makes calls 3 and 5 fail, 5 at once and 3 only after that, where both run.
func failures(fail func(i int) error) func(i int) error {
	later := make(chan struct{})
	return func(i int) error {
		switch i {
		case 3:
			<-later
			return fail(i)
		case 5:
			defer close(later)
			return fail(i)
		}
		return nil
	}
}

func TestTheFirstErrorIsThatOfTheLowestIndex(t *testing.T) {
	for range 20 {
		var after atomic.Bool
		do := failures(func(i int) error { return fmt.Errorf("call %d", i) })
		err := parallel.Do(1000, 2, func(i int) error {
			if i > 500 {
				after.Store(true)
			}
			return do(i)
		})
		require.EqualError(t, err, "call 3")
		require.False(t, after.Load(), "calls are begun after a failure")
	}
}

// theModelsMistake is looked for in a stack.
func theModelsMistake(i int) error { panic(fmt.Sprintf("call %d", i)) }

// recovered is what f panics with.
func recovered(f func()) (value any) {
	defer func() { value = recover() }()
	f()
	return nil
}

func TestAPanicIsRaisedAgainWithItsStack(t *testing.T) {
	value := recovered(func() { _ = parallel.Do(1000, 2, failures(theModelsMistake)) })
	require.IsType(t, &panics.Panic{}, value)
	p := value.(*panics.Panic)
	require.Equal(t, "call 3", p.Value)
	require.Contains(t, p.Error(), "theModelsMistake")
	for _, text := range []string{p.Error(), fmt.Sprint(value)} {
		require.Contains(t, text, "call 3")
		require.Contains(t, text, "theModelsMistake")
	}

	outer := recovered(func() {
		_ = parallel.Do(2, 2, func(int) error { return parallel.Do(1, 1, theModelsMistake) })
	})
	require.Contains(t, outer.(*panics.Panic).Error(), "theModelsMistake")
	require.Equal(t, "call 0", outer.(*panics.Panic).Value, "raised twice, wrapped once")
}

// TestErrorsAndPanicsAreInOneOrder: a loop would not have come to what is behind the first.
func TestErrorsAndPanicsAreInOneOrder(t *testing.T) {
	mine := errors.New("mine")
	for range 20 {
		do := failures(func(i int) error {
			if i == 3 {
				return mine
			}
			panic("not reached by a loop")
		})
		require.ErrorIs(t, parallel.Do(8, 3, do), mine)
		value := recovered(func() {
			_ = parallel.Do(8, 3, failures(func(i int) error {
				if i == 5 {
					return errors.New("not reached by a loop")
				}
				panic(mine)
			}))
		})
		require.ErrorIs(t, value.(error), mine, "errors stay what they are")
	}
}

func TestACallThatEndsItsGoroutineIsAPanic(t *testing.T) {
	value := recovered(func() {
		_ = parallel.Do(10, 2, func(i int) error {
			if i == 4 {
				runtime.Goexit()
			}
			return nil
		})
	})
	require.ErrorContains(t, value.(error), "Goexit")
}

// TestContextEndsForLaterCalls, and not for those before the one that failed.
func TestContextEndsForLaterCalls(t *testing.T) {
	mine := errors.New("mine")
	var begun sync.WaitGroup
	begun.Add(3)
	ended := make(chan struct{})
	var first error
	err := parallel.DoContext(t.Context(), 3, 3, func(ctx context.Context, i int) error {
		begun.Done()
		begun.Wait()
		switch i {
		case 0:
			<-ended
			first = ctx.Err()
			return nil
		case 1:
			return mine
		}
		<-ctx.Done()
		close(ended)
		return ctx.Err()
	})
	require.ErrorIs(t, err, mine)
	require.NoError(t, first)
}

func TestNothingBeginsOnceTheContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	var calls atomic.Int32
	err := parallel.DoContext(ctx, 1000, 2, func(context.Context, int) error {
		if calls.Add(1) == 10 {
			cancel()
		}
		return nil
	})
	require.ErrorIs(t, err, context.Canceled)
	require.Less(t, calls.Load(), int32(13))
}

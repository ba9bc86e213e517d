package mpi_test

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/mpi"
	"github.com/latent-go/latent/mpi/internal/job"
)

func TestMain(m *testing.M) {
	job.Main(m, map[string]func() int{
		"gather": of(gather),
		"cancel": of(cancelled),
		"panic":  of(func(g *mpi.Group) error { return leaving(g, func() { panic("a fault in this process") }) }),
		"exit":   of(func(g *mpi.Group) error { return leaving(g, func() { os.Exit(0) }) }),
		"fault":  of(faulty),
	})
}

// of is a task of every process.
func of(do func(g *mpi.Group) error) func() int {
	return func() int {
		g, err := mpi.Init()
		if err == nil {
			err = do(g)
		}
		if err == nil {
			err = g.Finalize()
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1
		}
		fmt.Println("done")
		return 0
	}
}

// message is what a process gives: n bytes that no other process and no other round has.
func message(rank, round, n int) []byte {
	return bytes.Repeat([]byte{byte(1 + rank), byte(round), byte(n), byte(n >> 8), 7}, n/5+1)[:n]
}

// lengths are those of the messages, by round and rank: empty ones, short and long ones, and longer than one exchange takes.
func lengths(rank int) []int {
	return []int{0, 5, rank, 1024 + rank, 1, 100_000 * rank, 3, 1 << 20, 1 << 20, 1<<20 + 200_000, [...]int{80 << 20, 3, 40 << 20, 0}[rank], 0, 9}
}

func gather(g *mpi.Group) error {
	rank, size := g.Rank()
	for round, n := range lengths(rank) {
		all, err := g.Gather(context.Background(), message(rank, round, n))
		if err != nil {
			return err
		}
		if len(all) != size {
			return fmt.Errorf("%d messages of %d", len(all), size)
		}
		for other, got := range all {
			if want := message(other, round, lengths(other)[round]); !bytes.Equal(got, want) {
				return fmt.Errorf("round %d: process %d has %d bytes of process %d, which gave %d", round, rank, len(got), other, len(want))
			}
		}
	}
	if _, err := mpi.Init(); err == nil {
		return fmt.Errorf("a second Init succeeds")
	}
	return nil
}

func TestGatherTakesMessagesOfAnyLength(t *testing.T) {
	for n := 1; n <= 4; n++ {
		j := job.Run(t, "gather", job.Part{Processes: n})
		require.Zero(t, j.Status, j.Errors)
		require.Equal(t, strings.Repeat("done\n", n), j.Out)
	}
}

// cancelled ends the context of one process, which goes on as the others come.
func cancelled(g *mpi.Group) error {
	rank, _ := g.Rank()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if rank == 0 {
		cancel()
	} else {
		time.Sleep(time.Second / 10)
	}
	_, err := g.Gather(ctx, []byte("told"))
	return err
}

func TestACancelledProcessTellsTheOthers(t *testing.T) {
	j := job.Run(t, "cancel", job.Part{Processes: 2})
	require.Zero(t, j.Status, j.Errors)
}

// leaving has the last process end while the others wait for it.
func leaving(g *mpi.Group, leave func()) error {
	rank, size := g.Rank()
	if rank == size-1 {
		leave()
	}
	_, err := g.Gather(context.Background(), nil)
	return err
}

func TestAProcessThatEndsByItselfEndsTheJob(t *testing.T) {
	for task, says := range map[string]string{"panic": "a fault in this process", "exit": "finalize"} {
		j := job.Run(t, task, job.Part{Processes: 3})
		require.NotZero(t, j.Status, task)
		require.Contains(t, j.Errors, says)
		require.NotContains(t, j.Out, "done")
		require.Less(t, j.Took, 10*time.Second)
	}
}

// faulty meets a fault that Go makes a panic, for which MPI would have printed a trace.
func faulty(*mpi.Group) (err error) {
	defer func() {
		if recover() == nil {
			err = fmt.Errorf("no panic")
		}
	}()
	var nothing *[]int
	*nothing = nil
	return nil
}

func TestFaultsAreThoseOfGo(t *testing.T) {
	j := job.Run(t, "fault", job.Part{Processes: 2})
	require.Zero(t, j.Status, j.Errors)
	require.Empty(t, j.Errors)
}

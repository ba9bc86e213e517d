package mpi

// #include <stdlib.h>
// #include "calls.h"
import "C"

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"
)

// A Group is the processes of an MPI job, as a Group of package framework.
type Group struct {
	rank, size int
	calls      chan func() // made by the one thread that calls MPI
	left       chan struct{}
	leave      sync.Once

	// Of that thread alone:
	mine, all memory
	expected  int // bytes of a message that the first exchange has room for, the same for all processes
	broken    error
}

// most is how many bytes one exchange takes, of all processes together, unless a message has less than least.
const (
	most  = 1 << 26
	least = 1 << 10
)

// patience is how long a Gather whose context has ended waits for the others. They may be in a pass, and hear of it at
// its end.
const patience = 30 * time.Second

var begun atomic.Bool

// Init initialises MPI. It can be called once in a process.
func Init() (*Group, error) {
	if begun.Swap(true) {
		return nil, errors.New("mpi: Init was called before")
	}
	g := &Group{calls: make(chan func()), left: make(chan struct{}), expected: least}
	began := make(chan error)
	go g.serve(began)
	if err := <-began; err != nil {
		return nil, err
	}
	return g, nil
}

// serve makes the calls of MPI.
func (g *Group) serve(began chan<- error) {
	runtime.LockOSThread() // and never gives it back: MPI keeps it for its main thread
	var rank, size, funneled C.int
	code := C.latent_begin(&rank, &size, &funneled)
	g.rank, g.size = int(rank), int(size)
	err := fault("MPI_Init_thread", code)
	if err == nil && funneled == 0 {
		err = errors.New("mpi: this MPI is for programs of one thread alone: MPI_THREAD_FUNNELED is not provided")
	}
	if began <- err; err != nil {
		return
	}
	for call := range g.calls {
		call()
	}
}

// do has the thread make a call.
func (g *Group) do(call func() error) error {
	done := make(chan error, 1)
	g.calls <- func() { done <- call() }
	return <-done
}

// Rank is which of the processes this is, from 0, and how many there are.
func (g *Group) Rank() (rank, size int) { return g.rank, g.size }

// Gather returns what the processes gave, by rank. All of them call it, and one at a time. A process that waits hears
// of the end of its context from the others: Gather itself gives up when they have not come half a minute later, and so
// does every one after that.
func (g *Group) Gather(ctx context.Context, mine []byte) (all [][]byte, err error) {
	err = g.do(func() error {
		if g.broken == nil {
			all, g.broken = g.gather(ctx, mine)
		}
		return g.broken
	})
	return all, err
}

const header = 8 // bytes: the length of a message

// gather exchanges the beginnings of messages with their lengths, so many bytes as the last message had and some more,
// and then what is left of longer ones.
func (g *Group) gather(ctx context.Context, mine []byte) (all [][]byte, err error) {
	first := g.expected
	received, err := g.exchange(ctx, header+first, func(to []byte) {
		binary.LittleEndian.PutUint64(to, uint64(len(mine)))
		copy(to[header:], mine)
	})
	if err != nil {
		return nil, err
	}
	longest := 0
	for rank := range g.size {
		one := received[rank*(header+first):][:header+first]
		n := int(binary.LittleEndian.Uint64(one))
		all = append(all, make([]byte, n))
		copy(all[rank], one[header:])
		longest = max(longest, n)
	}
	piece := max(least, most/g.size)
	for from := first; from < longest; from += piece {
		n := min(piece, longest-from)
		received, err := g.exchange(ctx, n, func(to []byte) { copy(to, mine[min(from, len(mine)):]) })
		if err != nil {
			return nil, err
		}
		for rank, one := range all {
			copy(one[min(from, len(one)):], received[rank*n:][:n])
		}
	}
	g.expected = min(piece, (longest+longest/4)/least*least+least)
	return all, nil
}

// exchange gathers n bytes of each process. What it returns is overwritten by the next one.
func (g *Group) exchange(ctx context.Context, n int, fill func(to []byte)) (all []byte, err error) {
	fill(g.mine.bytes(n))
	all = g.all.bytes(n * g.size)
	if err := fault("MPI_Iallgather", C.latent_post(g.mine.at, g.all.at, C.int(n))); err != nil {
		return nil, err
	}
	var done C.int
	var ended time.Time
	for spin := C.double(1e-3); ; spin = 0 {
		if err := fault("MPI_Test", C.latent_wait(spin, &done)); err != nil || done != 0 {
			return all, err
		}
		select {
		case <-g.left:
			return nil, errors.New("mpi: the process ended before the others answered")
		default:
		}
		switch {
		case ctx.Err() == nil:
		case ended.IsZero():
			ended = time.Now()
		case time.Since(ended) > patience:
			return nil, fmt.Errorf("mpi: the other processes have not answered in the %v since the end: %w",
				patience, context.Cause(ctx))
		}
	}
}

// Finalize ends MPI, when all processes have come to it. Where an exchange has failed or is under way, it ends the job.
func (g *Group) Finalize() error {
	g.leave.Do(func() { close(g.left) })
	return g.do(func() error {
		if g.broken != nil {
			C.latent_abort(1)
		}
		g.broken = errors.New("mpi: Finalize was called before")
		g.mine.free()
		g.all.free()
		return fault("MPI_Finalize", C.latent_end())
	})
}

// memory is not Go's: networks that register memory hear of its release by the C library alone.
type memory struct {
	at   unsafe.Pointer
	size int
}

// bytes are the first n.
func (m *memory) bytes(n int) []byte {
	if n > m.size {
		m.free()
		m.at, m.size = C.malloc(C.size_t(n)), n
	}
	return unsafe.Slice((*byte)(m.at), n)
}

func (m *memory) free() {
	C.free(m.at)
	m.at, m.size = nil, 0
}

// fault is the error of a call.
func fault(call string, code C.int) error {
	if code == 0 {
		return nil
	}
	text := (*C.char)(C.malloc(C.size_t(C.latent_room())))
	defer C.free(unsafe.Pointer(text))
	var length C.int
	if C.latent_text(code, text, &length) != 0 {
		return fmt.Errorf("mpi: %s: error %d", call, int(code))
	}
	return fmt.Errorf("mpi: %s: %s", call, C.GoStringN(text, length))
}

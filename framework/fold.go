package framework

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/panics"
	"github.com/latent-go/latent/internal/parallel"
)

// DefaultShards is the number of partial sums that a pass keeps. Blocks go to
// shards round-robin, each shard adds its blocks in order and the shards merge as
// a binary tree, so the bits of a sum depend on the number of shards and not on the
// number of workers, processes or machines.
const DefaultShards = 16

var errNoRows = errors.New("framework: the source has no rows")

// A sourceError is an error of the source, and not of the model that reads it.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

// Fold adds up a source: blocks go to shards round-robin, visit adds a block to its
// shard's accumulator, and merge adds accumulator from to into.
// workers is the number of goroutines (0: one a processor); the result has the
// same bits for any.
func Fold[B, A any](ctx context.Context, src Source[B], workers int, accumulator func() (A, error),
	visit func(a A, b B) error, merge func(into, from A) error) (A, error) {
	q := Ask(nil, accumulator, visit, merge)
	err := foldAll(ctx, src, DefaultShards, workers, []Question[B]{q})
	return q.Sum, err
}

// foldAll is [Fold] of several sums with so many partial ones.
func foldAll[B any](ctx context.Context, src Source[B], shards, workers int, sums []Question[B]) error {
	all := allOf(shards)
	used, _, err := foldSpan(ctx, src, all, workers, sums)
	if err == nil && used == 0 {
		err = errNoRows
	}
	for i := 0; i < len(sums) && err == nil; i++ {
		err = all.merge(used, sums[i].merge)
	}
	if err != nil {
		return err
	}
	for _, q := range sums {
		q.end()
	}
	return nil
}

// foldSpan adds up the blocks of a span: so many of its shards, the first ones, have seen one. An error is of the block
// at.
func foldSpan[B any](
	ctx context.Context, src Source[B], of span, workers int, sums []Question[B],
) (used, at int, err error) {
	for _, q := range sums {
		q.begin(of.shards)
	}
	f := newFolder(ctx, src, of, workersOr(workers), func(shard int, first bool, b B) error {
		for _, q := range sums {
			if err := q.add(shard, first, b); err != nil {
				return err
			}
		}
		return nil
	}, nil)
	defer f.close()
	used, err = f.run(ctx)
	return used, f.at(), err
}

func workersOr(n int) int {
	if n > 0 {
		return n
	}
	return runtime.GOMAXPROCS(0)
}

// A folder makes passes over a source. Its goroutines and closures live from one
// pass to the next, so that a pass allocates nothing.
type folder[B any] struct {
	blocks iter.Seq2[B, error]
	span   span // of the blocks
	visit  func(shard int, first bool, b B) error
	ended  func(shard int, used bool) // what follows the last block of a shard; nil for nothing

	yield func(B, error) bool // f.serial or f.parallel, made once
	all   func() error        // f.pass, likewise
	jobs  []chan job[B]       // one queue a worker; nil when serial
	done  sync.WaitGroup

	// Of a table in memory, whose shards are taken one after the other.
	parts []iter.Seq2[B, error]
	turns []*turn[B] // one a worker
	begun atomic.Int64

	ctx  context.Context // of the pass under way
	next int             // index of the next block
	seen int             // number of blocks
	err  error           // of the source or the context

	mu      sync.Mutex
	failed  int // index of the first block that failed, -1 for none
	failure error
}

type job[B any] struct {
	index int
	block B
	turn  *turn[B] // in place of a block
}

func newFolder[B any](
	ctx context.Context, src Source[B], of span, workers int, visit func(shard int, first bool, b B) error,
	ended func(shard int, used bool),
) *folder[B] {
	f := &folder[B]{span: of, visit: visit, ended: ended, failed: -1}
	f.all, workers = f.pass, min(workers, of.len())
	if table, ok := inMemory(src); ok {
		f.parts = make([]iter.Seq2[B, error], 0, of.len()) // a process may have none
		for i := of.first; i < of.last; i++ {
			f.parts = append(f.parts, table.Every(i, of.shards))
		}
		for range max(1, workers) {
			t := &turn[B]{f: f}
			t.yield = t.take
			f.turns = append(f.turns, t)
		}
	} else {
		f.blocks = partOf(ctx, src, of)
	}
	if workers <= 1 {
		f.yield = f.serial
		return f
	}
	f.yield = f.parallel
	f.jobs = make([]chan job[B], workers)
	for w := range f.jobs {
		f.jobs[w] = make(chan job[B], 4)
		go f.work(f.jobs[w])
	}
	return f
}

func (f *folder[B]) close() {
	for _, q := range f.jobs {
		close(q)
	}
	f.jobs = nil
}

// run makes one pass and returns the number of shards that saw a block.
func (f *folder[B]) run(ctx context.Context) (used int, err error) {
	f.ctx, f.next, f.seen, f.err, f.failed, f.failure = ctx, f.span.first, 0, nil, -1, nil
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	if err := withoutFaults(f.all); err != nil {
		return 0, err
	}
	// Blocks are handed out in order and every one handed out is finished, so the
	// failure with the lowest index does not depend on the workers' timing.
	if f.failed >= 0 {
		return 0, parallel.Reraise(f.failure)
	}
	if f.err == nil {
		f.err = ctx.Err() // a source may stop quietly when it is cancelled
	}
	used = min(f.seen, f.span.len())
	if f.err == nil && f.parts == nil && f.ended != nil {
		for i := f.span.first; i < f.span.last; i++ {
			f.ended(i, i < f.span.first+used)
		}
	}
	return used, f.err
}

func (f *folder[B]) pass() error {
	if f.parts == nil {
		f.blocks(f.yield)
		f.done.Wait()
		return nil
	}
	f.begun.Store(0)
	for i, q := range f.jobs {
		f.done.Add(1)
		q <- job[B]{turn: f.turns[i]}
	}
	if f.jobs == nil {
		f.turns[0].all()
	}
	f.done.Wait()
	return nil
}

// A turn is a worker's at shards of a table, one after the other: partial sums merge as early as they can.
type turn[B any] struct {
	f     *folder[B]
	shard int
	next  int // block
	yield func(B, error) bool
}

func (t *turn[B]) all() {
	for i := t.f.begun.Add(1); i <= int64(len(t.f.parts)); i = t.f.begun.Add(1) {
		t.one(int(i) - 1)
	}
}

func (t *turn[B]) one(i int) {
	f := t.f
	t.shard = f.span.first + i
	t.next = t.shard
	defer func() {
		if p := panics.Error(recover()); p != nil {
			f.fail(t.next, ofSource(p))
		}
	}()
	f.parts[i](t.yield)
	f.mu.Lock()
	blocks, whole := (t.next-t.shard)/f.span.shards, f.failed < 0 && f.err == nil
	f.seen += blocks
	f.mu.Unlock()
	if whole && f.ended != nil {
		f.ended(t.shard, blocks > 0)
	}
}

func (t *turn[B]) take(b B, err error) bool {
	f, i := t.f, t.next
	f.mu.Lock()
	if f.err == nil {
		f.err = f.ctx.Err()
	}
	over := f.err != nil || f.failed >= 0 && f.failed < i
	f.mu.Unlock()
	switch {
	case over:
		return false
	case err != nil:
		err = &sourceError{err}
	default:
		err = f.visit(t.shard, i < f.span.shards, b)
	}
	if err != nil {
		f.fail(i, err)
		return false
	}
	t.next += f.span.shards
	return true
}

// mostOutOfOrder is how many numbers, 1 GiB, are read out of order: more may be a mapped file beyond the memory, which
// is read best from its beginning to its end.
const mostOutOfOrder = 1 << 27

// inMemory is a source whose blocks can be had in any order: its shards may be taken one after the other.
func inMemory[B any](src Source[B]) (table every[B], ok bool) {
	rows, d, there := 0, 1, false
	switch t := any(src).(type) { // not one that embeds them and has other blocks
	case *blocks.Table:
		rows, d = t.Dims()
		if there = t.InMemory(); t.IsFloat32() {
			rows = 0 // blocks that are read in order would need memory of their own
		}
	case *blocks.SequenceTable:
		_, rows, d = t.Dims()
		there = t.InMemory()
	}
	if !there || rows > mostOutOfOrder/max(1, d) {
		return nil, false
	}
	table, ok = src.(every[B])
	return table, ok
}

type every[B any] interface {
	Every(first, step int) iter.Seq2[B, error]
}

// withoutFaults makes a fault of mapped memory, which a source may hand out, an error of the source.
func withoutFaults(read func() error) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if p := panics.Error(recover()); p != nil {
			err = parallel.Reraise(ofSource(p))
		}
	}()
	return read()
}

// at is the block at which the last pass failed.
func (f *folder[B]) at() int {
	if f.failed >= 0 {
		return f.failed
	}
	return f.next
}

// accept records the end of the iteration: cancelled, broken, or a failed block.
func (f *folder[B]) accept(err error) bool {
	switch {
	case err != nil:
		f.err = &sourceError{err}
	default:
		f.err = f.ctx.Err()
	}
	return f.err == nil
}

// count is the index of the block at hand.
func (f *folder[B]) count() int {
	i := f.next
	f.next = f.span.after(i)
	f.seen++
	return i
}

func (f *folder[B]) serial(b B, err error) bool {
	if !f.accept(err) {
		return false
	}
	i := f.count()
	if err := f.visit(i%f.span.shards, i < f.span.shards, b); err != nil {
		f.failed, f.failure = i, err
		return false
	}
	return true
}

func (f *folder[B]) parallel(b B, err error) bool {
	if !f.accept(err) {
		return false
	}
	f.mu.Lock()
	failed := f.failed >= 0
	f.mu.Unlock()
	if failed {
		return false
	}
	i := f.count()
	f.done.Add(1)
	f.jobs[(i%f.span.shards-f.span.first)%len(f.jobs)] <- job[B]{index: i, block: b}
	return true
}

func (f *folder[B]) work(queue <-chan job[B]) {
	debug.SetPanicOnFault(true) // a source may hand out mapped memory
	for j := range queue {
		if j.turn != nil {
			j.turn.all()
			f.done.Done()
			continue
		}
		f.one(j)
	}
}

func (f *folder[B]) one(j job[B]) {
	defer f.done.Done()
	defer func() {
		// A panic in a model belongs to the goroutine that asked for the fit.
		if p := panics.Error(recover()); p != nil {
			f.fail(j.index, ofSource(p))
		}
	}()
	if err := f.visit(j.index%f.span.shards, j.index < f.span.shards, j.block); err != nil {
		f.fail(j.index, err)
	}
}

// ofSource makes a fault an error of the source.
func ofSource(err error) error {
	if errors.Is(err, panics.ErrFault) {
		return &sourceError{fmt.Errorf("framework: %w", err)}
	}
	return err
}

func (f *folder[B]) fail(index int, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.failed < 0 || index < f.failed {
		f.failed, f.failure = index, err
	}
}

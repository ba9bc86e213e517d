package framework

import (
	"context"
	"iter"
	"sync"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
)

// A span is shards first to last−1 of so many: the share of a process in a pass.
type span struct{ first, last, shards int }

func allOf(shards int) span { return span{0, shards, shards} }

// share is the span of one of size processes.
func (s span) share(rank, size int) span {
	n := s.last - s.first
	return span{s.first + n*rank/size, s.first + n*(rank+1)/size, s.shards}
}

func (s span) len() int { return s.last - s.first }

func (s span) holds(shard int) bool { return s.first <= shard && shard < s.last }

// after is the block of the span that follows block i.
func (s span) after(i int) int {
	if i++; i%s.shards == s.last%s.shards {
		i += s.shards - s.len()
	}
	return i
}

// A sharded table has the blocks of any shards.
type sharded[B any] interface {
	Shards(ctx context.Context, first, last, shards int) iter.Seq2[B, error]
}

// partOf are the blocks of a span.
func partOf[B any](ctx context.Context, src Source[B], s span) iter.Seq2[B, error] {
	if s.len() == s.shards {
		return src.Blocks(ctx)
	}
	if d, ok := src.(optional.Divided[B]); ok {
		return d.Part(ctx, s.first, s.last, s.shards)
	}
	switch t := any(src).(type) {
	case *blocks.Table, *blocks.SequenceTable: // not one that embeds them and has other blocks
		return t.(sharded[B]).Shards(ctx, s.first, s.last, s.shards)
	}
	return func(yield func(B, error) bool) {
		i := -1
		for b, err := range src.Blocks(ctx) {
			if i++; err == nil && !s.holds(i%s.shards) {
				continue
			}
			if !yield(b, err) {
				return
			}
		}
	}
}

// Shards merge as a binary tree, 0 with 1, 2 with 3, then 0 with 2: a process that has the shards of whole branches
// merges them by itself, and the bits of the sum depend on the number of shards alone. Shards without a block are the
// last ones.

// merge merges the branches of the span that are whole, into the first shard of each; so many of its shards, the first
// ones, have seen a block.
func (s span) merge(used int, merge func(into, from int) error) error {
	var t tree
	t.reset(s)
	for i := s.first; i < s.last; i++ {
		if err := t.ended(i, i < s.first+used, merge); err != nil {
			return err
		}
	}
	return nil
}

// A tree merges the shards of a span as they end, in any order: few are there at once.
type tree struct {
	span
	mu      sync.Mutex
	waiting []int  // by shard: of so many shards is the branch that it begins, whose sum waits for the one beside it; or 0
	used    []bool // whether they have seen a block
}

func (t *tree) reset(s span) {
	t.span = s
	if len(t.waiting) < s.shards {
		t.waiting, t.used = make([]int, s.shards), make([]bool, s.shards)
	}
	clear(t.waiting)
}

// ended merges what it can when a shard has all its blocks. Goroutines may call it at the same time.
func (t *tree) ended(i int, used bool, merge func(into, from int) error) error {
	for step := 1; step < t.shards; step *= 2 {
		first := i / (2 * step) * (2 * step)
		if first < t.first || first+2*step > t.last && t.last < t.shards {
			break // a root
		}
		if first+step >= t.shards {
			continue // nothing is beside it
		}
		both, beside := t.meet(i, 2*first+step-i, step, used)
		if !both {
			break
		}
		if used && beside {
			if err := merge(first, first+step); err != nil {
				return err
			}
		}
		i, used = first, used || beside
	}
	return nil
}

// meet reports whether the branch beside that of shard i has ended, and whether it has seen a block. Else i waits.
func (t *tree) meet(i, beside, step int, used bool) (both, other bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.waiting[beside] != step {
		t.waiting[i], t.used[i] = step, used
		return false, false
	}
	t.waiting[beside] = 0
	return true, t.used[beside]
}

// roots are the shards that merge leaves.
func (s span) roots(used int) []int {
	var roots []int
	for i := s.first; i < s.first+used; {
		roots = append(roots, i)
		step := 1
		for i%(2*step) == 0 && (i+2*step <= s.last || s.last == s.shards) && step < s.shards {
			step *= 2
		}
		i += step
	}
	return roots
}

// mergeRoots merges what several spans, all of the shards together, were merged to.
func mergeRoots(shards int, has []bool, merge func(into, from int) error) error {
	for step := 1; step < shards; step *= 2 {
		for i := 0; i+step < shards; i += 2 * step {
			if !has[i] || !has[i+step] {
				continue
			}
			has[i+step] = false
			if err := merge(i, i+step); err != nil {
				return err
			}
		}
	}
	return nil
}

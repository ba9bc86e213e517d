package framework

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/laplace"
)

// TestAnyDivisionMergesAsOneProcessDoes: the order of merges, written down, is the same for any number of processes.
func TestAnyDivisionMergesAsOneProcessDoes(t *testing.T) {
	for _, shards := range []int{1, 2, 5, 16, 17, 64} {
		for used := range shards + 1 {
			sums := func() []string {
				list := make([]string, shards)
				for i := range used {
					list[i] = fmt.Sprint(i)
				}
				return list
			}
			whole := sums()
			merger := func(list []string) func(into, from int) error {
				return func(into, from int) error {
					list[into], list[from] = "("+list[into]+" "+list[from]+")", ""
					return nil
				}
			}
			require.NoError(t, allOf(shards).merge(used, merger(whole)))
			if used > 0 {
				require.Equal(t, []int{0}, allOf(shards).roots(used))
			}
			require.Equal(t, max(0, min(used, 1)), len(slices.DeleteFunc(slices.Clone(whole), func(s string) bool { return s == "" })))
			for size := 1; size <= shards+2; size++ {
				list, has := sums(), make([]bool, shards)
				for rank := range size {
					s := allOf(shards).share(rank, size)
					mine := max(0, min(used-s.first, s.len()))
					require.NoError(t, s.merge(mine, merger(list)))
					roots := s.roots(mine)
					for i := s.first; i < s.last; i++ {
						has[i] = slices.Contains(roots, i)
						require.Equal(t, has[i], list[i] != "", "shard %d of %d, %d used, rank %d of %d", i, shards, used, rank, size)
					}
				}
				require.NoError(t, mergeRoots(shards, has, merger(list)))
				require.Equal(t, whole, list, "%d shards, %d used, %d processes", shards, used, size)
			}
		}
	}
}

// TestSpansCountTheirBlocks: after gives the numbers of the blocks that a part has.
func TestSpansCountTheirBlocks(t *testing.T) {
	for _, shards := range []int{1, 3, 16} {
		for size := 1; size <= shards; size++ {
			for rank := range size {
				s := allOf(shards).share(rank, size)
				next := s.first
				for i := range 5 * shards {
					if s.holds(i % shards) {
						require.Equal(t, i, next)
						next = s.after(i)
					}
				}
			}
		}
	}
}

// TestFailuresKeepWhatTheEngineAsks, on their way to other processes.
func TestFailuresKeepWhatTheEngineAsks(t *testing.T) {
	for _, err := range []error{ErrDegenerate, laplace.ErrSingular, ErrContract, context.Canceled, context.DeadlineExceeded, blocks.ErrConstant} {
		var travelled failure
		var buf bytes.Buffer
		sent := fmt.Errorf("a step: %w", err)
		if err == blocks.ErrConstant {
			sent = fmt.Errorf("a step: %w", blocks.FaultyColumn(3, err))
		}
		require.NoError(t, gob.NewEncoder(&buf).Encode(failureOf(sent, 7)))
		require.NoError(t, gob.NewDecoder(&buf).Decode(&travelled))
		require.ErrorIs(t, &travelled, err)
		require.Equal(t, errors.Is(sent, context.Canceled), errors.Is(&travelled, context.Canceled))
		require.EqualError(t, &travelled, sent.Error())
	}
}

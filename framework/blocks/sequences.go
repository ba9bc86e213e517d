package blocks

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"sort"
)

// Sequences is a block of whole sequences, such as time series: the rows of models in which the latent
// variables of a step depend on those of the step before. A weight belongs to a sequence; the observations are steps.
type Sequences struct {
	First   int       // index of the block's first sequence in the source
	Steps   Rows      // the steps of all sequences, one sequence after the other, without weights
	Ends    []int     // sequence i has the steps Ends[i−1], 0 for the first, to Ends[i]−1 of the block
	Weights []float64 // frequency weight of each sequence; nil when every one weighs 1
}

// Len is the number of sequences.
func (b Sequences) Len() int { return len(b.Ends) }

// Bounds returns the first step of sequence i of the block and the step after its last.
func (b Sequences) Bounds(i int) (first, end int) {
	if i > 0 {
		first = b.Ends[i-1]
	}
	return first, b.Ends[i]
}

// Weight is the frequency weight of sequence i of the block.
func (b Sequences) Weight(i int) float64 {
	if b.Weights == nil {
		return 1
	}
	return b.Weights[i]
}

// Check returns an error about the shape of a block, or about its weights.
func (b Sequences) Check() error {
	if b.Steps.Weights != nil {
		return errors.New("framework: a block of sequences has weights of steps: give weights of sequences")
	}
	if err := b.Steps.Check(); err != nil {
		return err
	}
	if err := checkEnds(b.Ends, b.Steps.N); err != nil {
		return err
	}
	if b.Weights != nil && len(b.Weights) != b.Len() {
		return fmt.Errorf("framework: %d weights for a block of %d sequences", len(b.Weights), b.Len())
	}
	return checkBlockWeights(b.Weights, b.Len(), b.First)
}

// Count is the number of sequences, which the engine compares with that of the source.
func (b Sequences) Count() int { return b.Len() }

// checkEnds checks that sequences of at least one step each are all of n steps.
func checkEnds(ends []int, n int) error {
	last := 0
	for i, end := range ends {
		if end <= last {
			return fmt.Errorf("framework: sequence %d ends after step %d, not after the sequence before it: a sequence "+
				"has at least one step", i+1, end)
		}
		last = end
	}
	if last != n {
		return fmt.Errorf("framework: the sequences end after step %d of %d", last, n)
	}
	return nil
}

// Flat returns the steps as rows, each with the weight of its sequence.
func (b Sequences) Flat() Rows {
	rows := b.Steps
	if b.Weights != nil {
		rows.Weights = make([]float64, rows.N)
		for i, w := range b.Weights {
			first, end := b.Bounds(i)
			for t := first; t < end; t++ {
				rows.Weights[t] = w
			}
		}
	}
	return rows
}

// LagOne is the correlation, about a mean, of numbers of the steps with those of the step before in the same sequence:
// of x[0], x[stride], …, NaN where one is missing. It is NaN without numbers.
func (b Sequences) LagOne(x []float64, stride int, mean float64) float64 {
	squares, products := 0.0, 0.0
	for i := range b.Ends {
		last := math.NaN()
		for t, end := b.Bounds(i); t < end; t++ {
			v := x[t*stride] - mean
			if v == v {
				if squares += v * v; last == last {
					products += v * last
				}
			}
			last = v
		}
	}
	return products / squares
}

// SequenceTable is a source of [Sequences]: the rows of a table in order, divided into sequences. If the table is of
// [Read], its reader has the blocks of the sequences, which [Cut] says.
type SequenceTable struct {
	table   *Table
	ends    []int
	weights []float64
	blocks  []Sequences
}

// NewSequences makes a SequenceTable of a table: sequence i has the rows ends[i−1], 0 for the first, to ends[i]−1; nil
// stands for one sequence of all rows. [EndsOf] finds ends by an identifier of each row. NewSequences returns an error
// if a sequence has no row, and for a table with weights: use [SequenceTable.WithWeights].
func NewSequences(t *Table, ends []int) (*SequenceTable, error) {
	if t.weights != nil {
		return nil, errors.New(
			"framework: the table has weights of rows: give weights of whole sequences (SequenceTable.WithWeights)",
		)
	}
	if ends == nil {
		ends = []int{t.rows}
	}
	if err := checkEnds(ends, t.rows); err != nil {
		return nil, err
	}
	s := &SequenceTable{table: t, ends: ends}
	s.cut()
	return s, nil
}

// EndsOf returns the ends (see [NewSequences]) of sequences of consecutive rows with the same identifier. It returns an
// error if an identifier comes back after another one.
func EndsOf[T comparable](ids []T) ([]int, error) {
	var ends []int
	begun := map[T]int{}
	for i, id := range ids {
		if i > 0 && id == ids[i-1] {
			continue
		}
		if first, again := begun[id]; again {
			return nil, fmt.Errorf("framework: %w", FaultyRow(i,
				"continues sequence %v, which began in row %d and has ended: sort the rows by sequence", id, first+1))
		}
		begun[id] = i
		if i > 0 {
			ends = append(ends, i)
		}
	}
	if len(ids) > 0 {
		ends = append(ends, len(ids))
	}
	return ends, nil
}

// WithWeights returns the same sequences with a frequency weight for each, as [Table.WithWeights] does for rows.
func (s *SequenceTable) WithWeights(w []float64) (*SequenceTable, error) {
	if len(w) != len(s.ends) {
		return nil, fmt.Errorf("framework: %d weights for %d sequences", len(w), len(s.ends))
	}
	if err := checkWeights(w, len(w)); err != nil {
		return nil, err
	}
	weighted := &SequenceTable{table: s.table, ends: s.ends, weights: w}
	weighted.cut()
	return weighted, nil
}

// Cut returns the ends of the blocks of sequences with these ends and d columns: sequences of about 256 KiB are
// together, longer ones alone.
func Cut(ends []int, d int) (cuts []int) { // which must not depend on the number of workers, as those of a Table
	begin := 0
	for i, end := range ends {
		if i+1 == len(ends) || ends[i+1]-begin > Height(d) {
			cuts = append(cuts, end)
			begin = end
		}
	}
	return cuts
}

// cut makes the blocks, those of a table that is read later without its numbers.
func (s *SequenceTable) cut() {
	first, begin := 0, 0 // sequence and step
	for _, end := range Cut(s.ends, s.table.d) {
		last := first + sort.SearchInts(s.ends[first:], end) + 1
		steps := Rows{First: begin, N: end - begin, D: s.table.d, Stride: s.table.stride}
		if s.table.InMemory() {
			steps = s.table.block(begin, end-begin)
		}
		s.blocks = append(s.blocks, s.block(first, last, steps))
		first, begin = last, end
	}
}

// block has the sequences from first to last−1, of these steps.
func (s *SequenceTable) block(first, last int, steps Rows) Sequences {
	b := Sequences{First: first, Steps: steps, Ends: make([]int, last-first)}
	for i := range b.Ends {
		b.Ends[i] = s.ends[first+i] - steps.First
	}
	if s.weights != nil {
		b.Weights = s.weights[first:last]
	}
	return b
}

// Rows is the number of sequences.
func (s *SequenceTable) Rows() int { return len(s.ends) }

// Units is the number of steps.
func (s *SequenceTable) Observations() int { return s.table.rows }

// Dims returns the numbers of sequences, of steps in all, and of columns.
func (s *SequenceTable) Dims() (sequences, steps, d int) { return len(s.ends), s.table.rows, s.table.d }

// InMemory reports whether the numbers are there, and need not be read.
func (s *SequenceTable) InMemory() bool { return s.table.InMemory() }

// All returns the sequences as one block. It panics as [Table.All] does.
func (s *SequenceTable) All() Sequences {
	return s.block(0, len(s.ends), s.table.block(0, s.table.rows))
}

// Blocks yields the sequences in blocks of about 256 KiB; a longer sequence is its own block.
func (s *SequenceTable) Blocks(ctx context.Context) iter.Seq2[Sequences, error] {
	return s.Shards(ctx, 0, 1, 1)
}

// Every yields the blocks first, first + step, first + 2·step, …, counted from 0.
func (s *SequenceTable) Every(first, step int) iter.Seq2[Sequences, error] {
	return s.Shards(context.Background(), first, first+1, step)
}

// Shards yields the blocks of shards first to last−1, in order: block i, from 0, belongs to shard i mod shards.
func (s *SequenceTable) Shards(ctx context.Context, first, last, shards int) iter.Seq2[Sequences, error] {
	if s.table.InMemory() {
		return func(yield func(Sequences, error) bool) {
			for lap := 0; lap < len(s.blocks); lap += shards {
				for i := lap + first; i < min(len(s.blocks), lap+last); i++ {
					if !yield(s.blocks[i], nil) {
						return
					}
				}
			}
		}
	}
	return func(yield func(Sequences, error) bool) {
		i := first
		for steps, err := range s.table.read(ctx, first, last, shards) {
			var b Sequences
			if err == nil && (i >= len(s.blocks) || steps.First != s.blocks[i].Steps.First ||
				steps.N != s.blocks[i].Steps.N) {
				err = errOtherBlocks
			}
			if err == nil {
				b = s.blocks[i]
				b.Steps = steps
			}
			if !yield(b, err) {
				return
			}
			if i++; i%shards == last%shards {
				i += shards - (last - first)
			}
		}
	}
}

var errOtherBlocks = errors.New("framework: what is read of a table is not the blocks of its sequences (see Cut)")

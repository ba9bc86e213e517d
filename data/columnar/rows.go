package columnar

import (
	"context"
	"fmt"
	"iter"
	"math"
	"slices"
	"sort"
	"sync"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/simd"
)

// Rows is a table of numbers in Parquet or Arrow files, one below the other, as a source of blocks that is not read as
// a whole: it has the methods of optional.Divided. Blocks are those of [blocks.FromIncomplete], or of
// [blocks.NewSequences], so that a fit has the bits of one to the same table in memory.
//
// A row group of Parquet, or a record batch of Arrow, is decoded when one of its blocks is asked for, and its blocks of
// the same shards are kept from then on. So a process that makes a share of the passes decodes the row groups with its
// blocks once, and has room for its blocks alone. These lie in runs, as long as the process has shards. A row group
// that is no larger than a run is decoded by one or two processes, a larger one by several, each for its own blocks:
// with row groups of G bytes as numbers and P processes, a table should have P·G/(256 KiB) shards or more.
type Rows struct {
	all     *files
	o       Options
	numbers Recoding // nil: the columns are numbers
	groups  []group
	rows, d int   // without rows that are left out, and the weights
	weight  int   // place of the weight in a row of numbers; −1: there is none
	ends    []int // of the blocks

	mu      sync.Mutex
	own     keep // blocks of shares of a pass
	passing keep // what readings of all blocks have decoded of a row group, and not yielded
	divided bool // there was such a share
	whole   int  // how often all blocks were read
	decoded int  // rows, so far
}

// A group is a row group.
type group struct {
	file, place int
	read        int // rows of the files before its own
	first, rows int // those that are left out do not count
}

// A keep has blocks that were decoded, up to some row of each.
type keep struct {
	blocks map[int]*decodedBlock
	store  *data.Store
	rows   int // of all blocks so far
	// for further blocks
	room, weights []float64
}

type decodedBlock struct {
	x, weights []float64
	rows       int
}

// A Recoding makes numbers of a table of some rows, in row-major order, as many a row as the table has columns; the
// weight, if there is one, is the last of a row.
type Recoding func(t *data.Table) (x []float64, err error)

// OpenRows opens files with the columns of numbers that Options.Keep keeps. A null is a missing value, NaN. An error
// names a file of another format, a column of texts, and files that differ in their columns. Blocks are kept in
// Options.Store. Close Rows after its last use.
func OpenRows(paths []string, o Options) (*Rows, error) {
	r, err := OpenRecoded(paths, o, nil)
	if err != nil {
		return nil, err
	}
	for j, c := range r.all.columns[0] {
		if c.categorical {
			r.all.close()
			return nil, fmt.Errorf("%s: column %q has texts: Rows have columns of numbers alone (Options.Keep)", paths[0],
				c.name)
		}
		if c.name == o.Weights {
			r.weight = j
		}
	}
	return r, nil
}

// OpenRecoded is [OpenRows] for columns of numbers and texts, of which numbers makes the rows. It is called with tables
// of consecutive rows, in any order, one at a time: what it makes of a row must not depend on the others.
func OpenRecoded(paths []string, o Options, numbers Recoding) (*Rows, error) {
	all, err := openAll(paths, o)
	r := &Rows{all: all, o: o, numbers: numbers}
	r.own = keep{blocks: map[int]*decodedBlock{}, store: o.Store}
	r.passing.blocks = map[int]*decodedBlock{}
	if err == nil {
		err = r.findGroups()
	}
	if err == nil {
		r.d, r.weight = len(r.Names()), -1
		switch weighted := r.d < len(all.columns[0]); {
		case o.Weights != "" && !weighted:
			err = fmt.Errorf("%s: no column %q, which has the weights", paths[0], o.Weights)
		case r.d == 0:
			err = fmt.Errorf("%s: %w", paths[0], ErrNoColumn)
		case weighted:
			r.weight = r.d
		}
	}
	if err != nil {
		all.close()
		return nil, err
	}
	if o.Sequences == nil {
		for end, height := 0, blocks.Height(r.d); end < r.rows; {
			end = min(end+height, r.rows)
			r.ends = append(r.ends, end)
		}
		return r, nil
	}
	r.ends = blocks.Cut(o.Sequences, r.d)
	if n := len(o.Sequences); n == 0 || o.Sequences[n-1] != r.rows || !slices.IsSorted(o.Sequences) {
		all.close()
		return nil, fmt.Errorf("%s: the sequences are not those of its %d rows", paths[0], r.rows)
	}
	return r, nil
}

func (r *Rows) findGroups() error {
	read := 0
	for i, f := range r.all.sources {
		for place, all := range f.Groups() {
			g := group{file: i, place: place, read: read, first: r.rows}
			read += all
			if g.rows = all - (r.out(read) - r.out(g.read)); g.rows > 0 {
				r.groups = append(r.groups, g)
			}
			r.rows += g.rows
		}
	}
	if r.rows == 0 || r.rows != read-len(r.o.Out) {
		return fmt.Errorf("%s: of %d rows, %d cannot be left out", r.all.paths[0], read, len(r.o.Out))
	}
	return nil
}

// out is how many rows before one of the files are left out.
func (r *Rows) out(row int) int { return sort.SearchInts(r.o.Out, row) }

// Origin is the place of a row in the files.
func (r *Rows) Origin(row int) int {
	return row + sort.Search(len(r.o.Out), func(i int) bool { return r.o.Out[i]-i > row })
}

// Names returns the names of the columns, without that of the weights.
func (r *Rows) Names() []string {
	var names []string
	for _, c := range r.all.columns[0] {
		if c.name != r.o.Weights {
			names = append(names, c.name)
		}
	}
	return names
}

// Rows is the number of rows.
func (r *Rows) Rows() int { return r.rows }

// Decoded is the number of rows that were decoded so far, those that were decoded again counted again.
func (r *Rows) Decoded() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decoded
}

// All are the numbers of all rows, in row-major order, and their weights, nil if all are 1, in the memory of
// Options.Store.
func (r *Rows) All(ctx context.Context) (x, weights []float64, err error) {
	if x, weights, err = r.space(r.rows, r.o.Store); err != nil {
		return nil, nil, err
	}
	for b, err := range r.Blocks(ctx) {
		if err != nil {
			return nil, nil, err
		}
		copy(x[b.First*r.d:], b.X)
		if weights != nil {
			copy(weights[b.First:], b.Weights)
		}
	}
	return x, weights, nil
}

// Close closes the files.
func (r *Rows) Close() error {
	r.all.close()
	return nil
}

// Blocks yields the rows in blocks of about 256 KiB. Unless there are shares of passes, which Part reads, blocks are
// kept from the third reading on.
func (r *Rows) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] { return r.Part(ctx, 0, 1, 1) }

// Part yields the blocks of shards first to last−1, in order: block i, from 0, belongs to shard i mod shards. It may be
// called by several goroutines at a time.
func (r *Rows) Part(ctx context.Context, first, last, shards int) iter.Seq2[blocks.Rows, error] {
	whole := last-first == shards
	mine := func(i int) bool { return first <= i%shards && i%shards < last }
	return func(yield func(blocks.Rows, error) bool) {
		r.mu.Lock()
		to := &r.own
		if r.divided = r.divided || !whole; whole && (r.divided || r.whole < 2) {
			to = &r.passing
		}
		r.mu.Unlock()
		for i := first; i < len(r.ends); i++ {
			if !mine(i) {
				i += shards - (last - first) - 1
				continue
			}
			b, err := r.block(ctx, i, to, mine)
			if !yield(b, err) || err != nil {
				return
			}
			if to == &r.passing {
				r.mu.Lock()
				delete(to.blocks, i)
				r.mu.Unlock()
			}
		}
		if whole {
			r.mu.Lock()
			r.whole++
			r.mu.Unlock()
		}
	}
}

// begin is the first row of block i.
func (r *Rows) begin(i int) int {
	if i == 0 {
		return 0
	}
	return r.ends[i-1]
}

// blockOf is the block of a row.
func (r *Rows) blockOf(row int) int { return sort.SearchInts(r.ends, row+1) }

// block is block i. What is decoded for it is kept of all wanted ones.
func (r *Rows) block(ctx context.Context, i int, to *keep, wanted func(i int) bool) (blocks.Rows, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	first := r.begin(i)
	n := r.ends[i] - first
	for {
		b := to.blocks[i]
		if own := r.own.blocks[i]; own != nil && own.rows == n {
			b = own
		}
		have := 0
		if b != nil {
			have = b.rows
		}
		if have == n {
			rows := blocks.Rows{First: first, N: n, D: r.d, Stride: r.d, X: b.x[:n*r.d]}
			if b.weights != nil {
				rows.Weights = b.weights[:n]
			}
			return rows, nil
		}
		g := r.groups[sort.Search(len(r.groups), func(k int) bool {
			return first+have < r.groups[k].first+r.groups[k].rows
		})]
		if err := guarded(func() error { return r.decode(ctx, g, to, wanted) }); err != nil {
			return blocks.Rows{}, fmt.Errorf("%s: %w", r.all.paths[g.file], err)
		}
	}
}

// decode decodes a row group, as far as there are wanted blocks, and keeps what belongs to these.
func (r *Rows) decode(ctx context.Context, g group, to *keep, wanted func(i int) bool) error {
	f, columns := r.all.sources[g.file], r.all.columns[g.file]
	o := r.o
	o.Store, o.Float32 = nil, false // of some rows, which are copied
	if err := f.Seek(g.place); err != nil {
		return err
	}
	last := r.blockOf(g.first + g.rows - 1)
	for !wanted(last) {
		last--
	}
	read := g.read
	for at, end := g.first, min(g.first+g.rows, r.ends[last]); at < end; {
		if err := ctx.Err(); err != nil {
			return err
		}
		rows, err := f.Next(columns, min(rowsOf(1<<20, columns), end-at))
		if err != nil {
			return err
		}
		t, err := newTable(columns, rows, o)
		if err == nil {
			err = f.Put(t, columns, 0)
		}
		if err != nil {
			return err
		}
		x, _ := t.Numbers(0)
		if r.numbers != nil {
			x, err = r.numbers(t.done(read))
			if err == nil && len(x) != rows*len(columns) {
				err = fmt.Errorf("a recoding made %d numbers of %d rows × %d columns", len(x), rows, len(columns))
			}
		}
		if err != nil {
			return err
		}
		left := r.leaveOut(x, read, rows)
		if err := r.keep(to, x, at, left, wanted); err != nil {
			return err
		}
		at += left
		read += rows
		r.decoded += rows
		r.o.progress(r.decoded, r.all.rows)
	}
	return nil
}

// leaveOut moves those rows of x together that stay, of so many from one of the files on, and returns how many there
// are.
func (r *Rows) leaveOut(x []float64, from, rows int) (left int) {
	width := len(r.all.columns[0])
	begin := 0
	for _, out := range append(slices.Clone(r.o.Out[r.out(from):r.out(from+rows)]), from+rows) {
		left += copy(x[left*width:], x[begin*width:(out-from)*width]) / width
		begin = out - from + 1
	}
	return left
}

// keep puts rows, from one of the table on, where they belong, if those before them are there.
func (r *Rows) keep(to *keep, x []float64, from, rows int, wanted func(i int) bool) error {
	width := len(r.all.columns[0])
	for at := from; at < from+rows; {
		i := r.blockOf(at)
		first := r.begin(i)
		n := min(r.ends[i], from+rows) - at
		b := to.blocks[i]
		if b == nil && at == first && wanted(i) {
			var err error
			if b, err = r.room(to, r.ends[i]-first); err != nil {
				return err
			}
			to.blocks[i] = b
		}
		if b != nil && at == first+b.rows {
			part := x[(at-from)*width : (at-from+n)*width]
			own := b.x[b.rows*r.d : (b.rows+n)*r.d]
			if r.weight < 0 {
				copy(own, part)
			} else {
				for k := range n {
					row := part[k*width : (k+1)*width]
					copy(own[k*r.d:], row[:r.weight])
					copy(own[k*r.d+r.weight:(k+1)*r.d], row[r.weight+1:])
					b.weights[b.rows+k] = row[r.weight]
				}
			}
			if err := noInfinity(own, at, r.d); err != nil {
				return err
			}
			b.rows += n
		}
		at += n
	}
	return nil
}

// room is that of another block of so many rows. It is taken for many at a time, as a store may not have many files.
func (r *Rows) room(to *keep, rows int) (*decodedBlock, error) {
	if len(to.room) < rows*r.d {
		many := max(len(to.blocks), 64) * blocks.Height(r.d)
		var err error
		if to.room, to.weights, err = r.space(max(rows, min(many, r.rows-to.rows)), to.store); err != nil {
			return nil, err
		}
	}
	to.rows += rows
	b := &decodedBlock{x: to.room[: rows*r.d : rows*r.d]}
	to.room = to.room[rows*r.d:]
	if to.weights != nil {
		b.weights, to.weights = to.weights[:rows:rows], to.weights[rows:]
	}
	return b, nil
}

// space is that of so many rows and their weights, if there are any.
func (r *Rows) space(rows int, store *data.Store) (x, weights []float64, err error) {
	width := len(r.all.columns[0])
	names := make([]string, width)
	for j, c := range r.all.columns[0] {
		names[j] = c.name
	}
	b, err := data.NewBuilder(names, make([]bool, width), rows, store)
	if err != nil {
		return nil, nil, err
	}
	x, _ = b.Numbers(0)
	if r.weight >= 0 {
		weights = x[rows*r.d:]
	}
	return x[:rows*r.d], weights, nil
}

func noInfinity(x []float64, first, d int) error {
	if simd.Finite(x) {
		return nil
	}
	for i, v := range x {
		if math.IsInf(v, 0) {
			return blocks.NotFinite(first+i/d, i%d, v)
		}
	}
	return nil
}

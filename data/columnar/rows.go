package columnar

import (
	"context"
	"fmt"
	"iter"
	"math"
	"sort"
	"sync"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/simd"
)

// Rows is a table of numbers in Parquet files, one below the other, as a source of blocks that is not read as a whole:
// it has the methods of optional.Divided. Blocks are those of [blocks.FromIncomplete], so that a fit has the bits of
// one to the same table in memory.
//
// A row group is decoded when one of its blocks is asked for, and its blocks of the same shards are kept from then on.
// So a process that makes a share of the passes decodes the row groups with its blocks once, and has room for its
// blocks alone. These lie in runs, as long as the process has shards. A row group that is no larger than a run is
// decoded by one or two processes, a larger one by several, each for its own blocks: with row groups of G bytes as
// numbers and P processes, a table should have P·G/(256 KiB) shards or more.
type Rows struct {
	all     *files
	o       Options
	numbers Recoding // nil: the columns are numbers
	groups  []group
	height  int // rows of a block

	mu      sync.Mutex
	own     keep // blocks of shares of a pass
	passing keep // what readings of all blocks have decoded of a row group, and not yielded
	divided bool // there was such a share
	whole   int  // how often all blocks were read
	decoded int  // rows, so far
}

// A group is a row group.
type group struct{ file, place, first, rows int }

// A keep has blocks that were decoded, up to some row of each.
type keep struct {
	blocks map[int]*decodedBlock
	store  *data.Store
	room   []float64 // for further blocks
}

type decodedBlock struct {
	x    []float64
	rows int
}

// A Recoding makes numbers of a table of some rows, in row-major order, as many a row as the table has columns.
type Recoding func(t *data.Table) (x []float64, err error)

// OpenRows opens Parquet files with the columns of numbers that Options.Keep keeps. A null is a missing value, NaN. An
// error names a file of another format, a column of texts, and files that differ in their columns. Blocks are kept in
// Options.Store. Close Rows after its last use.
func OpenRows(paths []string, o Options) (*Rows, error) {
	r, err := OpenRecoded(paths, o, nil)
	if err != nil {
		return nil, err
	}
	for _, c := range r.all.columns[0] {
		if c.categorical {
			r.all.close()
			return nil, fmt.Errorf("%s: column %q has texts: Rows have columns of numbers alone (Options.Keep)", paths[0],
				c.name)
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
	if err != nil {
		all.close()
		return nil, err
	}
	r.height = blocks.Height(len(all.columns[0]))
	return r, nil
}

func (r *Rows) findGroups() error {
	first := 0
	for i, f := range r.all.sources {
		p, ok := f.(*parquetFile)
		if !ok {
			return fmt.Errorf("%s is not a Parquet file, whose row groups can be read one without the others", r.all.paths[i])
		}
		before := first
		for place := range p.NumRowGroups() {
			g := group{i, place, first, int(p.MetaData().RowGroups[place].GetNumRows())}
			if g.rows < 0 {
				return fmt.Errorf("%s: %w", r.all.paths[i], errRows)
			}
			if first += g.rows; g.rows > 0 {
				r.groups = append(r.groups, g)
			}
		}
		if first-before != p.Rows() {
			return fmt.Errorf("%s: %w", r.all.paths[i], errRows)
		}
	}
	return nil
}

// Names returns the names of the columns.
func (r *Rows) Names() []string {
	names := make([]string, len(r.all.columns[0]))
	for j, c := range r.all.columns[0] {
		names[j] = c.name
	}
	return names
}

// Rows is the number of rows.
func (r *Rows) Rows() int { return r.all.rows }

// Decoded is the number of rows that were decoded so far, those that were decoded again counted again.
func (r *Rows) Decoded() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.decoded
}

// All are the numbers of all rows, in row-major order, in the memory of Options.Store.
func (r *Rows) All(ctx context.Context) ([]float64, error) {
	t, err := data.NewBuilder(r.Names(), make([]bool, len(r.all.columns[0])), r.all.rows, r.o.Store)
	if err != nil {
		return nil, err
	}
	x, d := t.Numbers(0)
	for b, err := range r.Blocks(ctx) {
		if err != nil {
			return nil, err
		}
		copy(x[b.First*d:], b.X)
	}
	return x, nil
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
		for i := first; i*r.height < r.all.rows; i++ {
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

// block is block i. What is decoded for it is kept of all wanted ones.
func (r *Rows) block(ctx context.Context, i int, to *keep, wanted func(i int) bool) (blocks.Rows, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	d, first := len(r.all.columns[0]), i*r.height
	n := min(r.height, r.all.rows-first)
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
			return blocks.Rows{First: first, N: n, D: d, Stride: d, X: b.x[:n*d]}, nil
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
	f, columns := r.all.sources[g.file].(*parquetFile), r.all.columns[g.file]
	o := r.o
	o.Store = nil // of some rows, which are copied
	f.next, f.left = g.place, 0
	last := (g.first + g.rows - 1) / r.height
	for !wanted(last) {
		last--
	}
	for at, end := g.first, min(g.first+g.rows, (last+1)*r.height); at < end; {
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
		if err == nil {
			x, _ := t.Numbers(0)
			if r.numbers != nil {
				x, err = r.numbers(t.done(at))
				if err == nil && len(x) != rows*len(columns) {
					err = fmt.Errorf("a recoding made %d numbers of %d rows × %d columns", len(x), rows, len(columns))
				}
			}
			if err == nil {
				err = r.keep(to, x, at, rows, wanted)
			}
		}
		if err != nil {
			return err
		}
		at += rows
		r.decoded += rows
		r.o.progress(r.decoded, r.all.rows)
	}
	return nil
}

// keep puts rows, from one of the table on, where they belong, if those before them are there.
func (r *Rows) keep(to *keep, x []float64, from, rows int, wanted func(i int) bool) error {
	d := len(r.all.columns[0])
	for at := from; at < from+rows; {
		i := at / r.height
		n := min((i+1)*r.height, from+rows) - at
		b := to.blocks[i]
		if b == nil && at == i*r.height && wanted(i) {
			room, err := r.space(to)
			if err != nil {
				return err
			}
			b = &decodedBlock{x: room}
			to.blocks[i] = b
		}
		if b != nil && at == i*r.height+b.rows {
			part := x[(at-from)*d : (at-from+n)*d]
			if err := noInfinity(part, at, d); err != nil {
				return err
			}
			copy(b.x[b.rows*d:], part)
			b.rows += n
		}
		at += n
	}
	return nil
}

// space is that of another block. It is taken for many at a time, as a store may not have many files.
func (r *Rows) space(to *keep) ([]float64, error) {
	d := len(r.all.columns[0])
	if len(to.room) == 0 {
		left := (r.all.rows+r.height-1)/r.height - len(to.blocks)
		b, err := data.NewBuilder(r.Names(), make([]bool, d), min(max(len(to.blocks), 64), left)*r.height, to.store)
		if err != nil {
			return nil, err
		}
		to.room, _ = b.Numbers(0)
	}
	x := to.room[: r.height*d : r.height*d]
	to.room = to.room[r.height*d:]
	return x, nil
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

package columnar_test

import (
	"context"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/ranks"
	"github.com/latent-go/latent/models/mixture"
)

var _ optional.Divided[blocks.Rows] = (*columnar.Rows)(nil)

// numbersIn writes rows of d columns into a Parquet file, with row groups of so many rows.
func numbersIn(t testing.TB, path string, x []float64, d int, groups ...int) {
	fields := make([]arrow.Field, d)
	for j := range fields {
		fields[j] = arrow.Field{Name: fmt.Sprint("x", j), Type: arrow.PrimitiveTypes.Float64, Nullable: true}
	}
	b := array.NewRecordBuilder(memory.DefaultAllocator, arrow.NewSchema(fields, nil))
	var list []arrow.RecordBatch
	for _, rows := range groups {
		for j := range d {
			f := b.Field(j).(*array.Float64Builder)
			for i := range rows {
				if v := x[i*d+j]; v == v {
					f.Append(v)
				} else {
					f.AppendNull()
				}
			}
		}
		x = x[rows*d:]
		list = append(list, b.NewRecordBatch())
	}
	writeParquet(t, path, list...)
}

// clustered are rows of two classes, with missing numbers among them.
func clustered(n, d int) []float64 {
	rng := rand.New(rand.NewPCG(5, 6))
	x := make([]float64, n*d)
	for i := range x {
		x[i] = rng.NormFloat64() + 3*float64(i/d%2)
		if i%997 == 0 {
			x[i] = math.NaN()
		}
	}
	return x
}

// same reports whether numbers have the same bits, or are both missing.
func same(a, b float64) bool { return a == b || a != a && b != b }

// TestRowsAreTheBlocksOfTheTable: whatever the row groups and files, the order of shares, and how many read at a time.
func TestRowsAreTheBlocksOfTheTable(t *testing.T) {
	const n, d = 9_000, 64 // blocks of 512 rows
	x := clustered(n, d)
	table, err := blocks.FromIncomplete(x, n, d)
	require.NoError(t, err)
	var want []blocks.Rows
	for b := range table.Blocks(t.Context()) {
		want = append(want, b)
	}
	dir := t.TempDir()
	paths := []string{filepath.Join(dir, "a"), filepath.Join(dir, "b")}
	numbersIn(t, paths[0], x, d, 1, 100, 2899, 0, 1000)
	numbersIn(t, paths[1], x[4000*d:], d, 512, 512, 1024, 2951, 1)
	for _, memory := range []int64{0, 1 << 30} {
		store := data.NewStore(memory) // in a file, in memory
		var decoded atomic.Int64
		r, err := columnar.OpenRows(paths, columnar.Options{
			Store: store, Progress: func(rows, of int) { require.Equal(t, n, of); decoded.Store(int64(rows)) },
		})
		require.NoError(t, err)
		require.Equal(t, n, r.Rows())
		require.Equal(t, "x63", r.Names()[d-1])
		part := func(first, last, shards int) {
			next := 0
			for b, err := range r.Part(t.Context(), first, last, shards) {
				require.NoError(t, err)
				for next%shards < first || last <= next%shards {
					next++
				}
				require.NoError(t, b.Check())
				require.Equal(t, want[next].First, b.First)
				require.True(t, slices.EqualFunc(want[next].X, b.X, same), "block %d", next)
				next++
			}
			for ; next < len(want); next++ {
				require.False(t, first <= next%shards && next%shards < last, "block %d is not there", next)
			}
		}
		for range r.Blocks(t.Context()) {
			break // which is no error
		}
		part(0, 5, 5)
		part(3, 5, 7)
		part(0, 0, 7)
		part(0, 3, 7)
		var all sync.WaitGroup
		for range 2 {
			for i := range 6 {
				all.Go(func() { part(i, i+1, 6) })
			}
		}
		all.Wait()
		before := decoded.Load()
		part(2, 5, 7)
		part(0, 1, 1) // kept, all of them
		require.Equal(t, before, decoded.Load())
		require.NoError(t, r.Close())
		require.NoError(t, store.Close())
	}
	// A process that reads all blocks in every pass keeps them, but not those that are read once or twice.
	var decoded atomic.Int64
	r, err := columnar.OpenRows(paths, columnar.Options{Progress: func(rows, _ int) { decoded.Store(int64(rows)) }})
	require.NoError(t, err)
	defer r.Close()
	for pass := range 5 {
		for _, err := range r.Blocks(t.Context()) {
			require.NoError(t, err)
		}
		require.EqualValues(t, n*min(pass+1, 3), decoded.Load())
	}
}

// TestRowsAreTheBlocksOfSequences, long and short ones, whatever the row groups, and are decoded once by those who make shares of passes.
func TestRowsAreTheBlocksOfSequences(t *testing.T) {
	const n, d = 9_000, 64 // blocks of up to 512 rows
	x := clustered(n, d)
	path := filepath.Join(t.TempDir(), "a")
	numbersIn(t, path, x, d, 1, 2, 4000, 0, 497, 600, 3900)
	rng := rand.New(rand.NewPCG(7, 8))
	ends := []int{1, 1500, 1501}
	for last := 1501; last < n; {
		last = min(n, last+1+rng.IntN(300))
		ends = append(ends, last)
	}
	table, err := blocks.FromIncomplete(x, n, d)
	require.NoError(t, err)
	memory, err := blocks.NewSequences(table, ends)
	require.NoError(t, err)
	for _, shards := range [][3]int{{0, 7, 7}, {3, 5, 7}, {0, 1, 7}, {6, 7, 7}} {
		r, err := columnar.OpenRows([]string{path}, columnar.Options{Sequences: ends})
		require.NoError(t, err)
		later, err := blocks.NewSequences(blocks.Read(r, d), ends)
		require.NoError(t, err)
		for range 3 {
			next, stop := iter.Pull2(memory.Shards(t.Context(), shards[0], shards[1], shards[2]))
			for b, err := range later.Shards(t.Context(), shards[0], shards[1], shards[2]) {
				require.NoError(t, err)
				want, _, more := next()
				require.True(t, more)
				require.Equal(t, want.Ends, b.Ends)
				require.Equal(t, want.Steps.First, b.Steps.First)
				require.True(t, slices.EqualFunc(want.Steps.X, b.Steps.X, same))
			}
			_, _, more := next()
			require.False(t, more)
			stop()
		}
		if shards[2] > shards[1]-shards[0] {
			require.LessOrEqual(t, r.Decoded(), n)
		}
		require.NoError(t, r.Close())
	}
	for _, wrong := range [][]int{{}, {n - 1}, {5, 4, n}} {
		_, err := columnar.OpenRows([]string{path}, columnar.Options{Sequences: wrong})
		require.ErrorContains(t, err, "the sequences are not those of its 9000 rows")
	}
}

// TestRowsOfSomeWeights: rows that are left out, whole row groups among them, are as if they were not there, and a column has the weights,
// wherever it is.
func TestRowsOfSomeWeights(t *testing.T) {
	const n, d = 9_000, 64
	x := clustered(n, d)
	path := filepath.Join(t.TempDir(), "a")
	numbersIn(t, path, x, d, 1, 2, 4000, 0, 497, 600, 3900)
	rng := rand.New(rand.NewPCG(7, 8))
	var out []int
	var kept, weights []float64
	const weight = 5
	for i := range n {
		row := x[i*d : (i+1)*d]
		if i < 3 || 4500 <= i && i < 5100 || i == n-1 || row[weight] != row[weight] || rng.IntN(20) == 0 {
			out = append(out, i)
			continue
		}
		weights = append(weights, row[weight])
		kept = append(append(kept, row[:weight]...), row[weight+1:]...)
	}
	table, err := blocks.FromIncomplete(kept, len(weights), d-1)
	require.NoError(t, err)
	o := columnar.Options{Weights: fmt.Sprint("x", weight), Out: out}
	r, err := columnar.OpenRows([]string{path}, o)
	require.NoError(t, err)
	defer r.Close()
	require.Equal(t, len(weights), r.Rows())
	require.NotContains(t, r.Names(), o.Weights)
	for _, shards := range [][3]int{{0, 7, 7}, {3, 5, 7}, {0, 1, 7}} {
		next, stop := iter.Pull2(table.Shards(t.Context(), shards[0], shards[1], shards[2]))
		for b, err := range r.Part(t.Context(), shards[0], shards[1], shards[2]) {
			require.NoError(t, err)
			want, _, more := next()
			require.True(t, more)
			require.Equal(t, want.First, b.First)
			require.True(t, slices.EqualFunc(want.X, b.X, same))
			require.Equal(t, weights[b.First:b.First+b.N], b.Weights)
		}
		_, _, more := next()
		require.False(t, more)
		stop()
	}
	all, w, err := r.All(t.Context())
	require.NoError(t, err)
	require.True(t, slices.EqualFunc(kept, all, same))
	require.Equal(t, weights, w)
	left := 0
	for row := range n {
		if _, gone := slices.BinarySearch(out, row); !gone {
			require.Equal(t, row, r.Origin(left))
			left++
		}
	}
	for _, wrong := range []columnar.Options{{Weights: "none"}, {Out: []int{n}}, {Out: []int{-1}}} {
		_, err := columnar.OpenRows([]string{path}, wrong)
		require.ErrorContains(t, err, path+": ")
	}
}

// TestProcessesDecodeTheirParts: fits by several processes have the bits of the table in memory and as CSV, and each
// process decodes the row groups of its own blocks once.
func TestProcessesDecodeTheirParts(t *testing.T) {
	const n, d, processes, height = 10_240, 64, 4, 512 // 20 blocks
	x := clustered(n, d)
	path := filepath.Join(t.TempDir(), "rows.parquet")
	numbersIn(t, path, x, d, slices.Repeat([]int{height}, n/height)...)
	model := mixture.Model{Family: normal.Family{Covariance: normal.Diagonal}}
	o := framework.Options{K: 2, Method: framework.EM, MaxIterations: 4, Seed: 1}
	fit := func(src framework.Source[blocks.Rows], o framework.Options) *framework.Result[*mixture.Parameters, *mixture.Statistics] {
		res, err := framework.Fit(context.Background(), model, src, o)
		require.NoError(t, err)
		return res
	}
	var text strings.Builder
	for j := range d {
		fmt.Fprintf(&text, ",x%d", j)
	}
	for i, v := range x {
		text.WriteString(map[bool]string{true: "\n", false: ","}[i%d == 0])
		if v == v {
			text.WriteString(strconv.FormatFloat(v, 'g', -1, 64))
		}
	}
	table, err := data.Read(strings.NewReader(text.String()[1:]), data.CSVOptions{})
	require.NoError(t, err)
	numbers, rows, columns, err := table.Values()
	require.NoError(t, err)
	csv, err := blocks.FromIncomplete(numbers, rows, columns)
	require.NoError(t, err)
	want := fit(csv, o)

	var decoded [processes]atomic.Int64
	for rank, err := range ranks.Each(processes, func(g ranks.Rank) error {
		rank, _ := g.Rank()
		r, err := columnar.OpenRows([]string{path}, columnar.Options{
			Progress: func(rows, _ int) { decoded[rank].Store(int64(rows)) },
		})
		if err != nil {
			return err
		}
		defer r.Close()
		o := o
		o.Group = g
		res, err := framework.Fit(context.Background(), model, framework.Source[blocks.Rows](r), o)
		if err == nil && fmt.Sprint(res.Trace, res.Value) != fmt.Sprint(want.Trace, want.Value) {
			err = fmt.Errorf("%v, not %v", res.Trace, want.Trace)
		}
		return err
	}) {
		require.NoError(t, err, "process %d", rank)
		own := int64(4 * height)
		if rank == 0 { // blocks 16 to 19 are of shards 0 to 3
			own *= 2
		}
		t.Logf("process %d decoded %d rows, its own are %d", rank, decoded[rank].Load(), own)
		require.GreaterOrEqual(t, decoded[rank].Load(), own)
		require.LessOrEqual(t, decoded[rank].Load(), own+3*height) // a start looks at the first rows
	}
}

// TestGroupsAreReadInAnyOrder: row groups and record batches, which may have dictionaries of their own, each without those before it.
func TestGroupsAreReadInAnyOrder(t *testing.T) {
	numbers := func(t *data.Table) (x []float64, err error) {
		for row := range t.Rows() {
			for j, name := range t.Names {
				v := t.Number(row, j)
				if levels := t.Levels(name); levels != nil && v == v {
					v = float64(len(levels[int(v)])) + float64(levels[int(v)][len(levels[int(v)])-1])
				}
				x = append(x, v)
			}
		}
		return x, nil
	}
	for format, write := range writers {
		var list []arrow.RecordBatch
		for i, n := range []int{210, 4095, 1050, 0, 9450, 3150, 105} {
			switch { // the file format has one dictionary
			case format == "arrow" && n == 0:
				continue
			case format != "arrow":
				n += i % 3
			}
			from := 0
			for _, b := range list {
				from += int(b.NumRows())
			}
			list = append(list, batch(t, from, n))
		}
		path := filepath.Join(t.TempDir(), format)
		write(t, path, list...)
		whole, err := columnar.Read([]string{path}, columnar.Options{Keep: flat})
		require.NoError(t, err)
		x, err := numbers(whole)
		require.NoError(t, err)
		r, err := columnar.OpenRecoded([]string{path}, columnar.Options{Keep: flat}, numbers)
		require.NoError(t, err)
		table, err := blocks.FromIncomplete(x, whole.Rows(), whole.Cols())
		require.NoError(t, err)
		for _, shards := range [][3]int{{3, 4, 7}, {0, 1, 7}, {5, 6, 7}, {1, 3, 7}, {0, 7, 7}} {
			next, stop := iter.Pull2(table.Shards(t.Context(), shards[0], shards[1], shards[2]))
			for b, err := range r.Part(t.Context(), shards[0], shards[1], shards[2]) {
				require.NoError(t, err)
				want, _, more := next()
				require.True(t, more)
				require.True(t, slices.EqualFunc(want.X, b.X, same), "%s %v", format, shards)
			}
			_, _, more := next()
			require.False(t, more)
			stop()
			if shards[1] == 4 {
				require.Less(t, 3*r.Decoded(), 2*whole.Rows(), format)
			}
		}
		require.NoError(t, r.Close())
	}
}

func TestWhatRowsCannotBe(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.parquet")
	writeParquet(t, path, batch(t, 0, 30))
	_, err := columnar.OpenRows([]string{path}, columnar.Options{Keep: flat})
	require.EqualError(t, err, path+`: column "text" has texts: Rows have columns of numbers alone (Options.Keep)`)
	numeric := func(name string) bool { return name == "f64" || name == "i8" }
	arrow := filepath.Join(dir, "a.arrow")
	writeArrow(t, arrow, batch(t, 0, 30))
	csv := filepath.Join(dir, "a.csv")
	require.NoError(t, os.WriteFile(csv, []byte("f64,i8\n1,2\n"), 0o600))
	_, err = columnar.OpenRows([]string{path, arrow, csv}, columnar.Options{Keep: numeric})
	require.ErrorContains(t, err, csv+": incomplete or damaged Parquet file")
	_, err = columnar.OpenRows([]string{filepath.Join(dir, "none")}, columnar.Options{})
	require.ErrorIs(t, err, os.ErrNotExist)

	first := func(path string) error {
		r, err := columnar.OpenRows([]string{path}, columnar.Options{Keep: numeric})
		require.NoError(t, err)
		defer r.Close()
		for _, err := range r.Part(t.Context(), 0, 1, 16) {
			return err
		}
		return nil
	}
	require.NoError(t, first(path))
	numbersIn(t, path, []float64{1, 2, 3, math.Inf(1)}, 2, 1, 1)
	_, err = columnar.OpenRows([]string{path}, columnar.Options{Keep: numeric})
	require.ErrorIs(t, err, columnar.ErrNoColumn)
	numeric = func(string) bool { return true }
	var fault *blocks.DataError
	require.ErrorAs(t, first(path), &fault)
	require.Equal(t, []int{1, 1}, []int{fault.Row, fault.Column})
	numbersIn(t, path, clustered(900, 2), 2, 900)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for i := range 16 {
		text[4+i] ^= 0x55 // the header of a page
	}
	require.NoError(t, os.WriteFile(path, text, 0o666))
	require.ErrorContains(t, first(path), path+": ")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r, err := columnar.OpenRows([]string{path}, columnar.Options{})
	require.NoError(t, err)
	for _, err := range r.Blocks(ctx) {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, r.Close())
}

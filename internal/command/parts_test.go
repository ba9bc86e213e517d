package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/alecthomas/kong"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/ranks"
)

// ofBlock is the number of rows of a block of 16 columns.
const ofBlock = 2048

// partFiles writes a table of 16 columns in Parquet files of a block each: numbers, of which some are missing in one column, codes and
// texts.
func partFiles(t *testing.T, dir string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	heads := []data.Head{{Name: "word", Cells: data.Texts}, {Name: "code", Cells: data.Integers}}
	tableFiles(t, dir, n, heads, func() (texts []string, numbers []float64) {
		k := rng.IntN(2)
		numbers = []float64{float64(1 + (k+rng.IntN(5))%3)}
		for j := range 14 {
			numbers = append(numbers, rng.NormFloat64()+float64(k*(j%3)))
		}
		if rng.IntN(50) == 0 {
			numbers[3] = math.NaN()
		}
		return []string{[...]string{"red", "green", "?"}[k+rng.IntN(2)]}, numbers
	})
}

// seriesFiles writes the steps of a chain of two states, in sequences of 1 to 500 steps and one of 5,000, of which every second one has
// weight 2.
func seriesFiles(t *testing.T, dir string, n int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(5, 6))
	k, run, left := 0, 0., 0
	tableFiles(t, dir, n, []data.Head{{Name: "run", Cells: data.Integers}, {Name: "w", Cells: data.Integers}}, func() ([]string, []float64) {
		if left == 0 {
			run, left = run+1, 1+rng.IntN(500)
		}
		if run == 20 && left < 500 {
			run, left = 21, 5000
		}
		if left--; rng.IntN(20) == 0 {
			k = 1 - k
		}
		numbers := []float64{run, 1 + math.Mod(run, 2)}
		for j := range 14 {
			numbers = append(numbers, rng.NormFloat64()+float64(k*(j%3)))
		}
		return nil, numbers
	})
}

// tableFiles writes rows of these columns, and 14 more, x0 to x13, into files of a block each.
func tableFiles(t *testing.T, dir string, n int, heads []data.Head, row func() (texts []string, numbers []float64)) {
	t.Helper()
	for j := range 14 {
		heads = append(heads, data.Head{Name: fmt.Sprint("x", j)})
	}
	for i := range n {
		file, err := os.Create(filepath.Join(dir, fmt.Sprintf("part-%02d.parquet", i)))
		require.NoError(t, err)
		w, err := columnar.NewParquetWriter(file, heads)
		require.NoError(t, err)
		for range ofBlock {
			require.NoError(t, w.Write(row()))
		}
		require.NoError(t, w.Close())
		require.NoError(t, file.Close())
	}
}

// asArrow writes each of the files again in Arrow's file format, in batches of 500 rows.
func asArrow(t *testing.T, dir string) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.parquet"))
	require.NoError(t, err)
	for _, path := range paths {
		file, err := os.Open(path)
		require.NoError(t, err)
		table, err := pqarrow.ReadTable(t.Context(), file, nil, pqarrow.ArrowReadProperties{}, memory.DefaultAllocator)
		require.NoError(t, err)
		to, err := os.Create(strings.TrimSuffix(path, "parquet") + "arrow")
		require.NoError(t, err)
		w, err := ipc.NewFileWriter(to, ipc.WithSchema(table.Schema()))
		require.NoError(t, err)
		for r := array.NewTableReader(table, 500); r.Next(); {
			require.NoError(t, w.Write(r.RecordBatch()))
		}
		require.NoError(t, errors.Join(w.Close(), to.Close()))
	}
}

// damagedBut copies files, and spoils the pages of those that are not kept.
func damagedBut(t *testing.T, from, to string, keep func(i int) bool) {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(from, "*.parquet"))
	require.NoError(t, err)
	for i, path := range paths {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		if !keep(i) {
			clear(text[4 : len(text)/2])
		}
		require.NoError(t, os.WriteFile(filepath.Join(to, filepath.Base(path)), text, 0o600))
	}
}

// TestWorkersReadTheirPartsAlone: they have the pages of the files of their own shards, of which each is decoded once, and the fit has the
// bits of the command.
func TestWorkersReadTheirPartsAlone(t *testing.T) {
	const files, n = 12, 3
	dir, series := t.TempDir(), t.TempDir()
	partFiles(t, dir, files)
	seriesFiles(t, series, files)
	source := " --data " + filepath.Join(dir, "part-*.parquet")
	// Where rows are left out, or blocks have more rows than files, blocks reach into the file behind theirs, and those of sequences further.
	var own [3][n]string
	for w := range n {
		own[2][w] = series
	}
	for reach := range 2 {
		for w := range n {
			own[reach][w] = t.TempDir()
			damagedBut(t, dir, own[reach][w], func(i int) bool { return i <= reach || 16*w/n <= i && i < 16*(w+1)/n+reach })
		}
	}
	for at, line := range []string{
		"fit --format json --kmax 2 --restarts 1 --max-iter 3",
		"fit --format json --method em --k 2 --restarts 1 --max-iter 3 --sample 5000 --missing keep",
		"select --format json --family auto --kmax 2 --restarts 1 --max-iter 3 --method em",
		"fit --format json --kmax 2 --restarts 1 --max-iter 3 --weights code",
		"fit --format json --method em --k 2 --restarts 1 --max-iter 3 --missing drop --weights code",
		"fit --format json --model hmm --sequence run --weights w --method em --k 2 --restarts 1 --max-iter 3",
		"select --format json --cov all --drop run,w --kmax 1 --restarts 1 --max-iter 2",
	} {
		t.Run(line, func(t *testing.T) {
			reach := [...]int{0, 0, 0, 1, 1, 2, 2}[at]
			if line += source; reach == 2 {
				line = strings.ReplaceAll(line, dir, series)
			}
			status, alone, errs := latent("", strings.Fields(line)...)
			require.Equal(t, statusDone, status, errs)
			var list [n]Opened
			begin := func(ctx context.Context, j Job) (Passes, error) {
				require.NotNil(t, j.Decided)
				p := &workers{made: new(atomic.Int64)}
				for w := range list {
					one := j
					one.Data = filepath.Join(own[reach][w], "part-*.parquet")
					o, err := Open(ctx, host, one)
					if err != nil {
						return nil, err
					}
					list[w], p.opened[w] = o, o
				}
				return p, nil
			}
			var out, complaints bytes.Buffer
			require.Equal(t, statusDone, Run(t.Context(), Host{Models: host.Models, Passes: begin}, strings.Fields(line), nil, &out, &complaints), complaints.String())
			want, got := timeless(t, alone), timeless(t, out.String())
			for name := range want {
				assert.True(t, reflect.DeepEqual(want[name], got[name]), name)
			}
			sum := 0
			for w, o := range list {
				decoded := o.(opened).parts.rows.Decoded()
				assert.LessOrEqual(t, decoded, ofBlock*(min(16*(w+1)/n, files)-16*w/n+1+2*reach), "worker %d", w)
				sum += decoded
			}
			assert.GreaterOrEqual(t, sum, ofBlock*files)
		})
	}
}

// decoding runs a command in n processes, and returns what the first one writes, and how many rows each of the others has decoded one by
// one.
func decoding(t *testing.T, n int, line string) (out string, decoded []int) {
	t.Helper()
	decoded = make([]int, n)
	var first, complaints bytes.Buffer
	for _, err := range ranks.Each(n, func(r ranks.Rank) error {
		ctx := context.WithValue(t.Context(), surroundingsKey{}, &surroundings{host: Host{Models: host.Models, Group: r, Local: n}, now: time.Now})
		s := sessionOf(ctx, nil, &first, &complaints)
		var err error
		if s.known, err = registryOf(host.Models); err != nil {
			return err
		}
		var all commands
		parser, err := newParser(&all, s.known, s.name, strings.Fields(line), kong.Writers(io.Discard, io.Discard))
		if err != nil {
			return err
		}
		command, err := parser.Parse(strings.Fields(line))
		if err != nil {
			return err
		}
		s.Store = data.NewStore(1 << 30)
		if err = command.Run(s); err == nil && s.parts != nil {
			rank, _ := r.Rank()
			decoded[rank] = s.parts.rows.Decoded()
		}
		return errors.Join(s.crew.End(s, err, statusOf(err)), s.close())
	}) {
		require.NoError(t, err, line)
	}
	return first.String(), decoded
}

// TestACrewReadsItsParts: processes to whom the first one has told what the columns are write what one process writes, and decode their
// own parts alone, each once.
func TestACrewReadsItsParts(t *testing.T) {
	const files, n = 12, 3
	rows, series := t.TempDir(), t.TempDir()
	partFiles(t, rows, files)
	seriesFiles(t, series, files)
	asArrow(t, rows)
	for _, one := range []struct {
		dir, line string
		share     float64 // of all rows that each of the others decodes at most
	}{
		{rows, "fit --kmax 2 --restarts 1 --max-iter 3", .7},
		{rows, "fit --kmax 2 --restarts 1 --max-iter 3 --missing drop --data part-*.arrow", .7},
		{rows, "select --drop word --method em --kmax 2 --restarts 1 --max-iter 3", .7},
		{rows, "fit --kmax 2 --restarts 1 --max-iter 3 --missing drop --weights code", .7},
		{rows, "fit --drop word,x2 --model regression --response x0 --k 1 --restarts 1 --max-iter 3 --weights code", 1},
		{rows, "select --cov all --select x0,x2,x3,x4 --kmin 2 --kmax 2 --restarts 1 --max-iter 2 --shards 3", .7},
		{series, "fit --model hmm --sequence run --weights w --kmax 3 --restarts 1 --max-iter 8", .7},
		{series, "fit --model lds --sequence run --drop w,x6,x7,x8 --k 1 --method em --restarts 1 --max-iter 2", .7},
		{series, "fit --model hmm --drop run,w --k 2 --method em --restarts 1 --max-iter 2", 1}, // which is one block, the first
	} {
		line := one.line + " --format json --data " + filepath.Join(one.dir, "part-*.parquet")
		if before, _, arrow := strings.Cut(one.line, " --data"); arrow {
			line = before + " --format json --data " + filepath.Join(one.dir, "part-*.arrow")
		}
		status, alone, errs := latent("", strings.Fields(line)...)
		require.Equal(t, statusDone, status, errs)
		out, decoded := decoding(t, n, line)
		assert.Equal(t, timeless(t, alone), timeless(t, out), line)
		for _, rows := range decoded[1:] {
			assert.LessOrEqual(t, float64(rows), one.share*ofBlock*files, line)
		}
	}
}

// TestACrewBeginsAtASavedModel that the first process has told the others about.
func TestACrewBeginsAtASavedModel(t *testing.T) {
	dir, model := t.TempDir(), filepath.Join(t.TempDir(), "m.json")
	partFiles(t, dir, 6)
	source := " --data " + filepath.Join(dir, "part-*.parquet")
	for _, flags := range []string{"", " --weights code --missing drop"} {
		done(t, strings.Fields("fit --kmax 2 --restarts 1 --max-iter 2 --out "+model+source+flags)...)
		line := "fit --format json --max-iter 3 --from " + model + source + strings.TrimPrefix(flags, " --weights code")
		alone, _ := done(t, strings.Fields(line)...)
		all := crewed(t, 3, func(int) string { return line })
		require.Equal(t, statusDone, all[0].status, all[0].errors)
		assert.Equal(t, timeless(t, alone), timeless(t, all[0].out), flags)
	}
}

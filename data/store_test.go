package data

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/stretchr/testify/require"
)

var t0 = time.Unix(1, 0)

// requireAlike: a table that lies in files has the bits of one in memory, and so have what is chosen of it.
func requireAlike(t *testing.T, want, got *Table) {
	t.Helper()
	requireSame(t, want, got)
	for _, choose := range []func(*Table) *Table{
		func(t *Table) *Table { return t },
		func(table *Table) *Table { complete, _ := dropMissing(t, table); return complete },
		func(table *Table) *Table {
			less, err := table.Select(table.Names[2], table.Names[0])
			require.NoError(t, err)
			return less
		},
	} {
		x, rows, cols, err := choose(want).Values()
		require.NoError(t, err)
		y, r, c, err := choose(got).Values()
		require.NoError(t, err)
		require.Equal(t, []int{rows, cols}, []int{r, c})
		require.Equal(t, bytesOf(x), bytesOf(y))
	}
}

func TestTablesBeyondTheLimitLieInFiles(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	var text strings.Builder
	text.WriteString("a,b,c,d\n")
	for i := range 20_000 {
		d := fmt.Sprint(i % 7)
		if i == 19_000 {
			d = "late" // the text is read once more
		}
		b := fmt.Sprint(math.Sin(float64(i)))
		if i%5000 == 77 {
			b = ""
		}
		fmt.Fprintf(&text, "%d,%s,%d,%s\n", i, b, i*i, d)
	}
	for name, text := range map[string]string{"plain": strings.ReplaceAll(text.String(), "late", "3"), "late": text.String(), "quoted": strings.Replace(text.String(), "\n7,", "\n\"7\"\"\",", 1)} {
		t.Run(name, func(t *testing.T) {
			want, err := ReadCSV(strings.NewReader(text), CSVOptions{})
			require.NoError(t, err)
			for _, limit := range []int64{0, 1000, 100_000, 200_000} { // at the first section, at the next, later
				store := NewStore(limit)
				got, err := ReadCSV(strings.NewReader(text), CSVOptions{Store: store})
				require.NoError(t, err)
				require.Positive(t, store.Mapped())
				requireAlike(t, want, got)
				require.NoError(t, store.Check())
				require.NoError(t, store.Close())
				require.NoError(t, store.Close(), "again")
			}
			roomy := NewStore(1 << 30)
			got, err := ReadCSV(strings.NewReader(text), CSVOptions{Store: roomy})
			require.NoError(t, err)
			require.Zero(t, roomy.Mapped())
			requireAlike(t, want, got)
		})
	}
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left, "temporary files")
}

// TestCodesBeyondTheLimitLieInFiles: those of categories, as they are read, given other levels, and where rows are left out.
func TestCodesBeyondTheLimitLieInFiles(t *testing.T) {
	var text strings.Builder
	text.WriteString("a,b,c,d\n")
	for i := range 20_000 {
		d := []string{"x", "y", "", "z"}[i*i%4]
		fmt.Fprintf(&text, "l%d,%s,m%d,%d\n", i%7, d, i%300, i)
	}
	for name, read := range map[string]func(o CSVOptions) (*Table, error){
		"one file": func(o CSVOptions) (*Table, error) { return ReadCSV(strings.NewReader(text.String()), o) },
		"parts":    func(o CSVOptions) (*Table, error) { return ReadParts(parts(text.String(), text.String()), o) },
		"a builder": func(o CSVOptions) (*Table, error) {
			b, err := NewBuilder([]string{"a", "b", "c", "d"}, []bool{true, false, true, true}, 9000, o.Store)
			if err != nil {
				return nil, err
			}
			numbers, stride := b.Numbers(1)
			for i := range 9000 {
				b.Codes(0)[i], b.Codes(2)[i], numbers[i*stride] = int32(i%3), int32(i%2), float64(i)
				if i%4 > 0 { // else it is missing
					b.Codes(3)[i] = int32(i % 3)
				}
			}
			for _, j := range []int{0, 2, 3} {
				b.Finish(j, []string{"x", "y", "z"}, nil)
			}
			return b.Table(0), nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			want, err := read(CSVOptions{})
			require.NoError(t, err)
			for _, limit := range []int64{0, 100_000, 1 << 30} {
				store := NewStore(limit)
				got, err := read(CSVOptions{Store: store})
				require.NoError(t, err)
				require.Equal(t, limit < 1<<30, store.Mapped() > 0)
				requireAlike(t, want, got)
				levels := [][]string{{"z", "y", "x"}, {"l1", "l0"}}
				before := store.Mapped()
				wanted, err := want.Factors([]string{"c", "a"}, levels, true)
				require.NoError(t, err)
				recoded, err := got.Factors([]string{"c", "a"}, levels, true)
				require.NoError(t, err)
				require.Equal(t, limit < 1<<30, store.Mapped() > before)
				requireSame(t, wanted, recoded)
				requireSame(t, want, got)
				require.NoError(t, store.Close())
			}
		})
	}
}

func TestAnArrayOfFloatsIsMappedItself(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", filepath.Join(dir, "none")) // what makes a temporary file fails
	x := make([]float64, 3*5000)
	for i := range x {
		x[i] = math.Cos(float64(i))
	}
	x[7] = math.NaN()
	path := filepath.Join(dir, "x.npy")
	var text bytes.Buffer
	require.NoError(t, WriteNPY(&text, x, 5000, 3))
	require.NoError(t, os.WriteFile(path, text.Bytes(), 0o600))
	want, err := ReadNPY(bytes.NewReader(text.Bytes()))
	require.NoError(t, err)

	store := NewStore(0)
	file, err := os.Open(path)
	require.NoError(t, err)
	got, err := Read(file, CSVOptions{Store: store})
	require.NoError(t, err)
	require.NoError(t, file.Close(), "the mapping stays")
	require.GreaterOrEqual(t, store.Mapped(), int64(8*len(x)))
	requireSame(t, want, got)
	_, _, _, err = got.Values()
	require.NoError(t, err, "in place")
	less, err := got.Drop("V1")
	require.NoError(t, err)
	_, _, _, err = less.Values()
	require.ErrorContains(t, err, "cannot create a temporary file for 80 kB of numbers")
	_, _, err = got.DropMissing()
	require.ErrorContains(t, err, "temporary file")

	require.NoError(t, store.Check())
	require.NoError(t, os.Chtimes(path, t0, t0))
	require.ErrorContains(t, store.Check(), "changed while it was read")
	require.NoError(t, os.Remove(path))
	require.ErrorContains(t, store.Check(), "changed while it was read")
	requireSame(t, want, got)
	require.NoError(t, store.Close())

	// An input that cannot be mapped is read.
	require.NoError(t, os.Mkdir(filepath.Join(dir, "none"), 0o700))
	for _, r := range []struct{ swap bool }{{false}, {true}} {
		header := text.Bytes()[:text.Len()-8*len(x)]
		body := bytes.Clone(text.Bytes()[len(header):])
		if r.swap {
			swapBytes(floatsOf(body))
			header = bytes.Replace(header, []byte("<f8"), []byte(">f8"), 1)
		}
		store := NewStore(0)
		got, err := Read(bytes.NewReader(append(bytes.Clone(header), body...)), CSVOptions{Store: store})
		require.NoError(t, err)
		require.EqualValues(t, 8*len(x), store.Mapped())
		requireSame(t, want, got)
		require.NoError(t, store.Close())
	}
}

func TestAStoreWatchesFilesThatAreReadOnce(t *testing.T) {
	path := filepath.Join(t.TempDir(), "t.csv")
	store := NewStore(0)
	require.ErrorIs(t, store.Watch(path), os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte("a\n1\n"), 0o600))
	require.NoError(t, store.Watch(filepath.Dir(path)), "no file to look at")
	require.NoError(t, store.Watch(path))
	require.NoError(t, store.Check())
	require.NoError(t, os.Chtimes(path, t0, t0))
	require.ErrorContains(t, store.Check(), path+": the input changed while it was read")
	require.NoError(t, store.Close())
	require.NoError(t, store.Check(), "they are forgotten")
	var none *Store
	require.NoError(t, none.Watch(path))
}

// A closing reader closes the last file of a store, so that writing fails.
type closing struct{ of *Store }

func (c closing) Read([]byte) (int, error) {
	if err := c.of.regions[len(c.of.regions)-1].file.Close(); err != nil {
		return 0, err
	}
	return 0, io.EOF
}

// TestSpooledFilesGoWithTheStore: they hold what was read, and a reader that fails is an error; a file that fails, another.
func TestSpooledFilesGoWithTheStore(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("TMPDIR", dir)
	store := NewStore(0)
	file, err := store.Spool(strings.NewReader("rows"))
	require.NoError(t, err)
	got := make([]byte, 5)
	n, err := file.ReadAt(got, 0)
	require.ErrorIs(t, err, io.EOF)
	require.Equal(t, "rows", string(got[:n]))
	require.NoError(t, file.Close())

	_, err = store.Spool(iotest.ErrReader(os.ErrDeadlineExceeded))
	require.ErrorIs(t, err, os.ErrDeadlineExceeded)
	require.EqualError(t, err, "cannot be read to the end: i/o timeout")
	require.NoError(t, store.Close())

	store = NewStore(0)
	_, err = store.Spool(io.MultiReader(strings.NewReader("rows"), closing{store}, strings.NewReader("lost")))
	require.ErrorContains(t, err, "cannot copy to the temporary file")
	require.ErrorContains(t, err, "set TMPDIR to a folder with more room")
	require.NoError(t, store.Close())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Empty(t, left)
}

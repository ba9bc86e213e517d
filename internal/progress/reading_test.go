package progress

import (
	"bytes"
	"context"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProgressOfReadingIsThatOfTheFiles: bytes of how many, over all parts, from the beginning where a text is read again, and rows of
// columnar formats; a stream has no end that is known.
func TestProgressOfReadingIsThatOfTheFiles(t *testing.T) {
	dir := t.TempDir()
	var paths []string
	for _, name := range []string{"part-1.csv", "part-2.csv"} {
		paths = append(paths, filepath.Join(dir, name))
		require.NoError(t, os.WriteFile(paths[len(paths)-1], make([]byte, 2000), 0o600))
	}
	clock := time.Unix(0, 0)
	begin := func(source string) *Reading {
		p := NewReading(source)
		p.now, p.began = func() time.Time { return clock }, clock
		return p
	}
	p := begin(filepath.Join(dir, "part-*.csv"))
	p.Follows(paths)
	assert.Equal(t, "reading part-*.csv: 4 kB", p.String(), "nothing is read yet")
	for i, path := range paths {
		file, err := os.Open(path)
		require.NoError(t, err)
		p.Opened(file)
		_, err = io.CopyN(io.Discard, file, 1000)
		require.NoError(t, err)
		clock = clock.Add(10 * time.Second)
		want := []string{"reading part-*.csv: 1 kB of 4 kB, about 30 s left", "reading part-*.csv: 3 kB of 4 kB, about 7 s left"}[i]
		assert.Equal(t, want, p.String())
		if i == 1 {
			_, err = file.Seek(500, io.SeekStart)
			require.NoError(t, err)
			assert.Equal(t, "reading again part-*.csv: 2.5 kB of 4 kB, about 0 s left", p.String())
		}
		require.NoError(t, file.Close())
	}
	assert.Equal(t, "reading again part-*.csv: 2.5 kB of 4 kB, about 0 s left", p.String(), "a file that is closed stays where it was")

	p = begin("t.parquet")
	p.Counts(250, 1000)
	clock = clock.Add(time.Second)
	assert.Equal(t, "reading t.parquet: 250 of 1000 rows, about 3 s left", p.String())
	p.Counts(1000, 1000)
	assert.Equal(t, "reading t.parquet: 1000 of 1000 rows", p.String())

	p = begin("-")
	_, err := io.ReadAll(p.Reads(strings.NewReader("1,2\n")))
	require.NoError(t, err)
	assert.Equal(t, "reading standard input: 4 bytes", p.String())
	file, err := os.Open(paths[0])
	require.NoError(t, err)
	p = begin("-")
	require.Equal(t, io.Reader(file), p.Reads(file), "which can be mapped")
	_, err = io.CopyN(io.Discard, file, 500)
	require.NoError(t, err)
	assert.Equal(t, "reading standard input: 500 bytes of 2 kB, about 0 s left", p.String())
	require.NoError(t, file.Close())
}

// TestALineSaysHowFarReadingIs until something is read, or the command is interrupted.
func TestALineSaysHowFarReadingIs(t *testing.T) {
	p := NewReading("t.parquet")
	p.Counts(1, 2)
	ctx, cancel := context.WithCancel(t.Context())
	from, shown := make(chan int, 1), make(chan struct{})
	line := &Line{log: slog.New(slog.NewTextHandler(&signalling{shown: shown}, nil))} // due at once
	go func() {
		<-shown
		from <- 7
	}()
	v, here := Receive(ctx, from, line, p)
	require.True(t, here)
	require.Equal(t, 7, v)
	cancel()
	_, here = Receive(ctx, from, line, p)
	require.False(t, here)
}

// signalling closes a channel when it has a line about reading.
type signalling struct {
	shown chan struct{}
	once  sync.Once
}

func (s *signalling) Write(text []byte) (int, error) {
	if bytes.Contains(text, []byte("reading t.parquet: 1 of 2 rows")) {
		s.once.Do(func() { close(s.shown) })
	}
	return len(text), nil
}

package progress

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/latent-go/latent/internal/memory"
	"github.com/latent-go/latent/report"
)

// A Reading knows how far a table has been read: bytes of files that are read from one end to the other, or rows
// of files in columnar formats.
type Reading struct {
	name string
	now  func() time.Time

	mu       sync.Mutex // a table is read in one goroutine and watched in another
	began    time.Time
	size     int64 // bytes of all files
	before   int64 // of those that are read
	file     *os.File
	stream   *countedReader // in place of files
	rows, of int            // of columnar formats
	last     int64
	again    bool // a text is read a second time, now that the kinds of its columns are known
}

// NewReading is that of what --data names.
func NewReading(source string) *Reading {
	name := report.Printable(filepath.Base(source))
	if source == "-" {
		name = "standard input"
	}
	return &Reading{name: name, now: time.Now, began: time.Now()}
}

// Receive waits for what is read, while the line says how far that is; here is false where ctx ends before.
func Receive[T any](ctx context.Context, from <-chan T, line *Line, far *Reading) (v T, here bool) {
	ticks := time.NewTicker(shownEvery)
	defer ticks.Stop()
	for {
		line.Show(far.String)
		select {
		case v := <-from:
			return v, true
		case <-ticks.C:
		case <-ctx.Done():
			return v, false
		}
	}
}

// countedReader counts what is read.
type countedReader struct {
	io.Reader
	n atomic.Int64
}

func (r *countedReader) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	r.n.Add(int64(n))
	return n, err
}

// Reads has the progress be that of a reader: a file, or else what comes through the reader that is returned.
func (t *Reading) Reads(r io.Reader) io.Reader {
	t.mu.Lock()
	defer t.mu.Unlock()
	if file, ok := r.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode().IsRegular() {
			t.file, t.size = file, info.Size()
			return r
		}
	}
	t.stream = &countedReader{Reader: r}
	return t.stream
}

// Follows has the progress be that of files of so many bytes in all, which are announced by Opened.
func (t *Reading) Follows(paths []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil { // else reading will say so
			t.size += info.Size()
		}
	}
}

// Opened says which file is read from now on.
func (t *Reading) Opened(file *os.File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.file != nil { // closed by now
		if info, err := os.Stat(t.file.Name()); err == nil {
			t.before += info.Size()
		}
	}
	t.file, t.last = file, 0
}

// Counts has the progress be that of rows.
func (t *Reading) Counts(rows, of int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.rows, t.of = rows, of
}

// String is how much was read of how much, and the time that the rest may take.
func (t *Reading) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	now, share, far := t.now(), 0., ""
	switch {
	case t.of > 0:
		share, far = float64(t.rows)/float64(t.of), fmt.Sprintf("%d of %d rows", t.rows, t.of)
	case t.stream != nil:
		far = memory.Size(float64(t.stream.n.Load()))
	default:
		at := t.last
		if t.file != nil {
			if place, err := t.file.Seek(0, io.SeekCurrent); err == nil { // which moves nothing
				at = place
			}
		}
		if at < t.last {
			t.again, t.began = true, now
		}
		t.last = at
		size := memory.Size(float64(t.size))
		far = memory.Size(float64(t.before+at)) + " of " + size
		if share = float64(t.before+at) / float64(max(t.size, 1)); share == 0 { // an array, which is not read in order
			far = size
		}
	}
	verb := "reading"
	if t.again {
		verb = "reading again"
	}
	text := verb + " " + t.name + ": " + far
	if share > 0 && share < 1 {
		text += ", " + Left(now.Sub(t.began), share)
	}
	return text
}

package data

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// Open reads a table from a file, or from standard input if the path is "-". The content decides the
// format, not the name: NPY ([ReadNPY]), otherwise CSV ([ReadCSV] with zero options), either of them plain or
// compressed with gzip. Errors begin with the path.
func Open(path string) (*Table, error) {
	if path == "-" {
		t, err := Read(os.Stdin, CSVOptions{})
		if err != nil {
			return nil, fmt.Errorf("standard input: %w", err)
		}
		return t, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close() //nolint:errcheck // nothing was written
	t, err := Read(f, CSVOptions{})
	var named *fs.PathError
	if err != nil && !errors.As(err, &named) {
		err = fmt.Errorf("%s: %w", path, err)
	}
	return t, err
}

// Read reads a table from r, of any format that [Open] knows; o is for CSV.
func Read(r io.Reader, o CSVOptions) (*Table, error) {
	head, r, err := peek(r)
	if err != nil {
		return nil, err
	}
	switch {
	case bytes.HasPrefix(head, []byte(npyMagic)):
		return readNPY(r, o.Store, o.Float32)
	case !bytes.HasPrefix(head, []byte(gzipMagic)):
		return ReadCSV(r, o)
	}

	compressed := rewinder(r) // what may have to be kept is the compressed text
	inflate := func() (io.Reader, error) {
		r, err := compressed()
		if err != nil {
			return nil, err
		}
		return newInflater(r, o.Limits)
	}
	plain, err := inflate()
	if err != nil {
		return nil, err
	}
	head, plain, err = peek(plain)
	switch {
	case err != nil:
		return nil, err
	case bytes.HasPrefix(head, []byte(npyMagic)):
		return readNPY(plain, o.Store, false)
	case bytes.HasPrefix(head, []byte(gzipMagic)):
		return nil, errTwice
	}
	return readCSV(inflate, o, fullPace())
}

var errTwice = errors.New("compressed twice; decompress it once")

// peek returns the first bytes of r, and a reader that still stands before them. That is r itself where r
// can seek.
func peek(r io.Reader) ([]byte, io.Reader, error) {
	s, start, seeks := seekable(r)
	head := make([]byte, len(npyMagic))
	n, err := io.ReadFull(r, head)
	if err != nil && err != io.EOF && err != io.ErrUnexpectedEOF {
		return nil, nil, err
	}
	head = head[:n]
	if !seeks {
		return head, io.MultiReader(bytes.NewReader(head), r), nil
	}
	_, err = s.Seek(start, io.SeekStart)
	return head, r, err
}

// rewinder returns a function each call of which yields r's content from where r stands now. What r has
// given is kept in memory if r cannot seek.
func rewinder(r io.Reader) func() (io.Reader, error) {
	if s, start, ok := seekable(r); ok {
		return func() (io.Reader, error) {
			_, err := s.Seek(start, io.SeekStart)
			return r, err
		}
	}
	k := new(kept)
	rest := io.TeeReader(r, k)
	return func() (io.Reader, error) { return io.MultiReader(k.reader(), rest), nil }
}

// kept is what a reader has given, in pieces so that it never moves.
type kept struct{ pieces [][]byte }

func (k *kept) Write(p []byte) (int, error) {
	const size = 1 << 16
	for rest := p; len(rest) > 0; {
		last := len(k.pieces) - 1
		if last < 0 || len(k.pieces[last]) == size {
			k.pieces = append(k.pieces, make([]byte, 0, size))
			last++
		}
		n := min(len(rest), size-len(k.pieces[last]))
		k.pieces[last] = append(k.pieces[last], rest[:n]...)
		rest = rest[n:]
	}
	return len(p), nil
}

func (k *kept) reader() io.Reader {
	readers := make([]io.Reader, len(k.pieces))
	for i, piece := range k.pieces {
		readers[i] = bytes.NewReader(piece)
	}
	return io.MultiReader(readers...)
}

// seekable says whether r can go back to where it stands. Terminals and pipes are files that cannot,
// though some systems let them claim it.
func seekable(r io.Reader) (s io.Seeker, at int64, ok bool) {
	if f, isFile := r.(*os.File); isFile {
		if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
			return nil, 0, false
		}
	}
	if s, ok = r.(io.Seeker); !ok {
		return nil, 0, false
	}
	at, err := s.Seek(0, io.SeekCurrent)
	return s, at, err == nil
}

// remaining is the number of bytes from where r stands to its end, where that can be known.
func remaining(r io.Reader) (int64, bool) {
	s, at, ok := seekable(r)
	if !ok {
		return 0, false
	}
	end, err := s.Seek(0, io.SeekEnd)
	if err != nil {
		return 0, false
	}
	if _, err = s.Seek(at, io.SeekStart); err != nil {
		return 0, false
	}
	return max(end-at, 0), true
}

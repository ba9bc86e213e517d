package fastcsv

import (
	"errors"
	"io"
	"math"
)

// A Source is a reader with pushback, so that several may read a text one after another. After an error it reads no
// further, and a reader that repeatedly returns no bytes has failed.
type Source struct {
	Size  int64 // of the text in bytes, 0 if not known
	Until int64 // Read fails with [ErrUntil] there

	r    io.Reader
	back [][]byte
	at   int64
	err  error
}

// NewSource reads r, which holds size bytes, or 0 if that is not known.
func NewSource(r io.Reader, size int64) *Source {
	return &Source{Size: size, Until: math.MaxInt64, r: r}
}

// ErrUntil reports that a source has been read as far as it may be.
var ErrUntil = errors.New("fastcsv: the text goes on beyond its bound")

// Read reads what was put back, then the reader.
func (s *Source) Read(b []byte) (n int, err error) {
	if s.at >= s.Until && len(b) > 0 {
		return 0, ErrUntil
	}
	b = b[:min(int64(len(b)), s.Until-s.at)]
	defer func() { s.at += int64(n) }()
	for len(s.back) > 0 {
		n = copy(b, s.back[0])
		if s.back[0] = s.back[0][n:]; len(s.back[0]) == 0 {
			s.back = s.back[1:]
		}
		if n > 0 || len(b) == 0 {
			return n, nil
		}
	}
	for range 100 { // as bufio does
		if s.err == nil {
			n, s.err = s.r.Read(b)
		}
		if n > 0 || s.err != nil || len(b) == 0 {
			return n, s.err
		}
	}
	s.err = io.ErrNoProgress
	return 0, s.err
}

// PutBack prepends these pieces, which were read ahead, to the text that comes next; they must not be changed
// afterwards.
func (s *Source) PutBack(pieces ...[]byte) {
	for _, piece := range pieces {
		s.at -= int64(len(piece))
	}
	s.back = append(pieces, s.back...)
}

// Offset is how many bytes of the text were read and not put back.
func (s *Source) Offset() int64 { return s.at }

// ended reports that there is no more, because of err.
func (s *Source) ended() bool { return len(s.back) == 0 && s.err != nil }

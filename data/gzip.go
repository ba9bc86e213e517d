package data

import (
	"bufio"
	"compress/gzip"
	"errors"
	"io"
)

const gzipMagic = "\x1f\x8b"

// inflater decompresses the members of a gzip file one after another. It goes from one to the next itself:
// to compress/gzip, a few bytes that follow the last look like a member cut short.
type inflater struct {
	from   *bufio.Reader
	member *gzip.Reader
}

var (
	errGzipCut   = errors.New("the compressed data are cut short; copy the file again")
	errGzipAfter = errors.New("other bytes follow the compressed data; compress the table again, alone in its file")
)

func newInflater(r io.Reader) (*inflater, error) {
	g := &inflater{from: bufio.NewReaderSize(r, 1<<16), member: new(gzip.Reader)}
	return g, g.next()
}

// next begins a member.
func (g *inflater) next() error {
	err := g.member.Reset(g.from)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return errGzipCut
	}
	if err == nil {
		g.member.Multistream(false)
	}
	return err
}

func (g *inflater) Read(p []byte) (int, error) {
	for {
		n, err := g.member.Read(p)
		switch {
		case err == io.ErrUnexpectedEOF:
			return n, errGzipCut
		case err != io.EOF:
			return n, err
		case n > 0:
			return n, nil // the end comes again
		}
		head, err := g.from.Peek(len(gzipMagic))
		switch {
		case err == io.EOF && len(head) == 0:
			return 0, io.EOF
		case err != nil && err != io.EOF:
			return 0, err
		case string(head) != gzipMagic:
			return 0, errGzipAfter
		}
		if err := g.next(); err != nil {
			return 0, err
		}
	}
}

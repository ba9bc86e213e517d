package data

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"

	"github.com/latent-go/latent/internal/memory"
)

const gzipMagic = "\x1f\x8b"

// inflater decompresses the members of a gzip file one after another. It goes from one to the next itself:
// to compress/gzip, a few bytes that follow the last look like a member cut short.
type inflater struct {
	from   *bufio.Reader
	member *gzip.Reader
	file   *counted // below from
	limits Limits
	given  int64
	free   int64 // what any gzipped file may hold
}

// counted counts what is read of a reader.
type counted struct {
	io.Reader
	n int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	return n, err
}

var (
	errGzipCut   = errors.New("the compressed data are cut short; copy the file again")
	errGzipAfter = errors.New("other bytes follow the compressed data; compress the table again, alone in its file")
)

func newInflater(r io.Reader, limits Limits) (*inflater, error) {
	g := &inflater{member: new(gzip.Reader), file: &counted{Reader: r}, limits: limits, free: 1e9}
	g.from = bufio.NewReaderSize(g.file, 1<<16)
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
		g.given += int64(n)
		switch {
		case g.given > g.free && float64(g.given) > g.limits.ratio()*float64(g.file.n):
			return n, fmt.Errorf("%s of the compressed data hold more than %s, %w of their ratio",
				memory.Size(float64(g.file.n)), memory.Size(float64(g.given)), ErrLimit)
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

package tables

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"maps"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/progress"
)

// A Source has tables that are no files of this system: either List and Open of what has the content of files, or the
// Table of a query.
type Source struct {
	List  func(ctx context.Context, name string) ([]string, error)
	Open  func(ctx context.Context, name string) (io.ReadCloser, error)
	Table func(ctx context.Context, name string, o data.RowsOptions) (*data.Table, error)
}

var scheme = regexp.MustCompile(`^([a-zA-Z][a-zA-Z0-9+.-]+):`) // a single letter is a disk

// secret is a password in the name of a table, which no message repeats.
var secret = regexp.MustCompile(`(://[^/@:]*:)[^/@]*(@)|([?&]password=)[^&]*`)

// Source finds the source of what a --data names; nil: a file, a pattern or an embedded data set.
func (s *Session) Source(name string) (*Source, error) {
	found := scheme.FindStringSubmatch(name)
	if found == nil {
		return nil, nil
	}
	if _, err := os.Lstat(name); err == nil {
		return nil, nil
	}
	if src, ok := s.Sources[found[1]]; ok {
		return &src, nil
	}
	if len(s.Sources) == 0 {
		return nil, fmt.Errorf("--data %s: no such file, and this program opens files alone: latent-remote, of module "+
			"remote, opens objects of S3, Google Cloud Storage and Azure, and queries of SQLite and PostgreSQL", name)
	}
	return nil, faults.Misused("--data %s: no such file, and no scheme %s: this program has %s", name, found[1],
		strings.Join(slices.Sorted(maps.Keys(s.Sources)), ", "))
}

// reader reads what a source has under a name.
func (src *Source) reader(
	s *Session, f *Options, name string, o data.CSVOptions, far *progress.Reading,
) (*Input, *reader, error) {
	in := &Input{Name: secret.ReplaceAllString(name, "$1$3…$2")}
	if src.Table != nil {
		r := &reader{whole: func() (*data.Table, error) {
			return src.Table(s, name, data.RowsOptions{NA: o.NA, Store: o.Store,
				Text: func(column string) bool { return o.Reading(column) == data.ReadAsText }})
		}}
		r.blocks = func() iter.Seq2[*data.Table, error] {
			return func(yield func(*data.Table, error) bool) { yield(r.whole()) }
		}
		return in, r, nil
	}
	names, err := src.List(s, name)
	if err == nil && len(names) == 0 {
		err = errors.New("nothing matches this pattern")
	}
	columns := 0
	for _, one := range names {
		var is bool
		is, err = src.isColumnar(s, one)
		if err != nil {
			break
		}
		if is {
			columns++
		}
	}
	if err == nil && columns > 0 && columns < len(names) {
		err = errFormats
	}
	if err != nil {
		return nil, nil, in.Wrap(err)
	}
	open := func(one string) (*os.File, error) {
		content, err := src.Open(s, one)
		if err != nil {
			return nil, err
		}
		defer content.Close() //nolint:errcheck // nothing was written
		return s.Store.Spool(content)
	}
	if columns > 0 {
		return in, f.columnarReader(in, names, o, open, far), nil
	}
	return in, textReader(names, o, open), nil
}

// isColumnar looks at the first bytes.
func (src *Source) isColumnar(ctx context.Context, name string) (bool, error) {
	content, err := src.Open(ctx, name)
	if err != nil {
		return false, err
	}
	defer content.Close() //nolint:errcheck // nothing was written
	head := make([]byte, columnar.HeadSize)
	n, err := io.ReadFull(content, head)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		err = nil
	}
	return columnar.Begins(head[:n]), err
}

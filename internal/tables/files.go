package tables

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/progress"
	"github.com/latent-go/latent/internal/wording"
)

// FilesOf are the files that a --data names: one, or those that match a pattern, in the order of their names. It is the
// name itself where there is no such file.
func FilesOf(source string) ([]string, error) {
	if _, err := os.Lstat(source); err == nil || !strings.ContainsAny(source, "*?[") {
		return []string{source}, nil
	}
	matches, err := filepath.Glob(source)
	if err != nil {
		return nil, faults.Misused("--data %s: the pattern has a [ without its ]", source)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("--data %s: no file matches this pattern", source)
	}
	return matches, nil
}

// A reader reads a table: whole, or as tables of some rows each.
type reader struct {
	whole  func() (*data.Table, error)
	blocks func() iter.Seq2[*data.Table, error]
	paths  []string // of the files
	names  bool     // errors name the file
}

// reader finds out what a source is, which is no embedded data set, and how it is read.
func (f *Options) reader(
	s *Session, source string, reading func(name string) data.Reading, far *progress.Reading,
) (*Input, *reader, error) {
	header := map[string]data.HeaderMode{"auto": data.HeaderAuto, "yes": data.HeaderYes, "no": data.HeaderNo}[f.Header]
	o := data.CSVOptions{
		Header:    header,
		NA:        slices.Concat(f.NA, f.fitted),
		Decimal:   byte(f.Decimal),
		Encoding:  f.Encoding,
		Reading:   reading,
		Limits:    f.Limit.Limits,
		Store:     s.Store,
		Spellings: f.spellings,
		Float32:   f.float32s,
	}
	if source == "-" {
		return f.standardInput(s, o, far)
	}
	src, err := s.Source(source)
	if err != nil {
		return nil, nil, err
	}
	if src != nil {
		return src.reader(s, f, source, o, far)
	}
	paths, err := FilesOf(source)
	if err != nil {
		return nil, nil, err
	}
	in := &Input{Name: source}
	columns, err := inFormat(paths, columnar.Is)
	switch {
	case err != nil:
		return nil, nil, err
	case columns > 0 && columns < len(paths):
		return nil, nil, in.Wrap(errFormats)
	case columns > 0:
		r := f.columnarReader(in, paths, o, nil, far)
		r.paths = paths
		return in, r, nil
	}
	far.Follows(paths)
	open := func(path string) (*os.File, error) {
		file, err := atomicfile.Open(path)
		if err == nil {
			far.Opened(file)
		}
		return file, err
	}
	r := textReader(paths, o, open)
	r.paths = paths
	return in, r, nil
}

var errFormats = errors.New("some of the files are Parquet or Arrow and others are not: a table has one format")

// textReader reads files that are in no columnar format.
func textReader(paths []string, o data.CSVOptions, open func(path string) (*os.File, error)) *reader {
	parts := make([]data.Part, len(paths))
	for i, path := range paths {
		parts[i] = data.Part{Name: path, Open: func() (io.ReadCloser, error) { return open(path) }}
	}
	r := &reader{names: len(paths) > 1,
		whole:  func() (*data.Table, error) { return data.ReadParts(parts, o) },
		blocks: func() iter.Seq2[*data.Table, error] { return data.Blocks(parts, o) }}
	if len(paths) == 1 {
		r.whole = func() (*data.Table, error) {
			file, err := open(paths[0])
			if err != nil {
				return nil, err
			}
			defer file.Close() //nolint:errcheck // nothing was written
			return data.Read(file, o)
		}
	}
	return r
}

// standardInput reads text as it comes. A columnar format is read twice, as its rows are counted first, and a pipe is
// copied to a file.
func (f *Options) standardInput(s *Session, o data.CSVOptions, far *progress.Reading) (*Input, *reader, error) {
	in := &Input{Name: "standard input"}
	stdin := far.Reads(s.Stdin)
	file, regular := stdin.(*os.File)
	columns := regular && columnar.Is(file)
	if !regular {
		buffered := bufio.NewReader(stdin)
		head, _ := buffered.Peek(columnar.HeadSize) // an error comes again when it is read
		stdin, columns = buffered, columnar.Begins(head)
	}
	if columns {
		open := func(string) (_ *os.File, err error) {
			if !regular {
				file, err = s.Store.Spool(stdin)
			}
			return file, err
		}
		return in, f.columnarReader(in, []string{in.Name}, o, open, far), nil
	}
	parts := []data.Part{{Open: func() (io.ReadCloser, error) { return io.NopCloser(stdin), nil }}}
	return in, &reader{
		whole:  func() (*data.Table, error) { return data.Read(stdin, o) },
		blocks: func() iter.Seq2[*data.Table, error] { return data.Blocks(parts, o) }}, nil
}

// columnarReader reads files in columnar formats; open is nil where their paths open them.
func (f *Options) columnarReader(
	in *Input, paths []string, o data.CSVOptions, open func(path string) (*os.File, error), far *progress.Reading,
) *reader {
	own := f.columnarOptions(in, o)
	own.Open = open
	own.Progress = far.Counts
	return &reader{names: true,
		whole:  func() (*data.Table, error) { return columnar.Read(paths, own) },
		blocks: func() iter.Seq2[*data.Table, error] { return columnar.Blocks(paths, own) }}
}

// explain names the file in an error about it.
func (r *reader) explain(in *Input, err error) error {
	switch {
	case errors.Is(err, columnar.ErrNoColumn) && len(in.unread) > 0:
		return in.Wrap(fmt.Errorf("it has none of the columns in use: the data have %s", wording.Quoted(in.unread)))
	case r.names:
		return err
	}
	return in.Wrap(err)
}

// inFormat counts the files in a format.
func inFormat(paths []string, is func(f *os.File) bool) (n int, err error) {
	for _, path := range paths {
		file, err := atomicfile.Open(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return 0, fmt.Errorf("%s: no such file or embedded data set: the data sets are %s", path,
				strings.Join(DatasetNames(), ", "))
		case err != nil:
			return 0, err
		}
		info, err := file.Stat()
		if err == nil && info.Mode().IsRegular() && is(file) {
			n++
		}
		if err := file.Close(); err != nil {
			return 0, err
		}
		if err == nil && info.IsDir() {
			return 0, fmt.Errorf("%s is a directory: name a file, or a pattern of files", path)
		}
	}
	return n, nil
}

// columnarOptions read the columns that are wanted alone: others cost nothing, and may be lists.
func (f *Options) columnarOptions(in *Input, o data.CSVOptions) columnar.Options {
	return columnar.Options{
		NA:      o.NA,
		Store:   o.Store,
		Float32: o.Float32,
		Text:    func(name string) bool { return o.Reading(name) == data.ReadAsText },
		Keep: func(name string) bool {
			if slices.Contains(f.Drop, name) {
				in.left = append(in.left, name)
				return false
			}
			if f.wanted != nil && !f.wanted(name) {
				if !slices.Contains(in.unread, name) {
					in.unread = append(in.unread, name)
				}
				return false
			}
			return true
		},
	}
}

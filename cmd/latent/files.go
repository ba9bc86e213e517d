package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/atomicfile"
)

// filesOf are the files that a --data names: one, or those that match a pattern, in the order of their names. It is the name itself
// where there is no such file.
func filesOf(source string) ([]string, error) {
	if _, err := os.Lstat(source); err == nil || !strings.ContainsAny(source, "*?[") {
		return []string{source}, nil
	}
	matches, err := filepath.Glob(source)
	if err != nil {
		return nil, misused("--data %s: the pattern has a [ without its ]", source)
	}
	if len(matches) == 0 {
		return nil, fmt.Errorf("--data %s: no file has a name of this pattern", source)
	}
	return matches, nil
}

// readFiles reads files as one table.
func (f *inputFlags) readFiles(in *input, paths []string, o data.CSVOptions) (err error) {
	columns := 0 // files in columnar formats
	for _, path := range paths {
		file, err := atomicfile.Open(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return fmt.Errorf("--data %s: no such file, nor an embedded data set: those are %s", path, strings.Join(datasetNames(), ", "))
		case err != nil:
			return err
		}
		info, err := file.Stat()
		if err == nil && info.Mode().IsRegular() && columnar.Is(file) {
			columns++
		}
		if err := file.Close(); err != nil {
			return err
		}
		if err == nil && info.IsDir() {
			return fmt.Errorf("--data %s is a directory: name a file, or a pattern of files", path)
		}
	}
	if columns > 0 && columns < len(paths) {
		return in.wrap(errors.New("some of the files are Parquet or Arrow and others are not: a table has one format"))
	}
	if columns > 0 {
		in.Table, err = columnar.Read(paths, columnar.Options{NA: o.NA, Store: o.Store, Keep: func(name string) bool {
			if left := slices.Contains(f.Drop, name); left { // a list, perhaps
				in.left = append(in.left, name)
				return false
			}
			return true
		}})
		return err
	}
	if len(paths) == 1 {
		file, err := atomicfile.Open(paths[0])
		if err != nil {
			return err
		}
		defer file.Close() //nolint:errcheck // nothing was written
		in.Table, err = data.Read(file, o)
		return in.wrap(err)
	}
	parts := make([]data.Part, len(paths))
	for i, path := range paths {
		parts[i] = data.Part{Name: path, Open: func() (io.ReadCloser, error) { return atomicfile.Open(path) }}
	}
	in.Table, err = data.ReadParts(parts, o)
	return err
}

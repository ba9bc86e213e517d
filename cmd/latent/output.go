package main

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"

	"github.com/latent-go/latent/data"
)

// emit writes a result to the file of --out, or to standard output where there is none
// or it is "-".
func (s *session) emit(out string, write func(io.Writer) error) error {
	if out == "" || out == "-" {
		return write(s.stdout)
	}
	return writeFile(out, write)
}

// checkOut finds out before long work that its result could not be saved, or would take
// the place of one of the inputs.
func (s *session) checkOut(out string, inputs ...string) error {
	if out == "" || out == "-" {
		return nil
	}
	d, err := locate(out)
	if err != nil {
		return err
	}
	if in, ok := s.replaced(d, inputs); ok {
		return misused("--out is the input, %s: name another file", in)
	}
	return d.tryOut()
}

// replaced finds the input that writing would destroy.
func (s *session) replaced(d destination, inputs []string) (in string, ok bool) {
	for _, in := range inputs {
		if info := s.stat(in); info != nil && d.replaces(info) {
			return in, true
		}
	}
	return "", false
}

// tryOut finds out whether it could be written.
func (d destination) tryOut() error {
	if d.direct {
		return nil
	}
	f, err := d.temporary()
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// stat is the file behind an input, nil where there is none: an embedded data set, or
// one that will not be found.
func (s *session) stat(in string) os.FileInfo {
	if _, embedded := data.Lookup(in); embedded {
		return nil
	}
	var info os.FileInfo
	if in != "-" {
		info, _ = os.Stat(in)
	} else if f, ok := s.stdin.(*os.File); ok {
		info, _ = f.Stat()
	}
	return info
}

// A destination is what --out names, links followed.
type destination struct {
	path     string
	existing os.FileInfo // nil: nothing is there
	direct   bool        // no regular file but a device or a pipe: written in place
}

func locate(path string) (destination, error) {
	info, err := os.Stat(path)
	d := destination{path: path, existing: info}
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return d, err
	case err == nil && info.IsDir():
		return d, fmt.Errorf("--out %s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		d.direct = true
		return d, nil
	}
	if d.path, err = follow(path); err != nil {
		return d, cannotWrite(path, err)
	}
	if d.existing != nil { // it is replaced, which needs no right to write: ask for it
		f, err := os.OpenFile(d.path, os.O_WRONLY, 0)
		if err != nil {
			return d, cannotWrite(path, err)
		}
		return d, f.Close()
	}
	return d, nil
}

// follow resolves links, also a last one that leads to nothing yet.
func follow(path string) (string, error) {
	const most = 40
	for range most {
		dir, name := filepath.Split(path)
		dir, err := filepath.EvalSymlinks(dir)
		if err != nil {
			return "", err
		}
		path = filepath.Join(dir, name)
		link, err := os.Readlink(path)
		if err != nil { // no link, or nothing at all
			return path, nil
		}
		if path = link; !filepath.IsAbs(link) {
			path = dir + string(filepath.Separator) + link // not cleaned: what .. means after a link, EvalSymlinks knows
		}
	}
	return "", errors.New("too many links")
}

// replaces tells whether writing destroys that file. Devices and pipes may be read and
// written both.
func (d destination) replaces(in os.FileInfo) bool {
	return d.existing != nil && in.Mode().IsRegular() && os.SameFile(d.existing, in)
}

// temporary makes a file beside the destination, with the permissions of what it will
// replace, or those of any new file.
func (d destination) temporary() (*os.File, error) {
	mode := os.FileMode(0o666)
	if d.existing != nil {
		mode = d.existing.Mode().Perm()
	}
	name := filepath.Join(filepath.Dir(d.path), fmt.Sprintf(".latent-%016x.tmp", rand.Uint64()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return nil, cannotWrite(d.path, err)
	}
	if d.existing == nil {
		return f, nil
	}
	if err := f.Chmod(mode); err != nil { // what the umask took
		return nil, cannotWrite(d.path, errors.Join(err, f.Close(), os.Remove(name)))
	}
	return f, nil
}

// cannotWrite gives the reason without the path that the system was asked for.
func cannotWrite(path string, err error) error {
	var reason *os.PathError
	if errors.As(err, &reason) {
		err = reason.Err
	}
	return fmt.Errorf("cannot write %s: %w", path, err)
}

// writeFile has write fill a temporary file beside path, and moves it there when all
// went well: path never holds half a result. What is no regular file, such as a device
// or a pipe, is written directly.
func writeFile(path string, write func(io.Writer) error) error {
	d, err := locate(path)
	if err != nil {
		return err
	}
	if d.direct {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := d.temporary()
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), d.path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("%s was not written: %w", path, err)
	}
	return nil
}

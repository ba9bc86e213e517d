// Package atomicfile writes files atomically: a path never holds half a result.
package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
)

// Write has write fill a temporary file beside path, and moves it there when all went well.
// Links are followed, permissions of a file that is replaced stay, and what is no regular
// file, such as a device or a pipe, is written in place.
func Write(path string, write func(io.Writer) error) error {
	t, err := Locate(path)
	if err != nil {
		return err
	}
	return t.write(write)
}

// A Target is where a path leads, links followed.
type Target struct {
	Path     string
	existing os.FileInfo // nil: nothing is there
	direct   bool        // no regular file
}

// Locate finds the target of a path; it is an error if that is a folder or must not be written.
func Locate(path string) (Target, error) {
	info, err := os.Stat(path)
	t := Target{Path: path, existing: info}
	switch {
	case err != nil && !errors.Is(err, os.ErrNotExist):
		return t, err
	case err == nil && info.IsDir():
		return t, fmt.Errorf("%s is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		t.direct = true
		return t, nil
	}
	if t.Path, err = follow(path); err != nil {
		return t, CannotWrite(path, err)
	}
	if t.existing == nil {
		return t, nil
	}
	f, err := openFile(t.Path, os.O_WRONLY, 0) // it is replaced, which needs no right to write: ask for it
	if err != nil {
		return t, CannotWrite(path, err)
	}
	if err := f.Close(); err != nil {
		return t, CannotWrite(path, err)
	}
	return t, nil
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

// Replaces reports whether writing destroys that file. Devices and pipes may be read and written both.
func (t Target) Replaces(in os.FileInfo) bool {
	return t.existing != nil && in.Mode().IsRegular() && os.SameFile(t.existing, in)
}

// Try checks, before long work, that the target can be written.
func (t Target) Try() error {
	if t.direct {
		return nil
	}
	sweep(filepath.Dir(t.Path))
	f, err := t.temporary()
	if err != nil {
		return err
	}
	if err := errors.Join(f.Close(), finish(f, Remove)); err != nil {
		return CannotWrite(t.Path, err)
	}
	return nil
}

// underWay are the temporary files that there are, and the folders that were made for files which are not written yet.
// The lock is held where one of them is made, put in place or removed.
var underWay = struct {
	sync.Mutex
	names   map[string]bool
	folders []string // each after the one that it is in
}{names: map[string]bool{}}

// Abandon removes the temporary files of all writes under way, and folders that were made for them, for a process that
// ends in the middle of them. A path has its new file, whole, or never will: until resume is called, nobody can begin a
// file or put one in place. Writes that were abandoned fail afterwards.
func Abandon() (resume func()) {
	underWay.Lock()
	for name := range underWay.names {
		_ = os.Remove(name)
	}
	removeEmpty(underWay.folders)
	return underWay.Unlock
}

// finish does with a temporary file what it was for.
func finish(f file, with func(name string) error) error {
	underWay.Lock()
	defer underWay.Unlock()
	delete(underWay.names, f.Name())
	return with(f.Name())
}

// temporary makes a file beside the target, with the permissions of what it will replace, or
// those of any new file.
func (t Target) temporary() (file, error) {
	mode := os.FileMode(0o666)
	if t.existing != nil {
		mode = t.existing.Mode().Perm()
	}
	name := filepath.Join(filepath.Dir(t.Path), fmt.Sprintf("%s%016x%s", before, rand.Uint64(), after))
	underWay.Lock()
	f, err := openFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err == nil {
		underWay.names[name] = true
	}
	underWay.Unlock()
	if err != nil {
		return f, CannotWrite(t.Path, err)
	}
	if t.existing == nil {
		return f, nil
	}
	if err := f.chmod(mode); err != nil { // what the umask took
		return f, CannotWrite(t.Path, errors.Join(err, f.Close(), finish(f, Remove)))
	}
	return f, nil
}

// CannotWrite gives the reason without the path that the system was asked for.
func CannotWrite(path string, err error) error {
	return fmt.Errorf("cannot write %s: %w", path, reason(err))
}

// plain has no other method of a file, past which nothing is written.
type plain struct{ io.Writer }

func (t Target) write(write func(io.Writer) error) error {
	if t.direct {
		f, err := openFile(t.Path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		if err := errors.Join(write(plain{f}), f.Close()); err != nil {
			return CannotWrite(t.Path, err)
		}
		return nil
	}
	f, err := t.temporary()
	if err != nil {
		return err
	}
	err = write(plain{f})
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = finish(f, func(name string) error { return rename(name, t.Path) })
	}
	if err != nil {
		_ = finish(f, Remove)
		return fmt.Errorf("%s was not written: %w", t.Path, err)
	}
	syncFolder(filepath.Dir(t.Path))
	return nil
}

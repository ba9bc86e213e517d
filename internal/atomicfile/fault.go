package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"

	"github.com/latent-go/latent/internal/memory"
)

// injected is what a test has put in the way of operations on files.
var injected atomic.Pointer[func(operation string) error]

// Inject has the operations of this package fail with the errors that a test returns for them:
// "open", "create", "chmod", "write", "sync", "close", "rename", "remove", "mkdir", "read". A write that fails has
// written half.
func Inject(fault func(operation string) error) (restore func()) {
	injected.Store(&fault)
	return func() { injected.Store(nil) }
}

// attempt is asked before an operation, and returns its error where a test wants one.
func attempt(operation string) error {
	if fault := injected.Load(); fault != nil {
		return (*fault)(operation)
	}
	return nil
}

// Remove is that of package os.
func Remove(name string) error {
	if err := attempt("remove"); err != nil {
		return err
	}
	return os.Remove(name)
}

func rename(from, to string) error {
	if err := attempt("rename"); err != nil {
		return err
	}
	err := os.Rename(from, to)
	if link, ok := errors.AsType[*os.LinkError](err); ok { // which names the temporary file
		return link.Err
	}
	return err
}

// A file is one that is written. Its errors have reasons without its name, which may be a temporary one.
type file struct{ *os.File }

// reason is an error without the path that the system was asked for.
func reason(err error) error {
	if path, ok := errors.AsType[*os.PathError](err); ok {
		return path.Err
	}
	return err
}

func (f file) Write(p []byte) (n int, err error) {
	if err := attempt("write"); err != nil {
		n, _ = f.File.Write(p[:len(p)/2])
		return n, err
	}
	n, err = f.File.Write(p)
	return n, reason(err)
}

func (f file) Read(p []byte) (int, error) {
	if err := attempt("read"); err != nil {
		return 0, err
	}
	return f.File.Read(p)
}

func (f file) Sync() error {
	if err := attempt("sync"); err != nil {
		return err
	}
	return reason(f.File.Sync())
}

func (f file) chmod(mode os.FileMode) error {
	if err := attempt("chmod"); err != nil {
		return err
	}
	return reason(f.Chmod(mode))
}

// Close closes in any case.
func (f file) Close() error {
	err := attempt("close")
	if closed := f.File.Close(); err == nil {
		err = reason(closed)
	}
	return err
}

// Open is that of package os.
func Open(name string) (*os.File, error) {
	f, err := openFile(name, os.O_RDONLY, 0)
	return f.File, err
}

// ReadFile is that of package os, but for files of more than so many bytes, which are an error.
func ReadFile(name string, most int64) ([]byte, error) {
	f, err := openFile(name, os.O_RDONLY, 0)
	if err != nil {
		return nil, err
	}
	defer f.File.Close() //nolint:errcheck // nothing was written
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		if err := memory.Need("reading "+name, float64(min(info.Size(), most))); err != nil {
			return nil, err
		}
	}
	text, err := io.ReadAll(io.LimitReader(f, most+1))
	if err == nil && int64(len(text)) > most {
		err = fmt.Errorf("%s is larger than %s: no file that latent wrote", name, memory.Size(float64(most)))
	}
	return text, err
}

func mkdirAll(dir string) error {
	if err := attempt("mkdir"); err != nil {
		return &os.PathError{Op: "mkdir", Path: dir, Err: err}
	}
	return os.MkdirAll(dir, 0o777)
}

// openFile is that of package os.
func openFile(name string, flag int, mode os.FileMode) (file, error) {
	operation := "open"
	if flag&os.O_CREATE != 0 {
		operation = "create"
	}
	if err := attempt(operation); err != nil {
		return file{}, &os.PathError{Op: operation, Path: name, Err: err}
	}
	f, err := os.OpenFile(name, flag, mode)
	return file{f}, err
}

package beam

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
)

// A Folder is where the driver and the workers of a run exchange small files. A file that is put is seen by all of them
// whole or not at all, and whoever gets it afterwards gets that one or a later one.
type Folder interface {
	// Put writes a file, in the place of one of the same name.
	Put(ctx context.Context, name string, content []byte) error
	// Get reads a file; the error wraps [fs.ErrNotExist] where there is none.
	Get(ctx context.Context, name string) ([]byte, error)
	// List returns the names of the files that begin with prefix, in any order.
	List(ctx context.Context, prefix string) ([]string, error)
	// Remove removes files, those that are not there too; nil: all of them, and the folder.
	Remove(ctx context.Context, names []string) error
	Close() error
}

var folders = map[string]func(ctx context.Context, address string) (Folder, error){}

// RegisterFolders makes known what opens folders whose addresses begin with scheme://, such as those of module remote.
// Like [Register], it is called as the program begins.
func RegisterFolders(scheme string, open func(ctx context.Context, address string) (Folder, error)) {
	folders[scheme] = open
}

// within is the address of a folder in another; options that follow a question mark stay at the end.
func within(address, name string) string {
	if _, is := schemeOf(address); !is {
		return filepath.Join(address, name)
	}
	path, options, has := strings.Cut(address, "?")
	path = strings.TrimSuffix(path, "/") + "/" + name
	if has {
		path += "?" + options
	}
	return path
}

func schemeOf(address string) (scheme string, is bool) {
	scheme, _, is = strings.Cut(address, "://")
	return scheme, is
}

// openFolder opens the folder of a run.
func openFolder(ctx context.Context, address string) (Folder, error) {
	scheme, is := schemeOf(address)
	if !is {
		return directory(address), nil
	}
	open := folders[scheme]
	if open == nil {
		return nil, fmt.Errorf("beam: %s: this program exchanges files in folders of the file system: it has no folders of "+
			"scheme %s", address, scheme)
	}
	f, err := open(ctx, address)
	if err != nil {
		return nil, fmt.Errorf("beam: %s: %w", address, err)
	}
	return f, nil
}

// A directory is a folder of the file system.
type directory string

// Put writes a file, which is not synchronised: nothing of a run is used after a crash of the system.
func (d directory) Put(_ context.Context, name string, content []byte) (err error) {
	path := filepath.Join(string(d), fmt.Sprintf("new-%016x", rand.Uint64()))
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(path, filepath.Join(string(d), name))
	}
	if err != nil {
		_ = os.Remove(path)
	}
	return err
}

// Get reads a file.
func (d directory) Get(_ context.Context, name string) ([]byte, error) {
	return os.ReadFile(filepath.Join(string(d), name))
}

// List reads the names.
func (d directory) List(_ context.Context, prefix string) (names []string, err error) {
	dir, err := os.Open(string(d))
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	all, err := dir.Readdirnames(-1)
	for _, name := range all {
		if strings.HasPrefix(name, prefix) {
			names = append(names, name)
		}
	}
	return names, err
}

// Remove removes files, or all of the directory.
func (d directory) Remove(_ context.Context, names []string) (err error) {
	if names == nil {
		return os.RemoveAll(string(d))
	}
	for _, name := range names {
		if gone := os.Remove(filepath.Join(string(d), name)); !errors.Is(gone, fs.ErrNotExist) {
			err = errors.Join(err, gone)
		}
	}
	return err
}

// Close does nothing.
func (directory) Close() error { return nil }

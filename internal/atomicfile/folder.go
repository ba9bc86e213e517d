package atomicfile

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

// WriteIn is [Write] of a file in a folder, which is made where it is missing. A folder that was made does not stay
// without the file.
func WriteIn(dir, name string, write func(io.Writer) error) error {
	made, err := makeFolder(dir)
	if err != nil {
		err = CannotWrite(dir, err)
	} else {
		err = Write(filepath.Join(dir, name), write)
	}
	underWay.Lock()
	defer underWay.Unlock()
	if err != nil {
		removeEmpty(made)
	}
	underWay.folders = slices.DeleteFunc(underWay.folders,
		func(folder string) bool { return slices.Contains(made, folder) })
	return err
}

// makeFolder makes a folder and those above it that are missing, and returns which it has made, the outermost first.
func makeFolder(dir string) (made []string, err error) {
	existing, err := existingFolder(dir)
	if err != nil {
		return nil, err
	}
	for missing := filepath.Clean(dir); missing != existing; missing = filepath.Dir(missing) {
		made = append(made, missing)
	}
	slices.Reverse(made)
	underWay.Lock()
	defer underWay.Unlock()
	underWay.folders = append(underWay.folders, made...)
	return made, mkdirAll(dir)
}

// removeEmpty removes folders, the innermost first, but for those that hold something.
func removeEmpty(folders []string) {
	for _, folder := range slices.Backward(folders) {
		_ = os.Remove(folder)
	}
}

// TryFolder checks, before long work, that a folder is there or can be made, and says which.
func TryFolder(dir string) (exists bool, err error) {
	existing, err := existingFolder(dir)
	if err != nil || existing == filepath.Clean(dir) {
		return err == nil, err
	}
	trial, err := os.MkdirTemp(existing, ".latent-*.tmp")
	if err != nil {
		return false, CannotWrite(dir, err)
	}
	return false, os.Remove(trial)
}

// existingFolder is the folder, or the innermost one above it that there is.
func existingFolder(dir string) (string, error) {
	dir = filepath.Clean(dir)
	for {
		info, err := os.Stat(dir)
		switch {
		case err == nil && !info.IsDir():
			return "", fmt.Errorf("%s is a file: name a folder", dir)
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", err
		}
		if _, err := os.Lstat(dir); err == nil {
			return "", fmt.Errorf("%s is a link that leads nowhere", dir)
		}
		dir = filepath.Dir(dir)
	}
}

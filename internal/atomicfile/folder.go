package atomicfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

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

package atomicfile

import (
	"os"
	"path/filepath"
	"strings"
	"time"
)

// What the names of temporary files begin and end with.
const (
	before = ".latent-"
	after  = ".tmp"
)

// abandonedAfter is the age at which a temporary file has no process any more that writes it: one that is written is
// younger.
const abandonedAfter = 24 * time.Hour

// sweep removes temporary files that processes which crashed have left in a folder.
func sweep(dir string) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), before) || !strings.HasSuffix(f.Name(), after) {
			continue
		}
		if info, err := f.Info(); err == nil && info.Mode().IsRegular() && time.Since(info.ModTime()) > abandonedAfter {
			_ = os.Remove(filepath.Join(dir, f.Name())) // another user's, perhaps, which stays
		}
	}
}

// syncFolder makes sure that a renamed file is there after a crash of the machine, where folders can be synced.
func syncFolder(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		_ = d.Close()
	}
}

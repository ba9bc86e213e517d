// Package lockfile keeps two processes from working towards one file.
package lockfile

import (
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// What the names of locks begin and end with.
const (
	before = ".latent-"
	after  = ".lock"
)

// mostTries bounds the looks at a lock that nobody owns up to.
const mostTries = 20

// A HeldError says that a file is another process's.
type HeldError struct {
	Path string
	PID  int // 0: not known
}

func (e *HeldError) Error() string {
	who := "another process"
	if e.PID > 0 {
		who = fmt.Sprintf("process %d", e.PID)
	}
	return fmt.Sprintf("%s is being written by %s: wait for it, or name another file", e.Path, who)
}

// Claim takes a path, which need not be there yet, for this process until it is released or the process ends, however
// it ends; it is a *[HeldError] where another process has it. The lock is a file beside the path, or in the nearest
// folder that there is, and is removed with the release. Where the system keeps no locks (a file system without them, a
// folder that takes no file) nothing is locked.
func Claim(path string) (release func(), err error) {
	path, err = filepath.Abs(path)
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(path)
	for !isFolder(dir) && dir != filepath.Dir(dir) {
		dir = filepath.Dir(dir)
	}
	sweep(dir)
	sum := fnv.New64a()
	_, _ = io.WriteString(sum, path)
	name := filepath.Join(dir, fmt.Sprintf("%s%016x%s", before, sum.Sum64(), after))
	for tries := 0; ; tries++ {
		lock, held := take(name)
		if lock != nil {
			_ = os.WriteFile(name, []byte(strconv.Itoa(os.Getpid())), 0o600) // for people
			return func() { drop(lock) }, nil
		}
		if !held {
			return func() {}, nil
		}
		text, _ := os.ReadFile(name)
		if pid, _ := strconv.Atoi(string(text)); pid > 0 || tries == mostTries {
			return nil, &HeldError{Path: path, PID: pid}
		}
		time.Sleep(5 * time.Millisecond) // who holds it says so at once, or gives it back: a sweep
	}
}

// take locks the file of a name; nil where that cannot be.
func take(name string) (lock *flock.Flock, held bool) {
	for {
		lock = flock.New(name, flock.SetFlag(os.O_CREATE|os.O_RDWR))
		locked, err := lock.TryLock()
		if err != nil || !locked {
			return nil, err == nil
		}
		mine, err := lock.Stat()
		if there, failed := os.Stat(name); err == nil && failed == nil && os.SameFile(mine, there) {
			return lock, false
		}
		_ = lock.Unlock() // the one who had it has removed the file since it was opened
	}
}

// drop removes a lock's file and then unlocks it, so that nobody locks a file that is about to go; a system that
// removes no open file (Windows) has it the other way round.
func drop(lock *flock.Flock) {
	removed := os.Remove(lock.Path())
	_ = lock.Unlock()
	if removed != nil {
		_ = os.Remove(lock.Path())
	}
}

// sweep removes the locks that processes which were killed have left in a folder: nobody holds them.
func sweep(dir string) {
	files, _ := os.ReadDir(dir)
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), before) || !strings.HasSuffix(f.Name(), after) {
			continue
		}
		if lock, _ := take(filepath.Join(dir, f.Name())); lock != nil {
			drop(lock)
		}
	}
}

func isFolder(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

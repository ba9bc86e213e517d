package atomicfile_test

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/atomicfile"
)

func TestTheOldFileStaysWhenWritingFails(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	broken := errors.New("broken")
	err := atomicfile.Write(path, func(w io.Writer) error {
		_, _ = io.WriteString(w, "half")
		return broken
	})
	require.ErrorIs(t, err, broken)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "old", string(text))
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Len(t, left, 1)

	link := filepath.Join(t.TempDir(), "link.json")
	require.NoError(t, os.Symlink(path, link))
	require.NoError(t, atomicfile.Write(link, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }))
	text, err = os.ReadFile(path)
	require.NoError(t, err)
	assert.Equal(t, "new", string(text))
	info, err := os.Lstat(link)
	require.NoError(t, err)
	assert.NotZero(t, info.Mode()&os.ModeSymlink)
}

func TestAnErrorNamesThePath(t *testing.T) {
	dir := t.TempDir()
	circle := filepath.Join(dir, "circle")
	require.NoError(t, os.Symlink("circle", circle))
	broken := errors.New("broken")
	fail := func(io.Writer) error { return broken }
	for _, path := range []string{dir, filepath.Join(dir, "none", "a"), circle, filepath.Join(dir, "new"), os.DevNull} {
		err := atomicfile.Write(path, fail)
		require.ErrorContains(t, err, path)
		require.NotContains(t, err.Error(), ".tmp")
	}
	require.ErrorIs(t, atomicfile.Write(os.DevNull, fail), broken, "a device, written in place")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	require.Len(t, left, 1, "the circle alone")
}

func TestFoldersAreTriedWithoutATrace(t *testing.T) {
	dir := t.TempDir()
	exists, err := atomicfile.TryFolder(dir)
	require.NoError(t, err)
	assert.True(t, exists)
	exists, err = atomicfile.TryFolder(filepath.Join(dir, "a", "b"))
	require.NoError(t, err)
	assert.False(t, exists, "it can be made")
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, left)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "f"), nil, 0o600))
	_, err = atomicfile.TryFolder(filepath.Join(dir, "f", "g"))
	assert.ErrorContains(t, err, "is a file: name a folder")
	require.NoError(t, os.Symlink(filepath.Join(dir, "nowhere"), filepath.Join(dir, "link")))
	_, err = atomicfile.TryFolder(filepath.Join(dir, "link"))
	assert.ErrorContains(t, err, "leads nowhere")
}

func TestFilesThatACrashHasLeftAreSwept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b]*")
	require.NoError(t, os.Mkdir(dir, 0o700))
	old := time.Now().Add(-25 * time.Hour)
	for _, name := range []string{".latent-0123456789abcdef.tmp", ".latent-0123456789abcdee.tmp", "mine.tmp", ".latent-mine"} {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, nil, 0o600))
		if name != ".latent-0123456789abcdee.tmp" { // which is being written
			require.NoError(t, os.Chtimes(path, old, old))
		}
	}
	target, err := atomicfile.Locate(filepath.Join(dir, "out"))
	require.NoError(t, err)
	require.NoError(t, target.Try())
	left, err := os.ReadDir(dir)
	require.NoError(t, err)
	var names []string
	for _, f := range left {
		names = append(names, f.Name())
	}
	require.Equal(t, []string{".latent-0123456789abcdee.tmp", ".latent-mine", "mine.tmp"}, names)
}

func TestALargeFileIsNotRead(t *testing.T) {
	path := filepath.Join(t.TempDir(), "long")
	require.NoError(t, os.WriteFile(path, make([]byte, 100), 0o600))
	_, err := atomicfile.ReadFile(path, 99)
	require.ErrorContains(t, err, "is larger than 99 bytes")
	text, err := atomicfile.ReadFile(path, 100)
	require.NoError(t, err)
	require.Len(t, text, 100)
}

// TestEveryOperationFailsOnce: whatever fails, the path has the old file or the new one, whole, and the error names it. A removal that
// fails leaves the temporary file, and nothing else does.
func TestEveryOperationFailsOnce(t *testing.T) {
	disk := errors.New("no space left on device")
	for at := 0; ; at++ {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o640))
		asked, failed := 0, ""
		restore := atomicfile.Inject(func(operation string) error {
			if asked++; asked == at+1 {
				failed = operation
				return disk
			}
			return nil
		})
		err := atomicfile.Write(path, func(w io.Writer) error { _, err := io.WriteString(w, "new and longer"); return err })
		restore()
		text, failure := os.ReadFile(path)
		require.NoError(t, failure)
		left, failure := os.ReadDir(dir)
		require.NoError(t, failure)
		require.Len(t, left, 1, failed)
		if failed == "" {
			require.NoError(t, err)
			require.Equal(t, "new and longer", string(text))
			require.GreaterOrEqual(t, at, 7, "open, create, chmod, write, sync, close, rename")
			return
		}
		require.ErrorIs(t, err, disk, failed)
		require.ErrorContains(t, err, path)
		require.NotContains(t, err.Error(), ".tmp")
		require.Equal(t, "old", string(text), failed)
	}
}

// TestAFolderIsMadeWithItsFileOrNotAtAll: whichever operation fails, and where the process ends meanwhile, folders that were made go, and
// those that were there stay.
func TestAFolderIsMadeWithItsFileOrNotAtAll(t *testing.T) {
	root := t.TempDir()
	there, page := filepath.Join(root, "there"), "index.html"
	require.NoError(t, os.Mkdir(there, 0o700))
	missing := filepath.Join(there, "outer", "inner")
	write := func(w io.Writer) error { _, err := io.WriteString(w, "whole"); return err }
	requireNothing := func(what string) {
		left, err := os.ReadDir(there)
		require.NoError(t, err)
		require.Empty(t, left, what)
	}
	for at := 0; ; at++ {
		asked, failed := 0, ""
		restore := atomicfile.Inject(func(operation string) error {
			if asked++; asked == at+1 {
				failed = operation
				return syscall.ENOSPC
			}
			return nil
		})
		err := atomicfile.WriteIn(missing, page, write)
		restore()
		if failed == "" {
			require.NoError(t, err)
			require.Greater(t, at, 4)
			break
		}
		require.ErrorIs(t, err, syscall.ENOSPC, failed)
		require.ErrorContains(t, err, missing)
		requireNothing(failed)
	}
	text, err := os.ReadFile(filepath.Join(missing, page))
	require.NoError(t, err)
	require.Equal(t, "whole", string(text))
	require.NoError(t, os.RemoveAll(filepath.Join(there, "outer")))

	broken := errors.New("broken")
	require.ErrorIs(t, atomicfile.WriteIn(there, page, func(io.Writer) error { return broken }), broken)
	requireNothing("a folder that was there stays")
	err = atomicfile.WriteIn(missing, page, func(w io.Writer) error {
		resume := atomicfile.Abandon()
		requireNothing("abandoned")
		resume()
		return write(w)
	})
	require.Error(t, err)
	requireNothing("abandoned")
	file := filepath.Join(root, "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	require.ErrorContains(t, atomicfile.WriteIn(filepath.Join(file, "inner"), page, write), "file is a file: name a folder")
}

// TestAReasonDoesNotNameTheTemporaryFile, as errors of the system do.
func TestAReasonDoesNotNameTheTemporaryFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	err := atomicfile.Write(path, func(io.Writer) error { return os.Mkdir(path, 0o700) }) // which no file can replace
	require.ErrorContains(t, err, path+" was not written: ")
	require.NotContains(t, err.Error(), ".tmp")
	err = atomicfile.Write(os.DevNull, func(w io.Writer) error {
		_, is := w.(io.StringWriter)
		require.False(t, is, "which would go by what looks at errors")
		return nil
	})
	require.NoError(t, err)
}

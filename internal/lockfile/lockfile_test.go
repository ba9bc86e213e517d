package lockfile_test

import (
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/lockfile"
)

func TestAFileIsOfOneProcess(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fit.json")
	release, err := lockfile.Claim(path)
	require.NoError(t, err)
	_, err = lockfile.Claim(path)
	var held *lockfile.HeldError
	require.ErrorAs(t, err, &held)
	assert.Equal(t, os.Getpid(), held.PID)
	assert.Equal(t, path, held.Path)
	other, err := lockfile.Claim(path + "2")
	require.NoError(t, err, "another file of the folder")
	other()
	release()
	release, err = lockfile.Claim(path)
	require.NoError(t, err)
	release()
	left, err := os.ReadDir(filepath.Dir(path))
	require.NoError(t, err)
	assert.Empty(t, left)
}

// A process that was killed leaves its file behind, without a lock.
func TestWhatKilledProcessesLeftIsRemoved(t *testing.T) {
	dir := t.TempDir()
	left := filepath.Join(dir, ".latent-0123456789abcdef.lock")
	require.NoError(t, os.WriteFile(left, []byte("1"), 0o600))
	release, err := lockfile.Claim(filepath.Join(dir, "new", "folder", "index.html"))
	require.NoError(t, err)
	assert.NoFileExists(t, left)
	release()
	files, err := os.ReadDir(dir)
	require.NoError(t, err)
	assert.Empty(t, files)
}

func TestNeverTwoAtATime(t *testing.T) {
	path := filepath.Join(t.TempDir(), "checkpoint")
	var holders, most, claimed atomic.Int32
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 {
				release, err := lockfile.Claim(path)
				if err != nil {
					continue
				}
				claimed.Add(1)
				if n := holders.Add(1); n > most.Load() {
					most.Store(n)
				}
				holders.Add(-1)
				release()
			}
		})
	}
	all.Wait()
	assert.Positive(t, claimed.Load())
	assert.EqualValues(t, 1, most.Load())
}

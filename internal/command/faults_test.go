package command

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/tier"
)

// TestEveryOperationOnFilesFailsOnce has each of them fail in turn, in every command that writes: the command says so in a line or two and
// fails, or does not need the operation; every file is the old one or the new one, whole; and the same command again goes well. Faults take
// turns; every night each operation has every one of them. Not parallel: the faults are those of the process.
func TestEveryOperationOnFilesFailsOnce(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--k", "2", "--out", model)
	iris := filepath.Join(t.TempDir(), "iris.csv")
	table, _ := done(t, "sample", model, "-n", "40")
	require.NoError(t, os.WriteFile(iris, []byte(table), 0o600))
	files := []string{"out", "checkpoint", "report/index.html"}
	faults := []error{syscall.ENOSPC, syscall.EACCES, io.ErrShortWrite}
	for _, line := range []string{
		"fit --method em --k 2 --restarts 1 --data TABLE --out DIR/out --report DIR/report --checkpoint DIR/checkpoint --max-iter 3 --workers 1 --format json",
		"select --kmax 2 --restarts 1 --data TABLE --checkpoint DIR/checkpoint --max-iter 2 --workers 1 --keep-checkpoint --format json",
		"predict MODEL --data TABLE --out DIR/out",
		"sample MODEL -n 3 --out DIR/out",
	} {
		for first := range tier.Of(1, 1, len(faults)) {
			at := 0
			for failsOnce(t, line, map[string]string{"MODEL": model, "TABLE": iris}, files, at, faults[(first+at)%len(faults)]) {
				at++
			}
			require.Greater(t, at, 5, line)
		}
	}
}

// failsOnce has operation number at fail, and reports whether there is one.
func failsOnce(t *testing.T, line string, paths map[string]string, files []string, at int, fault error) bool {
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, "report"), 0o700))
	for name, path := range paths {
		line = strings.ReplaceAll(line, name, path)
	}
	args := strings.Fields(strings.ReplaceAll(line, "DIR", dir))
	old := map[string]string{}
	for _, name := range files {
		if name != "checkpoint" { // which an old one must belong to the command
			old[name] = "the old " + name
			require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(old[name]), 0o600))
		}
	}
	asked, failed := 0, ""
	restore := atomicfile.Inject(func(operation string) error {
		if asked++; asked == at+1 {
			failed = operation
			return fault
		}
		return nil
	})
	var out, errs bytes.Buffer
	status := run(hurried(context.Background(), func() {}), args, strings.NewReader(""), &out, &errs)
	restore()
	what := fmt.Sprintf("%s, operation %d, %s: %s", line, at, failed, &errs)
	require.LessOrEqual(t, strings.Count(errs.String(), "\n"), 3, what)
	require.NotContains(t, errs.String(), ".tmp", what)
	if status == statusFailed {
		require.Contains(t, errs.String(), fault.Error(), what)
	} else {
		require.Equal(t, statusDone, status, what)
	}
	if failed == "" {
		require.Equal(t, statusDone, status, what)
		return false
	}
	require.NoError(t, filepath.Walk(dir, func(path string, info os.FileInfo, err error) error {
		name, _ := filepath.Rel(dir, path)
		if info.Mode().IsRegular() && !(failed == "remove" && strings.HasPrefix(filepath.Base(name), ".latent-")) {
			require.Contains(t, files, name, "%s: no other file is left", what)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			require.True(t, string(text) == old[name] || wholeFile(name, args[0], text), "%s: %s is neither", what, name)
		}
		return err
	}))
	for _, name := range files {
		if old[name] != "" {
			require.FileExists(t, filepath.Join(dir, name), what)
		}
	}
	out.Reset()
	errs.Reset()
	require.Equal(t, statusDone, run(informed(context.Background()), args, strings.NewReader(""), &out, &errs), "%s; again: %s", what, &errs)
	return true
}

// wholeFile says whether a file ends as one that the command has written.
func wholeFile(name, command string, text []byte) bool {
	switch {
	case name == "checkpoint":
		return true // what is wrong with one is refused, and the same command again goes on from it
	case strings.HasSuffix(name, ".html"):
		return bytes.HasSuffix(bytes.TrimSpace(text), []byte("</html>"))
	case command == "fit":
		return whole(text)
	}
	rows := map[string]int{"predict": 41, "sample": 4}[command]
	return bytes.Count(text, []byte("\n")) == rows && bytes.HasSuffix(text, []byte("\n"))
}

// choked is an output that ends after some bytes.
type choked struct {
	room int
	with error
}

func (c *choked) Write(p []byte) (int, error) {
	if len(p) <= c.room {
		c.room -= len(p)
		return len(p), nil
	}
	n := c.room
	c.room = 0
	return n, c.with
}

// TestAnOutputThatEndsIsAFailure: a full disk in a line, a reader that has gone without one.
func TestAnOutputThatEndsIsAFailure(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--k", "2", "--out", model)
	for _, line := range []string{"fit --k 2", "fit --k 2 --format json", "select --kmax 2", "select --kmax 2 --format json", "predict MODEL --data faithful", "predict MODEL --data faithful --format json",
		"predict MODEL --data faithful --id waiting", "sample MODEL -n 300", "datasets", "datasets --format json", "version", "--help", "fit --help"} {
		args := strings.Fields(strings.ReplaceAll(line, "MODEL", model))
		whole, _ := done(t, args...)
		for _, room := range []int{0, 1, len(whole) / 2, len(whole) - 20} {
			for _, fault := range []error{syscall.ENOSPC, syscall.EPIPE} {
				var errs bytes.Buffer
				require.Equal(t, statusFailed, run(informed(context.Background()), args, strings.NewReader(""), &choked{max(0, room), fault}, &errs), "%s, %d bytes", line, room)
				if errors.Is(fault, syscall.EPIPE) {
					require.Empty(t, errs.String(), line)
				} else {
					require.Equal(t, "latent: "+fault.Error()+"\n", errs.String(), line)
				}
			}
		}
	}
}

package command

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/atomicfile"
)

func TestAnInterruptedCommandSaysItselfHowFarItCame(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	var errs bytes.Buffer
	status := answer(ctx, &errs, func() int {
		cancel()
		<-ctx.Done()
		return 7
	}, func() { select {} }, func() { t.Error("abandoned") })
	require.Equal(t, 7, status)
	require.Empty(t, errs.String())
}

// No clock decides here: the patience is over when the test says so, and the step goes on for as long as the test runs.
func TestAStepThatCannotStopIsLeftAndNoFileIsHalfWritten(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	dir := t.TempDir()
	path := filepath.Join(dir, "out.csv")
	require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	release, ended := make(chan struct{}), make(chan error, 1)
	var errs bytes.Buffer
	var resume func()
	status := answer(ctx, &errs, func() int {
		ended <- atomicfile.Write(path, func(w io.Writer) error {
			_, err := io.WriteString(w, "half of the n")
			cancel()
			<-release
			return err
		})
		return 0
	}, func() {}, func() { resume = atomicfile.Abandon() })
	require.Equal(t, statusFailed, status)
	require.Equal(t, "latent: interrupted before the command was complete; no file is half-written\n", errs.String())
	requireOnly := func() {
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		require.Len(t, files, 1, "no temporary file is left")
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, "old", string(text))
	}
	requireOnly()
	close(release)
	resume()
	require.ErrorContains(t, <-ended, "was not written")
	requireOnly()
	require.NoError(t, atomicfile.Write(path, func(w io.Writer) error { return nil }))
}

func TestACommandThatIsNotInterruptedHasItsOwnStatus(t *testing.T) {
	require.Equal(t, 2, answer(context.Background(), io.Discard, func() int { return 2 }, func() {}, func() { t.Error("abandoned") }))
}

// endless is an input that hands over some bytes and then waits for ever; the first wait calls waits.
type endless struct {
	text  *strings.Reader
	waits func()
}

func (e *endless) Read(p []byte) (int, error) {
	if e.text.Len() > 0 {
		return e.text.Read(p)
	}
	e.waits()
	select {}
}

// An interrupt ends reading that waits, in every command that reads.
func TestReadingThatWaitsIsInterrupted(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--k", "2", "--out", model)
	for _, line := range []string{"fit --data -", "select --data -", "predict MODEL --data -", "fit --model vbmf --data -"} {
		for _, text := range []string{"", "eruptions,waiting\n1,2\n", "\x1f\x8b", "\x93NUMPY"} {
			ctx, cancel := context.WithCancel(t.Context())
			var out, errs bytes.Buffer
			status := run(informed(ctx), strings.Fields(strings.Replace(line, "MODEL", model, 1)), &endless{strings.NewReader(text), sync.OnceFunc(cancel)}, &out, &errs)
			require.Equal(t, statusFailed, status, line)
			require.Equal(t, "latent: interrupted while reading -\n", errs.String(), line)
			require.Empty(t, out.String())
		}
	}
}

// A context that counts how often it is asked whether it has ended, and ends at one of the times.
type counting struct {
	context.Context
	asked, at atomic.Int64
	end       context.CancelFunc
}

func (c *counting) Err() error {
	if c.asked.Add(1) == c.at.Load() {
		c.end()
	}
	return c.Context.Err()
}

// Work asks often enough that no pass over the rows goes by without: an interrupt at any of the times ends the command at the next one,
// and what steps between two of them take, the command does not wait for (TestAStepThatCannotStopIsLeftAndNoFileIsHalfWritten).
func TestAnInterruptAtAnyMomentEndsTheCommand(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--k", "2", "--out", model)
	lines := map[string]string{"select": "select --kmax 2 --restarts 1 --workers 1", "predict": "predict MODEL --data faithful"}
	for name, m := range known.models {
		for _, method := range m.methods {
			lines[name+" by "+method] = "fit --model " + name + " --method " + method + " --kmax 2 " + strings.Join(asked[name], " ")
			if method != methodClosedForm {
				lines[name+" by "+method] += " --restarts 1 --max-iter 9 --workers 1"
			}
		}
	}
	for name, line := range lines {
		args := strings.Fields(strings.Replace(line, "MODEL", model, 1))
		begin := func(at int64) (c *counting, status int, stderr string) {
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c = &counting{Context: ctx, end: cancel}
			c.at.Store(at)
			var out, errs bytes.Buffer
			return c, run(informed(c), args, strings.NewReader(""), &out, &errs), errs.String()
		}
		whole, status, _ := begin(-1)
		if status == statusUsage {
			continue // it needs flags of its own
		}
		require.Equal(t, statusDone, status, name)
		times := whole.asked.Load()
		require.Positive(t, times, "%s never asks", name)
		for _, at := range []int64{1, (times + 1) / 2, times} {
			c, status, stderr := begin(at)
			if status == statusDone { // all was done
				continue
			}
			require.Equal(t, statusFailed, status, name)
			require.Regexp(t, `^latent: interrupted[^\n]*\n$`, stderr, name)
			require.LessOrEqual(t, c.asked.Load(), at+20, "%s goes on after time %d of %d", name, at, times)
		}
	}
}

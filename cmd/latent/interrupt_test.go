package main

import (
	"bytes"
	"context"
	"io"
	"os"
	"path/filepath"
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

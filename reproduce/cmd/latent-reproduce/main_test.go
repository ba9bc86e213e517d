package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/reproduce"
)

// TestCommand: the list, one experiment, and what is wrong to ask for.
func TestCommand(t *testing.T) {
	command := func(ctx context.Context, status int, args ...string) (stdout, stderr string) {
		var out, complaints bytes.Buffer
		assert.Equal(t, status, run(ctx, args, &out, &complaints), "%v: %s", args, complaints.String())
		return out.String(), complaints.String()
	}
	ctx := context.Background()
	text, _ := command(ctx, 0, "--list")
	for _, name := range reproduce.Names() {
		assert.Contains(t, text, name)
	}
	text, _ = command(ctx, 0, "--help")
	assert.Contains(t, text, "--quick")

	dir := filepath.Join(t.TempDir(), "new", "results")
	text, _ = command(ctx, 0, "vbmf-fig2", "--quick", "--out", dir)
	assert.Contains(t, text, "agrees")
	for _, name := range []string{"README.md", "figure.svg", "figure.png", "runs.csv", "ranks.csv"} {
		assert.FileExists(t, filepath.Join(dir, "vbmf-fig2", name))
	}
	page, err := os.ReadFile(filepath.Join(dir, "vbmf-fig2", "README.md"))
	require.NoError(t, err)
	assert.Contains(t, string(page), "Made by `latent-reproduce vbmf-fig2 --quick --out DIR`.")

	blocked := filepath.Join(t.TempDir(), "blocked")
	require.NoError(t, os.WriteFile(blocked, nil, 0o600))
	for _, c := range []struct {
		status int
		says   string
		args   []string
	}{
		{2, `there is no experiment "nothing": there are all, gfic`, []string{"nothing", "--out", dir}},
		{2, "name an experiment, or all: ", nil},
		{2, "--out DIR is missing", []string{"vbmf-fig1"}},
		{2, "--workers is -1", []string{"vbmf-fig1", "--out", dir, "--workers=-1"}},
		{2, "--tables is -1", []string{"evidence", "--out", dir, "--tables=-1"}},
		{2, "unknown flag --outt", []string{"evidence", "--outt", dir}},
		{1, "spectf.csv is missing (give its folder with --data)", []string{"vbmf-fig4", "--out", dir}},
		{1, "spectf.csv is missing (it is not in " + dir + ")", []string{"vbmf-fig4", "--out", dir, "--data", dir}},
		{1, "cannot be made", []string{"vbmf-fig2", "--quick", "--out", filepath.Join(blocked, "x")}},
	} {
		_, said := command(ctx, c.status, c.args...)
		assert.Contains(t, said, c.says, "%v", c.args)
	}

	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	_, said := command(cancelled, 1, "vbmf-fig1", "--quick", "--out", dir)
	assert.Contains(t, said, "the same command goes on from there")
}

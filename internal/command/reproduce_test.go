package command

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/reproduce"
)

// TestReproduceThroughTheCommand: the list, one experiment, and what is wrong to ask for.
func TestReproduceThroughTheCommand(t *testing.T) {
	text, _ := done(t, "reproduce", "--list")
	for _, name := range reproduce.Names() {
		assert.Contains(t, text, name)
	}
	for _, line := range strings.Split(text, "\n") {
		assert.LessOrEqual(t, len([]rune(line)), 80, line)
	}

	dir := filepath.Join(t.TempDir(), "new", "results")
	text, _ = done(t, "reproduce", "vbmf-fig2", "--quick", "--out", dir)
	assert.Contains(t, text, "agrees")
	for _, name := range []string{"README.md", "figure.svg", "figure.png", "runs.csv", "ranks.csv"} {
		assert.FileExists(t, filepath.Join(dir, "vbmf-fig2", name))
	}

	fails(t, 2, `there is no experiment "nothing": there are all, gfic`, "", "reproduce", "nothing", "--out", dir)
	fails(t, 2, "name an experiment, or all: ", "", "reproduce")
	fails(t, 2, "--out DIR is missing", "", "reproduce", "vbmf-fig1")
	fails(t, 2, "--workers is -1", "", "reproduce", "vbmf-fig1", "--out", dir, "--workers", "-1")
	fails(t, 2, "--tables is -1", "", "reproduce", "evidence", "--out", dir, "--tables", "-1")
	fails(t, 1, "spectf.csv is missing (give its folder with --data)", "", "reproduce", "vbmf-fig4", "--out", dir)
	fails(t, 1, "spectf.csv is missing (it is not in "+dir+")", "", "reproduce", "vbmf-fig4", "--out", dir, "--data", dir)
	blocked := file(t, "blocked", "")
	fails(t, 1, "cannot be made", "", "reproduce", "vbmf-fig2", "--quick", "--out", filepath.Join(blocked, "x"))
}

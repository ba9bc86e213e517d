package command_test

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestTheGuidesProgramRunsOutsideTheModule, without a network: the sums and modules are those of this one.
func TestTheGuidesProgramRunsOutsideTheModule(t *testing.T) {
	guide, err := os.ReadFile("../docs/guides/own-command.md")
	require.NoError(t, err)
	program := regexp.MustCompile("(?s)```go\n(// Command own .*?)```").FindSubmatch(guide)
	require.NotNil(t, program)
	root, err := filepath.Abs("..")
	require.NoError(t, err)
	dir := t.TempDir()
	sums, err := os.ReadFile("../go.sum")
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "go.sum"), sums, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "main.go"), program[1], 0o600))
	run := func(name string, args ...string) string {
		t.Helper()
		cmd := exec.Command(name, args...)
		var out, errs bytes.Buffer
		cmd.Dir, cmd.Stdout, cmd.Stderr = dir, &out, &errs
		cmd.Env = append(os.Environ(), "GOFLAGS=-mod=mod", "GOPROXY=off", "GOWORK=off", "COLUMNS=100")
		require.NoError(t, cmd.Run(), "%s %v: %s", name, args, errs.String())
		return out.String()
	}
	run("go", "mod", "init", "example.org/own")
	run("go", "mod", "edit", "-require", "github.com/latent-go/latent@v0.0.0", "-replace", "github.com/latent-go/latent="+root)
	run("go", "build", "-o", "own", ".")

	lines := regexp.MustCompile(`(?m)^    own (.*)$`).FindAllStringSubmatch(string(guide), -1)
	require.Greater(t, len(lines), 3)
	said := map[string]string{}
	for _, line := range lines {
		if words := strings.Fields(line[1]); !strings.Contains(line[1], "TABLE.csv") {
			said[strings.Join(words[:2], " ")] = run(filepath.Join(dir, "own"), words...)
		}
	}
	require.Contains(t, said["fit --data"], "negative-binomial components")
	require.Regexp(t, `mean, shape\W+1\W+1\W+107\W+19\.36, 12\.19`, said["fit --data"])
	require.Contains(t, said["fit --data"], "Next: own predict model.json")
	require.Len(t, strings.Split(strings.TrimSpace(said["predict model.json"]), "\n"), 1+107)
	require.Regexp(t, `^count\n(\d+\n){5}$`, said["sample model.json"])
	require.Contains(t, said["fit --model"], "negative-binomial states")
	page, err := os.ReadFile(filepath.Join(dir, "page", "index.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "shape")
}

// Package mutants keeps mistakes that tests have to notice: each is a line of the module with one thing wrong. The gate sees that the lines
// are there still; at night every mutant is built and tested, and none survives.
package mutants

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/tier"
)

// A mutant replaces a text that occurs once in a file.
type mutant struct {
	name, file, tests string // tests are of a package: the file's where it names none
	right, wrong      string
}

// list reads testdata/mutants.txt: of each mutant the name, the file, with another package whose tests notice it, the text, and
// what stands in its place, on lines of their own.
func list(t *testing.T) (all []mutant) {
	text, err := os.ReadFile("testdata/mutants.txt")
	require.NoError(t, err)
	for _, one := range strings.Split(strings.TrimSpace(string(text)), "\n\n") {
		lines := strings.Split(one, "\n")
		require.Len(t, lines, 4, one)
		file, tests, other := strings.Cut(lines[1], " ")
		if !other {
			tests = filepath.Dir(file)
		}
		all = append(all, mutant{lines[0], file, tests, strings.TrimPrefix(lines[2], "right "), strings.TrimPrefix(lines[3], "wrong ")})
	}
	return all
}

func TestMutants(t *testing.T) {
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	for _, m := range list(t) {
		path := filepath.Join(root, m.file)
		source, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(source), m.right), "%s: %s does not have this text, or has it more than once: %s", m.name, m.file, m.right)
		t.Run(m.name, func(t *testing.T) {
			tier.Leave(t, "the tests that notice it")
			dir := t.TempDir()
			mutated, overlay := filepath.Join(dir, "mutated.go"), filepath.Join(dir, "overlay.json")
			require.NoError(t, os.WriteFile(mutated, []byte(strings.Replace(string(source), m.right, m.wrong, 1)), 0o600))
			text, err := json.Marshal(map[string]map[string]string{"Replace": {path: mutated}})
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(overlay, text, 0o600))
			run := exec.Command("go", "test", "-short", "-failfast", "-vet=off", "-overlay", overlay, "./"+m.tests)
			run.Dir = root
			output, err := run.CombinedOutput()
			require.Error(t, err, "it survives")
			assert.NotContains(t, string(output), "[build failed]")
			assert.Contains(t, string(output), "--- FAIL", "%s", output)
		})
	}
}

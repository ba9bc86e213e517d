package examples

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A program with the engine and any of the models compiles gonum and golang.org/x beside this module: no Arrow, no Beam, no MPI and no
// cgo, not even that of the standard library.
func TestLibraryHasFewDependencies(t *testing.T) {
	const what = `{{if not .Standard}}{{with .Module}}{{.Path}}{{end}}{{end}} {{.ImportPath}} {{len .CgoFiles}}`
	cmd := exec.Command("go", "list", "-deps", "-f", what, "../framework", "../models/...")
	cmd.Env = append(cmd.Environ(), "CGO_ENABLED=1")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, string(out))
	var modules []string
	for line := range strings.Lines(string(out)) {
		fields := strings.Split(strings.TrimSuffix(line, "\n"), " ")
		module, pkg, cgo := fields[0], fields[1], fields[2]
		require.True(t, cgo == "0", "%s has cgo", pkg)
		if module != "" && !slices.Contains(modules, module) {
			modules = append(modules, module)
		}
	}
	slices.Sort(modules)
	require.Equal(t, []string{"github.com/latent-go/latent", "golang.org/x/exp", "golang.org/x/sys", "golang.org/x/tools", "gonum.org/v1/gonum"}, modules)
}

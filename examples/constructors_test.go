package examples

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestConstructorsHaveExamples: every package has an example on pkg.go.dev, every New… and From… one of its own, and every
// other function that makes a value of a type of its package, or reads one, is called in an example with an output.
func TestConstructorsHaveExamples(t *testing.T) {
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		switch d.Name() {
		case "internal", "testdata", "examples", "cmd", "docs", ".git":
			return filepath.SkipDir
		}
		if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil && path != ".." {
			return filepath.SkipDir // a module of its own, whose examples run on clusters
		}
		checkExamples(t, path)
		return nil
	})
	require.NoError(t, err)
}

func checkExamples(t *testing.T, path string) {
	files, err := filepath.Glob(filepath.Join(path, "*.go"))
	require.NoError(t, err)
	if len(files) == 0 {
		return
	}
	set := token.NewFileSet()
	var parsed []*ast.File
	for _, file := range files {
		f, err := parser.ParseFile(set, file, nil, parser.ParseComments)
		require.NoError(t, err)
		parsed = append(parsed, f)
	}
	p, err := doc.NewFromFiles(set, parsed, path)
	require.NoError(t, err)
	own, calls := map[string]bool{}, map[string]bool{}
	for _, e := range doc.Examples(parsed...) {
		assert.True(t, e.Output != "", "%s: Example%s is not run", path, e.Name)
		own[strings.SplitN(e.Name, "_", 2)[0]] = true
		ast.Inspect(e.Code, func(n ast.Node) bool {
			if name, ok := n.(*ast.Ident); ok {
				calls[name.Name] = true
			}
			return true
		})
	}
	assert.NotEmpty(t, own, "%s has no example", path)
	makes := slices.Clone(p.Funcs)
	for _, of := range p.Types {
		makes = append(makes, of.Funcs...)
	}
	named, reads := regexp.MustCompile(`^(New|From)`), regexp.MustCompile(`^(Open|Read)`)
	for _, f := range makes {
		of := slices.IndexFunc(p.Types, func(of *doc.Type) bool { return slices.Contains(of.Funcs, f) })
		switch {
		case named.MatchString(f.Name):
			assert.True(t, own[f.Name], "%s has no Example%s", path, f.Name)
		case of >= 0 && !strings.HasSuffix(f.Name, "ByName") || reads.MatchString(f.Name):
			assert.True(t, calls[f.Name], "%s: no example calls %s", path, f.Name)
		}
	}
}

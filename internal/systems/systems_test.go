// Package systems holds all packages to the systems that the tests do not run on.
package systems

import (
	"bytes"
	"encoding/json"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// A listed package is what go list says of one.
type listed struct {
	Dir, ImportPath string
	GoFiles         []string
	ImportMap       map[string]string
	Module          *struct {
		Main      bool
		GoVersion string
	}
}

// TestSystemsAreKnown: every package and its tests have the right types for macOS and Windows, whose files and whose packages syscall
// and x/sys are others. Bodies of functions are checked in this module alone, and nothing is compiled: that takes fifteen times as
// long, and is done at night.
func TestSystemsAreKnown(t *testing.T) {
	if testing.Short() {
		t.Skip("reads all packages and what they import, twice")
	}
	// What go list reads is nothing that the cache of tests knows of: folders are opened here.
	require.NoError(t, filepath.WalkDir("../..", func(_ string, d fs.DirEntry, err error) error {
		if d.IsDir() && (d.Name() == ".git" || d.Name() == "node_modules" || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		return err
	}))
	for _, system := range []string{"darwin/arm64", "windows/amd64"} {
		t.Run(system, func(t *testing.T) {
			os, arch, _ := strings.Cut(system, "/")
			check(t, os, arch)
		})
	}
}

func check(t *testing.T, system, arch string) {
	list := exec.Command("go", "list", "-deps", "-test", "-json=Dir,ImportPath,GoFiles,ImportMap,Module", "../../...")
	list.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+arch)
	list.Stderr = os.Stderr
	text, err := list.Output()
	require.NoError(t, err)
	files, done := token.NewFileSet(), map[string]*types.Package{"unsafe": types.Unsafe}
	own := 0
	for packages := json.NewDecoder(bytes.NewReader(text)); ; { // what a package imports comes before it
		var p listed
		if err := packages.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.ImportPath == "unsafe" || strings.HasSuffix(p.ImportPath, ".test") { // the latter is generated
			continue
		}
		here := p.Module != nil && p.Module.Main
		c := types.Config{
			Sizes:            types.SizesFor("gc", arch),
			IgnoreFuncBodies: !here,
			Importer:         importer{done, p.ImportMap},
			Error: func(err error) {
				if here {
					t.Error(err)
				}
			},
		}
		if p.Module != nil && p.Module.GoVersion != "" {
			c.GoVersion = "go" + p.Module.GoVersion
		}
		var parsed []*ast.File
		for _, name := range p.GoFiles {
			f, err := parser.ParseFile(files, filepath.Join(p.Dir, name), nil, parser.SkipObjectResolution)
			require.NoError(t, err)
			parsed = append(parsed, f)
		}
		path, _, _ := strings.Cut(p.ImportPath, " ") // of a package with its tests: path [path.test]
		done[p.ImportPath], err = c.Check(path, files, parsed, nil)
		if here {
			require.NoError(t, err, p.ImportPath)
			own++
		}
	}
	assert.Greater(t, own, 60)
}

// An importer has the packages that were checked before.
type importer struct {
	done map[string]*types.Package
	as   map[string]string
}

func (i importer) Import(path string) (*types.Package, error) {
	if other, ok := i.as[path]; ok {
		path = other
	}
	if p := i.done[path]; p != nil {
		return p, nil
	}
	return nil, errors.New("not listed: " + path)
}

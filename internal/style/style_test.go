// Package style holds the sources to rules that no tool knows.
package style

import (
	"go/parser"
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestLinesAreShort: no line of Go has more than 120 characters, raw strings apart, which are texts and tags; tests and what is
// generated may be wider.
func TestLinesAreShort(t *testing.T) {
	const limit = 120
	files := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.HasPrefix(string(text), "// Code generated") {
			return err
		}
		files++
		for i, line := range strings.Split(withoutRawStrings(text), "\n") {
			if n := utf8.RuneCountInString(line); n > limit {
				assert.Fail(t, "a long line", "%s:%d has %d characters: break it within %d", path, i+1, n, limit)
			}
		}
		return nil
	}))
	assert.Greater(t, files, 300)
}

// TestPropertiesDrawTheSameInEveryRun: where a package's tests use rapid, one of their files has package fixedseed, so
// that no test depends on luck.
func TestPropertiesDrawTheSameInEveryRun(t *testing.T) {
	rapid, fixed := map[string]bool{}, map[string]bool{}
	require.NoError(t, filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		for _, imported := range file.Imports {
			switch imported.Path.Value {
			case `"pgregory.net/rapid"`:
				rapid[filepath.Dir(path)] = true
			case `"github.com/latent-go/latent/internal/fixedseed"`:
				fixed[filepath.Dir(path)] = true
			}
		}
		return err
	}))
	for folder := range rapid {
		assert.True(t, fixed[folder], "%s: import internal/fixedseed for its effect", folder)
	}
	assert.Greater(t, len(rapid), 20)
}

// withoutRawStrings is a source whose raw strings have nothing but their lines.
func withoutRawStrings(text []byte) string {
	var s scanner.Scanner
	file := token.NewFileSet().AddFile("", 1, len(text))
	s.Init(file, text, nil, 0)
	var kept strings.Builder
	at := 0
	for {
		pos, of, literal := s.Scan()
		switch {
		case of == token.EOF:
			kept.Write(text[at:])
			return kept.String()
		case of == token.STRING && literal[0] == '`':
			start := file.Offset(pos)
			kept.Write(text[at:start])
			kept.WriteString("``" + strings.Repeat("\n", strings.Count(literal, "\n")))
			at = start + len(literal)
		}
	}
}

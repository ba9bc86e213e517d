// Package examples holds models that are not part of the core, one a folder.
package examples

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestGuideIsCompiled: every block of Go in the README, the tutorials and the guide stands, line for line, in a program
// of this folder.
func TestGuideIsCompiled(t *testing.T) {
	pages, err := filepath.Glob("../docs/tutorials/*.md")
	require.NoError(t, err)
	var guide []byte
	for _, page := range append(pages, "../README.md", "../docs/guides/new-model.md") {
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		guide = append(guide, text...)
	}
	var sources []string
	files, err := filepath.Glob("*/*.go")
	require.NoError(t, err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		sources = append(sources, string(text))
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(guide), -1)
	require.Greater(t, len(blocks), 15)
	for _, block := range blocks {
		found := false
		for _, text := range sources {
			found = found || strings.Contains(text, block[1])
		}
		assert.True(t, found, "not in any example:\n%s", block[1])
	}
}

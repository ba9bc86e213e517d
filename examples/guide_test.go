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

// TestGuideIsCompiled: every block of Go in the README, the tutorials and the guides stands, line for line but for checks
// of errors in between, in a program or a test of this folder. The guide to a command of one's own is compiled by package
// command.
func TestGuideIsCompiled(t *testing.T) {
	var pages, files []string
	for pattern, list := range map[string]*[]string{
		"../docs/tutorials/*.md": &pages, "../docs/guides/*.md": &pages, "*/*.go": &files, "*.go": &files,
	} {
		found, err := filepath.Glob(pattern)
		require.NoError(t, err)
		*list = append(*list, found...)
	}
	var sources [][]string
	for _, file := range files {
		sources = append(sources, lines(t, file))
	}
	blocks := 0
	for _, page := range append(pages, "../README.md") {
		if strings.HasSuffix(page, "/own-command.md") {
			continue
		}
		text, err := os.ReadFile(page)
		require.NoError(t, err)
		for _, block := range regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
			blocks++
			found := false
			for _, source := range sources {
				found = found || holds(source, normalised(block[1]))
			}
			assert.True(t, found, "%s: not in any example:\n%s", page, block[1])
		}
	}
	require.Greater(t, blocks, 25)
}

// holds reports whether lines stand in a source in their order, beside one another but for calls of require.
func holds(source, block []string) bool {
	for from := range source {
		at := from
		for _, line := range block {
			for at < len(source) && strings.HasPrefix(source[at], "require.NoError(") && line != source[at] {
				at++
			}
			if at == len(source) || source[at] != line {
				at = -1
				break
			}
			at++
		}
		if at >= 0 {
			return true
		}
	}
	return false
}

func lines(t *testing.T, file string) []string {
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	return normalised(string(text))
}

// normal are the lines without indentation, and with one space where gofmt aligns with several.
func normalised(text string) (list []string) {
	for line := range strings.Lines(text) {
		list = append(list, strings.Join(strings.Fields(line), " "))
	}
	return list
}

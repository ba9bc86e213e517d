package optional

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework/blocks"
)

type someSums struct{}

func (*someSums) Merge(*someSums)       {}
func (*someSums) Observations() float64 { return 0 }

// TestTheGuideHasEveryOptionalInterface: each once, with its methods.
func TestTheGuideHasEveryOptionalInterface(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/new-model.md")
	require.NoError(t, err)
	_, table, found := strings.Cut(string(text), "\n| interface | methods | adds | used by | without it |\n")
	require.True(t, found)
	table, _, _ = strings.Cut(table, "\n\n")
	word := regexp.MustCompile("`(\\w+)`")
	said := map[string][]string{}
	for row := range strings.Lines(table) {
		if cells := strings.Split(row, " | "); len(cells) > 2 {
			for _, m := range word.FindAllStringSubmatch(cells[1], -1) {
				name := word.FindStringSubmatch(cells[0])[1]
				said[name] = append(said[name], m[1])
			}
		}
	}
	there := map[string][]string{}
	for _, i := range append(ofModels[blocks.Rows, any, *int, *someSums](), ofStatistics[*someSums]()...) {
		name, _, _ := strings.Cut(i.Name(), "[")
		for m := range i.Methods() {
			there[name] = append(there[name], m.Name)
		}
	}
	for _, list := range []map[string][]string{said, there} {
		for _, methods := range list {
			slices.Sort(methods)
		}
	}
	assert.Equal(t, there, said)
}

package numeric

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestTheGuideHasEveryOptionalInterface of a density, with its methods.
func TestTheGuideHasEveryOptionalInterface(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/new-model.md")
	require.NoError(t, err)
	for _, i := range slices.Concat(optionals, jointOptionals) {
		var methods []string
		for m := range i.Methods() {
			methods = append(methods, "`"+m.Name+"`")
		}
		slices.Sort(methods)
		row := strings.Split(string(text), fmt.Sprintf("\n| `%s` | ", i.Name()))
		if assert.Len(t, row, 2, i.Name()) {
			cell, _, _ := strings.Cut(row[1], " | ")
			said := strings.Split(cell, ", ")
			slices.Sort(said)
			assert.Equal(t, methods, said)
		}
	}
}

package faults_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/faults"
)

// Starts that fail for reasons that differ in numbers alone, or in columns, are not listed one
// by one.
func TestErrorsOfManyStartsAreShort(t *testing.T) {
	var many []error
	for j := range 9 {
		many = append(many, fmt.Errorf("framework: component %d: %w", j, blocks.FaultyColumn(j%3, fmt.Errorf("has lost %v rows", 0.5*float64(j)))))
	}
	abc := faults.Renderer{Columns: []string{"a", "b", strings.Repeat("c", 100)}}
	assert.Equal(t, `K = 3: component 0: column "a" has lost 0 rows; component 1: column "b" has lost 0.5 rows; …`, abc.Render(fmt.Errorf("K = 3: %w", errors.Join(many...))))
	assert.Equal(t, `component 2: column "`+strings.Repeat("c", 60)+`" has lost 1 rows`, abc.Render(many[2]))
	assert.Equal(t, "a; b", faults.OneLine(errors.New("a\nb\na\n")))
}

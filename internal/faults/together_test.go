package faults

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/framework/blocks"
)

// Columns with one reason are one remark, which names the first of them; other errors stay as they are.
func TestAlikeFaultsAreOneRemark(t *testing.T) {
	dependent, alone := errors.New("is a combination of others"), errors.New("is constant")
	entry := &blocks.DataError{Row: 3, Column: 1, Value: 7, Reason: dependent}
	model := errors.New("something else")
	list := Together([]error{blocks.FaultyColumn(4, dependent), model, blocks.FaultyColumn(1, alone),
		blocks.FaultyColumn(0, dependent), entry, blocks.FaultyColumn(2, dependent), blocks.FaultyColumn(3, dependent)})
	var said []string
	of := Renderer{Columns: []string{"a", "b", "c", "d", "e"}}
	for _, err := range list {
		said = append(said, of.Render(err))
	}
	assert.Equal(t, []string{`each of 4 columns ("e", "a", "c", …) is a combination of others`, "something else",
		`column "b" is constant`, `row 4 of column "b" is 7: is a combination of others`}, said)
	assert.ErrorIs(t, list[0], dependent)
	assert.Len(t, InData(list[0]), 4)
	assert.Empty(t, Together(nil))
}

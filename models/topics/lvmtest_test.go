package topics

import (
	"slices"
	"testing"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
)

// rowsOf are the documents of a table for the conformance suite.
func rowsOf(x *blocks.SparseTable) lvmtest.Data[blocks.Rows] {
	rows := x.All()
	sizes := make([]float64, rows.N)
	for i := range sizes {
		columns, counts := rows.Entries.Row(i)
		sizes[i] = total(columns, counts)
	}
	return lvmtest.Data[blocks.Rows]{Rows: rows.N, Observations: sizes, Block: func(list []int, weights []float64, first int) blocks.Rows {
		e := &blocks.Entries{Start: []int{0}}
		for _, i := range list {
			columns, counts := rows.Entries.Row(i)
			e.Columns, e.Values = slices.Concat(e.Columns, columns), slices.Concat(e.Values, counts)
			e.Start = append(e.Start, len(e.Columns))
		}
		return blocks.Rows{First: first, N: len(list), D: rows.D, Weights: weights, Entries: e}
	}}
}

func TestModel(t *testing.T) {
	x, _ := law{3, 25, 30, 20, 0.3, 0.2}.simulate(5)
	for name, m := range map[string]Model{"given": {}, "estimated": {Alpha: 0.3, Beta: 0.2, Estimate: true}} {
		t.Run(name, func(t *testing.T) {
			lvmtest.Test(t, lvmtest.Case[blocks.Rows, *Parameters, *Statistics]{Model: m, Data: rowsOf(x), K: tier.Sizes(), NoAllocations: true, Partial: m.Estimate})
		})
	}
}

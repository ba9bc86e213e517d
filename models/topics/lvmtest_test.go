package topics

import (
	"slices"
	"testing"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/lvmtest"
)

// rowsOf are the documents of a table for the conformance suite.
func rowsOf(x *framework.SparseTable) lvmtest.Data[framework.Rows] {
	rows := x.All()
	sizes := make([]float64, rows.N)
	for i := range sizes {
		columns, counts := rows.Entries.Row(i)
		sizes[i] = total(columns, counts)
	}
	return lvmtest.Data[framework.Rows]{Rows: rows.N, Observations: sizes, Block: func(list []int, weights []float64, first int) framework.Rows {
		e := &framework.Entries{Start: []int{0}}
		for _, i := range list {
			columns, counts := rows.Entries.Row(i)
			e.Columns, e.Values = slices.Concat(e.Columns, columns), slices.Concat(e.Values, counts)
			e.Start = append(e.Start, len(e.Columns))
		}
		return framework.Rows{First: first, N: len(list), D: rows.D, Weights: weights, Entries: e}
	}}
}

func TestModel(t *testing.T) {
	x, _ := law{3, 25, 30, 20, 0.3, 0.2}.simulate(5)
	for name, m := range map[string]Model{"given": {}, "estimated": {Alpha: 0.3, Beta: 0.2, Estimate: true}} {
		t.Run(name, func(t *testing.T) {
			lvmtest.Test(t, lvmtest.Case[framework.Rows, *Parameters, *Statistics]{Model: m, Data: rowsOf(x), NoAllocations: true, Partial: m.Estimate})
		})
	}
}

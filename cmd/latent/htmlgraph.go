package main

import (
	"fmt"
	"math"
	"slices"

	"github.com/latent-go/latent/internal/htmlreport"
	"github.com/latent-go/latent/models/blockmodel"
)

// mostBins bounds the cells of the picture of a graph on each side: what lies in a cell is its density.
const mostBins = 120

// sections draw the graph with its nodes sorted by their blocks, and the matrix of the blocks.
func (v *graphView) sections(e *graphEngine, f blockmodel.Family) []htmlreport.Section {
	blocks := sheet{caption: "blocks", heads: []string{"block", "set", "nodes", "share", "such as"}, open: true}
	for k, b := range v.Blocks[:min(len(v.Blocks), mostIterations)] {
		blocks.add(k+1, b.Set, b.Size, b.Share, someOf(b.Nodes))
	}
	list := section("Blocks", nil, &blocks)
	return slices.Concat(v.matrixSection(f), v.graphSection(e), list)
}

// matrixSection shows what is between blocks.
func (v *graphView) matrixSection(f blockmodel.Family) []htmlreport.Section {
	rows, columns := v.axes()
	heat := htmlreport.Heat{Title: "Edges between blocks", ColumnsName: "block", High: "most", Root: true,
		About: "The probability of an edge between a node of the row's block and one of the column's; the colour is relative to the largest."}
	if f == blockmodel.Poisson {
		heat.About = "The mean weight of the edge between a node of the row's block and one of the column's; the colour is relative to the largest."
	}
	if v.Kind == blockmodel.Directed.String() {
		heat.About += " Edges lead from the row's block to the column's."
	}
	about := leftOut(len(rows)-mostProfiles, "smaller block", "")
	rows, columns = rows[:min(len(rows), mostProfiles)], columns[:min(len(columns), mostRows)]
	for _, l := range columns {
		heat.Columns = append(heat.Columns, v.blockName(l))
	}
	heat.About += about
	table := sheet{caption: "matrix of the blocks", heads: append([]string{"block"}, heat.Columns...)}
	var values [][]float64
	for _, k := range rows {
		row, cells, texts := []any{v.blockName(k)}, []float64{}, []string{}
		for _, l := range columns {
			row, cells, texts = append(row, v.Matrix[k][l]), append(cells, float64(v.Matrix[k][l])), append(texts, htmlreport.Number(float64(v.Matrix[k][l])))
		}
		table.add(row...)
		heat.Rows, values, heat.Texts = append(heat.Rows, fmt.Sprintf("%s (%d)", v.blockName(k), v.Blocks[k].Size)), append(values, cells), append(heat.Texts, texts)
	}
	heat.Shade = htmlreport.Relative(values)
	return section(heat.Title, heat.Figure(), &table)
}

// graphSection shows the matrix of the edges, nodes in the order of their blocks. Where there are many nodes, a cell is several, and its
// colour the share of the pairs in it that have an edge.
func (v *graphView) graphSection(e *graphEngine) []htmlreport.Section {
	first := v.Nodes[0]
	down, across := v.ordered(0, first), v.ordered(0, first)
	if len(v.Nodes) > 1 {
		across = v.ordered(first, first+v.Nodes[1])
	}
	cells := make([][]float64, down.bins)
	for i := range cells {
		cells[i] = make([]float64, across.bins)
	}
	directed := v.Kind == blockmodel.Directed.String()
	for _, edge := range e.edges {
		if edge.Weight == 0 || edge.From == edge.To && len(v.Nodes) == 1 {
			continue
		}
		i, j := down.bin(edge.From), across.bin(edge.To)
		cells[i][j]++
		if len(v.Nodes) == 1 && !directed {
			cells[down.bin(edge.To)][across.bin(edge.From)]++
		}
	}
	most := 0.0
	for i, row := range cells {
		for j := range row {
			row[j] /= float64(down.size(i) * across.size(j))
			most = max(most, row[j])
		}
	}
	for _, row := range cells {
		for j := range row {
			row[j] /= max(most, math.SmallestNonzeroFloat64)
		}
	}
	picture := htmlreport.Matrix{Title: "The graph, sorted by blocks", Cells: cells, Rows: down.borders(), Columns: across.borders(), ColumnsName: "to",
		About: "Rows and columns are nodes in the order of their blocks, which the lines divide; a cell is coloured where there is an edge."}
	if !directed {
		picture.ColumnsName = ""
	}
	if down.bins < len(down.order) || across.bins < len(across.order) {
		picture.About = fmt.Sprintf("Rows and columns are nodes in the order of their blocks, which the lines divide. A cell stands for about %d × %d nodes, and its colour for the share of pairs with an edge, of which the largest is %.3g.",
			(len(down.order)+down.bins-1)/down.bins, (len(across.order)+across.bins-1)/across.bins, min(1, most))
	}
	return section(picture.Title, picture.Figure())
}

// An ordering puts the nodes of a set in the order of their blocks, and in bins.
type ordering struct {
	order  []int // nodes by place
	place  []int // of each node of the set
	labels []int // of each place, from 1
	bins   int
}

// ordered are the nodes from first to end.
func (v *graphView) ordered(first, end int) ordering {
	o := ordering{order: upTo(0, end-first-1), place: make([]int, end-first), bins: min(mostBins, end-first)}
	slices.SortStableFunc(o.order, func(i, j int) int { return v.Labels[first+i] - v.Labels[first+j] })
	for at, i := range o.order {
		o.place[i] = at
		o.labels = append(o.labels, v.Labels[first+i])
	}
	return o
}

func (o ordering) bin(node int) int { return o.place[node] * o.bins / len(o.place) }

// size is the number of nodes in a bin.
func (o ordering) size(bin int) int {
	n := len(o.place)
	return ((bin+1)*n+o.bins-1)/o.bins - (bin*n+o.bins-1)/o.bins
}

// borders are the places where another block begins, as shares.
func (o ordering) borders() (at []float64) {
	for i := 1; i < len(o.labels); i++ {
		if o.labels[i] != o.labels[i-1] {
			at = append(at, float64(i)/float64(len(o.labels)))
		}
	}
	return at
}

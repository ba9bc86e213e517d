package command

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/latent-go/latent/models/blockmodel"
	"github.com/latent-go/latent/report"
)

// mostBins bounds the cells of the picture of a graph on each side: what lies in a cell is its density.
const mostBins = 120

// sections draw the matrix of the blocks, and the graph with its nodes sorted by their blocks.
func (v *graphView) sections(e *graphEngine, f blockmodel.Family) []report.Section {
	return append(v.matrixSection(f), v.graphSection(e)...)
}

// list are the blocks with some of their nodes.
func (v *graphView) list() report.Table {
	table := report.Table{Caption: "blocks", Columns: report.Columns("block", "nodes", "expected share", "such as")}
	if len(v.Nodes) > 1 {
		table.Columns = append(table.Columns, report.Columns("column")...)
	}
	for k, b := range v.Blocks[:min(len(v.Blocks), mostIterations)] {
		table.Add(k+1, b.Size, report.Share(b.Share), someOf(b.Nodes))
		if len(v.Nodes) > 1 {
			table.Rows[k] = append(table.Rows[k], report.Of(b.Set))
		}
	}
	return table
}

// between is an entry of the matrix as a person reads it.
func between(f blockmodel.Family, v number) report.Cell {
	if f == blockmodel.Poisson {
		return report.Of(v)
	}
	return report.Share(v)
}

// finding says how many blocks there are, and of each which nodes it has and to which blocks their edges go.
func (v *graphView) finding(f blockmodel.Family) report.Section {
	nodes, among := counted(v.Nodes[0], "node"), "of the pairs have an edge"
	if len(v.Nodes) > 1 {
		n := v.sets()
		nodes = fmt.Sprintf("%s of the first column, in %d of them, and %s of the second, in %d",
			counted(v.Nodes[0], "node"), n[0], counted(v.Nodes[1], "node"), n[1])
	}
	if f == blockmodel.Poisson {
		among = "is the mean weight of a pair"
	}
	list := report.Section{Text: fmt.Sprintf("%s of %s. %s %s.", capital(counted(len(v.Blocks), "block")), nodes,
		between(f, v.Density).String(), among)}
	list.Text += leftOut(len(v.Blocks)-mostRows, "block", "")
	all := float64(len(v.NodeNames))
	for k, b := range v.Blocks[:min(len(v.Blocks), mostRows)] {
		list.Items = append(list.Items, report.Item{
			Group: k,
			Name:  fmt.Sprintf("Block %d", k+1),
			Share: float64(b.Size) / all,
			Size:  fmt.Sprintf("%s (%s)", counted(b.Size, "node"), report.Percentage(float64(b.Size)/all)),
			Text:  v.about(f, k),
		})
	}
	return list
}

// about says which nodes block k has, and between which blocks there are more edges than between all.
func (v *graphView) about(f blockmodel.Family, k int) string {
	const most, more = 3, 1.25
	b := v.Blocks[k]
	var names []string
	for _, name := range b.Nodes[:min(most, len(b.Nodes))] {
		names = append(names, isolated(report.Printable(name)))
	}
	if more := b.Size - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	text := plural(b.Size, "Node ", "Nodes ") + enumerated(names) + ". "
	to := make([]float64, len(v.Blocks))
	for l, other := range v.Blocks {
		switch {
		case len(v.Nodes) > 1 && other.Set == b.Set, l == k && b.Size == 1: // no pairs
		case len(v.Nodes) > 1 && b.Set == 2:
			to[l] = float64(v.Matrix[l][k])
		default:
			to[l] = float64(v.Matrix[k][l])
		}
	}
	var said []string
	for _, l := range byValue(to, upTo(0, len(to)-1)) {
		if to[l] < more*float64(v.Density) || len(said) == most {
			break
		}
		with := fmt.Sprintf("block %d", l+1)
		if l == k {
			with = "each other"
		}
		said = append(said, fmt.Sprintf("%s (%s)", with, between(f, number(to[l])).String()))
	}
	switch {
	case len(said) == 0:
		return text + "Few edges, with all blocks alike."
	case v.Kind == blockmodel.Directed.String():
		return text + "More edges than elsewhere to " + enumerated(said) + "."
	}
	return text + "More edges than elsewhere with " + enumerated(said) + "."
}

// matrixSection shows what is between blocks.
func (v *graphView) matrixSection(f blockmodel.Family) []report.Section {
	rows, columns := v.axes()
	about := "The probability of an edge between a node of the row's block and one of the column's; the colour is " +
		"relative to the largest."
	if f == blockmodel.Poisson {
		about = "The mean weight of the edge between a node of the row's block and one of the column's; the colour " +
			"is relative to the largest."
	}
	if v.Kind == blockmodel.Directed.String() {
		about += " Edges lead from the row's block to the column's."
	}
	about += leftOut(len(rows)-mostProfiles, "smaller block", "")
	rows, columns = rows[:min(len(rows), mostProfiles)], columns[:min(len(columns), mostRows)]
	heat := report.Heat{Title: "Edges between blocks", ColumnsName: "block", High: "most", Root: true, About: about}
	for _, l := range columns {
		heat.Columns = append(heat.Columns, v.blockName(l))
	}
	heads := report.Columns("block", "nodes")
	for i, l := range columns {
		heads = append(heads, report.Column{Name: "block " + heat.Columns[i], Class: l + 1})
	}
	var values [][]float64
	for _, k := range rows {
		var cells []float64
		for _, l := range columns {
			cells = append(cells, float64(v.Matrix[k][l]))
		}
		values = append(values, cells)
	}
	heat.Shade = report.Relative(values)
	table := report.Table{Caption: "matrix of the blocks", Columns: heads, Open: len(columns) <= mostShaded, High: "most"}
	for i, k := range rows {
		row, texts := []any{v.blockName(k), v.Blocks[k].Size}, []string{}
		for j, l := range columns {
			cell := between(f, v.Matrix[k][l])
			row, texts = append(row, report.Shaded(cell, heat.Shade[i][j])), append(texts, cell.String())
		}
		table.Add(row...)
		heat.Rows, heat.Texts = append(heat.Rows, fmt.Sprintf("%s (%d)", v.blockName(k), v.Blocks[k].Size)),
			append(heat.Texts, texts)
	}
	if len(columns) > mostShaded {
		return section(heat.Title, heat, table, v.list())
	}
	list := section(heat.Title, nil, table, v.list())
	list[0].Text, list[0].Wide = about, len(columns) > 4
	return list
}

// graphSection shows the matrix of the edges, nodes in the order of their blocks. Where there are many nodes, a cell is
// several, and its colour the share of the pairs in it that have an edge.
func (v *graphView) graphSection(e *graphEngine) []report.Section {
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
	picture := report.Matrix{Title: "The graph, sorted by blocks", Cells: cells, Rows: down.borders(),
		Columns: across.borders(), RowNames: down.names(), ColumnNames: across.names(), ColumnsName: "to",
		About: "Rows and columns are nodes in the order of their blocks, which the lines divide and whose numbers " +
			"stand beside them; a cell is coloured where there is an edge."}
	if !directed {
		picture.ColumnsName = ""
	}
	if down.bins < len(down.order) || across.bins < len(across.order) {
		picture.About = fmt.Sprintf("Rows and columns are nodes in the order of their blocks, which the lines divide "+
			"and whose numbers stand beside them. A cell stands for about %d × %d nodes, and its colour for the "+
			"share of pairs with an edge, of which the largest is %.3g.",
			(len(down.order)+down.bins-1)/down.bins, (len(across.order)+across.bins-1)/across.bins, min(1, most))
	}
	return section(picture.Title, picture)
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

// names are the numbers of the blocks, in their order.
func (o ordering) names() (list []string) {
	for _, label := range slices.Compact(slices.Clone(o.labels)) {
		list = append(list, strconv.Itoa(label))
	}
	return list
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

package blockmodel

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/blockmodel"
	"github.com/latent-go/latent/report"
)

// mostBins bounds the cells of the picture of a graph on each side: what lies in a cell is its density.
const mostBins = 120

// view is the graph and its blocks in JSON.
type view struct {
	Kind      string                   `json:"kind"`
	Nodes     []int                    `json:"nodes"` // of each set
	Edges     int                      `json:"edges"`
	Density   fitted.Number            `json:"density"` // mean weight of all pairs of nodes
	Blocks    []blockView              `json:"blocks"`  // those of the first set before those of the second
	Matrix    [][]fitted.Number        `json:"matrix"`  // the probability, or the mean weight, of an edge from block to block
	Labels    []int                    `json:"labels"`  // the block of each node, from 1, in the order of node_names
	NodeNames []string                 `json:"node_names"`
	Criteria  map[string]fitted.Number `json:"criteria"`

	family blockmodel.Family
	own    string // the criterion that the fit is by
	edges  []blockmodel.Edge
}

type blockView struct {
	Label string        `json:"label,omitempty"` // of a block that nodes are known to be in
	Set   int           `json:"set"`             // of nodes, 1 or 2
	Size  int           `json:"size"`
	Share fitted.Number `json:"share"` // π
	Nodes []string      `json:"-"`
}

// found describes labels and parameters, found by a criterion.
func (e problem) found(p *blockmodel.Parameters, labels []int, own string, scored []framework.Score) *graph {
	v := &view{Kind: p.Kind.String(), Edges: e.g.Edges(), Density: fitted.Number(e.g.Density()),
		Criteria: map[string]fitted.Number{}, family: p.Family, own: own, edges: e.edges}
	for _, set := range e.names {
		if len(set) > 0 {
			v.Nodes = append(v.Nodes, len(set))
			v.NodeNames = append(v.NodeNames, set...)
		}
	}
	for k := range p.K {
		b := blockView{Set: 1, Share: fitted.Number(p.Weights[k])}
		if p.Kind == blockmodel.Bipartite {
			b.Set = p.Sides[k] + 1
		}
		if p.Known != nil && p.Known[k] >= 0 {
			b.Label = e.classes[p.Known[k]]
		}
		v.Blocks = append(v.Blocks, b)
		v.Matrix = append(v.Matrix, fitted.Numbers(p.Theta[k*p.K:(k+1)*p.K]))
	}
	for i, k := range labels {
		v.Labels = append(v.Labels, k+1)
		v.Blocks[k].Size++
		v.Blocks[k].Nodes = append(v.Blocks[k].Nodes, v.NodeNames[i])
	}
	for _, s := range scored {
		v.Criteria[strings.ToLower(s.Criterion)] = fitted.Number(s.Value)
	}
	kept := *p
	kept.Start = nil
	f := &graph{Parameters: kept, Nodes: e.names, Labels: labels, Classes: e.classes, view: v}
	f.ready()
	return f
}

// Params are the blocks, and the names and labels of the nodes.
func (g *graph) Params() any { return g }

// Shown is the graph.
func (g *graph) Shown() any {
	return struct {
		Graph *view `json:"graph"`
	}{g.view}
}

// Describe reports the number of blocks, and the blocks with edges between them.
func (g *graph) Describe() (*fitted.Description, error) {
	v := g.view
	d := &fitted.Description{Finding: v.finding(), Facts: v.facts(), Sections: []report.Section{v.matrix(), v.picture()}}
	d.Omitted = wording.LeftOut(len(v.Blocks)-wording.MostRows, "block", "")
	return d, nil
}

// facts are other criteria.
func (v *view) facts() (list [][2]string) {
	for _, c := range []framework.Criterion{framework.ExactICL, framework.GFIC} {
		name := strings.ToLower(c.Name)
		if value, ok := v.Criteria[name]; ok && c.Name != v.own {
			list = append(list, [2]string{name, wording.Nats(float64(value)) + " nats"})
		}
	}
	return list
}

// someOf are the first names, as tables have them.
func someOf(names []string) string {
	const most, mostLetters = 3, 24
	var list []string
	for _, name := range names[:min(most, len(names))] {
		if letters := []rune(report.Printable(name)); len(letters) > mostLetters {
			name = string(letters[:mostLetters-1]) + "…"
		}
		list = append(list, name)
	}
	if len(names) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// axes are the blocks of rows and columns of the matrix.
func (v *view) axes() (rows, columns []int) {
	for k, b := range v.Blocks {
		if len(v.Nodes) == 1 || b.Set == 1 {
			rows = append(rows, k)
		}
		if len(v.Nodes) == 1 || b.Set == 2 {
			columns = append(columns, k)
		}
	}
	return rows, columns
}

// list are the blocks with some of their nodes.
func (v *view) list() report.Table {
	table := report.Table{Caption: "blocks", Columns: report.Columns("block", "nodes", "expected share", "such as")}
	if len(v.Nodes) > 1 {
		table.Columns = append(table.Columns, report.Columns("column")...)
	}
	for k, b := range v.Blocks[:min(len(v.Blocks), wording.MostIterations)] {
		table.Add(v.name(k), b.Size, report.Share(b.Share), someOf(b.Nodes))
		if len(v.Nodes) > 1 {
			table.Rows[k] = append(table.Rows[k], report.Of(b.Set))
		}
	}
	return table
}

// name is the number of a block, with the label that it may have.
func (v *view) name(k int) string {
	if label := v.Blocks[k].Label; label != "" {
		return fmt.Sprintf("%d, %s", k+1, report.Printable(label))
	}
	return strconv.Itoa(k + 1)
}

// between is an entry of the matrix as a person reads it.
func (v *view) between(value fitted.Number) report.Cell {
	if v.family == blockmodel.Poisson {
		return report.Of(value)
	}
	return report.Share(value)
}

// finding reports the number of blocks, and for each block its nodes and the blocks to which their edges go.
func (v *view) finding() report.Section {
	nodes, among := wording.Counted(v.Nodes[0], "node"), "of the pairs have an edge"
	if len(v.Nodes) > 1 {
		second := slices.IndexFunc(v.Blocks, func(b blockView) bool { return b.Set == 2 })
		nodes = fmt.Sprintf("%s of the first column, in %d of them, and %s of the second, in %d",
			nodes, second, wording.Counted(v.Nodes[1], "node"), len(v.Blocks)-second)
	}
	if v.family == blockmodel.Poisson {
		among = "is the mean weight of a pair"
	}
	list := report.Section{Text: fmt.Sprintf("%s of %s, which %s join. %s %s.",
		wording.Capital(wording.Counted(len(v.Blocks), "block")), nodes, wording.Counted(v.Edges, "edge"),
		v.between(v.Density).String(), among)}
	all := float64(len(v.NodeNames))
	for k, b := range v.Blocks[:min(len(v.Blocks), wording.MostRows)] {
		share := float64(b.Size) / all
		list.Items = append(list.Items, report.Item{Group: k, Name: "Block " + v.name(k), Share: share,
			Size: fmt.Sprintf("%s (%s)", wording.Counted(b.Size, "node"), report.Percentage(share)), Text: v.about(k)})
	}
	return list
}

// about reports the nodes of block k, and the blocks to which it has more edges than blocks have on average.
func (v *view) about(k int) string {
	const most, more = 3, 1.25
	b := v.Blocks[k]
	var names []string
	for _, name := range b.Nodes[:min(most, len(b.Nodes))] {
		names = append(names, wording.Isolated(report.Printable(name)))
	}
	if more := b.Size - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	text := wording.Plural(b.Size, "Node ", "Nodes ") + wording.Enumerated(names) + ". "
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
	for _, l := range wording.ByValue(to, wording.UpTo(0, len(to)-1)) {
		if to[l] < more*float64(v.Density) || len(said) == most {
			break
		}
		with := fmt.Sprintf("block %d", l+1)
		if l == k {
			with = "each other"
		}
		said = append(said, fmt.Sprintf("%s (%s)", with, v.between(fitted.Number(to[l])).String()))
	}
	switch {
	case len(said) == 0:
		return text + "Few edges, with all blocks alike."
	case v.Kind == blockmodel.Directed.String():
		return text + "More edges than elsewhere to " + wording.Enumerated(said) + "."
	}
	return text + "More edges than elsewhere with " + wording.Enumerated(said) + "."
}

// matrix shows what is between blocks.
func (v *view) matrix() report.Section {
	rows, columns := v.axes()
	caption := "probability of an edge"
	if v.family == blockmodel.Poisson {
		caption = "mean weight of an edge"
	}
	about := "The " + caption + " between a node of the row's block and one of the column's; the colour is relative to " +
		"the largest."
	caption += " between blocks"
	if v.Kind == blockmodel.Directed.String() {
		caption += ", from that of the row to that of the column"
		about += " Edges lead from the row's block to the column's."
	}
	about += wording.LeftOut(len(rows)-wording.MostProfiles, "smaller block", "")
	rows, columns = rows[:min(len(rows), wording.MostProfiles)], columns[:min(len(columns), wording.MostRows)]
	heat := report.Heat{Title: "Edges between blocks", ColumnsName: "block", High: "most", Root: true, About: about}
	heads := report.Columns("block", "nodes")
	for _, l := range columns {
		name := strconv.Itoa(l + 1)
		heat.Columns, heads = append(heat.Columns, name), append(heads, report.Column{Name: "block " + name, Class: l + 1})
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
	table := report.Table{Caption: caption, Columns: heads, Open: len(columns) <= wording.MostShaded, High: "most"}
	for i, k := range rows {
		row, texts := []any{v.name(k), v.Blocks[k].Size}, []string{}
		for j, l := range columns {
			cell := v.between(v.Matrix[k][l])
			row, texts = append(row, report.Shaded(cell, heat.Shade[i][j])), append(texts, cell.String())
		}
		table.Add(row...)
		heat.Rows = append(heat.Rows, fmt.Sprintf("%d (%d)", k+1, v.Blocks[k].Size))
		heat.Texts = append(heat.Texts, texts)
	}
	s := report.Section{Title: heat.Title, Figure: heat, Tables: []report.Table{table, v.list()}}
	if len(columns) <= wording.MostShaded {
		s.Figure, s.Text, s.Wide = nil, about, len(columns) > 4
	}
	return s
}

// picture shows the matrix of the edges, nodes in the order of their blocks. Where there are many nodes, a cell is
// several, and its colour the share of the pairs in it that have an edge.
func (v *view) picture() report.Section {
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
	for _, edge := range v.edges {
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
		About: "Rows and columns are nodes, sorted by block. Lines separate the blocks, whose numbers stand beside " +
			"them; a coloured cell is an edge."}
	if !directed {
		picture.ColumnsName = ""
	}
	if down.bins < len(down.order) || across.bins < len(across.order) {
		picture.About = fmt.Sprintf("Rows and columns are nodes in the order of their blocks, which the lines divide "+
			"and whose numbers stand beside them. A cell stands for about %d × %d nodes, and its colour for the "+
			"share of pairs with an edge, of which the largest is %.3g.",
			(len(down.order)+down.bins-1)/down.bins, (len(across.order)+across.bins-1)/across.bins, min(1, most))
	}
	return report.Section{Title: picture.Title, Figure: picture}
}

// An ordering puts the nodes of a set in the order of their blocks, and in bins.
type ordering struct {
	order  []int // nodes by place
	place  []int // of each node of the set
	labels []int // of each place, from 1
	bins   int
}

// ordered are the nodes from first to end.
func (v *view) ordered(first, end int) ordering {
	o := ordering{order: wording.UpTo(0, end-first-1), place: make([]int, end-first), bins: min(mostBins, end-first)}
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

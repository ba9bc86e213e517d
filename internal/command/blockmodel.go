package command

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/blockmodel"
	"github.com/latent-go/latent/report"
)

// blockmodelSettings are those of graphs.
type blockmodelSettings struct {
	Directed  bool    `json:"directed,omitempty" help:"Edges lead from the node of the first column to that of the second. Default: they have no direction."`
	Bipartite bool    `json:"bipartite,omitempty" help:"The nodes of the first column and those of the second are two sets, each with blocks of its own; K counts those of both."`
	Loops     *string `json:"loops,omitempty" placeholder:"HOW" enum:"error,drop" help:"Edges from a node to itself: error refuses them, drop leaves them out. Default: error."`
}

// loopsDrop is the value of --loops that leaves edges from a node to itself out.
const loopsDrop = "drop"

func (m *blockmodelSettings) kind() blockmodel.Kind {
	switch {
	case m.Directed:
		return blockmodel.Directed
	case m.Bipartite:
		return blockmodel.Bipartite
	}
	return blockmodel.Undirected
}

func (m *blockmodelSettings) check(f *modelFlags) error {
	switch {
	case m.Directed && m.Bipartite:
		return misused("--directed and --bipartite exclude each other: edges of a bipartite graph lead from the " +
			"nodes of one column to those of the other")
	case m.Bipartite && m.Loops != nil:
		return misused("--loops cannot be used with --bipartite: a name in both columns is that of two nodes")
	case f.Accelerate:
		return misused("--accelerate cannot be used with --model blockmodel: the q of a node depends on those of " +
			"others, and cannot be extrapolated")
	case f.Prior.has("a") != f.Prior.has("b"):
		return misused("--prior: give both a and b, or none")
	}
	return f.Prior.among("weights", "a", "b")
}

// bindBlockmodel makes a graph of a list of edges.
func (m *blockmodelSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	list, names := edgesOf(in.list, m.kind() == blockmodel.Bipartite)
	list.Kind, list.DropLoops = m.kind(), valueOr(m.Loops, "") == loopsDrop
	if f.Family == families.Poisson {
		list.Family = blockmodel.Poisson
	}
	g, err := list.Graph()
	if err != nil {
		return nil, aboutEdges(err)
	}
	if g.Loops > 0 {
		s.note("left out %s of %s, from a node to itself", counted(g.Loops, "loop"), in.name)
	}
	if g.Repeated > 0 {
		what := "counts once"
		if list.Family == blockmodel.Poisson {
			what = "has the sum of the weights"
		}
		s.note("edges are listed again in %s of %s: such an edge %s", counted(g.Repeated, "row"), in.name, what)
	}
	nodes, sets := g.Rows(), 1
	if list.Kind == blockmodel.Bipartite {
		sets = 2
	}
	e := &graphEngine{g: g, names: names, edges: list.Edges, method: f.Method,
		prior: blockmodel.Prior{Alpha: f.Prior.values["weights"], A: f.Prior.values["a"], B: f.Prior.values["b"]}}
	return &task{engine: e, what: fmt.Sprintf("%s graph of %v edges", list.Kind, list.Family), columns: named(in.Names),
		largest: min(nodes, sets*blockmodel.BlocksEach), doubleTo: nodes / 2, checkSize: func(k int) error {
			switch {
			case k > nodes:
				return fmt.Errorf("%d blocks for %d nodes: choose K up to %d", k, nodes, nodes)
			case k < sets:
				return fmt.Errorf("%d block for a bipartite graph: K counts those of both sets, one at least of each", k)
			}
			return nil
		}}, nil
}

// aboutEdges says what flags can do about the faults of edges.
func aboutEdges(err error) error {
	switch {
	case errors.Is(err, blockmodel.ErrLoop):
		return fmt.Errorf("%w (--loops drop leaves such rows out)", err)
	case errors.Is(err, blockmodel.ErrBinary):
		return fmt.Errorf("%w (--family poisson; --drop leaves the column out)", err)
	}
	return err
}

// edgesOf are the edges of a list of pairs, and the names of the nodes of each set; unless the graph is bipartite a
// name is the same node in both columns.
func edgesOf(t *fitted.Pairs, bipartite bool) (list blockmodel.EdgeList, names [2][]string) {
	node := t.Index
	if bipartite {
		names = t.Names
		list.Second = len(names[1])
	} else {
		at := map[string]int{}
		for side, known := range t.Names {
			for _, name := range known {
				if _, again := at[name]; !again {
					at[name], names[0] = len(names[0]), append(names[0], name)
				}
			}
			node[side] = make([]int, len(t.Index[side]))
			for row, place := range t.Index[side] {
				node[side][row] = at[known[place]]
			}
		}
	}
	list.Nodes = len(names[0])
	for row := range node[0] {
		list.Edges = append(list.Edges, blockmodel.Edge{From: node[0][row], To: node[1][row], Weight: t.Number(row)})
	}
	return list, names
}

// A graphEngine fits a block model to a graph.
type graphEngine struct {
	g      *blockmodel.Graph
	names  [2][]string // of the nodes of each set
	edges  []blockmodel.Edge
	method string
	prior  blockmodel.Prior
}

// searched is how a search ends.
const searched = "no move or merge gains"

// search looks for the labels of the largest exact integrated likelihood.
func (e *graphEngine) search(ctx context.Context, o framework.Options) (*blockmodel.Search, error) {
	return blockmodel.Find(ctx, e.g, blockmodel.SearchOptions{Prior: e.prior, K: o.K, DoubleTo: o.DoubleTo,
		FixedK: o.FixedK, Starts: o.Restarts, Seed: o.Seed, Workers: o.Workers,
		Recorder: o.Recorder, Resume: o.Resume})
}

func (e *graphEngine) fit(ctx context.Context, o framework.Options) (*outcome, error) {
	if e.method != methodGreedy {
		res, err := framework.Fit(ctx, blockmodel.Model{}, e.g, o)
		if res == nil {
			return nil, err
		}
		found, fault := e.describe(res)
		return outcomeOf(fitted.With(res, found), cmp.Or(err, fault))
	}
	s, err := e.search(ctx, o)
	if err != nil {
		return nil, err
	}
	f, err := e.found(ctx, s.Partition, o)
	if err != nil {
		return nil, err
	}
	for i, one := range s.Starts {
		f.Restarts = append(f.Restarts,
			framework.Restart{From: one.Kmax, K: one.K, Value: one.Value, Status: framework.Converged, Same: i})
	}
	for k, p := range s.Path {
		if p != nil {
			f.Parameters.byK = append(f.Parameters.byK, sizeScore{k, number(p.Value), true})
		}
	}
	if o.FixedK {
		f.Parameters.byK = nil
	}
	return f, nil
}

// found describes a partition. gFIC and the criteria about the likelihood are those of gFAB from its labels, K fixed.
func (e *graphEngine) found(ctx context.Context, p *blockmodel.Partition, o framework.Options) (*outcome, error) {
	tilted := o
	tilted.Method, tilted.Criterion = framework.GFAB, framework.GFIC
	tilted.K, tilted.FixedK, tilted.DoubleTo, tilted.Restarts = p.K, true, 0, 1
	tilted.Recorder, tilted.Resume = nil, nil
	tilted.Also = []framework.Criterion{framework.FIC, framework.BICEM, framework.BIC, framework.AIC}
	tilted.Tolerance = max(o.Tolerance, 1e-7)
	res, err := framework.Fit(ctx, blockmodel.Model{Labels: p.Labels}, e.g, tilted)
	if err != nil {
		return nil, err
	}
	parameters, err := p.Parameters(e.g, e.prior)
	if err != nil {
		return nil, err
	}
	f := &outcome{status: searched}
	f.Shape, f.N, f.Value, f.Criterion, f.Status, f.Evaluation = res.Shape, res.N, p.Value, framework.ExactICL.Name,
		framework.Converged, res.Evaluation
	f.Scores = append([]framework.Score{{Criterion: framework.ExactICL.Name, Value: p.Value}}, res.Scores...)
	f.Parameters = e.result(parameters, p.Labels, framework.ExactICL.Name, f.Scores)
	return f, nil
}

// describe describes a fit of the engine; labels are the most probable ones.
func (e *graphEngine) describe(res *framework.Result[*blockmodel.Parameters, *blockmodel.Statistics]) (*result, error) {
	labels := res.Local.(*blockmodel.Posterior).Labels()
	a, err := blockmodel.Label(e.g, labels, e.prior)
	if err != nil {
		return nil, err
	}
	scores := append([]framework.Score{{Criterion: framework.ExactICL.Name, Value: a.Value}}, res.Scores...)
	return e.result(res.Parameters, labels, res.Criterion, scores), nil
}

// score compares fits of every K.
func (e *graphEngine) score(
	ctx context.Context, ks []int, o framework.Options, criteria []framework.Criterion,
) (*scores, error) {
	if e.method != methodGreedy {
		sel, err := framework.Select(ctx, blockmodel.Model{}, e.g, ks, o, criteria...)
		if err != nil {
			return nil, err
		}
		return scoresOf(fitted.Selected(sel, e.describe), o), nil
	}
	all := &scores{}
	all.K, all.Criteria = ks, criteria
	fits, progress := make([]*outcome, len(ks)), sweptGraphs{}
	if err := progress.resume(o.Resume); err != nil {
		return nil, err
	}
	for i, k := range ks {
		o := progress.of(k, o)
		f, err := e.fit(ctx, o)
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		row := make([]float64, len(criteria))
		for j, c := range criteria {
			row[j] = math.NaN()
			if err == nil {
				at := slices.IndexFunc(f.Scores, func(s framework.Score) bool { return s.Criterion == c.Name })
				row[j] = f.Scores[at].Value
			}
		}
		if fits[i] = f; err != nil {
			all.add(row, framework.Evaluation{}, err)
			continue
		}
		all.add(row, f.Evaluation, nil)
	}
	all.fit = func(i int) (*outcome, error) { return fits[i], nil }
	return all, nil
}

// sweptGraphs are the checkpoints of searches of one K each, by K.
type sweptGraphs map[int]func() ([]byte, error)

// of are the options of the search of k.
func (w sweptGraphs) of(k int, o framework.Options) framework.Options {
	o.K, o.FixedK, o.Resume = k, true, nil
	if saved := w[k]; saved != nil {
		o.Resume, _ = saved() // bytes that are there
	}
	inner := o.Recorder
	o.Recorder = framework.RecorderFunc(func(e framework.Event) error {
		w[k], e.K = e.Checkpoint, k
		return inner.Record(e.With(w.encode))
	})
	return o
}

func (w sweptGraphs) encode() ([]byte, error) {
	parts := map[int][]byte{}
	for k, checkpoint := range w {
		part, err := checkpoint()
		if err != nil {
			return nil, err
		}
		parts[k] = part
	}
	var text bytes.Buffer
	err := gob.NewEncoder(&text).Encode(parts)
	return text.Bytes(), err
}

func (w sweptGraphs) resume(text []byte) error {
	if text == nil {
		return nil
	}
	parts := map[int][]byte{}
	if err := gob.NewDecoder(bytes.NewReader(text)).Decode(&parts); err != nil {
		return &framework.CheckpointError{Reason: fmt.Sprintf("cannot be read: %v", err)}
	}
	for k, part := range parts {
		w[k] = func() ([]byte, error) { return part, nil }
	}
	return nil
}

// graphView is the graph and its blocks in JSON.
type graphView struct {
	Kind      string            `json:"kind"`
	Nodes     []int             `json:"nodes"` // of each set
	Edges     int               `json:"edges"`
	Density   number            `json:"density"` // mean weight of all pairs of nodes
	Blocks    []blockView       `json:"blocks"`  // those of the first set before those of the second
	Matrix    [][]number        `json:"matrix"`  // the probability, or the mean weight, of an edge from block to block
	Labels    []int             `json:"labels"`  // the block of each node, from 1, in the order of node_names
	NodeNames []string          `json:"node_names"`
	Criteria  map[string]number `json:"criteria"`
}

type blockView struct {
	Set   int      `json:"set"` // of nodes, 1 or 2
	Size  int      `json:"size"`
	Share number   `json:"share"` // π
	Nodes []string `json:"-"`
}

// result describes labels and parameters, found by a criterion.
func (e *graphEngine) result(p *blockmodel.Parameters, labels []int, own string, scored []framework.Score) *result {
	v := &graphView{
		Kind: p.Kind.String(), Edges: e.g.Edges(), Density: number(e.g.Density()), Criteria: map[string]number{},
	}
	for _, set := range e.names {
		if len(set) > 0 {
			v.Nodes = append(v.Nodes, len(set))
			v.NodeNames = append(v.NodeNames, set...)
		}
	}
	for k := range p.K {
		b := blockView{Set: 1, Share: number(p.Weights[k])}
		if p.Kind == blockmodel.Bipartite {
			b.Set = p.Sides[k] + 1
		}
		v.Blocks = append(v.Blocks, b)
		v.Matrix = append(v.Matrix, numbers(p.Theta[k*p.K:(k+1)*p.K]))
	}
	for i, k := range labels {
		v.Labels = append(v.Labels, k+1)
		v.Blocks[k].Size++
		v.Blocks[k].Nodes = append(v.Blocks[k].Nodes, v.NodeNames[i])
	}
	for _, s := range scored {
		v.Criteria[strings.ToLower(s.Criterion)] = number(s.Value)
	}
	kept := *p
	kept.Start = nil
	r := &result{k: p.K, params: builtin.Graph{Parameters: kept, Nodes: e.names, Labels: labels}, graph: v}
	r.facts = v.facts(p.Family, own)
	r.print = func(out *page) { v.print(out, p.Family) }
	r.finding = func(*input) (report.Section, error) { return v.finding(p.Family), nil }
	r.sections = func(*input) ([]report.Section, error) { return v.sections(e, p.Family), nil }
	return r
}

// sets are the numbers of blocks of each set.
func (v *graphView) sets() (n [2]int) {
	for _, b := range v.Blocks {
		n[b.Set-1]++
	}
	return n
}

// facts are lines of the text.
func (v *graphView) facts(f blockmodel.Family, own string) [][2]string {
	nodes := counted(v.Nodes[0], "node")
	list := [][2]string{}
	if len(v.Nodes) > 1 {
		nodes = fmt.Sprintf("%d and %s", v.Nodes[0], counted(v.Nodes[1], "node"))
		n := v.sets()
		list = append(list,
			[2]string{"blocks", fmt.Sprintf("%d of the first column's nodes, %d of the second's", n[0], n[1])})
	}
	density := "of the pairs of nodes"
	value := percent(float64(v.Density))
	if f == blockmodel.Poisson {
		value, density = fmt.Sprintf("%.4g", float64(v.Density)), "the mean weight of a pair of nodes"
	}
	list = append(list, [2]string{"graph", fmt.Sprintf("%s, %s: %s %s", nodes, counted(v.Edges, "edge"), value, density)})
	for _, c := range []framework.Criterion{framework.ExactICL, framework.GFIC} {
		name := strings.ToLower(c.Name)
		if value, ok := v.Criteria[name]; ok && c.Name != own {
			list = append(list, [2]string{name, digits(float64(value)) + " nats"})
		}
	}
	return list
}

// print shows the blocks with some of their nodes, and the matrix of the probabilities.
func (v *graphView) print(out *page, f blockmodel.Family) {
	out.line("")
	g := newGrid("block", "nodes", "share", "such as")
	g.prose("such as")
	for k, b := range v.Blocks {
		if k < mostRows {
			g.row(v.blockName(k), strconv.Itoa(b.Size), percent(float64(b.Share)), someOf(b.Nodes))
		}
	}
	out.grid(g)
	what := "Probability of an edge"
	if f == blockmodel.Poisson {
		what = "Mean weight of a pair of nodes"
	}
	direction := "between blocks"
	if v.Kind == blockmodel.Directed.String() {
		direction = "from the block of the row to that of the column"
	}
	rows, columns := v.axes()
	out.line("")
	out.prose(0, "%s %s:", what, direction)
	shown, grid := out.widest(len(columns), func(n int) *grid {
		heads := []string{"block"}
		for _, l := range columns[:n] {
			heads = append(heads, v.blockName(l))
		}
		g := newGrid(heads...)
		for _, k := range rows[:min(len(rows), mostRows)] {
			cells := []string{v.blockName(k)}
			for _, l := range columns[:n] {
				cells = append(cells, readable(float64(v.Matrix[k][l])))
			}
			g.row(cells...)
		}
		return g
	})
	out.grid(grid)
	if left := len(columns) - shown + max(0, len(rows)-mostRows); left > 0 {
		out.line("%s", are(left, "more row or column")+" left out; --format json has all")
	}
}

// someOf are the first names, as tables have them.
func someOf(names []string) string {
	const most = 3
	var list []string
	for _, name := range names[:min(most, len(names))] {
		list = append(list, short(name))
	}
	if len(names) > most {
		list = append(list, "…")
	}
	return strings.Join(list, ", ")
}

// blockName is the number of a block, behind the set of a bipartite graph.
func (v *graphView) blockName(k int) string { return strconv.Itoa(k + 1) }

// axes are the blocks of rows and columns of the matrix.
func (v *graphView) axes() (rows, columns []int) {
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

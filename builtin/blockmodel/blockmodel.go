// Package blockmodel defines the stochastic block model of package builtin, whose rows are the edges of a graph: its
// settings, the results of its fits, predictions for pairs of nodes, and its model files.
package blockmodel

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/blockmodel"
)

// Definition returns the definition of stochastic block models (package models/blockmodel) with edges of the given
// families.
func Definition(families fitted.Families) fitted.Definition {
	return fitted.Definition{Name: "blockmodel", Title: "Stochastic block model", Pairs: true, Starts: 10, Part: "block",
		About: "blocks of the nodes of a graph: the rows are edges, two names and perhaps a weight", Example: "karate",
		Help: "greedy maximises the exact ICL by moves of nodes and merges of blocks. --weights names " +
			"the column of the weights of edges, by default the third; a row of weight 0 is not an edge and only " +
			"names nodes. --prior of greedy: weights (Dirichlet), a and b (beta of the probability of an edge, gamma shape " +
			"and rate of a mean weight).",
		Families: families, New: func() fitted.Settings { return new(Settings) }, Load: load,
		Methods: append([]fitted.Method{{Name: "greedy", Engine: framework.EM, FindsK: true,
			Search:   "no move or merge gains",
			Criteria: []framework.Criterion{framework.ExactICL, framework.BIC, framework.AIC},
			Swept:    []framework.Criterion{framework.GFIC, framework.FIC, framework.BICEM},
			Prior:    []string{"weights", "a", "b"}}}, fitted.ByEvidence(framework.ELBO)...),
		Advice: func(err error) string {
			switch {
			case errors.Is(err, blockmodel.ErrLoop):
				return "--loops drop leaves such rows out"
			case errors.Is(err, blockmodel.ErrBinary):
				return "--family poisson; --drop leaves the column out"
			}
			return ""
		}}
}

// Settings describe the graph.
type Settings struct {
	Directed  bool    `json:"directed,omitempty" help:"Edges lead from the node of the first column to the node of the second. Default: undirected edges."`
	Bipartite bool    `json:"bipartite,omitempty" help:"The nodes of the first column and those of the second are two sets, each with its own blocks; K counts the blocks of both."`
	Known     string  `json:"known,omitempty" placeholder:"FILE" help:"Table of known blocks, with two columns: nodes and the names of their blocks. Names A|B: the node is in one of these blocks; no name, or no row of the node: in any. K is at least the number of names, and further blocks may be found."`
	Loops     *string `json:"loops,omitempty" placeholder:"HOW" enum:"error,drop" help:"Edges from a node to itself: error rejects them, drop leaves them out. Default: error."`
}

// KnownNames returns the table of known blocks.
func (m *Settings) KnownNames() string { return m.Known }

func (m *Settings) kind() blockmodel.Kind {
	switch {
	case m.Directed:
		return blockmodel.Directed
	case m.Bipartite:
		return blockmodel.Bipartite
	}
	return blockmodel.Undirected
}

// Check returns a *[fitted.SettingError] for settings that exclude each other.
func (m *Settings) Check(r fitted.Request) error {
	wrong := func(setting, reason string) error { return &fitted.SettingError{Setting: setting, Reason: reason} }
	switch {
	case m.Directed && m.Bipartite:
		return wrong("Directed", "and --bipartite exclude each other: edges of a bipartite graph lead from the nodes of "+
			"one column to those of the other")
	case m.Bipartite && m.Loops != nil:
		return wrong("Loops", "cannot be used with --bipartite: a name in both columns stands for two nodes")
	case r.Accelerate:
		return wrong("Accelerate", "cannot be used with --model blockmodel: the q of a node depends on that of others "+
			"and cannot be extrapolated")
	case (r.Prior["a"] != 0) != (r.Prior["b"] != 0):
		return wrong("Prior", "has one of a and b: give both, or none")
	}
	return nil
}

// Bind builds the graph from a list of edges.
func (m *Settings) Bind(_ context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	list, names := edgesOf(t.Pairs, m.kind() == blockmodel.Bipartite)
	list.Kind, list.DropLoops = m.kind(), m.Loops != nil && *m.Loops == "drop"
	classes, err := know(&list, names, t.Pairs.Known)
	if err != nil {
		return nil, err
	}
	if r.Family == families.Poisson {
		list.Family = blockmodel.Poisson
	}
	g, err := list.Graph()
	if fault, is := errors.AsType[*blockmodel.KnownError](err); is {
		return nil, fmt.Errorf("--known: %q, of class %q, %s", slices.Concat(names[0], names[1])[fault.Node],
			classes[fault.Label], fault.Reason)
	}
	if err != nil {
		return nil, err
	}
	nodes, sets := g.Rows(), 1
	if list.Kind == blockmodel.Bipartite {
		sets = 2
	}
	b := &fitted.Bound{What: fmt.Sprintf("%s graph of %v edges", list.Kind, list.Family),
		KMin: g.Least(), KMax: max(g.Least(), min(nodes, sets*blockmodel.BlocksEach)), DoubleTo: nodes / 2}
	if g.Loops > 0 {
		b.Notes = append(b.Notes, fmt.Sprintf("left out %s, from a node to itself", wording.Counted(g.Loops, "loop")))
	}
	if g.Repeated > 0 {
		what := "counts once"
		if list.Family == blockmodel.Poisson {
			what = "has the sum of the weights"
		}
		b.Notes = append(b.Notes, fmt.Sprintf("edges are listed again in %s: such an edge %s",
			wording.Counted(g.Repeated, "row"), what))
	}
	b.CheckK = func(k int) error {
		switch {
		case k > nodes:
			return fmt.Errorf("%d blocks for %d nodes: choose K up to %d", k, nodes, nodes)
		case k < sets:
			return fmt.Errorf("%d block for a bipartite graph: K counts the blocks of both sets, at least one of each", k)
		case k < b.KMin:
			return fmt.Errorf("%s known, and K = %d: must be at least %d", wording.Are(len(classes), "block"), k, b.KMin)
		}
		return nil
	}
	p := problem{g: g, names: names, edges: list.Edges, classes: classes,
		prior: blockmodel.Prior{Alpha: r.Prior["weights"], A: r.Prior["a"], B: r.Prior["b"]}}
	if b.Problem = p; r.Method.Search != "" {
		b.Problem, b.Starts = search{p}, blockmodel.DefaultStarts(len(t.Pairs.Index[0]))
	}
	return b, nil
}

// edgesOf returns the edges of a list of pairs, and the names of the nodes of each set. Unless the graph is bipartite,
// a name is the same node in both columns.
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

// know gives the nodes of a list the labels that they may have, and returns the names of the labels.
func know(list *blockmodel.EdgeList, names [2][]string, known map[string]string) (classes []string, err error) {
	if known == nil {
		return nil, nil
	}
	levels := slices.Compact(slices.Sorted(maps.Values(known)))
	classes, sets, err := families.Labels(levels)
	if err != nil {
		return nil, fmt.Errorf("--known: %w", err)
	}
	for _, name := range slices.Concat(names[0], names[1]) {
		var set []int
		if class, is := known[name]; is {
			set = sets[slices.Index(levels, class)]
		}
		list.Known = append(list.Known, set)
	}
	return classes, nil
}

type (
	fit       = framework.Result[fitted.Found, struct{}]
	selection = fitted.Selection[fitted.Found]
)

// A problem is a graph that the engine fits.
type problem struct {
	g     *blockmodel.Graph
	names [2][]string // of the nodes of each set
	edges []blockmodel.Edge
	prior blockmodel.Prior

	classes []string // the names of the labels of blocks
}

// Fit fits one K by the engine.
func (e problem) Fit(ctx context.Context, o framework.Options) (*fit, error) {
	res, err := framework.Fit(ctx, blockmodel.Model{}, e.g, o)
	if res == nil {
		return nil, err
	}
	found, fault := e.describe(res)
	return fitted.With(res, found), cmp.Or(err, fault)
}

// Select fits every K by the engine.
func (e problem) Select(
	ctx context.Context, ks []int, o framework.Options, criteria ...framework.Criterion,
) (*selection, error) {
	sel, err := framework.Select(ctx, blockmodel.Model{}, e.g, ks, o, criteria...)
	if err != nil {
		return nil, err
	}
	return fitted.Selected(sel, e.describe), nil
}

// describe describes a fit of the engine; labels are the most probable ones.
func (e problem) describe(
	res *framework.Result[*blockmodel.Parameters, *blockmodel.Statistics],
) (fitted.Found, error) {
	labels := res.Local.(*blockmodel.Posterior).Labels()
	a, err := blockmodel.Label(e.g, labels, e.prior)
	if err != nil {
		return nil, err
	}
	scores := append([]framework.Score{{Criterion: framework.ExactICL.Name, Value: a.Value}}, res.Scores...)
	return e.found(res.Parameters, labels, res.Criterion, scores), nil
}

// A search finds the labels with the largest exact integrated likelihood.
type search struct{ problem }

// Fit searches from several starts.
func (e search) Fit(ctx context.Context, o framework.Options) (*fit, error) {
	s, err := blockmodel.Find(ctx, e.g, blockmodel.SearchOptions{Prior: e.prior, K: o.K, DoubleTo: o.DoubleTo,
		FixedK: o.FixedK, Starts: o.Restarts, Seed: o.Seed, Workers: o.Workers,
		Recorder: o.Recorder, Resume: o.Resume})
	if err != nil {
		return nil, err
	}
	f, err := e.labelled(ctx, s.Partition, o)
	if err != nil {
		return nil, err
	}
	for i, one := range s.Starts {
		f.Restarts = append(f.Restarts,
			framework.Restart{From: one.Kmax, K: one.K, Value: one.Value, Status: framework.Converged, Same: i})
	}
	for _, p := range s.Path {
		value := math.Inf(-1)
		if p != nil {
			value = p.Value
		}
		f.Met = append(f.Met, value)
	}
	return f, nil
}

// labelled describes a partition. gFIC and criteria of the likelihood come from a fit by gFAB that begins at its
// labels, with K fixed.
func (e search) labelled(ctx context.Context, p *blockmodel.Partition, o framework.Options) (*fit, error) {
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
	f := &fit{Shape: res.Shape, N: res.N, Value: p.Value, Criterion: framework.ExactICL.Name,
		Status: framework.Converged, Evaluation: res.Evaluation,
		Scores: append([]framework.Score{{Criterion: framework.ExactICL.Name, Value: p.Value}}, res.Scores...)}
	f.Parameters = e.found(parameters, p.Labels, f.Criterion, f.Scores)
	return f, nil
}

// Select searches with every K.
func (e search) Select(
	ctx context.Context, ks []int, o framework.Options, criteria ...framework.Criterion,
) (*selection, error) {
	fits, errs, progress := make([]*fit, len(ks)), make([]error, len(ks)), swept{}
	if err := progress.resume(o.Resume); err != nil {
		return nil, err
	}
	for i, k := range ks {
		fits[i], errs[i] = e.Fit(ctx, progress.of(k, o))
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	return fitted.SelectionOf(ks, criteria, fits, errs...), nil
}

// swept holds the checkpoints of the searches with one K each, by K.
type swept map[int]func() ([]byte, error)

// of returns the options of the search with k blocks.
func (w swept) of(k int, o framework.Options) framework.Options {
	o.K, o.FixedK, o.Resume = k, true, nil
	if saved := w[k]; saved != nil {
		o.Resume, _ = saved() // bytes that are there
	}
	inner := o.Recorder
	o.Recorder = func(e framework.Event) error {
		w[k], e.K = e.Checkpoint, k
		return inner(e.With(w.encode))
	}
	return o
}

func (w swept) encode() ([]byte, error) {
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

func (w swept) resume(text []byte) error {
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

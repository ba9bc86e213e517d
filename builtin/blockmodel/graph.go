package blockmodel

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/blockmodel"
)

// A graph is a fitted block model. Its rows are pairs of nodes, from and to, as codes of their names.
type graph struct {
	scoring.Rows
	blockmodel.Parameters
	Nodes  [2][]string `json:"nodes"`  // the names of each set; the second is empty unless the graph is bipartite
	Labels []int       `json:"labels"` // the block of each node, from 0
	// the names of the labels that blocks have
	Classes []string `json:"classes,omitempty"`

	view *view // of a fit
}

var errGraphFile = errors.New("its nodes, labels and blocks are inconsistent")

// load reads a graph from a model file. For two nodes the graph gives their blocks, and the probability of an edge
// between them or its mean weight.
func load(f *fitted.File) (fitted.Model, error) {
	g := new(graph)
	if err := json.Unmarshal(f.Params, g); err != nil {
		return nil, err
	}
	if err := f.Matches(g.K, len(f.Columns)); err != nil {
		return nil, err
	}
	if err := g.Parameters.Check(); err != nil {
		return nil, err
	}
	if slices.ContainsFunc(g.Known, func(label int) bool { return label >= len(g.Classes) }) {
		return nil, errGraphFile
	}
	n := len(g.Nodes[0])
	if len(g.Labels) != n+len(g.Nodes[1]) || (len(g.Nodes[1]) > 0) != (g.Kind == blockmodel.Bipartite) || n == 0 {
		return nil, errGraphFile
	}
	for i, l := range g.Labels {
		if l < 0 || l >= g.K || g.Kind == blockmodel.Bipartite && (g.Sides[l] == 1) != (i >= n) {
			return nil, errGraphFile
		}
	}
	g.ready()
	f.Columns = []data.Column{{Name: "from", Levels: g.Nodes[0]}, {Name: "to", Levels: g.Nodes[0]}}
	if g.Kind == blockmodel.Bipartite {
		f.Columns[1].Levels = g.Nodes[1]
	}
	return g, nil
}

func (g *graph) ready() {
	g.Says = fitted.Layout{First: []string{"block_from", "block_to"}, Last: []string{"expected"}}
	if g.Family == blockmodel.Bernoulli {
		g.Says.Last = []string{"probability"}
	}
}

// NewScorer looks the blocks of nodes up.
func (g *graph) NewScorer() (fitted.Scorer, error) { return scoring.Func(g.score), nil }

func (g *graph) score(b blocks.Rows, dst []float64) error {
	to := g.Labels
	if g.Kind == blockmodel.Bipartite {
		to = to[len(g.Nodes[0]):]
	}
	for i := range b.N {
		row := b.Row(i)
		for j, labels := range [][]int{g.Labels, to} {
			if !(row[j] >= 0 && row[j] < float64(len(labels))) {
				return &blocks.DataError{Row: b.First + i, Column: j, Value: row[j], Reason: errNoNode}
			}
		}
		if row[0] == row[1] && g.Kind != blockmodel.Bipartite {
			const loop = "is a loop, from %.60q to itself: the model excludes loops"
			return blocks.FaultyRow(b.First+i, loop, g.Nodes[0][int(row[0])])
		}
		k, l := g.Labels[int(row[0])], to[int(row[1])]
		dst[3*i], dst[3*i+1], dst[3*i+2] = float64(k+1), float64(l+1), g.Theta[k*g.K+l]
	}
	return nil
}

var errNoNode = errors.New("must be a node of the fitted graph: other nodes have no block")

// ListFacts reports that the blocks of nodes are labels.
func (g *graph) ListFacts() (labels bool, note string) { return true, "" }

// SampleList draws the edges of a graph of n nodes, those of the two sets of a bipartite one in the proportion of the
// fit. Nodes without an edge are in rows of weight 0.
func (g *graph) SampleList(
	_ context.Context, n int, labelled bool, rng *rand.Rand, write func(record ...string) error,
) error {
	second := 0
	if g.Kind == blockmodel.Bipartite {
		second = max(1, min(n-1, int(math.Round(float64(n)*float64(len(g.Nodes[1]))/float64(len(g.Labels))))))
	}
	list, labels, err := g.Parameters.Sample(n-second, second, rng)
	if err != nil {
		return errors.New("-n is the number of nodes; must be at least 2")
	}
	head := []string{"from", "to", "weight"}
	if labelled {
		head = append(head, "block_from", "block_to")
	}
	if err := write(head...); err != nil {
		return err
	}
	met := make([]bool, len(labels))
	add := func(from, to int, weight float64) error {
		at := to
		if g.Kind == blockmodel.Bipartite {
			at += list.Nodes
		}
		met[from], met[at] = true, true
		record := []string{strconv.Itoa(from + 1), strconv.Itoa(to + 1), strconv.FormatFloat(weight, 'f', -1, 64)}
		if labelled {
			record = append(record, strconv.Itoa(labels[from]+1), strconv.Itoa(labels[at]+1))
		}
		return write(record...)
	}
	for _, edge := range list.Edges {
		if err := add(edge.From, edge.To, edge.Weight); err != nil {
			return err
		}
	}
	for i := range met {
		var err error
		switch {
		case met[i]:
		case i >= list.Nodes:
			err = add(0, i-list.Nodes, 0)
		case g.Kind == blockmodel.Bipartite:
			err = add(i, 0, 0)
		default:
			err = add(i, (i+1)%list.Nodes, 0)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

package builtin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/blockmodel"
	"github.com/latent-go/latent/models/topics"
)

// A Graph is a block model. Its rows are pairs of nodes, from and to: codes of the names of nodes.
type Graph struct {
	scoring.Rows
	blockmodel.Parameters
	Nodes  [2][]string `json:"nodes"`  // the names of each set; the second is empty unless the graph is bipartite
	Labels []int       `json:"labels"` // the block of each node, from 0
}

var errGraphFile = errors.New("its nodes, labels and blocks do not go together")

// loadGraph says the blocks of two nodes, and the probability of an edge between them or its mean weight.
func loadGraph(f *fitted.File) (fitted.Model, error) {
	g := new(Graph)
	if err := json.Unmarshal(f.Params, g); err != nil {
		return nil, err
	}
	if err := f.Matches(g.K, len(f.Columns)); err != nil {
		return nil, err
	}
	if err := g.Parameters.Check(); err != nil {
		return nil, err
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
	g.Says = fitted.Layout{First: []string{"block_from", "block_to"}, Last: []string{"expected"}}
	if g.Family == blockmodel.Bernoulli {
		g.Says.Last = []string{"probability"}
	}
	f.Columns = []data.Column{{Name: "from", Levels: g.Nodes[0]}, {Name: "to", Levels: g.Nodes[0]}}
	if g.Kind == blockmodel.Bipartite {
		f.Columns[1].Levels = g.Nodes[1]
	}
	return g, nil
}

// NewScorer looks the blocks of nodes up.
func (g *Graph) NewScorer() (fitted.Scorer, error) { return scoring.Func(g.score), nil }

func (g *Graph) score(b framework.Rows, dst []float64) error {
	to := g.Labels
	if g.Kind == blockmodel.Bipartite {
		to = to[len(g.Nodes[0]):]
	}
	for i := range b.N {
		row := b.Row(i)
		for j, labels := range [][]int{g.Labels, to} {
			if !(row[j] >= 0 && row[j] < float64(len(labels))) {
				return &framework.DataError{Row: b.First + i, Column: j, Value: row[j], Reason: errNoNode}
			}
		}
		if row[0] == row[1] && g.Kind != blockmodel.Bipartite {
			const loop = "is a loop, from %.60q to itself: the model has no place for it"
			return framework.FaultyRow(b.First+i, loop, g.Nodes[0][int(row[0])])
		}
		k, l := g.Labels[int(row[0])], to[int(row[1])]
		dst[3*i], dst[3*i+1], dst[3*i+2] = float64(k+1), float64(l+1), g.Theta[k*g.K+l]
	}
	return nil
}

var errNoNode = errors.New("a node of the graph that the model was fitted to is needed: others have no block")

// SampleList draws the edges of a graph of n nodes, those of the two sets of a bipartite one in the proportion of the
// fit. Nodes without an edge are in rows of weight 0.
func (g *Graph) SampleList(
	_ context.Context, n int, labelled bool, rng *rand.Rand, write func(record ...string) error,
) error {
	second := 0
	if g.Kind == blockmodel.Bipartite {
		second = max(1, min(n-1, int(math.Round(float64(n)*float64(len(g.Nodes[1]))/float64(len(g.Labels))))))
	}
	list, labels, err := g.Parameters.Sample(n-second, second, rng)
	if err != nil {
		return errors.New("-n is the number of nodes: a graph has two at least")
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

// ---- Documents

// Documents are a topic model. Its rows are documents: the counts of the words of the vocabulary.
type Documents struct {
	scoring.Rows
	*topics.Parameters
	Vocabulary []string `json:"vocabulary"`
	Length     float64  `json:"length"` // mean number of tokens of a document
}

// loadTopics says the largest topic of a document, its share, and the shares of all topics.
func loadTopics(f *fitted.File) (fitted.Model, error) {
	m := new(Documents)
	if err := json.Unmarshal(f.Params, m); err != nil {
		return nil, err
	}
	switch err := m.Check(); {
	case err != nil:
		return nil, err
	case len(m.Vocabulary) != m.Words:
		return nil, fmt.Errorf("it has %d words, and a vocabulary of %d", m.Words, len(m.Vocabulary))
	case f.K != m.K:
		return nil, fmt.Errorf("its K = %d does not match parameters for K = %d", f.K, m.K)
	case !(m.Length >= 0) || math.IsInf(m.Length, 1):
		return nil, fmt.Errorf("its documents have %v tokens", m.Length)
	}
	sorted := slices.Sorted(slices.Values(m.Vocabulary))
	if len(slices.Compact(sorted)) < m.Words {
		return nil, errors.New("a word is twice in its vocabulary")
	}
	f.Columns = make([]data.Column, m.Words)
	for w, word := range m.Vocabulary {
		f.Columns[w].Name = word
	}
	m.Says = fitted.Layout{First: []string{"topic", "probability"},
		List: "proportions", Items: wording.Numbered("topic ", m.K)}
	return m, nil
}

var errNoCount = errors.New("counts are whole numbers, not negative")

// NewScorer takes documents into the topics, each by itself: rows of all words, or with Entries those that occur.
func (m *Documents) NewScorer() (fitted.Scorer, error) {
	proportions, width := topics.Model{}.Scorer(m.Parameters), m.Says.Width()
	var theta []float64
	var met framework.Entries
	return scoring.Func(func(b framework.Rows, dst []float64) (err error) {
		if b.Entries == nil {
			met.Start, met.Columns, met.Values = append(met.Start[:0], 0), met.Columns[:0], met.Values[:0]
			for i := range b.N {
				for w, n := range b.Row(i) {
					if n == 0 {
						continue
					}
					met.Columns, met.Values = append(met.Columns, w), append(met.Values, n)
				}
				met.Start = append(met.Start, len(met.Columns))
			}
			b.Entries = &met
		}
		for i := range b.N {
			words, counts := b.Entries.Row(i)
			for e, n := range counts {
				if !(n >= 0) || n != math.Trunc(n) || n > 1<<53 {
					return &framework.DataError{Row: b.First + i, Column: words[e], Value: n, Reason: errNoCount}
				}
			}
		}
		if theta, err = proportions(b, theta); err != nil {
			return err
		}
		for i := range b.N {
			own, row := theta[i*m.K:(i+1)*m.K], dst[i*width:(i+1)*width]
			largest := floats.MaxIdx(own)
			row[0], row[1] = float64(largest+1), own[largest]
			copy(row[2:], own)
		}
		return nil
	}), nil
}

// SampleList draws n documents, the length of each from a Poisson distribution.
func (m *Documents) SampleList(
	ctx context.Context, n int, _ bool, rng *rand.Rand, write func(record ...string) error,
) error {
	if err := write("document", "word", "count"); err != nil {
		return err
	}
	const block = 1000
	length := distuv.Poisson{Lambda: m.Length, Src: rng}
	for first := 0; first < n; first += block {
		if ctx.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d documents", first, n)
		}
		lengths := make([]int, min(block, n-first))
		for i := range lengths {
			lengths[i] = int(length.Rand())
		}
		t, err := topics.Model{}.Sample(m.Parameters, lengths, rng)
		if err != nil {
			return err
		}
		rows := t.All()
		for i := range rows.N {
			columns, counts := rows.Entries.Row(i)
			for e, w := range columns {
				if err := write(strconv.Itoa(first+i+1), m.Vocabulary[w], strconv.Itoa(int(counts[e]))); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

// Package topics defines the topic model of package builtin, whose rows are the words of documents: its settings, the
// results of its fits, predictions for documents, and its model files.
package topics

import (
	"cmp"
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
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/topics"
	"github.com/latent-go/latent/report"
)

// Definition returns the definition of latent Dirichlet allocation (package models/topics).
func Definition(families fitted.Families) fitted.Definition {
	return fitted.Definition{Name: "topics", Title: "Topics", Pairs: true, Part: "topic", Example: "bars",
		About: "latent Dirichlet allocation, for a list of documents, words and counts", Families: families,
		Help: "--prior: alpha (of each topic in a document) and beta (of each word in a topic), 0.1 and 0.01 where only " +
			"the other is given; without --prior both are estimated.",
		New: func() fitted.Settings { return new(Settings) }, Load: load,
		Methods: []fitted.Method{{Name: "cvb0", Engine: framework.PrunedEM, FindsK: true,
			Criteria: []framework.Criterion{framework.Collapsed}, Prior: []string{"alpha", "beta"}}}}
}

// Settings is empty: topics have no options.
type Settings struct{}

// Check returns nil, because there are no settings.
func (*Settings) Check(fitted.Request) error { return nil }

// Bind builds the documents from a list of documents, words and counts.
func (*Settings) Bind(_ context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	c, err := corpusOf(t.Pairs, nil)
	if err != nil {
		return nil, err
	}
	const first = 20 // where a fit begins, which doubles while the largest K are not clearly worse
	most := int(min(c.tokens, math.MaxInt32))
	// without concentrations that are given they are estimated
	m := topics.Model{Alpha: r.Prior["alpha"], Beta: r.Prior["beta"], Estimate: len(r.Prior) == 0}
	b := &fitted.Bound{What: "latent Dirichlet allocation", KMax: min(first, most), DoubleTo: len(c.documents),
		Data: fmt.Sprintf("%s of %s, %s", wording.Counted(len(c.documents), "document"),
			wording.Counted(len(c.words), "different word"), wording.Counted(int(c.tokens), "token"))}
	b.CheckK = func(k int) error {
		if k > most {
			return fmt.Errorf("%d topics for %s: choose K up to %d", k, wording.Counted(most, "token"), most)
		}
		return nil
	}
	b.Notes = c.notes
	b.Problem = &fitted.Engine[fitted.Found, blocks.Rows, *topics.Parameters, *topics.Statistics]{
		Model: m, Source: c.table, Found: func(p *topics.Parameters, _ *topics.Statistics) (fitted.Found, error) {
			return c.found(m, p)
		}}
	return b, nil
}

// A corpus is documents as counts of words.
type corpus struct {
	documents, words []string
	table            *blocks.SparseTable
	tokens           float64
	unknown          []float64 // tokens of each document that are no words of the vocabulary
	notes            []string
}

func (c *corpus) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// An occurrence is a row of the list.
type occurrence struct {
	document, word int
	count          float64
}

// corpusOf counts the words of a list. Where a vocabulary is given, others are left out.
func corpusOf(list *fitted.Pairs, vocabulary []string) (*corpus, error) {
	c := &corpus{documents: list.Names[0], words: vocabulary, unknown: make([]float64, len(list.Names[0]))}
	rows, err := occurrences(list)
	if err != nil {
		return nil, err
	}
	c.keepWords(list.Names[1], rows)
	slices.SortStableFunc(rows, func(a, b occurrence) int {
		return cmp.Or(cmp.Compare(a.document, b.document), cmp.Compare(a.word, b.word))
	})
	start, columns, counts := make([]int, 1, len(c.documents)+1), []int(nil), []float64(nil)
	next, repeated, empty := 0, 0, 0
	for d := range c.documents {
		known := c.unknown[d]
		for ; next < len(rows) && rows[next].document == d; next++ {
			row := rows[next]
			if row.word < 0 || row.count == 0 {
				continue
			}
			known += row.count
			c.tokens += row.count
			if last := len(columns) - 1; last >= start[d] && columns[last] == row.word {
				counts[last] += row.count
				repeated++
				continue
			}
			columns, counts = append(columns, row.word), append(counts, row.count)
		}
		if start = append(start, len(columns)); known == 0 {
			empty++
		}
	}
	if repeated > 0 {
		c.note("%s %s a document and a word of another row: their counts are added", wording.Counted(repeated, "row"),
			wording.Plural(repeated, "repeats", "repeat"))
	}
	if empty > 0 {
		c.note("%s %s no words", wording.Counted(empty, "document"), wording.Plural(empty, "has", "have"))
	}
	if c.tokens == 0 && vocabulary == nil {
		return nil, errors.New("no word has a count above 0: there is nothing to fit")
	}
	c.table, err = blocks.FromSparse(start, columns, counts, len(c.words))
	return c, err
}

// occurrences are the rows of the list, whose numbers must be counts.
func occurrences(list *fitted.Pairs) ([]occurrence, error) {
	rows := make([]occurrence, len(list.Index[0]))
	for i := range rows {
		n := list.Number(i)
		if !isCount(n) {
			return nil, blocks.FaultyRow(i, "has the count %v: counts are whole numbers", n)
		}
		rows[i] = occurrence{list.Index[0][i], list.Index[1][i], n}
	}
	return rows, nil
}

func isCount(n float64) bool { return n >= 0 && n == math.Trunc(n) && n <= 1<<53 }

// keepWords gives words their places in the vocabulary: that of the model, where rows of other words get −1 and are
// counted, or the words that occur.
func (c *corpus) keepWords(names []string, rows []occurrence) {
	place := make(map[string]int, len(c.words))
	for i, word := range c.words {
		place[word] = i
	}
	at, tokens := make([]int, len(names)), make([]float64, len(names))
	for _, row := range rows {
		tokens[row.word] += row.count
	}
	var left []string
	all := 0.0
	fresh := c.words == nil
	for i, name := range names {
		known := false
		if at[i], known = place[name]; fresh && tokens[i] > 0 {
			at[i], known = len(c.words), true
			c.words = append(c.words, name)
		}
		if !known {
			at[i], all, left = -1, all+tokens[i], append(left, name)
		}
	}
	for i := range rows {
		row := &rows[i]
		if row.word = at[row.word]; row.word < 0 {
			c.unknown[row.document] += row.count
		}
	}
	switch {
	case len(left) == 0:
	case fresh:
		c.note("left out %s that never %s: %s", wording.Counted(len(left), "word"),
			wording.Plural(len(left), "occurs", "occur"), wording.Quoted(left))
	default:
		c.note("left out %s that the model does not know, %s: %s", wording.Counted(len(left), "word"),
			wording.Counted(int(all), "token"), wording.Quoted(left))
	}
}

// documents are a topic model. Its rows are documents: the counts of the words of the vocabulary.
type documents struct {
	scoring.Rows
	*topics.Parameters
	Vocabulary []string `json:"vocabulary"`
	Length     float64  `json:"length"` // mean number of tokens of a document

	estimated bool      // the concentrations were, and not given
	topics    []summary // of a fit
}

// load says the largest topic of a document, its share, and the shares of all topics.
func load(f *fitted.File) (fitted.Model, error) {
	m := new(documents)
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
	m.ready()
	return m, nil
}

func (m *documents) ready() {
	m.Says = fitted.Layout{First: []string{"topic", "probability"},
		List: "proportions", Items: wording.Numbered("topic ", m.K)}
}

var errNoCount = errors.New("counts must be non-negative whole numbers")

// NewScorer scores each document by the fitted topics, independently of the others. Rows have the counts of all words
// or, with Entries, of those that occur.
func (m *documents) NewScorer() (fitted.Scorer, error) {
	proportions, width := topics.Model{}.Scorer(m.Parameters), m.Says.Width()
	var theta []float64
	var met blocks.Entries
	return scoring.Func(func(b blocks.Rows, dst []float64) (err error) {
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
				if !isCount(n) {
					return &blocks.DataError{Row: b.First + i, Column: words[e], Value: n, Reason: errNoCount}
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

// prediction is what a topic model says of documents, as JSON has it.
type prediction struct {
	Documents   []string          `json:"documents"`
	Topic       []int             `json:"topic"`
	Probability []fitted.Number   `json:"probability"`
	Proportions [][]fitted.Number `json:"proportions"`
	Tokens      []fitted.Number   `json:"tokens"`
	Unknown     []fitted.Number   `json:"unknown_tokens"`
	Perplexity  fitted.Number     `json:"perplexity"`
}

// ScoreList scores each document of a list, and computes the perplexity of all.
func (m *documents) ScoreList(ctx context.Context, list *fitted.Pairs) (*fitted.ListScores, error) {
	c, err := corpusOf(list, m.Vocabulary)
	if err != nil {
		return nil, err
	}
	scorer, err := m.NewScorer()
	if err != nil {
		return nil, err
	}
	rows, width := c.table.All(), m.Says.Width()
	scores := make([]float64, rows.N*width)
	if err := scorer.Score(rows, scores); err != nil {
		return nil, err
	}
	const seed = 1 // of the halves that the perplexity is taken of: the same documents have the same
	perplexity, err := topics.Model{}.Perplexity(ctx, c.table, m.Parameters, seed)
	if err != nil {
		perplexity = math.NaN()
	}
	said := prediction{Documents: c.documents, Unknown: fitted.Numbers(c.unknown), Perplexity: fitted.Number(perplexity)}
	table := report.Table{Columns: report.Columns(
		slices.Concat([]string{"document"}, m.Says.Names(), []string{"tokens", "unknown_tokens"})...)}
	for d, name := range c.documents {
		row := scores[d*width : (d+1)*width]
		_, counts := rows.Entries.Row(d)
		tokens := floats.Sum(counts)
		said.Topic, said.Probability = append(said.Topic, int(row[0])), append(said.Probability, fitted.Number(row[1]))
		said.Proportions, said.Tokens = append(said.Proportions, fitted.Numbers(row[2:])),
			append(said.Tokens, fitted.Number(tokens))
		cells := []any{name, int(row[0])}
		for _, v := range append(row[1:width:width], tokens, c.unknown[d]) {
			cells = append(cells, v)
		}
		table.Add(cells...)
	}
	return &fitted.ListScores{Table: table, Fields: said, Notes: c.notes, About: fmt.Sprintf(
		"perplexity: %s (of half of each document's tokens, given the other half)", wording.Nats(perplexity))}, nil
}

// ListFacts reports that the model does not describe the lengths of documents.
func (m *documents) ListFacts() (labels bool, note string) {
	return false, fmt.Sprintf("a topic model does not describe the lengths of documents: they are drawn from a "+
		"Poisson distribution with the mean of the fit, %.6g", m.Length)
}

// SampleList draws n documents, the length of each from a Poisson distribution.
func (m *documents) SampleList(
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

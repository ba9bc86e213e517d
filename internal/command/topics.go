package command

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/topics"
	"github.com/latent-go/latent/report"
)

// topicsByDefault is where a fit begins, which doubles while more than half of them are found.
const topicsByDefault = 20

// topicsSettings are none.
type topicsSettings struct{}

func (*topicsSettings) check(f *modelFlags) error {
	if f.Accelerate {
		return misused(
			"--accelerate cannot be used with --model topics, which solves an equation for the tokens and climbs nothing",
		)
	}
	return f.Prior.among("alpha", "beta")
}

// topicsModel has the concentrations of --prior; without it they are estimated.
func (f *modelFlags) topicsModel() topics.Model {
	return topics.Model{Alpha: f.Prior.values["alpha"], Beta: f.Prior.values["beta"], Estimate: f.Prior.text == ""}
}

// bindTopics makes documents of a list of documents, words and counts.
func (*topicsSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	c, err := corpusOf(s, in, nil)
	if err != nil {
		return nil, err
	}
	in.what = fmt.Sprintf("%s of %s, %s", counted(len(c.documents), "document"),
		counted(len(c.words), "different word"), counted(int(c.tokens), "token"))
	most := int(min(c.tokens, math.MaxInt32))
	t := &task{
		what:     "latent Dirichlet allocation",
		columns:  named(in.Names),
		largest:  min(topicsByDefault, most),
		doubleTo: len(c.documents),
	}
	t.checkSize = func(k int) error {
		if k > most {
			return fmt.Errorf("%d topics for %s: choose K up to %d", k, counted(most, "token"), most)
		}
		return nil
	}
	m := f.topicsModel()
	t.engine = &iterated[framework.Rows, *topics.Parameters, *topics.Statistics]{m, c.table,
		func(p *topics.Parameters, _ *topics.Statistics) (*result, error) {
			return c.result(m, p)
		}}
	return t, nil
}

// A corpus is documents as counts of words.
type corpus struct {
	documents, words []string
	table            *framework.SparseTable
	tokens           float64
	unknown          []float64 // tokens of each document that are no words of the vocabulary
}

// An occurrence is a row of the list.
type occurrence struct {
	document, word int
	count          float64
}

// corpusOf counts the words of a list. Where a vocabulary is given, others are left out.
func corpusOf(s *session, in *input, vocabulary []string) (*corpus, error) {
	c := &corpus{documents: in.list.Names[0], words: vocabulary, unknown: make([]float64, len(in.list.Names[0]))}
	rows, err := occurrences(in)
	if err != nil {
		return nil, err
	}
	c.keepWords(s, in, rows)
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
		s.note("%s of %s %s a document and a word of another row: the counts are added up", counted(repeated, "row"),
			in.name, plural(repeated, "repeats", "repeat"))
	}
	if empty > 0 {
		s.note("%s of %s %s no words", counted(empty, "document"), in.name, plural(empty, "has", "have"))
	}
	if c.tokens == 0 && vocabulary == nil {
		return nil, errors.New("no word has a count above 0: there is nothing to fit")
	}
	c.table, err = framework.FromSparse(start, columns, counts, len(c.words))
	return c, err
}

// occurrences are the rows of the list, whose numbers must be counts.
func occurrences(in *input) ([]occurrence, error) {
	list := in.list
	rows := make([]occurrence, len(list.Index[0]))
	for i := range rows {
		n := list.Number(i)
		if n != math.Trunc(n) || n > 1<<53 {
			return nil, fmt.Errorf("row %d has the count %v: counts are whole numbers", in.Origin(i)+1, n)
		}
		rows[i] = occurrence{list.Index[0][i], list.Index[1][i], n}
	}
	return rows, nil
}

// keepWords gives words their places in the vocabulary: that of the model, where rows of other words get −1 and are
// counted, or the words that occur.
func (c *corpus) keepWords(s *session, in *input, rows []occurrence) {
	names, place := in.list.Names[1], make(map[string]int, len(c.words))
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
		s.note("left out %s of %s that never %s: %s", counted(len(left), "word"), in.name,
			plural(len(left), "occurs", "occur"), quoted(left))
	default:
		s.note("left out %s of %s that the model does not know, %s: %s", counted(len(left), "word"), in.name,
			counted(int(all), "token"), quoted(left))
	}
}

// wordsShown is how many words a topic is shown by, and relevanceOfWords the λ that ranks typical ones.
const (
	wordsShown       = 10
	relevanceOfWords = 0.6
)

// topicSummary is a topic in JSON.
type topicSummary struct {
	Share     number      `json:"share"`     // of all tokens
	Tokens    number      `json:"tokens"`    // expected
	Documents int         `json:"documents"` // of which it is the largest topic
	TopWords  []topicWord `json:"top_words"`
	Typical   []topicWord `json:"typical_words"`
}

type topicWord struct {
	Word        string `json:"word"`
	Probability number `json:"probability"`
	Lift        number `json:"lift"`
}

// result shows topics, the largest first.
func (c *corpus) result(m topics.Model, p *topics.Parameters) (*result, error) {
	order := upTo(0, p.K-1)
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(p.Tokens[j], p.Tokens[i]) })
	p = framework.KeepAxes(p, p.K, order)
	theta, err := m.Proportions(c.table.All(), p, nil)
	if err != nil {
		return nil, err
	}
	largest := make([]int, p.K)
	for d := range c.documents {
		if columns, _ := c.table.All().Entries.Row(d); len(columns) > 0 {
			largest[floats.MaxIdx(theta[d*p.K:(d+1)*p.K])]++
		}
	}
	words := func(k int, lambda, lift float64) (list []topicWord) {
		for _, w := range p.TopWords(k, wordsShown, lambda) {
			if w.Lift < lift {
				continue
			}
			list = append(list, topicWord{c.words[w.Column], number(w.Probability), number(w.Lift)})
		}
		return list
	}
	v := &topicsView{p: p, words: c.words}
	for k, share := range p.Shares() {
		v.topics = append(v.topics,
			topicSummary{number(share), number(p.Tokens[k]), largest[k], words(k, 1, 0), words(k, relevanceOfWords, 1)})
	}
	how := "estimated"
	if !m.Estimate {
		how = "given"
	}
	r := &result{
		k:      p.K,
		params: builtin.Documents{Parameters: p, Vocabulary: c.words, Length: c.tokens / float64(len(c.documents))},
		topics: v.topics,
		print:  v.print,
	}
	r.facts = [][2]string{{"concentrations", fmt.Sprintf("%.4g of each topic in a document, %.4g of each word in a "+
		"topic (%s)", p.Alpha, p.Beta, how)}}
	r.finding, r.sections = v.finding, func(*input) ([]report.Section, error) { return v.sections(), nil }
	r.doubts = v.twins()
	return r, nil
}

// twins warns of topics whose words are the same, which stand for one topic.
func (v *topicsView) twins() (doubts []error) {
	const same = 0.01 // in total variation
	words := v.p.Topics(nil)
	for k := range v.p.K {
		for l := range k {
			distance := 0.0
			for w := range v.words {
				distance += math.Abs(words[w*v.p.K+k]-words[w*v.p.K+l]) / 2
			}
			if distance < same {
				return []error{fmt.Errorf("topics %d and %d have the same words, to %.2g in total variation: there "+
					"are fewer topics than %d, so give --k or --kmax", l+1, k+1, same, v.p.K)}
			}
		}
	}
	return nil
}

// topicsView shows topics in text and on the page.
type topicsView struct {
	p      *topics.Parameters
	words  []string
	topics []topicSummary
}

func (t topicSummary) typical() string {
	var list []string
	for _, w := range t.Typical {
		list = append(list, short(w.Word))
	}
	return strings.Join(list, ", ")
}

func (v *topicsView) print(out *page) {
	out.line("")
	out.prose(0, "Topics, the largest first: share of the tokens, documents of which it is the largest topic, and "+
		"typical words, probable in the topic and more than elsewhere (the most probable are in --format json):")
	out.line("")
	for k, t := range v.topics[:min(len(v.topics), mostRows)] {
		head := fmt.Sprintf("%3d %9s %6d  ", k+1, percent(float64(t.Share)), t.Documents)
		out.prose(len(head), "%s%s", head, t.typical())
	}
	if more := len(v.topics) - mostRows; more > 0 {
		out.line("… (%d more: --format json has all)", more)
	}
}

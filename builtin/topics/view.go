package topics

import (
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/topics"
	"github.com/latent-go/latent/report"
)

const (
	mostWords  = 10  // a topic is shown by
	relevance  = 0.6 // the λ that ranks typical words
	mostTopics = 30  // whose words the page lists
)

// summary is a topic in JSON.
type summary struct {
	Share     fitted.Number `json:"share"`     // of all tokens
	Tokens    fitted.Number `json:"tokens"`    // expected
	Documents int           `json:"documents"` // of which it is the largest topic
	TopWords  []word        `json:"top_words"`
	Typical   []word        `json:"typical_words"`
}

type word struct {
	Word        string        `json:"word"`
	Probability fitted.Number `json:"probability"`
	Lift        fitted.Number `json:"lift"`
}

// found are the topics of a fit, the largest first.
func (c *corpus) found(m topics.Model, p *topics.Parameters) (*documents, error) {
	order := wording.ByValue(p.Tokens, wording.UpTo(0, p.K-1))
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
	words := func(k int, lambda, lift float64) (list []word) {
		for _, w := range p.TopWords(k, mostWords, lambda) {
			if w.Lift >= lift {
				list = append(list, word{c.words[w.Column], fitted.Number(w.Probability), fitted.Number(w.Lift)})
			}
		}
		return list
	}
	f := &documents{Parameters: p, Vocabulary: c.words, Length: c.tokens / float64(len(c.documents)),
		estimated: m.Estimate}
	for k, share := range p.Shares() {
		f.topics = append(f.topics, summary{fitted.Number(share), fitted.Number(p.Tokens[k]), largest[k],
			words(k, 1, 0), words(k, relevance, 1)})
	}
	f.ready()
	return f, nil
}

// Params are the counts of the topics, and the words.
func (m *documents) Params() any { return m }

// Fields are the topics.
func (m *documents) Fields() any {
	return struct {
		Topics []summary `json:"topics"`
	}{m.topics}
}

// Doubts report topics with the same words, which represent one topic.
func (m *documents) Doubts() []error {
	const same = 0.01 // in total variation
	words := m.Topics(nil)
	for k := range m.K {
		for l := range k {
			distance := 0.0
			for w := range m.Words {
				distance += math.Abs(words[w*m.K+k]-words[w*m.K+l]) / 2
			}
			if distance < same {
				return []error{fmt.Errorf("topics %d and %d have the same words, to %.2g in total variation: there "+
					"are fewer topics than %d, so give --k or --kmax", l+1, k+1, same, m.K)}
			}
		}
	}
	return nil
}

// typical are the words that a topic is shown by.
func (t summary) typical() string {
	var list []string
	for _, w := range t.Typical {
		list = append(list, wording.Isolated(report.Printable(w.Word)))
	}
	return strings.Join(list, ", ")
}

// Describe shows the number of topics, and for each topic its share of the tokens and its words.
func (m *documents) Describe() (*fitted.Description, error) {
	how := "given"
	if m.estimated {
		how = "estimated"
	}
	shown := m.topics[:min(len(m.topics), mostTopics)]
	d := &fitted.Description{Facts: [][2]string{{"concentrations", fmt.Sprintf("%.4g of each topic in a document, "+
		"%.4g of each word in a topic (%s)", m.Alpha, m.Beta, how)}}}
	d.Finding.Text = fmt.Sprintf("%s, the largest with %s of the tokens. The words listed are probable in a topic, and "+
		"more probable there than elsewhere (relevance with λ = %v): the lift is how many times as often.",
		wording.Capital(wording.Counted(m.K, "topic")), report.Percentage(float64(m.topics[0].Share)), relevance)
	d.Omitted = wording.LeftOut(m.K-len(shown), "smaller topic", "")
	for k, t := range shown {
		d.Finding.Items = append(d.Finding.Items, report.Item{Group: k, Name: fmt.Sprintf("Topic %d", k+1),
			Share: float64(t.Share), Size: fmt.Sprintf("%s of the tokens, the largest of %s",
				report.Percentage(float64(t.Share)), wording.Counted(t.Documents, "document")), Text: t.typical()})
		d.Sections = append(d.Sections, t.words(k))
	}
	d.Sections = append(d.Sections, m.sizes())
	return d, nil
}

// sizes are the shares of the topics, and the documents by their largest topic.
func (m *documents) sizes() report.Section {
	table := report.Table{Caption: "topics", Long: true,
		Columns: report.Columns("topic", "share of the tokens", "documents of which it is the largest")}
	for k, t := range m.topics {
		table.Add(k+1, report.Share(t.Share), t.Documents)
	}
	return report.Section{Title: "Sizes of the topics", Tables: []report.Table{table}, Figure: report.Chart{
		Title: "Sizes of the topics", XName: "topic", Names: wording.Numbered("", m.K),
		About: fmt.Sprintf("The %s, the largest first.", wording.Counted(m.K, "topic")),
		Panels: []report.Panel{
			{Name: "share of the tokens", Bars: true, Height: 160, Series: table.Series("share", 1)},
			{Name: "documents, by their largest topic", Bars: true, Integer: true, Height: 120,
				Series: table.Series("documents", 2)},
		},
	}}
}

// words are the typical words of topic k: their probabilities in it, and in all documents. A probability's colour is
// relative to the largest.
func (t summary) words(k int) report.Section {
	table := report.Table{Caption: fmt.Sprintf("typical words of topic %d", k+1), Open: true, Long: true,
		Columns: report.Columns("word", "in the topic", "in all documents", "lift")}
	most, all := 0.0, 0.0
	for _, w := range t.Typical {
		most, all = max(most, float64(w.Probability)), all+float64(w.Probability)
	}
	for _, w := range t.Typical {
		p := float64(w.Probability)
		table.Add(w.Word, report.Shaded(report.Share(p), p/most),
			report.Shaded(report.Share(w.Probability/w.Lift), p/float64(w.Lift)/most), float64(w.Lift))
	}
	return report.Section{Title: fmt.Sprintf("Topic %d", k+1), Tables: []report.Table{table},
		Text: fmt.Sprintf("%s of the tokens; these words are %s of them.",
			report.Percentage(float64(t.Share)), report.Percentage(all))}
}

package command

import (
	"fmt"
	"strings"

	"github.com/latent-go/latent/report"
)

// mostTopics bounds the topics whose words the page lists.
const mostTopics = 30

// finding says how many topics there are, and of each how much is about it and in which words.
func (v *topicsView) finding(*input) (list report.Section, err error) {
	shown := v.topics[:min(len(v.topics), mostTopics)]
	list.Text = fmt.Sprintf("%s, the largest with %s of the tokens. The words named are probable in a topic, and "+
		"more probable there than elsewhere (relevance with λ = %v): the lift is how many times as often.",
		capital(counted(len(v.topics), "topic")), report.Percentage(float64(v.topics[0].Share)), relevanceOfWords) +
		leftOut(len(v.topics)-len(shown), "smaller topic", "")
	for k, t := range shown {
		var words []string
		for _, w := range t.Typical {
			words = append(words, isolated(report.Printable(w.Word)))
		}
		list.Items = append(list.Items, report.Item{Group: k, Name: fmt.Sprintf("Topic %d", k+1), Share: float64(t.Share),
			Size: fmt.Sprintf("%s of the tokens, the largest of %s", report.Percentage(float64(t.Share)),
				counted(t.Documents, "document")), Text: strings.Join(words, ", ")})
	}
	return list, nil
}

// sections show the words of each topic, and the sizes of the topics.
func (v *topicsView) sections() (list []report.Section) {
	for k := range v.topics[:min(len(v.topics), mostTopics)] {
		list = append(list, v.wordsOf(k)...)
	}
	return append(list, v.sizes()...)
}

// sizes are the shares of the topics, and the documents by their largest topic.
func (v *topicsView) sizes() []report.Section {
	table := report.Table{
		Caption: "topics", Columns: report.Columns("topic", "share of the tokens", "documents of which it is the largest"),
	}
	for k, t := range v.topics {
		table.Add(k+1, report.Share(t.Share), t.Documents)
	}
	chart := report.Chart{
		Title: "Sizes of the topics", XName: "topic", Names: numbered("", len(v.topics)),
		About: fmt.Sprintf("The %s, the largest first.", counted(len(v.topics), "topic")),
		Panels: []report.Panel{
			{Name: "share of the tokens", Bars: true, Height: 160, Series: table.Series("share", 1)},
			{
				Name:    "documents, by their largest topic",
				Bars:    true,
				Integer: true,
				Height:  120,
				Series:  table.Series("documents", 2),
			},
		},
	}
	return section(chart.Title, chart, table)
}

// wordsOf are the typical words of a topic: their probabilities in it, and in all documents. A probability's colour is
// relative to the largest.
func (v *topicsView) wordsOf(k int) []report.Section {
	t := v.topics[k]
	table := report.Table{
		Caption: fmt.Sprintf("typical words of topic %d", k+1),
		Columns: report.Columns("word", "in the topic", "in all documents", "lift"),
		Open:    true,
	}
	most, all := 0.0, 0.0
	for _, w := range t.Typical {
		most, all = max(most, float64(w.Probability)), all+float64(w.Probability)
	}
	for _, w := range t.Typical {
		p := float64(w.Probability)
		table.Add(w.Word, report.Shaded(report.Share(p), p/most),
			report.Shaded(report.Share(w.Probability/w.Lift), p/float64(w.Lift)/most), float64(w.Lift))
	}
	list := section(fmt.Sprintf("Topic %d", k+1), nil, table)
	list[0].Text = fmt.Sprintf("%s of the tokens; these words are %s of them.",
		report.Percentage(float64(t.Share)), report.Percentage(all))
	return list
}

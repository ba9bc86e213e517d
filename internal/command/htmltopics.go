package command

import (
	"fmt"
	"strings"

	"github.com/latent-go/latent/internal/htmlreport"
)

// mostTopics bounds the topics whose words the page lists.
const mostTopics = 30

// finding says how many topics there are, and of each how much is about it and in which words.
func (v *topicsView) finding(*input) (list htmlreport.Section, err error) {
	shown := v.topics[:min(len(v.topics), mostTopics)]
	list.Text = fmt.Sprintf("%s, the largest with %s of the tokens. The words named are probable in a topic, and more probable there than elsewhere (relevance with λ = %v): the lift is how many times as often.",
		capital(counted(len(v.topics), "topic")), percentage(float64(v.topics[0].Share)), relevanceOfWords) + leftOut(len(v.topics)-len(shown), "smaller topic", "")
	for k, t := range shown {
		var words []string
		for _, w := range t.Typical {
			words = append(words, isolated(printable(w.Word)))
		}
		list.Items = append(list.Items, htmlreport.Item{Group: k, Name: fmt.Sprintf("Topic %d", k+1), Share: float64(t.Share),
			Size: fmt.Sprintf("%s of the tokens, the largest of %s", percentage(float64(t.Share)), counted(t.Documents, "document")), Text: strings.Join(words, ", ")})
	}
	return list, nil
}

// sections show the words of each topic, and the sizes of the topics.
func (v *topicsView) sections() (list []htmlreport.Section) {
	for k := range v.topics[:min(len(v.topics), mostTopics)] {
		list = append(list, v.wordsOf(k)...)
	}
	return append(list, v.sizes()...)
}

// sizes are the shares of the topics, and the documents by their largest topic.
func (v *topicsView) sizes() []htmlreport.Section {
	table := sheet{caption: "topics", heads: []string{"topic", "share of the tokens", "documents of which it is the largest"}}
	for k, t := range v.topics {
		table.add(k+1, share(t.Share), t.Documents)
	}
	chart := htmlreport.Chart{
		Title: "Sizes of the topics", XName: "topic", Names: numbered("", len(v.topics)),
		About: fmt.Sprintf("The %s, the largest first.", counted(len(v.topics), "topic")),
		Panels: []htmlreport.Panel{
			{Name: "share of the tokens", Bars: true, Height: 160, Series: table.series("share", 1)},
			{Name: "documents, by their largest topic", Bars: true, Integer: true, Height: 120, Series: table.series("documents", 2)},
		},
	}
	return section(chart.Title, chart.Figure(), &table)
}

// wordsOf are the typical words of a topic: their probabilities in it, and in all documents. A probability's colour is relative to the
// largest.
func (v *topicsView) wordsOf(k int) []htmlreport.Section {
	t := v.topics[k]
	table := sheet{caption: fmt.Sprintf("typical words of topic %d", k+1), heads: []string{"word", "in the topic", "in all documents", "lift"}, open: true}
	most, all := 0.0, 0.0
	for _, w := range t.Typical {
		most, all = max(most, float64(w.Probability)), all+float64(w.Probability)
	}
	for _, w := range t.Typical {
		p := float64(w.Probability)
		table.add(w.Word, shaded{share(p), p / most}, shaded{share(w.Probability / w.Lift), p / float64(w.Lift) / most}, float64(w.Lift))
	}
	list := section(fmt.Sprintf("Topic %d", k+1), nil, &table)
	list[0].Text = fmt.Sprintf("%s of the tokens; these words are %s of them.", percentage(float64(t.Share)), percentage(all))
	return list
}

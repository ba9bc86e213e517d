package main

import (
	"fmt"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/internal/htmlreport"
)

// mostTopics bounds the topics whose words the page draws.
const mostTopics = 30

// sections show the sizes of the topics, and the words of each.
func (v *topicsView) sections() []htmlreport.Section {
	list := v.sizes()
	for k := range v.topics[:min(len(v.topics), mostTopics)] {
		list = append(list, v.wordsOf(k)...)
	}
	return list
}

// sizes are the shares of the topics, and the documents by their largest topic.
func (v *topicsView) sizes() []htmlreport.Section {
	table := sheet{caption: "topics", heads: []string{"topic", "share of the tokens", "documents of which it is the largest", "typical words"}, open: true}
	for k, t := range v.topics {
		table.add(k+1, t.Share, t.Documents, t.typical())
	}
	chart := htmlreport.Chart{
		Title: "Sizes of the topics", XName: "topic", Names: numbered("", len(v.topics)),
		About: fmt.Sprintf("The %s, the largest first. Typical words are probable in the topic, and more probable than elsewhere (relevance with λ = %v).", counted(len(v.topics), "topic"), relevanceOfWords),
		Panels: []htmlreport.Panel{
			{Name: "share of the tokens", Bars: true, Height: 160, Series: table.series("share", 1)},
			{Name: "documents, by their largest topic", Bars: true, Integer: true, Height: 120, Series: table.series("documents", 2)},
		},
	}
	return section(chart.Title, chart.Figure(), &table)
}

// wordsOf are the typical words of a topic: their probabilities in it, and in all documents.
func (v *topicsView) wordsOf(k int) []htmlreport.Section {
	t := v.topics[k]
	table := sheet{caption: "typical words", heads: []string{"word", "probability in the topic", "in all documents", "lift"}}
	names := make([]string, len(t.Typical))
	for i, w := range t.Typical {
		names[i] = printable(w.Word)
		table.add(w.Word, w.Probability, w.Probability/w.Lift, w.Lift)
	}
	chart := htmlreport.Chart{
		Title: fmt.Sprintf("Topic %d", k+1), XName: "word", Names: names,
		About: fmt.Sprintf("%s of the tokens. The words are %s of the topic, beside their shares of all documents.", percent(float64(t.Share)), percent(floats.Sum(table.column(1)))),
		Panels: []htmlreport.Panel{{Name: "probability", Bars: true, Height: 200,
			Series: append(table.series("in the topic", 1), table.series("in all documents", 2)...)}},
	}
	return section(chart.Title, chart.Figure(), &table)
}

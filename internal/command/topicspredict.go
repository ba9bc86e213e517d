package command

import (
	"fmt"
	"io"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/models/topics"
)

// topicPrediction is what a topic model says of documents, as --format json writes it.
type topicPrediction struct {
	Documents   []string   `json:"documents"`
	Topic       []int      `json:"topic"`
	Probability []number   `json:"probability"`
	Proportions [][]number `json:"proportions"`
	Tokens      []number   `json:"tokens"`
	Unknown     []number   `json:"unknown_tokens"`
	Perplexity  number     `json:"perplexity"`
	Warnings    []string   `json:"warnings"`
}

// halvesSeed is the seed of the halves that the perplexity is taken of: the same documents have the same.
const halvesSeed = 1

// documents writes the topics of the documents of a list.
func (c *predictCommand) documents(s *session, m *modelFile, model *builtin.Documents) error {
	if len(c.ID) > 0 {
		return misused("--id cannot be used with a topics model: its predictions begin with the names of the documents")
	}
	numbersOf := m.Settings.Weights
	in, err := c.openTriples(s, c.Data, numbersOf)
	if err != nil {
		return err
	}
	docs, err := corpusOf(s, in, model.Vocabulary)
	if err != nil {
		return in.wrap(err)
	}
	table, err := m.score(docs.table.All())
	if err != nil {
		return in.wrap(err)
	}
	said := topicPrediction{
		Documents:  docs.documents,
		Unknown:    numbers(docs.unknown),
		Perplexity: number(math.NaN()),
		Warnings:   append([]string{}, s.notes...),
	}
	if v, err := (topics.Model{}).Perplexity(s, docs.table, model.Parameters, halvesSeed); err == nil {
		said.Perplexity = number(v)
	}
	for d := range docs.documents {
		row := table[d*m.layout.Width() : (d+1)*m.layout.Width()]
		_, counts := docs.table.All().Entries.Row(d)
		said.Topic, said.Probability = append(said.Topic, int(row[0])), append(said.Probability, number(row[1]))
		said.Proportions, said.Tokens = append(said.Proportions, numbers(row[2:])),
			append(said.Tokens, number(floats.Sum(counts)))
	}
	if c.Format == "json" {
		return s.emit(c.Out, func(w io.Writer) error { return writeJSON(w, said) })
	}
	if err := s.emitTable(c.Out, topicHeads(m.K), said.write); err != nil {
		return err
	}
	w := s.stderr
	if c.Out != "" && c.Out != "-" {
		w = s.stdout
	}
	_, err = fmt.Fprintf(w, "perplexity: %s (of half of each document's tokens, given the other half)\n",
		digits(float64(said.Perplexity)))
	return err
}

func topicHeads(k int) []data.Head {
	heads := []data.Head{{Name: "document", Cells: data.Texts}, {Name: "topic", Cells: data.Integers}}
	return append(heads,
		data.Heads(slices.Concat([]string{"probability"}, numbered("topic ", k), []string{"tokens", "unknown_tokens"}))...)
}

func (said *topicPrediction) write(to data.Writer) error {
	var numbers []float64
	for d, proportions := range said.Proportions {
		numbers = append(numbers, float64(said.Topic[d]), float64(said.Probability[d]))
		for _, v := range proportions {
			numbers = append(numbers, float64(v))
		}
		numbers = append(numbers, float64(said.Tokens[d]), float64(said.Unknown[d]))
	}
	return to.Write(said.Documents, numbers)
}

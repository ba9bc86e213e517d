package topics_test

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/topics"
)

// Documents about the sea or about the town, of words counted by their places in a vocabulary.
func Example() {
	vocabulary := []string{"wave", "ship", "gull", "tram", "lamp", "roof"}
	var start, words []int
	var counts []float64
	for i := range 60 {
		start = append(start, len(words))
		for j := range 3 {
			words, counts = append(words, i%2*3+j), append(counts, float64(2+(i+j)%3))
		}
	}
	documents, err := blocks.FromSparse(append(start, len(words)), words, counts, len(vocabulary))
	if err != nil {
		panic(err)
	}
	res, err := framework.Fit(context.Background(), topics.Model{}, documents, framework.Options{K: 4, Method: framework.PrunedEM})
	if err != nil {
		panic(err)
	}
	p := res.Parameters
	for k := range p.K {
		fmt.Printf("%.2f of the tokens:", p.Shares()[k])
		for _, word := range p.TopWords(k, 3, 1) {
			fmt.Printf(" %s %.2f", vocabulary[word.Column], word.Probability)
		}
		fmt.Println()
	}
	// Output:
	// 0.50 of the tokens: tram 0.33 lamp 0.33 roof 0.33
	// 0.50 of the tokens: wave 0.33 ship 0.33 gull 0.33
}

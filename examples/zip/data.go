package zip

import (
	"github.com/latent-go/latent/framework/blocks"
)

// articles[x] is how many of 915 doctoral students in biochemistry published x articles in the last three years of
// their studies: J. S. Long (1990), The origins of sex differences in science, Social Forces 68, 1297–1316; the column
// art of bioChemists in R's package pscl (GPL-2).
var articles = [...]float64{275, 246, 178, 84, 67, 27, 17, 12, 1, 2, 1, 1, 2, 0, 0, 0, 1, 0, 0, 1}

// Articles returns the counts of articles, each with its frequency as weight.
func Articles() (*blocks.Table, error) {
	var x, weights []float64
	for count, students := range articles {
		x, weights = append(x, float64(count)), append(weights, students)
	}
	table, err := blocks.FromSlice(x, len(x), 1)
	if err != nil {
		return nil, err
	}
	return table.WithWeights(weights)
}

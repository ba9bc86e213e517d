package mixture

import (
	"fmt"
	"math"

	"github.com/latent-go/latent/prior"
)

// wrongPrior says which prior a family takes.
func wrongPrior(p prior.Prior, name string, takes ...prior.Prior) error {
	text := ""
	for i, t := range takes {
		if i > 0 {
			text += " or "
		}
		text += fmt.Sprintf("%T", t)
	}
	return fmt.Errorf("mixture: %s has no conjugate prior %T: take %s", name, p, text)
}

// factorials holds ln n! for the counts that are frequent.
var factorials = func() (table [256]float64) {
	for n := range table {
		table[n], _ = math.Lgamma(float64(n) + 1)
	}
	return table
}()

// logFactorial is ln n! for a count n.
func logFactorial(n float64) float64 {
	if n < float64(len(factorials)) {
		return factorials[int(n)]
	}
	v, _ := math.Lgamma(n + 1)
	return v
}

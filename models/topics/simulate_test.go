package topics

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
)

// A law is what documents are simulated from.
type law struct {
	topics, words, documents int
	length, alpha, beta      float64
}

// dirichlet draws from a symmetric Dirichlet distribution.
func dirichlet(n int, a float64, rng *rand.Rand) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = distuv.Gamma{Alpha: a, Beta: 1, Src: rng}.Rand()
	}
	floats.Scale(1/floats.Sum(x), x)
	return x
}

// simulate draws documents, and the topics that they come from, topics×words.
func (l law) simulate(seed uint64) (*blocks.SparseTable, [][]float64) {
	rng := rand.New(rand.NewPCG(seed, 16))
	phi := make([][]float64, l.topics)
	for k := range phi {
		phi[k] = dirichlet(l.words, l.beta, rng)
	}
	var rows entries
	for range l.documents {
		theta := dirichlet(l.topics, l.alpha, rng)
		tokens := make([]int, int(distuv.Poisson{Lambda: l.length, Src: rng}.Rand()))
		for i := range tokens {
			tokens[i] = categorical.Draw(phi[categorical.Draw(theta, rng)], rng)
		}
		rows.add(tokens)
	}
	t, err := rows.table(l.words, nil)
	if err != nil {
		panic(err)
	}
	return t, phi
}

// distances are those of each topic in total variation from the nearest one of p.
func distances(phi [][]float64, p *Parameters) []float64 {
	list, found := make([]float64, len(phi)), p.Topics(nil)
	for i, topic := range phi {
		list[i] = 1
		for k := range p.K {
			sum := 0.0
			for w, v := range topic {
				sum += math.Abs(v-found[w*p.K+k]) / 2
			}
			list[i] = min(list[i], sum)
		}
	}
	return list
}

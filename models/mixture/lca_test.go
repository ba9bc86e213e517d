package mixture_test

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/mixture"
)

// survey writes a CSV table of answers from a latent class model, some of them missing.
func survey(n, classes, items, levels int, missing float64, seed uint64) string {
	rng := rand.New(rand.NewPCG(seed, 3))
	p := make([]float64, classes*items*levels)
	for i := range p {
		p[i] = math.Pow(rng.ExpFloat64(), 1.5)
	}
	var text strings.Builder
	for j := range items {
		fmt.Fprintf(&text, ",q%d", j+1)
	}
	header := strings.TrimPrefix(text.String(), ",") + "\n"
	text.Reset()
	text.WriteString(header)
	for range n {
		class := rng.IntN(classes)
		for j := range items {
			level := categorical.Draw(p[(class*items+j)*levels:][:levels], rng)
			answer := []string{"never", "seldom", "often", "always"}[level]
			if rng.Float64() < missing {
				answer = ""
			}
			if j > 0 {
				answer = "," + answer
			}
			text.WriteString(answer)
		}
		text.WriteString("\n")
	}
	return text.String()
}

// answers are the codes of a table whose columns are all categorical, NaN where missing.
func answers(t *testing.T, csv string) (table *blocks.Table, x []float64, levels []int) {
	t.Helper()
	text, err := data.Read(strings.NewReader(csv), data.CSVOptions{Header: data.HeaderYes})
	require.NoError(t, err)
	for _, name := range text.Names {
		text, err = text.Factor(name, nil, false)
		require.NoError(t, err)
		levels = append(levels, len(text.Levels(name)))
	}
	x, n, d, err := text.Values()
	require.NoError(t, err)
	return source(t, x, n, d), x, levels
}

// TestLatentClassAnalysisFindsTheBestMaximum that random starts of a plain EM find: ten thousand at night, 96 in 100 of which do, and
// otherwise thirty.
func TestLatentClassAnalysisFindsTheBestMaximum(t *testing.T) {
	starts := tier.Of(30, 30, 10000)
	for _, c := range []struct {
		n, classes, items, levels int
		missing                   float64
		seed                      uint64
	}{
		{500, 3, 5, 3, 0.05, 1},
		{600, 2, 6, 2, 0.1, 2},
		{500, 4, 4, 4, 0.02, 3},
	} {
		csv := survey(c.n, c.classes, c.items, c.levels, c.missing, c.seed)
		table, x, levels := answers(t, csv)
		var product family.Product
		for _, l := range levels {
			product = append(product, family.Categorical{Levels: l})
		}
		res := fit(t, mixture.Model{Family: product, Start: family.RandomResponsibilities}, table.Distinct(), framework.Options{
			K: c.classes, Method: framework.EM, Restarts: 50, Tolerance: 1e-10, Criterion: framework.ELBO})
		best, found := reference(x, c.items, levels, c.classes, starts)
		t.Logf("%d rows (%d different), %d items of %d levels, K = %d: ln p(X) = %.6f, the reference's best %.6f, found by %d of its %d starts",
			c.n, table.Distinct().Rows(), c.items, c.levels, c.classes, res.Value, best, found, starts)
		assert.Greater(t, res.Value, best-1e-5)
	}
}

// reference is EM for latent classes as a textbook has it, from random starts; it
// returns the best log-likelihood and how many starts came within 0.1 of it when they hardly rose any more. It shares
// nothing with the package.
func reference(x []float64, items int, levels []int, classes, starts int) (best float64, found int) {
	patterns, weights := map[string]int{}, []float64{}
	var rows [][]int
	for i := 0; i < len(x); i += items {
		codes := make([]int, items)
		for j := range codes {
			codes[j] = -1
			if v := x[i+j]; v == v {
				codes[j] = int(v)
			}
		}
		key := fmt.Sprint(codes)
		if _, ok := patterns[key]; !ok {
			patterns[key] = len(rows)
			rows, weights = append(rows, codes), append(weights, 0)
		}
		weights[patterns[key]]++
	}
	values := make([]float64, starts)
	var wg sync.WaitGroup
	for w := range runtime.GOMAXPROCS(0) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for start := w; start < starts; start += runtime.GOMAXPROCS(0) {
				values[start] = plainEM(rows, weights, levels, classes, 1e-4, rand.New(rand.NewPCG(99, uint64(start))))
			}
		}()
	}
	wg.Wait()
	order := make([]int, starts)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return cmp.Compare(values[b], values[a]) })
	best = math.Inf(-1)
	for _, start := range order[:20] { // to the end
		best = max(best, plainEM(rows, weights, levels, classes, 1e-9, rand.New(rand.NewPCG(99, uint64(start)))))
	}
	for _, v := range values {
		if v > best-0.1 {
			found++
		}
	}
	return best, found
}

func plainEM(rows [][]int, weights []float64, levels []int, classes int, tolerance float64, rng *rand.Rand) float64 {
	const most = 4
	class := make([]float64, classes)
	p := make([]float64, classes*len(levels)*most)
	for k := range class {
		class[k] = 1 / float64(classes)
		for j, l := range levels {
			sum := 0.0
			row := p[(k*len(levels)+j)*most:][:l]
			for i := range row {
				row[i] = 0.05 + rng.ExpFloat64()
				sum += row[i]
			}
			for i := range row {
				row[i] /= sum
			}
		}
	}
	q, sums, counts := make([]float64, classes), make([]float64, len(p)), make([]float64, classes)
	last := math.Inf(-1)
	for range 20000 {
		clear(sums)
		clear(counts)
		value, n := 0.0, 0.0
		for i, codes := range rows {
			total := 0.0
			for k := range q {
				q[k] = class[k]
				for j, code := range codes {
					if code >= 0 {
						q[k] *= p[(k*len(levels)+j)*most+code]
					}
				}
				total += q[k]
			}
			value += weights[i] * math.Log(total)
			n += weights[i]
			for k := range q {
				r := weights[i] * q[k] / total
				counts[k] += r
				for j, code := range codes {
					if code >= 0 {
						sums[(k*len(levels)+j)*most+code] += r
					}
				}
			}
		}
		for k := range class {
			class[k] = counts[k] / n
			for j, l := range levels {
				row, from := p[(k*len(levels)+j)*most:][:l], sums[(k*len(levels)+j)*most:][:l]
				sum := 0.0
				for _, v := range from {
					sum += v
				}
				for i, v := range from {
					row[i] = v / sum
				}
			}
		}
		if value-last < tolerance {
			return value
		}
		last = value
	}
	return last
}

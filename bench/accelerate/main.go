// Command accelerate counts the passes over the data that [framework.Options].Accelerate saves, and prints
// them as a table in Markdown:
//
//	cd bench && go run ./accelerate
//
// Nothing in it depends on the machine.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/models/vbmf"
)

func main() {
	log.SetFlags(0)
	list, err := workloads()
	if err != nil {
		log.Fatal(err)
	}
	for _, tolerance := range []float64{framework.DefaultTolerance, 1e-5} {
		fmt.Printf("\n| tolerance %.0e | fits | passes, plain | accelerated | saved | K | nats gained |\n| --- | --- "+
			"| --- | --- | --- | --- | --- |\n", tolerance)
		for _, w := range list {
			line, err := w.compare(tolerance)
			if err != nil {
				log.Fatalf("%s: %v", w.name, err)
			}
			fmt.Println(line)
		}
	}
}

// A workload is a fit from several starts.
type workload struct {
	name   string
	starts int
	k      int
	method framework.Method
	fit    func(o framework.Options) (outcome, error)
}

type outcome struct {
	k, passes int
	value     float64
	status    framework.Status
}

// compare fits without and with acceleration.
func (w workload) compare(tolerance float64) (string, error) {
	var passes [2]int
	var sizes [2][]int
	var gains []float64
	limited := ""
	for seed := range uint64(w.starts) {
		var both [2]outcome
		for i, accelerate := range []bool{false, true} {
			var err error
			if both[i], err = w.fit(
				framework.Options{K: w.k, Method: w.method, Tolerance: tolerance, Seed: seed, Accelerate: accelerate},
			); err != nil {
				return "", err
			}
			passes[i] += both[i].passes
			if !slices.Contains(sizes[i], both[i].k) {
				sizes[i] = append(sizes[i], both[i].k)
			}
			if both[i].status == framework.IterationLimit {
				limited = " (the limit of iterations)"
			}
		}
		gains = append(gains, both[1].value-both[0].value)
	}
	k := fmt.Sprint(sizes[0][0])
	if !slices.Equal(sizes[0], sizes[1]) || len(sizes[0]) > 1 {
		k = fmt.Sprintf("%v, %v", sizes[0], sizes[1])
	}
	gained := fmt.Sprintf("%+.1e", slices.Min(gains))
	if w.starts > 1 {
		gained = fmt.Sprintf("%+.1e to %+.1e", slices.Min(gains), slices.Max(gains))
	}
	return fmt.Sprintf("| %s | %d | %d%s | %d | %.0f %% | %s | %s |", w.name, w.starts, passes[0], limited, passes[1],
		100*(1-float64(passes[1])/float64(passes[0])), k, gained), nil
}

// of makes a fit of a model.
func of[B, P any, S framework.Statistics[S]](
	m framework.Model[B, P, S], src framework.Source[B],
) func(o framework.Options) (outcome, error) {
	return func(o framework.Options) (outcome, error) {
		res, err := framework.Fit(context.Background(), m, src, o)
		if err != nil {
			return outcome{}, err
		}
		return outcome{res.Shape.K, res.Passes, res.Value, res.Status}, nil
	}
}

func workloads() ([]workload, error) {
	faithful, err1 := numbers("faithful")
	iris, err2 := numbers("iris")
	satellite, err3 := numbers("satellite")
	votes, err4 := answers()
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return nil, err
	}
	moments, err := lineargaussian.Summarize(context.Background(), satellite, 0)
	if err != nil {
		return nil, err
	}
	gaussian, bernoulli := mixture.Model{Family: normal.Family{}}, mixture.Model{Family: family.Bernoulli{}}
	em, gfab := framework.EM, framework.GFAB
	return []workload{
		{"Gaussian mixture by EM, K = 3, faithful", 5, 3, em, of(gaussian, faithful)},
		{"Gaussian mixture by EM, K = 3, iris", 5, 3, em, of(gaussian, iris)},
		{"Gaussian mixture by EM, K = 6, satellite", 1, 6, em, of(gaussian, satellite)},
		{"Gaussian mixture, mode (MAP), K = 6, iris", 5, 6, em, of(mixture.MAP{Model: gaussian}, iris)},
		{"Gaussian mixture, variational, K = 6, iris", 5, 6, em, of(mixture.Variational{Family: normal.Family{}}, iris)},
		{"Bernoulli mixture by EM, K = 4, house votes", 5, 4, em, of(bernoulli, votes)},
		{"Bernoulli mixture, variational, K = 8, house votes", 5, 8, em, of(mixture.Variational{Family: family.Bernoulli{}},
			votes)},
		{"latent classes by EM, 2,000 × 8, K = 3", 5, 3, em, of(bernoulli, classes(2000, 8, 3))},
		{"choosing K by gFAB from 8, faithful", 5, 8, gfab, of(gaussian, faithful)},
		{"choosing K by gFAB from 8, house votes", 5, 8, gfab, of(bernoulli, votes)},
		{"choosing K by gFAB from 20, 20,000 × 5, six components", 3, 20, gfab, of(gaussian, clusters(20000, 5, 6))},
		{"PPCA by EM, K = 10, satellite", 5, 10, em, of(bpca.Compressed{}, moments.Source())},
		{"BPCA by gFAB from 35, satellite", 3, 35, gfab, of(bpca.Compressed{}, moments.Source())},
		{"BPCA, variational, K = 10, satellite", 3, 10, em, of(bpca.CompressedVariational{}, moments.Source())},
		{"BPCA, variational, K = 26, satellite", 1, 26, em, of(bpca.CompressedVariational{}, moments.Source())},
		{"variational matrix factorisation, 60 × 40, K = 10", 3, 10, em, of(vbmf.Iterative{}, product(60, 40, 5))},
		{"the same column by column", 3, 10, em, of(vbmf.Iterative{ColumnWise: true}, product(60, 40, 5))},
	}, nil
}

// unlabelled is an embedded data set without its classes.
func unlabelled(name string) (*data.Table, error) {
	t, err := data.Load(name)
	if set, ok := data.Lookup(name); err == nil && ok && set.Label != "" {
		return t.Drop(set.Label)
	}
	return t, err
}

func numbers(name string) (*blocks.Table, error) {
	t, err := unlabelled(name)
	if err != nil {
		return nil, err
	}
	x, n, d, err := t.Matrix()
	if err != nil {
		return nil, err
	}
	return blocks.FromSlice(x, n, d)
}

// answers are the votes as zeros and ones, with those that were not given missing.
func answers() (*blocks.Table, error) {
	t, err := unlabelled("housevotes84")
	if err != nil {
		return nil, err
	}
	n, d := t.Rows(), t.Cols()
	x := make([]float64, n*d)
	for j, name := range t.Names {
		for i, code := range t.Codes(name) {
			x[i*d+j] = float64(code)
			if code < 0 {
				x[i*d+j] = math.NaN()
			}
		}
	}
	return blocks.FromIncomplete(x, n, d)
}

// generated is a table that draw fills in row by row.
func generated(n, d int, draw func(row []float64)) *blocks.Table {
	x := make([]float64, n*d)
	for i := range n {
		draw(x[i*d : (i+1)*d])
	}
	t, err := blocks.FromSlice(x, n, d)
	if err != nil {
		panic(err) // what is drawn is finite
	}
	return t
}

func normals(rng *rand.Rand, n int, deviation float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = deviation * rng.NormFloat64()
	}
	return x
}

// classes are zeros and ones from k classes with probabilities between 0.15 and 0.85.
func classes(n, d, k int) *blocks.Table {
	rng := rand.New(rand.NewPCG(1, 1))
	p := make([]float64, k*d)
	for i := range p {
		p[i] = 0.15 + 0.7*rng.Float64()
	}
	return generated(n, d, func(row []float64) {
		chances := p[rng.IntN(k)*d:]
		for j := range row {
			if rng.Float64() < chances[j] {
				row[j] = 1
			}
		}
	})
}

// clusters are k components N(m, I), m ~ N(0, 2.5²I).
func clusters(n, d, k int) *blocks.Table {
	rng := rand.New(rand.NewPCG(2, 1))
	means := normals(rng, k*d, 2.5)
	return generated(n, d, func(row []float64) {
		mean := means[rng.IntN(k)*d:]
		for j := range row {
			row[j] = mean[j] + rng.NormFloat64()
		}
	})
}

// product is a matrix of rank k, whose factors have decreasing strength, plus noise.
func product(n, d, k int) *blocks.Table {
	rng := rand.New(rand.NewPCG(3, 1))
	b := normals(rng, d*k, 1)
	return generated(n, d, func(row []float64) {
		a := normals(rng, k, 1)
		for j := range row {
			row[j] = rng.NormFloat64()
			for h := range k {
				row[j] += a[h] * b[j*k+h] * float64(h+1) / 3
			}
		}
	})
}

// Command workloads writes the tables that the benchmarks read, from fixed seeds: the same
// bits wherever it runs.
//
//	cd bench && go run ./workloads -out DIR
//
// docs/benchmarks.md says what is measured on them.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"

	"gonum.org/v1/gonum/stat/distmv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/categorical"
)

func main() {
	log.SetFlags(0)
	out := flag.String("out", "", "directory to write to; it is made")
	scale := flag.Float64("scale", 1, "share of the rows to write, for a quick look")
	megabytes := flag.Int("megabytes", 200, "size of the tables that are only read, in 10⁶ bytes")
	flag.Parse()
	if *out == "" || !(*scale > 0) || *scale > 1 || *megabytes < 1 || flag.NArg() > 0 {
		flag.Usage()
		os.Exit(2)
	}
	w := writer{directory: *out, scale: *scale}
	if err := w.all(*megabytes * 1e6); err != nil {
		log.Fatal(err)
	}
}

type writer struct {
	directory string
	scale     float64
}

func (w writer) all(bytes int) error {
	if err := os.MkdirAll(w.directory, 0o755); err != nil {
		return err
	}
	for _, d := range []int{2, 10, 50} {
		if err := w.gaussian(d); err != nil {
			return err
		}
	}
	for _, c := range []clusters{
		{"clear", 100000, 50, 100, 100, 3, true},
		{"overlapping", 60000, 50, 40, 40, 0.3, false},
		{"wide", 20000, 300, 10, 20, 3, true},
		{"gaps", 20000, 10, 10, 10, 2, true},
		{"gaps", 5000, 30, 10, 10, 1, true},
		{"gaps", 2000, 60, 10, 10, 1, true},
	} {
		if err := w.clusters(c); err != nil {
			return err
		}
	}
	for seed := range uint64(3) {
		if err := w.choice(seed + 1); err != nil {
			return err
		}
	}
	if err := w.binary("dense", nil); err != nil {
		return err
	}
	for _, percent := range []float64{1, 2, 4} {
		if err := w.binary(fmt.Sprintf("sparse%g", percent), &percent); err != nil {
			return err
		}
	}
	return errors.Join(
		w.factors("factors10", w.rows(20000), 10, 4),
		w.factors("factors30", w.rows(1000000), 30, 10),
		w.factors("factors1000", w.rows(5000), 1000, 20),
		w.factors("matrix", w.rows(1000), 3000, 20),
		w.factors("analysis", w.rows(100000), 30, 5),
		w.reading(int(float64(bytes)*w.scale)),
	)
}

func (w writer) rows(n int) int { return max(100, int(float64(n)*w.scale)) }

// generator is the random stream of a table.
func generator(table string, seed uint64) *rand.Rand {
	h := uint64(14695981039346656037) // FNV-1a
	for _, b := range []byte(table) {
		h = (h ^ uint64(b)) * 1099511628211
	}
	return rand.New(rand.NewPCG(seed, h))
}

// gaussian is a mixture of ten components N(m, I), m ~ N(0, 2.5²I), and a start of up to 40
// components: rows drawn at random, as their means.
func (w writer) gaussian(d int) error {
	name := fmt.Sprintf("gaussian%d", d)
	rng := generator(name, 1)
	const k = 10
	means := normals(rng, k*d, 2.5)
	n := w.rows(200000)
	x := normals(rng, n*d, 1)
	for i := range n {
		add(x[i*d:(i+1)*d], means[rng.IntN(k)*d:])
	}
	start := make([]float64, 0, 40*d)
	for _, i := range rng.Perm(n)[:40] {
		start = append(start, x[i*d:(i+1)*d]...)
	}
	return errors.Join(w.npy(name, x, n, d), w.npy(name+"-start", start, 40, d))
}

// clusters is a table of n rows of d columns from k components N(m, I), m ~ N(0, deviation²·I), in cyclic
// order, and a start of so many means: the first rows, each of another component while there is one, or the
// components' own means where those rows would say nothing of them.
type clusters struct {
	name           string
	n, d, k, start int
	deviation      float64
	fromRows       bool
}

func (w writer) clusters(c clusters) error {
	name := fmt.Sprintf("%s%d", c.name, c.d)
	rng := generator(name, 1)
	means := normals(rng, c.k*c.d, c.deviation)
	n := w.rows(c.n)
	x := normals(rng, n*c.d, 1)
	for i := range n {
		add(x[i*c.d:(i+1)*c.d], means[i%c.k*c.d:])
	}
	start := means
	if c.fromRows {
		start = x[:c.start*c.d]
	}
	return errors.Join(w.npy(name, x, n, c.d), w.npy(name+"-start", start, c.start, c.d))
}

// choice is 20,000 rows of five columns from six components N(m, I), m ~ N(0, 2.5²I), with
// weights ~ Dir(5, …, 5).
func (w writer) choice(seed uint64) error {
	rng := generator("choice", seed)
	const d, k = 5, 6
	alpha := make([]float64, k)
	for i := range alpha {
		alpha[i] = 5
	}
	weights := distmv.NewDirichlet(alpha, rng).Rand(nil)
	means := normals(rng, k*d, 2.5)
	n := w.rows(20000)
	x := normals(rng, n*d, 1)
	for i := range n {
		add(x[i*d:(i+1)*d], means[categorical.Draw(weights, rng)*d:])
	}
	name := fmt.Sprintf("choice%d", seed)
	return errors.Join(w.npy(name, x, n, d), w.csv(name, x, n, d))
}

// binary is 50,000 rows of 200 zeros and ones from ten components. The success probabilities are
// uniform between 0.35 and 0.65, so that the components overlap and a fit is not over at once,
// or, for sparse rows, exponential with the mean percent/100.
func (w writer) binary(name string, percent *float64) error {
	rng := generator(name, 1)
	const d, k = 200, 10
	chances := func() []float64 {
		p := make([]float64, k*d)
		for i := range p {
			if percent == nil {
				p[i] = 0.35 + 0.3*rng.Float64()
			} else {
				p[i] = min(0.95, rng.ExpFloat64()**percent/100)
			}
		}
		return p
	}
	truth := chances()
	n := w.rows(50000)
	x := make([]float64, n*d)
	for i := range n {
		p := truth[rng.IntN(k)*d:]
		for j := range d {
			if rng.Float64() < p[j] {
				x[i*d+j] = 1
			}
		}
	}
	start := chances()
	for i := range start { // halfway to the truth: no component starts empty
		start[i] = max(1e-4, (start[i]+truth[i])/2)
	}
	return errors.Join(w.npy(name, x, n, d), w.npy(name+"-start", start, k, d))
}

// factors is n rows of d columns of rank r, with strengths from 2 to 1 and noise of variance 1.
// That of ten columns and the one for factor analysis are written as CSV, too, for R.
func (w writer) factors(name string, n, d, r int) error {
	rng := generator(name, 1)
	loadings := normals(rng, r*d, 1)
	for k := range r {
		strength := math.Sqrt(2 - float64(k)/float64(r))
		for j := range d {
			loadings[k*d+j] *= strength
		}
	}
	x := normals(rng, n*d, 1)
	for i := range n {
		row := x[i*d : (i+1)*d]
		for k := range r {
			z := rng.NormFloat64()
			for j, l := range loadings[k*d : (k+1)*d] {
				row[j] += z * l
			}
		}
	}
	if d == 10 || name == "analysis" {
		if err := w.csv(name, x, n, d); err != nil {
			return err
		}
	}
	return w.npy(name, x, n, d)
}

// reading is a table of 20 columns to measure reading alone, of about the given bytes in each
// format: six decimals in CSV.
func (w writer) reading(bytes int) error {
	const d = 20
	rng := generator("reading", 1)
	n := bytes / (8 * d)
	x := normals(rng, n*d, 1)
	lines := bytes / (9 * d) // mean length of a number and its comma
	lined := w.file("reading.csv", func(f io.Writer) error {
		line := make([]byte, 0, 16*d)
		for i := range lines {
			line = line[:0]
			for j, v := range x[i*d : (i+1)*d] {
				if j > 0 {
					line = append(line, ',')
				}
				line = fmt.Appendf(line, "%.6f", v)
			}
			if _, err := f.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		return nil
	})
	return errors.Join(lined, w.npy("reading", x, n, d), w.parquet("reading", x, d))
}

func (w writer) npy(name string, x []float64, n, d int) error {
	return w.file(name+".npy", func(f io.Writer) error { return data.WriteNPY(f, x, n, d) })
}

func (w writer) parquet(name string, x []float64, d int) error {
	return w.file(name+".parquet", func(f io.Writer) error {
		heads := make([]data.Head, d)
		for j := range heads {
			heads[j] = data.Head{Name: fmt.Sprintf("x%d", j), Cells: data.Floats}
		}
		to, err := columnar.NewParquetWriter(f, heads)
		if err != nil {
			return err
		}
		return errors.Join(to.Write(nil, x), to.Close())
	})
}

func (w writer) csv(name string, x []float64, n, d int) error {
	return w.file(name+".csv", func(f io.Writer) error { return data.WriteCSV(f, nil, x, n, d) })
}

func (w writer) file(name string, write func(io.Writer) error) error {
	return atomicfile.Write(filepath.Join(w.directory, name), func(f io.Writer) error {
		b := bufio.NewWriterSize(f, 1<<20)
		if err := write(b); err != nil {
			return err
		}
		return b.Flush()
	})
}

func normals(rng *rand.Rand, n int, deviation float64) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = deviation * rng.NormFloat64()
	}
	return x
}

func add(row, mean []float64) {
	for j := range row {
		row[j] += mean[j]
	}
}

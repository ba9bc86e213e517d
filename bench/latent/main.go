// Command latent, of the benchmarks, runs one workload with this project and prints one
// line of JSON:
//
//	latent DIR WORKLOAD KEY=VALUE...
//
// The tables in DIR are those of bench/workloads; bench/peers has the same workloads for
// other programs, and docs/benchmarks.md says what is measured.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/models/vbmf"
)

// outcome is the line of JSON.
type outcome struct {
	Seconds float64 `json:"seconds"` // of an iteration where the workload has them
	Found   string  `json:"found"`
	Data    int     `json:"data_bytes"`
	Peak    int     `json:"peak_bytes"` // resident memory of the process at its highest; 0 where the system does not report it
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: latent DIR WORKLOAD KEY=VALUE...")
	}
	j := job{directory: os.Args[1], options: map[string]string{}}
	for _, word := range os.Args[3:] {
		key, value, _ := strings.Cut(word, "=")
		j.options[key] = value
	}
	work, ok := map[string]func(job) (outcome, error){
		"gmm": job.gaussian, "ends": job.ends, "choose": job.choose, "bernoulli": job.bernoulli,
		"bpca": job.bpca, "factor": job.factor,
		"vbmf": job.vbmf, "allocations": job.allocations, "start": job.start, "read": job.read, "row": job.row,
	}[os.Args[2]]
	if !ok {
		log.Fatalf("no workload %q", os.Args[2])
	}
	o, err := work(j)
	if err == nil {
		if o.Peak == 0 {
			o.Peak = peak()
		}
		err = json.NewEncoder(os.Stdout).Encode(o)
	}
	if err != nil {
		log.Fatalf("%s: %v", strings.Join(os.Args[2:], " "), err)
	}
}

var background = context.Background()

type job struct {
	directory string
	options   map[string]string
}

// number is an option, 0 where it is not given.
func (j job) number(key string) (int, error) {
	if j.options[key] == "" {
		return 0, nil
	}
	return strconv.Atoi(j.options[key])
}

// numbers are several options.
func (j job) numbers(keys ...string) ([]int, error) {
	values := make([]int, len(keys))
	for i, key := range keys {
		v, err := j.number(key)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", key, err)
		}
		values[i] = v
	}
	return values, nil
}

// table reads the first rows of a table (limit 0: all).
func (j job) table(name string, limit int) (x []float64, n, d int, err error) {
	t, err := data.Open(filepath.Join(j.directory, name+".npy"))
	if err != nil {
		return nil, 0, 0, err
	}
	x, n, d, err = t.Matrix()
	if limit > 0 && limit < n {
		x, n = x[:limit*d], limit
	}
	return x, n, d, err
}

// source is the first rows of a table (limit 0: all) for the engine, and their bytes.
func (j job) source(name string, limit int) (*blocks.Table, int, error) {
	x, n, d, err := j.table(name, limit)
	if err != nil {
		return nil, 0, err
	}
	src, err := blocks.FromSlice(x, n, d)
	return src, 8 * len(x), err
}

var shapes = map[string]normal.Family{
	"full": {}, "tied": {Covariance: normal.Tied}, "diag": {Covariance: normal.Diagonal},
}

// gaussian is iterations of EM from given parameters, with so many per cent of the values missing.
func (j job) gaussian() (outcome, error) {
	v, err := j.numbers("d", "k", "n", "iterations", "workers", "gaps")
	if err != nil {
		return outcome{}, err
	}
	d, k, iterations := v[0], v[1], v[3]
	name := fmt.Sprintf("%s%d", cmp.Or(j.options["table"], "gaussian"), d)
	x, n, _, err := j.table(name, v[2])
	if err != nil {
		return outcome{}, err
	}
	rng := rand.New(rand.NewPCG(20, 30))
	for i := range x {
		if rng.IntN(100) < v[5] {
			x[i] = math.NaN()
		}
	}
	src, err := blocks.FromIncomplete(x, n, d)
	if err != nil {
		return outcome{}, err
	}
	means, _, _, err := j.table(name+"-start", k)
	if err != nil {
		return outcome{}, err
	}
	shape, ok := shapes[j.options["cov"]]
	if !ok {
		return outcome{}, fmt.Errorf("cov=%s: it must be full, tied or diag", j.options["cov"])
	}
	spread := identity(d)
	if shape.Covariance == normal.Diagonal {
		spread = spread[:d]
		for i := range spread {
			spread[i] = 1
		}
	}
	var components []float64
	for c := range k {
		components = append(append(components, means[c*d:(c+1)*d]...), spread...)
	}
	m := mixture.Model{Family: shape}
	return iterate(given{m, components}, src, src.All(), k, iterations, v[4], 8*len(x))
}

// identity is the unit matrix.
func identity(d int) []float64 {
	unit := make([]float64, d*d)
	for i := range d {
		unit[i*d+i] = 1
	}
	return unit
}

// row is the density of one row after another, from a Scorer.
func (j job) row() (outcome, error) {
	v, err := j.numbers("d", "k", "rows")
	if err != nil {
		return outcome{}, err
	}
	d, k, name := v[0], v[1], fmt.Sprintf("gaussian%d", v[0])
	x, n, _, err := j.table(name, v[2])
	if err != nil {
		return outcome{}, err
	}
	means, _, _, err := j.table(name+"-start", k)
	if err != nil {
		return outcome{}, err
	}
	src, err := blocks.FromSlice(x, n, d)
	if err != nil {
		return outcome{}, err
	}
	m, spread := given{Model: mixture.Model{Family: normal.Family{}}}, identity(d)
	for c := range k {
		m.components = append(append(m.components, means[c*d:(c+1)*d]...), spread...)
	}
	p, err := m.Init(background, src, k, rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		return outcome{}, err
	}
	score, err := m.Scorer(p)
	if err != nil {
		return outcome{}, err
	}
	var logProb, r []float64
	sum, begin := 0.0, time.Now()
	for i := range n {
		row := blocks.Rows{First: i, N: 1, D: d, Stride: d, X: x[i*d : (i+1)*d]}
		if logProb, r, err = score(row, logProb, r); err != nil {
			return outcome{}, err
		}
		sum += logProb[0]
	}
	return outcome{Seconds: time.Since(begin).Seconds() / float64(n),
		Found: fmt.Sprintf("ln p = %.9f a row", sum/float64(n)), Data: 8 * len(x)}, nil
}

// bernoulli is the same for zeros and ones, by rows that are dense or lists of ones.
func (j job) bernoulli() (outcome, error) {
	v, err := j.numbers("iterations", "workers", "sparse")
	if err != nil {
		return outcome{}, err
	}
	x, n, d, err := j.table(j.options["table"], 0)
	if err != nil {
		return outcome{}, err
	}
	chances, k, _, err := j.table(j.options["table"]+"-start", 0)
	if err != nil {
		return outcome{}, err
	}
	m := mixture.Model{Family: family.Bernoulli{}}
	if v[2] == 0 {
		src, err := blocks.FromSlice(x, n, d)
		if err != nil {
			return outcome{}, err
		}
		return iterate(given{m, chances}, src, src.All(), k, v[0], v[1], 8*len(x))
	}
	start, columns := make([]int, 1, n+1), []int{}
	for i := range n {
		for c, v := range x[i*d : (i+1)*d] {
			if v != 0 {
				columns = append(columns, c)
			}
		}
		start = append(start, len(columns))
	}
	src, err := blocks.FromSparse(start, columns, nil, d)
	if err != nil {
		return outcome{}, err
	}
	return iterate(given{m, chances}, src, src.All(), k, v[0], v[1], 8*(len(start)+len(columns)))
}

// given is a mixture that starts from given components of equal weights.
type given struct {
	mixture.Model
	components []float64
}

func (m given) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*mixture.Parameters, error) {
	p, err := m.Model.Init(ctx, src, k, rng)
	if err != nil {
		return nil, err
	}
	if len(p.Components) != len(m.components) {
		return nil, fmt.Errorf("%d numbers to start from in place of %d", len(m.components), len(p.Components))
	}
	copy(p.Components, m.components)
	for i := range p.Weights {
		p.Weights[i] = 1 / float64(k)
	}
	clock.begin = time.Now()
	return p, nil
}

// clock runs from the end of the start to the end of the last iteration.
var clock struct{ begin, end time.Time }

// iterate times the engine's iterations.
func iterate(
	m given, src framework.Source[blocks.Rows], all blocks.Rows, k, iterations, workers, bytes int,
) (outcome, error) {
	res, err := framework.Fit(background, m, src, framework.Options{
		K:             k,
		Method:        framework.EM,
		Criterion:     framework.ELBO,
		Tolerance:     math.SmallestNonzeroFloat64,
		MaxIterations: iterations,
		Workers:       workers,
		Recorder: func(framework.Event) error {
			clock.end = time.Now()
			return nil
		},
	})
	if err != nil {
		return outcome{}, err
	}
	if res.Iterations != iterations {
		return outcome{}, fmt.Errorf("%d iterations in place of %d: %v", res.Iterations, iterations, res.Status)
	}
	memory := peak() // before the scoring, which has a result for each row
	mean, err := score(m.Model, all, res.Parameters)
	if err != nil {
		return outcome{}, err
	}
	return outcome{
		Seconds: clock.end.Sub(clock.begin).Seconds() / float64(iterations),
		Found:   fmt.Sprintf("ln p = %.9f a row", mean),
		Data:    bytes,
		Peak:    memory,
	}, nil
}

// score is the mean log-likelihood of the rows.
func score(m mixture.Model, all blocks.Rows, p *mixture.Parameters) (float64, error) {
	rows, err := m.LogProb(all, p, nil)
	sum := 0.0
	for _, l := range rows {
		sum += l
	}
	return sum / float64(len(rows)), err
}

// ends is EM with full covariances at the true K, from the start of a seed and without moves, to the end or to a
// number of iterations.
func (j job) ends() (outcome, error) {
	v, err := j.numbers("d", "k", "iterations", "seed", "workers")
	if err != nil {
		return outcome{}, err
	}
	src, size, err := j.source(fmt.Sprintf("%s%d", j.options["table"], v[0]), 0)
	if err != nil {
		return outcome{}, err
	}
	m := mixture.Model{Family: normal.Family{}}
	begin := time.Now()
	res, err := framework.Fit(background, m, src, framework.Options{
		K:             v[1],
		Method:        framework.EM,
		Criterion:     framework.ELBO,
		NoMoves:       true,
		MaxIterations: v[2],
		Seed:          uint64(v[3]),
		Workers:       v[4],
	})
	if err != nil {
		return outcome{}, err
	}
	seconds, memory := time.Since(begin).Seconds(), peak()
	mean, err := score(m, src.All(), res.Parameters)
	return outcome{
		Seconds: seconds,
		Found:   fmt.Sprintf("ln p = %.6f a row, K = %d (%d iterations, %v)", mean, res.Shape.K, res.Iterations, res.Status),
		Data:    size,
		Peak:    memory,
	}, err
}

// allocations counts what 200 more iterations allocate, without a recorder.
func (j job) allocations() (outcome, error) {
	const d, k = 2, 20 // twice the components there are: it takes long to converge
	src, size, err := j.source("gaussian2", 20000)
	if err != nil {
		return outcome{}, err
	}
	workers, err := j.number("workers")
	if err != nil {
		return outcome{}, err
	}
	count := func(iterations int) (runtime.MemStats, error) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		res, err := framework.Fit(background, mixture.Model{Family: normal.Family{}}, src, framework.Options{
			K: k, Method: framework.EM, Tolerance: math.SmallestNonzeroFloat64, MaxIterations: iterations, Workers: workers})
		runtime.ReadMemStats(&after)
		if err == nil && res.Iterations != iterations {
			err = fmt.Errorf("%d iterations in place of %d: %v", res.Iterations, iterations, res.Status)
		}
		after.Mallocs -= before.Mallocs
		after.TotalAlloc -= before.TotalAlloc
		return after, err
	}
	if _, err := count(10); err != nil { // pools are filled
		return outcome{}, err
	}
	begin := time.Now()
	few, err := count(20)
	if err != nil {
		return outcome{}, err
	}
	many, err := count(220)
	if err != nil {
		return outcome{}, err
	}
	return outcome{Seconds: time.Since(begin).Seconds(), Data: size, Found: fmt.Sprintf(
		"%.2f allocations, %.0f bytes in each of 200 more iterations: the traces grow",
		float64(many.Mallocs-few.Mallocs)/200, float64(many.TotalAlloc-few.TotalAlloc)/200)}, nil
}

// choose is one pass of gFAB from K = 20.
func (j job) choose() (outcome, error) {
	src, size, err := j.source("choice"+j.options["seed"], 0)
	if err != nil {
		return outcome{}, err
	}
	tolerance := framework.DefaultTolerance
	if t := j.options["tol"]; t != "" {
		if tolerance, err = strconv.ParseFloat(t, 64); err != nil {
			return outcome{}, err
		}
	}
	workers, err := j.number("workers")
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	res, err := framework.Fit(background, mixture.Model{Family: normal.Family{}}, src,
		framework.Options{K: 20, Tolerance: tolerance, Workers: workers})
	if err != nil {
		return outcome{}, err
	}
	return outcome{Seconds: time.Since(begin).Seconds(), Data: size,
		Found: fmt.Sprintf("K = %d (%d iterations, %d passes, %v)", res.Shape.K, res.Iterations, res.Passes, res.Status)}, nil
}

// bpca chooses among all K by gFIC, in closed form, and estimates the parameters there.
func (j job) bpca() (outcome, error) {
	src, size, err := j.source(j.options["table"], 0)
	if err != nil {
		return outcome{}, err
	}
	workers, err := j.number("workers")
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	spectrum, err := lineargaussian.Decompose(background, src, workers)
	if err != nil {
		return outcome{}, err
	}
	all, err := bpca.Solve(spectrum, 0)
	if err != nil {
		return outcome{}, err
	}
	k, _, err := all.Best(framework.GFIC)
	if err != nil {
		return outcome{}, err
	}
	if _, err := all.Parameters(k, framework.GFAB); err != nil {
		return outcome{}, err
	}
	return outcome{Seconds: time.Since(begin).Seconds(), Found: fmt.Sprintf("K = %d", k), Data: size}, nil
}

// factor is maximum likelihood for K = 0…10, the K that gFIC chooses, and the estimates there.
func (j job) factor() (outcome, error) {
	src, size, err := j.source(j.options["table"], 0)
	if err != nil {
		return outcome{}, err
	}
	workers, err := j.number("workers")
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	moments, err := lineargaussian.Summarize(background, src, workers)
	if err != nil {
		return outcome{}, err
	}
	all, err := factor.Solve(moments, factor.Structure{}, 10)
	if err != nil {
		return outcome{}, err
	}
	k, _, err := all.Best(framework.GFIC)
	if err != nil {
		return outcome{}, err
	}
	if _, err := all.Parameters(k); err != nil {
		return outcome{}, err
	}
	return outcome{Seconds: time.Since(begin).Seconds(), Data: size,
		Found: fmt.Sprintf("K = %d, ln p = %.6f a row there", k, all.LogLikelihood(k)/all.N)}, nil
}

// vbmf is the empirical solution, rank and noise and vectors.
func (j job) vbmf() (outcome, error) {
	src, size, err := j.source("matrix", 0)
	if err != nil {
		return outcome{}, err
	}
	rank, err := j.number("rank")
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	s, err := vbmf.Solve(background, src, vbmf.Options{MaxRank: rank})
	if err != nil {
		return outcome{}, err
	}
	return outcome{
		Seconds: time.Since(begin).Seconds(), Found: fmt.Sprintf("rank %d, σ² = %.5f", s.Rank, s.Noise), Data: size,
	}, nil
}

// start is the default start of a mixture: k-means++ in a sample of the rows, after two
// passes for the scale of the columns, and the first estimate.
func (j job) start() (outcome, error) {
	v, err := j.numbers("k")
	if err != nil {
		return outcome{}, err
	}
	src, size, err := j.source("gaussian10", 0)
	if err != nil {
		return outcome{}, err
	}
	begin := time.Now()
	p, err := mixture.Model{Family: normal.Family{}}.Init(background, src, v[0], rand.New(rand.NewPCG(1, 0)))
	if err != nil {
		return outcome{}, err
	}
	return outcome{
		Seconds: time.Since(begin).Seconds(),
		Found:   fmt.Sprintf("%d components, from a sample of 8192 rows", p.K),
		Data:    size,
	}, nil
}

// read opens a table and hands out its numbers.
func (j job) read() (outcome, error) {
	clock := func() float64 { return float64(time.Now().UnixNano()) / 1e9 }
	if j.options["clock"] == "processor" {
		clock = processor
	}
	path := filepath.Join(j.directory, cmp.Or(j.options["file"], "reading")+"."+j.options["format"])
	open := data.Open
	if j.options["format"] == "parquet" {
		open = func(path string) (*data.Table, error) { return columnar.Read([]string{path}, columnar.Options{}) }
	}
	again, err := j.number("again")
	if err != nil {
		return outcome{}, err
	}
	least, found, size := math.Inf(1), "", 0
	for range max(1, again) {
		begin := clock()
		t, err := open(path)
		if err != nil {
			return outcome{}, err
		}
		x, n, d, err := t.Values()
		if err != nil {
			return outcome{}, err
		}
		least, found, size = min(least, clock()-begin), fmt.Sprintf("%d × %d", n, d), 8*len(x)
	}
	return outcome{Seconds: least, Found: found, Data: size}, nil
}

// processor is the time that the process took of processors, in seconds.
func processor() float64 {
	var r syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &r); err != nil {
		panic(err)
	}
	return float64(r.Utime.Nano()+r.Stime.Nano()) / 1e9
}

// peak is VmHWM of Linux, in bytes; 0 elsewhere.
func peak() int {
	status, err := os.ReadFile("/proc/self/status")
	if errors.Is(err, os.ErrNotExist) {
		return 0
	}
	for line := range strings.Lines(string(status)) {
		if rest, ok := strings.CutPrefix(line, "VmHWM:"); ok {
			kilobytes, _ := strconv.Atoi(strings.TrimSuffix(strings.TrimSpace(rest), " kB"))
			return kilobytes << 10
		}
	}
	return 0
}

// Command codes simulates tables of codes and counts, and counts how often each method finds the number of classes:
//
//	cd bench && go run ./codes -kinds binary -methods gfab,thinned
//
// It prints a line of CSV for each table and method: K, the adjusted Rand index, the mean log predictive density of
// 1000 rows that the fit has not seen, and seconds.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/agreement"
	"github.com/latent-go/latent/models/mixture"
)

func main() {
	log.SetFlags(0)
	rows := flag.String("rows", "200,1000", "numbers of rows")
	columns := flag.String("columns", "10,40", "numbers of columns")
	classes := flag.String("classes", "2,4,8", "numbers of classes")
	kinds := flag.String("kinds", "binary,categorical,poisson", "kinds of columns")
	separations := flag.String("separations", "clear,overlapping", "how far classes are apart")
	methods := flag.String("methods", "gfab,cvb0,thinned",
		"of gfab, cvb0, thinned (cvb0 from what gfab keeps), vb, bicem and icl")
	seeds := flag.Int("seeds", 10, "tables of each setting")
	flag.Parse()
	fmt.Println("kind,separation,rows,columns,classes,seed,method,k,ari,lpd,seconds")
	for _, kind := range strings.Split(*kinds, ",") {
		for _, n := range numbers(*rows) {
			for _, d := range numbers(*columns) {
				for _, k := range numbers(*classes) {
					for _, separation := range strings.Split(*separations, ",") {
						for seed := range *seeds {
							report(fmt.Sprintf("%s,%s,%d,%d,%d,%d", kind, separation, n, d, k, seed+1),
								draw(kind, separation, n, d, k, uint64(seed+1)), strings.Split(*methods, ","))
						}
					}
				}
			}
		}
	}
}

// report prints a line for each method.
func report(setting string, t truth, methods []string) {
	for _, method := range methods {
		o, err := t.fit(method)
		if err != nil {
			log.Printf("%s,%s: %v", setting, method, err)
			continue
		}
		fmt.Printf("%s,%s,%d,%.4f,%.4f,%.3f\n", setting, method, o.k, o.ari, o.lpd, o.seconds)
	}
}

func numbers(list string) (out []int) {
	for s := range strings.SplitSeq(list, ",") {
		v, err := strconv.Atoi(s)
		if err != nil {
			log.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}

// A truth is a table of known classes.
type truth struct {
	family      family.Family
	train, test *blocks.Table
	labels      []int // of train
	k           int
	seed        uint64
}

// unseen is the number of rows of test.
const unseen = 1000

// draw makes a table of n rows and a test set. Classes weigh 1 to 2 each.
func draw(kind, separation string, n, d, k int, seed uint64) truth {
	src := rand.NewPCG(seed, uint64(n*1000+d*10+k))
	rng := rand.New(src)
	t := truth{k: k, seed: seed}
	var product family.Product
	profiles := make([][][]float64, k)
	for j := range d {
		levels := 2
		switch kind {
		case "categorical":
			levels = 3 + j%3
			product = append(product, family.Categorical{Levels: levels})
		case "poisson":
			product = append(product, family.Poisson{})
		default:
			product = append(product, family.Bernoulli{})
		}
		base := make([]float64, levels)
		for l := range base {
			base[l] = distuv.Gamma{Alpha: 2, Beta: 1, Src: src}.Rand()
		}
		for c := range k {
			profiles[c] = append(profiles[c], profile(kind, separation, base, d, rng))
		}
	}
	t.family = product
	weights := make([]float64, k)
	for c := range k {
		weights[c] = 1 + rng.Float64()
	}
	floats.Scale(1/floats.Sum(weights), weights)
	var x []float64
	for range n + unseen {
		c, u := 0, rng.Float64()
		for ; c < k-1 && u > weights[c]; c++ {
			u -= weights[c]
		}
		t.labels = append(t.labels, c)
		for _, p := range profiles[c] {
			x = append(x, sample(kind, p, src, rng))
		}
	}
	var err error
	if t.train, err = blocks.FromSlice(x[:n*d], n, d); err != nil {
		log.Fatal(err)
	}
	if t.test, err = blocks.FromSlice(x[n*d:], unseen, d); err != nil {
		log.Fatal(err)
	}
	t.labels = t.labels[:n]
	return t
}

// profile are the probabilities of the levels in one class, or a rate: drawn by themselves where classes are clear,
// else near a base, the nearer the more columns there are.
func profile(kind, separation string, base []float64, d int, rng *rand.Rand) []float64 {
	p := slices.Clone(base)
	if kind == "poisson" {
		if separation == "clear" {
			return []float64{1 + rng.ExpFloat64()*5}
		}
		return []float64{(1 + 2*base[0]) * math.Exp(rng.NormFloat64()*math.Sqrt(0.8/float64(d)))}
	}
	if separation == "clear" {
		for l := range p {
			g := rng.NormFloat64()
			p[l] = g * g // gamma with shape ½
		}
	} else {
		for l := range p {
			p[l] *= math.Exp(rng.NormFloat64() * math.Sqrt(10/float64(d)))
		}
	}
	floats.Scale(1/floats.Sum(p), p)
	return p
}

func sample(kind string, p []float64, src rand.Source, rng *rand.Rand) float64 {
	if kind == "poisson" {
		return distuv.Poisson{Lambda: p[0], Src: src}.Rand()
	}
	u := rng.Float64()
	for l, v := range p {
		if u -= v; u < 0 {
			return float64(l)
		}
	}
	return float64(len(p) - 1)
}

type outcome struct {
	k                 int
	ari, lpd, seconds float64
}

// most is the largest K of sweeps, and where the others begin.
const most = 10

// fit is what a method finds, by the options of the command.
func (t truth) fit(method string) (o outcome, err error) {
	n, d := t.train.Dims()
	began := time.Now()
	var f found
	switch options := (framework.Options{K: most, DoubleTo: n / max(2, d+1), Seed: t.seed}); method {
	case "gfab":
		options.Restarts = t.starts(10)
		f, err = t.estimated(options)
	case "cvb0", "thinned":
		options.Restarts, options.Method = t.starts(3), framework.PrunedEM
		f, err = t.integrated(method, options)
	case "bicem":
		f, err = t.swept(framework.BICEM)
	case "icl":
		f, err = t.swept(framework.ICL)
	case "vb":
		f, err = t.sweptVariational()
	default:
		err = fmt.Errorf("unknown method %q", method)
	}
	if err != nil {
		return o, err
	}
	o = outcome{k: f.k, seconds: time.Since(began).Seconds()}
	r, logProb, err := f.score()
	if err != nil {
		return o, err
	}
	components := make([]int, n)
	for i := range components {
		components[i] = floats.MaxIdx(r[i*f.k : (i+1)*f.k])
	}
	o.ari = agreement.AdjustedRand(agreement.CrossTable(components, t.labels, nil, f.k, t.k))
	o.lpd = floats.Sum(logProb) / unseen
	return o, nil
}

// starts are many where they cost little.
func (t truth) starts(many int) int {
	if n, d := t.train.Dims(); n > 5000 || n*d > 1_000_000 {
		return 1
	}
	return many
}

// A found is a fit: score gives the responsibilities of its rows, and the log densities of the others.
type found struct {
	k     int
	score func() (r, logProb []float64, err error)
}

func (t truth) estimated(o framework.Options) (found, error) {
	res, err := framework.Fit(context.Background(), mixture.Model{Family: t.family}, t.train, o)
	if err != nil {
		return found{}, err
	}
	return t.atEstimates(res.Parameters), nil
}

func (t truth) integrated(method string, o framework.Options) (found, error) {
	m := mixture.CVB0{Variational: mixture.Variational{Family: t.family}}
	start := m.Init
	if method == "thinned" {
		start = m.Thinned
	}
	res, err := framework.FitFrom(context.Background(), m, t.train, start, o)
	if err != nil {
		return found{}, err
	}
	return t.atPosterior(res.Parameters), nil
}

func (t truth) swept(c framework.Criterion) (found, error) {
	sizes, o := t.sweep()
	all, err := framework.Select(context.Background(), mixture.Model{Family: t.family}, t.train, sizes, o, c)
	if err != nil {
		return found{}, err
	}
	return t.atEstimates(all.Fits[all.Best(0)].Parameters), nil
}

func (t truth) sweptVariational() (found, error) {
	sizes, o := t.sweep()
	all, err := framework.Select(context.Background(), mixture.Variational{Family: t.family}, t.train,
		sizes, o, framework.ELBO)
	if err != nil {
		return found{}, err
	}
	return t.atPosterior(all.Fits[all.Best(0)].Parameters), nil
}

func (t truth) sweep() (sizes []int, o framework.Options) {
	for k := range most {
		sizes = append(sizes, k+1)
	}
	return sizes, framework.Options{Method: framework.EM, Restarts: t.starts(10), Seed: t.seed}
}

func (t truth) atEstimates(p *mixture.Parameters) found {
	return found{p.K, func() (r, logProb []float64, err error) {
		m := mixture.Model{Family: t.family}
		if r, err = m.Responsibilities(t.train.All(), p, nil); err == nil {
			logProb, err = m.LogProb(t.test.All(), p, nil)
		}
		return r, logProb, err
	}}
}

func (t truth) atPosterior(p *mixture.Posterior) found {
	return found{p.K, func() (r, logProb []float64, err error) {
		m := mixture.Variational{Family: t.family}
		if r, err = m.Responsibilities(t.train.All(), p, nil); err == nil {
			logProb, _, err = m.Predictive(t.test.All(), p, nil, nil)
		}
		return r, logProb, err
	}}
}

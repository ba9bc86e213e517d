// Command topics times iterations of latent Dirichlet allocation on documents that it draws, and scores the held-out
// half of the tokens of others. It leaves the documents in a folder for other programs (peers/topics.py).
//
//	topics DIR TOPICS WORDS DOCUMENTS ITERATIONS
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/topics"
)

// The law of the documents, and how many are held out.
const (
	alpha, beta = 0.1, 0.05
	length      = 100
	held        = 500
)

func main() {
	log.SetFlags(0)
	if len(os.Args) != 6 {
		log.Fatal("usage: topics DIR TOPICS WORDS DOCUMENTS ITERATIONS")
	}
	var n [4]int
	for i, arg := range os.Args[2:] {
		var err error
		if n[i], err = strconv.Atoi(arg); err != nil || n[i] < 1 {
			log.Fatalf("topics: %q: must be a positive whole number", arg)
		}
	}
	if err := run(os.Args[1], n[0], n[1], n[2], n[3]); err != nil {
		log.Fatal(err)
	}
}

func run(folder string, k, words, documents, iterations int) error {
	rng, ctx, m := rand.New(rand.NewPCG(16, 4)), context.Background(), topics.Model{Alpha: alpha, Beta: beta}
	truth := law(k, words, rng)
	train, err := m.Sample(truth, lengths(documents, rng), rng)
	if err != nil {
		return err
	}
	test, err := m.Sample(truth, lengths(held, rng), rng)
	if err != nil {
		return err
	}
	observed, scored, err := topics.Halves(test, 1)
	if err != nil {
		return err
	}
	for name, t := range map[string]*blocks.SparseTable{"train": train, "observed": observed, "scored": scored} {
		if err := write(filepath.Join(folder, name), t); err != nil {
			return err
		}
	}
	begin := processor()
	o := framework.Options{
		K: k, Method: framework.EM, MaxIterations: iterations, Tolerance: 1e-300, Workers: 1, NoMoves: true,
	}
	res, err := framework.Fit(ctx, m, train, o)
	if err != nil {
		return err
	}
	seconds := processor() - begin
	perplexity, err := m.Perplexity(ctx, test, res.Parameters, 1)
	if err != nil {
		return err
	}
	best, err := m.Perplexity(ctx, test, truth, 1)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{"program": "latent", "topics": k, "words": words,
		"documents": documents, "tokens": res.N, "iterations": iterations,
		"nanoseconds a token and iteration": 1e9 * seconds / float64(iterations) / res.N, "seconds": seconds,
		"perplexity": perplexity, "of the truth": best, "perplexity, folded in alike": perplexity})
}

// law draws topics.
func law(k, words int, rng *rand.Rand) *topics.Parameters {
	p := &topics.Parameters{
		K: k, Words: words, Counts: make([]float64, k*words), Tokens: make([]float64, k), Alpha: alpha, Beta: 1e-9,
	}
	topic := make([]float64, words)
	for j := range k {
		for w := range topic {
			topic[w] = distuv.Gamma{Alpha: beta, Beta: 1, Src: rng}.Rand()
		}
		sum := floats.Sum(topic)
		for w, v := range topic {
			p.Counts[w*k+j] = v / sum
		}
		p.Tokens[j] = 1
	}
	return p
}

func lengths(documents int, rng *rand.Rand) []int {
	list := make([]int, documents)
	for i := range list {
		list[i] = int(distuv.Poisson{Lambda: length, Src: rng}.Rand())
	}
	return list
}

// write writes lines of document, word and count.
func write(file string, t *blocks.SparseTable) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	w, rows := bufio.NewWriter(f), t.All()
	for i := range rows.N {
		columns, counts := rows.Entries.Row(i)
		for e, word := range columns {
			fmt.Fprintln(w, i, word, counts[e])
		}
	}
	if err := w.Flush(); err != nil {
		return err
	}
	return f.Close()
}

// processor is the processor time of the process in seconds.
func processor() float64 {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

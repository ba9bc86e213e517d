// Command hmm times iterations of EM of a hidden Markov model, on sequences that it draws, and leaves them in a file
// for other programs (peers/hmm.py).
//
//	hmm FILE STATES STEPS LENGTH ITERATIONS
package main

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"syscall"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/hmm"
)

// columns of a step.
const columns = 3

func main() {
	log.SetFlags(0)
	if len(os.Args) != 6 {
		log.Fatal("usage: hmm FILE STATES STEPS LENGTH ITERATIONS")
	}
	var n [4]int
	for i, arg := range os.Args[2:] {
		var err error
		if n[i], err = strconv.Atoi(arg); err != nil || n[i] < 1 {
			log.Fatalf("hmm: %q: must be a positive whole number", arg)
		}
	}
	if err := run(os.Args[1], n[0], n[1], n[2], n[3]); err != nil {
		log.Fatal(err)
	}
}

func run(file string, k, steps, length, iterations int) error {
	m := hmm.Model{Family: normal.Family{Covariance: normal.Diagonal}, Workers: 1}
	p := truth(k)
	var ends []int
	for end := length; end <= steps; end += length {
		ends = append(ends, end)
	}
	x := draw(p, ends)
	if err := write(file, p, x); err != nil {
		return err
	}
	table, err := blocks.FromSlice(x, len(x)/columns, columns)
	if err != nil {
		return err
	}
	src, err := blocks.NewSequences(table, ends)
	if err != nil {
		return err
	}
	flat, err := framework.StepsOf(context.Background(), src)
	if err != nil {
		return err
	}
	if p.Pooled, _, err = family.Pool(context.Background(), flat, m.Family); err != nil {
		return err
	}
	begin := processor()
	start := func(context.Context, framework.Source[blocks.Sequences], int, *rand.Rand) (*hmm.Parameters, error) {
		return p, nil
	}
	o := framework.Options{K: k, Method: framework.EM, MaxIterations: iterations, Tolerance: 1e-300, Workers: 1}
	res, err := framework.FitFrom(context.Background(), m, src, start, o)
	if err != nil {
		return err
	}
	seconds, most := processor()-begin, peak()
	e, err := framework.Evaluate(context.Background(), m, src, res.Parameters, 1)
	if err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(map[string]any{
		"program": "latent", "states": k, "steps": steps, "length": length,
		"nanoseconds a step": 1e9 * seconds / float64(iterations) / float64(steps),
		"log-likelihood":     e.Bound(), "megabytes beside the data": float64(most)/1024 - float64(8*len(x))/(1<<20),
	})
}

// truth are sticky states N(m, I), m ~ N(0, 2²I).
func truth(k int) *hmm.Parameters {
	rng := rand.New(rand.NewPCG(1, 2))
	p := &hmm.Parameters{K: k, D: columns}
	for i := range k {
		p.Start = append(p.Start, 1/float64(k))
		for j := range k {
			stay := 0.1 / float64(k-1)
			if i == j {
				stay = 0.9
			}
			p.Transitions = append(p.Transitions, stay)
		}
		for range columns {
			p.Components = append(p.Components, 2*rng.NormFloat64())
		}
		p.Components = append(p.Components, 1, 1, 1)
	}
	return p
}

// draw draws sequences; package hmm's Sample would keep the states, too.
func draw(p *hmm.Parameters, ends []int) []float64 {
	rng := rand.New(rand.NewPCG(3, 4))
	x := make([]float64, 0, columns*ends[len(ends)-1])
	t := 0
	for _, end := range ends {
		z := rng.IntN(p.K)
		for ; t < end; t++ {
			for _, mean := range p.Component(z)[:columns] {
				x = append(x, mean+rng.NormFloat64())
			}
			if rng.Float64() >= 0.9 {
				z = (z + 1 + rng.IntN(p.K-1)) % p.K
			}
		}
	}
	return x
}

// write writes the means of the states and the steps, float64.
func write(file string, p *hmm.Parameters, x []float64) error {
	f, err := os.Create(file)
	if err != nil {
		return err
	}
	var bytes []byte // used again, so that what is left of it does not count as memory of the fit
	put := func(v []float64) error {
		bytes = bytes[:0]
		for _, number := range v {
			bytes = binary.LittleEndian.AppendUint64(bytes, math.Float64bits(number))
		}
		_, err := f.Write(bytes)
		return err
	}
	for k := range p.K {
		if err := put(p.Component(k)[:columns]); err != nil {
			return err
		}
	}
	const part = 1 << 16
	for first := 0; first < len(x); first += part {
		if err := put(x[first:min(len(x), first+part)]); err != nil {
			return err
		}
	}
	return f.Close()
}

func usage() (u syscall.Rusage) {
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		log.Fatal(err)
	}
	return u
}

// processor is the processor time in seconds.
func processor() float64 {
	u := usage()
	return float64(u.Utime.Nano()+u.Stime.Nano()) / 1e9
}

// peak is the highest resident size, in kB.
func peak() int64 { return usage().Maxrss }

// Command scale simulates passes of a fit on a cluster: the sums are real, the clock is not. Every task of a pass is
// made by framework.Share, as a worker makes it, on a small table; how long it would take on a large one, which workers
// are slow and which die is drawn. The fit must have the bits of one process. docs/scaling.md quotes what it prints:
//
//	cd bench && go run ./scale
package main

import (
	"bytes"
	"container/heap"
	"context"
	"encoding/gob"
	"flag"
	"fmt"
	"iter"
	"log"
	"math"
	"math/rand/v2"
	"reflect"
	"time"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
)

const (
	columns    = 10
	components = 10
	all        = 1 << 18 // rows of the table, in place of 10¹²
)

type (
	parameters = *mixture.Parameters
	statistics = *mixture.Statistics
)

// A plan is how a pass is carried out.
type plan struct {
	shards    int // each is a task
	workers   int
	seconds   float64 // of a pass, if one worker made all of it
	slow      float64 // share of tasks that take five times as long
	lives     float64 // mean seconds until a worker dies; 0: for ever
	restart   float64 // seconds until another takes its place
	latency   float64 // seconds that a pass costs beside its tasks
	speculate bool    // idle workers begin the tasks that are left a second time
}

func main() {
	log.SetFlags(0)
	iterations := flag.Int("iterations", 3, "of each fit")
	read := flag.Float64("read", 2, "GB that a worker reads in a second")
	flag.Parse()
	model := mixture.Model{Family: normal.Family{Covariance: normal.Full}}
	options := func(shards int) framework.Options {
		return framework.Options{
			K:             components,
			FixedK:        true,
			Method:        framework.EM,
			Shards:        shards,
			MaxIterations: *iterations,
			Seed:          1,
			NoMoves:       true,
		}
	}
	ones := map[int]*framework.Result[parameters, statistics]{} // fits of one process, by the number of shards
	for _, shards := range []int{1024, 8192} {
		one, err := framework.Fit(context.Background(), model, rowsOf(shards), options(shards))
		if err != nil {
			log.Fatal(err)
		}
		ones[shards] = one
	}
	rate := pace(model, ones[1024].Parameters)
	const rows, workers = 1e12, 1000
	computing, reading := rows/rate/8, rows*columns*8/(*read*1e9)
	total := math.Max(computing, reading) // they overlap
	fmt.Printf("%d columns, %d components: %.0f ns a row on one core\n", columns, components, 1e9/rate)
	fmt.Printf("10^12 rows, %d workers of 8 cores: computing %.0f s, reading %.0f s at %v GB/s each\n\n", workers,
		computing/workers, reading/workers, *read)
	fmt.Printf("%-52s %6s %6s %6s %5s %9s %7s\n", "", "shards", "pass s", "extra", "dead", "merge ms", "MB")
	for _, c := range []struct {
		what string
		plan
	}{
		{"nothing goes wrong", plan{shards: 1024}},
		{"nothing goes wrong", plan{shards: 8192}},
		{"1 in 100 tasks takes 5 times as long", plan{shards: 8192, slow: 0.01}},
		{"… and idle workers begin what is left again", plan{shards: 8192, slow: 0.01, speculate: true}},
		{"a worker dies every 30 days", plan{shards: 8192, lives: 30 * 86400}},
		{"a worker dies every day", plan{shards: 8192, lives: 86400}},
		{"a worker dies every hour", plan{shards: 8192, lives: 3600}},
		{"a worker dies every hour", plan{shards: 1024, lives: 3600}},
		{"a worker dies every hour, slow tasks, begun again", plan{shards: 8192, lives: 3600, slow: 0.01, speculate: true}},
	} {
		c.workers, c.seconds, c.restart, c.latency = workers, total, 60, 2
		r := &remote{source: rowsOf(c.shards), model: model, plan: c.plan, random: rand.New(rand.NewPCG(1, 1))}
		began := time.Now()
		res, err := framework.Fit(context.Background(), model, r, options(c.shards))
		if err != nil {
			log.Fatal(err)
		}
		if one := ones[c.shards]; !reflect.DeepEqual(res.Parameters, one.Parameters) ||
			!reflect.DeepEqual(res.Trace, one.Trace) {
			log.Fatalf("%s: the bits are not those of one process", c.what)
		}
		passes, ideal := float64(r.passes), total/workers
		merging := (time.Since(began) - r.away).Seconds() / passes
		bytes := float64(r.sumBytes)/passes + workers*float64(r.stateBytes)
		fmt.Printf("%-52s %6d %6.0f %5.0f%% %5.1f %9.0f %7.1f\n", c.what, c.shards, r.clock/passes,
			100*(r.clock/passes/ideal-1), float64(r.dead)/passes, 1000*merging, bytes/1e6)
	}
}

// A source has one block of rows a shard.
type source struct {
	x      []float64
	shards int
}

func rowsOf(shards int) source {
	rng := rand.New(rand.NewPCG(1, 2))
	x := make([]float64, all*columns)
	for i := range x {
		x[i] = rng.NormFloat64() + 3*float64(i/columns%components*(i%columns)%7)
	}
	return source{x, shards}
}

func (s source) Rows() int { return all }

func (s source) Blocks(ctx context.Context) iter.Seq2[blocks.Rows, error] {
	return s.Part(ctx, 0, s.shards, s.shards)
}

// Part are the blocks of some shards.
func (s source) Part(_ context.Context, first, last, shards int) iter.Seq2[blocks.Rows, error] {
	return func(yield func(blocks.Rows, error) bool) {
		n := all / shards
		for i := first; i < last && yield(
			blocks.Rows{First: i * n, N: n, D: columns, Stride: columns, X: s.x[i*n*columns : (i+1)*n*columns]}, nil,
		); i++ {
		}
	}
}

// pace is how many rows a second one core takes.
func pace(m mixture.Model, p parameters) float64 {
	best := 0.0
	for range 5 {
		began := time.Now()
		if _, err := framework.Share(context.Background(), m, rowsOf(1024), framework.State[parameters]{Parameters: p},
			0, 1024, 1024, 1); err != nil {
			log.Fatal(err)
		}
		best = math.Max(best, all/time.Since(began).Seconds())
	}
	return best
}

// A remote source has its passes made by workers that are simulated.
type remote struct {
	source
	model  mixture.Model
	plan   plan
	random *rand.Rand

	passes, dead         int
	sumBytes, stateBytes int
	clock                float64       // seconds of all passes, as they would be
	away                 time.Duration // that making them took here
}

// share makes a task as a worker does, from bytes.
func (r *remote) share(state []byte, task int) ([]byte, error) {
	var at framework.State[parameters]
	if err := gob.NewDecoder(bytes.NewReader(state)).Decode(&at); err != nil {
		return nil, err
	}
	return framework.Share(context.Background(), r.model, r.source, at, task, task+1, r.plan.shards, 1)
}

// An event is the end of a worker's task, or of the worker.
type event struct {
	at     float64
	task   int // −1: a worker is there again
	failed bool
}

type events []event

func (e events) Len() int           { return len(e) }
func (e events) Less(i, j int) bool { return e[i].at < e[j].at }
func (e events) Swap(i, j int)      { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)        { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	last := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return last
}

// Step makes a pass: real sums, at times that are drawn.
func (r *remote) Step(_ context.Context, at framework.State[parameters], _ int) ([][]byte, error) {
	began := time.Now()
	defer func() { r.away += time.Since(began) }()
	var state bytes.Buffer
	if err := gob.NewEncoder(&state).Encode(at); err != nil {
		return nil, err
	}
	r.stateBytes = state.Len()
	waiting := make([]int, r.plan.shards)
	for i := range waiting {
		waiting[i] = i
	}
	sums := make([][]byte, r.plan.shards)
	queue := &events{}
	idle, now, left := r.plan.workers, 0.0, r.plan.shards
	running := map[int]int{} // how many workers are at a task
	for left > 0 {
		for idle > 0 {
			task, again := -1, false
			if len(waiting) > 0 {
				task, waiting = waiting[0], waiting[1:]
			} else if task = r.second(sums, running); task < 0 {
				break
			} else {
				again = true
			}
			idle--
			running[task]++
			heap.Push(queue, r.begin(now, task, again))
		}
		e := heap.Pop(queue).(event)
		now = e.at
		switch {
		case e.task < 0:
			idle++
			continue
		case e.failed:
			r.dead++
			if running[e.task]--; sums[e.task] == nil && running[e.task] == 0 {
				waiting = append(waiting, e.task)
			}
			heap.Push(queue, event{at: now + r.plan.restart, task: -1})
			continue
		}
		idle++
		if running[e.task]--; sums[e.task] != nil {
			continue
		}
		sum, err := r.share(state.Bytes(), e.task)
		if err != nil {
			return nil, err
		}
		sums[e.task] = sum
		r.sumBytes += len(sum)
		left--
	}
	r.passes++
	r.clock += now + r.plan.latency
	return sums, nil
}

// second is a task that one worker alone is at, −1 for none.
func (r *remote) second(sums [][]byte, running map[int]int) int {
	if r.plan.speculate {
		for task, sum := range sums {
			if sum == nil && running[task] == 1 {
				return task
			}
		}
	}
	return -1
}

// begin draws how a worker's task ends. Workers differ by some percent.
func (r *remote) begin(now float64, task int, again bool) event {
	takes := r.plan.seconds / float64(r.plan.shards) * math.Exp(0.05*r.random.NormFloat64())
	if !again && r.random.Float64() < r.plan.slow {
		takes *= 5
	}
	if r.plan.lives > 0 {
		if life := r.plan.lives * r.random.ExpFloat64(); life < takes {
			return event{now + life, task, true}
		}
	}
	return event{now + takes, task, false}
}

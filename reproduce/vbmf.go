package reproduce

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/vbmf"
)

// A vbmfCase is one of the matrices of paper N, section 4.
type vbmfCase struct {
	figure   int
	name     string
	rank     int // the true one, or that of the exact solution
	trueRank bool
	paper    string // what the paper says of the iterative algorithm
	trapped  bool   // whether it says that all starts end in local minima
	draw     func(*Settings) (*mat.Dense, error)
	needs    []DataFile
}

var spectfFile = DataFile{
	"spectf.csv", "the SPECTF heart data of the UCI repository, 267 rows: 44 numeric columns and the label ClassLabel",
}

var (
	artificial1 = vbmfCase{
		figure:   1,
		name:     "Artificial1",
		rank:     20,
		trueRank: true,
		paper:    "The iterative algorithm does not converge in 60 s, 250 iterations.",
		draw:     func(*Settings) (*mat.Dense, error) { return artificial(100, 300, 20, 1), nil },
	}
	artificial2 = vbmfCase{
		figure:   2,
		name:     "Artificial2",
		rank:     40,
		trueRank: true,
		trapped:  true,
		paper:    "All ten starts of the iterative algorithm are trapped at local minima.",
		draw:     func(*Settings) (*mat.Dense, error) { return artificial(70, 300, 40, 10), nil },
	}
	satellite = vbmfCase{
		figure: 3,
		name:   "Satellite (36 × 6435, raw)",
		rank:   29,
		paper:  "The iterative algorithm converges slowly, and sometimes ends in local minima.",
		draw: func(*Settings) (*mat.Dense, error) {
			t, err := data.Load("satellite")
			if err != nil {
				return nil, err
			}
			return without(t, "classes")
		},
	}
	spectf = vbmfCase{
		figure: 4,
		name:   "SPECTF (44 × 267, raw)",
		rank:   15,
		paper:  "The iterative algorithm converges slowly, and sometimes ends in local minima.",
		needs:  []DataFile{spectfFile},
		draw: func(s *Settings) (*mat.Dense, error) {
			t, err := s.Table(spectfFile)
			if err != nil {
				return nil, err
			}
			return without(t, "ClassLabel")
		},
	}
)

// without is the transposed table without a column.
func without(t *data.Table, column string) (*mat.Dense, error) {
	t, err := t.Drop(column)
	if err != nil {
		return nil, err
	}
	x, n, d, err := t.Matrix()
	if err != nil {
		return nil, err
	}
	return mat.DenseCopyOf(mat.NewDense(n, d, x).T()), nil
}

// artificial is BAᵀ + E with standard normal entries of all three.
func artificial(l, m, rank int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 0))
	normal := func(r, c int) *mat.Dense {
		x := mat.NewDense(r, c, nil)
		for i := range x.RawMatrix().Data {
			x.RawMatrix().Data[i] = rng.NormFloat64()
		}
		return x
	}
	b, a, y := normal(l, rank), normal(m, rank), normal(l, m)
	var u mat.Dense
	u.Mul(b, a.T())
	y.Add(y, &u)
	return y
}

// vbmfRun is the result of one job: the exact solution, or one start of the iteration.
type vbmfRun struct {
	Exact      bool
	Energy     []float64 // F/(LM) of the matrix scaled to a mean square of 1, after each iteration
	Seconds    []float64
	Iterations []float64 // at which the rank was taken
	Ranks      []float64
	Noise      float64 // σ², in units of the data
	FreeEnergy float64 // F, in units of the data
}

func vbmfFigure(c vbmfCase) *Experiment {
	return Define(Info{
		Name:   fmt.Sprintf("vbmf-fig%d", c.figure),
		Title:  fmt.Sprintf("Exact against iterative matrix factorisation on %s", c.name),
		Source: fmt.Sprintf("Nakajima, Sugiyama & Babacan 2011, figure %d", c.figure),
		About: `The free energy of empirical variational Bayesian matrix factorisation with unknown noise: the exact solution (Corollary 2 and the global search for σ²), and the iterative
algorithm (eqs. 6 to 9) at full rank from random starts. As in the paper, the matrix is scaled to a mean square of 1, entries of the first factors are standard normal, and covariances and noise begin at 1.
The rank of the iteration counts the singular values of E[BAᵀ] above a thousandth of the largest that noise of the estimated level makes, (√L + √M)σ.`,
		Revision: 1, Needs: c.needs,
	}, c.jobs, c.conclude)
}

func (c vbmfCase) jobs(s *Settings) ([]Job[vbmfRun], error) {
	y, err := c.draw(s)
	if err != nil {
		return nil, err
	}
	starts, iterations := s.seeds(10, 3), s.seeds(250, 40)
	jobs := []Job[vbmfRun]{
		{Key: "exact", Cost: 0.01, Run: func(ctx context.Context) (vbmfRun, error) { return c.exact(ctx, y) }},
	}
	for i := range starts {
		jobs = append(jobs, Job[vbmfRun]{Key: fmt.Sprintf("start-%d", i+1), Run: func(ctx context.Context) (vbmfRun, error) {
			return c.iterate(ctx, y, uint64(i+1), iterations)
		}})
	}
	return jobs, nil
}

func (c vbmfCase) exact(ctx context.Context, y *mat.Dense) (vbmfRun, error) {
	t, err := blocks.FromMatrix(y)
	if err != nil {
		return vbmfRun{}, err
	}
	began := time.Now()
	sol, err := vbmf.Solve(ctx, t, vbmf.Options{})
	if err != nil {
		return vbmfRun{}, err
	}
	return vbmfRun{
		Exact:      true,
		Energy:     []float64{perEntry(y, sol.FreeEnergy)},
		Seconds:    []float64{time.Since(began).Seconds()},
		Ranks:      []float64{float64(sol.Rank)},
		Noise:      sol.Noise,
		FreeEnergy: sol.FreeEnergy,
	}, nil
}

// perEntry is F/(LM) for the matrix divided by its root mean square.
func perEntry(y *mat.Dense, f float64) float64 {
	l, m := y.Dims()
	size := float64(l * m)
	norm := mat.Norm(y, 2)
	return f/size - math.Log(norm*norm/size)/2
}

// watched takes the rank and the time of an iteration.
type watched struct {
	vbmf.Iterative
	run   *vbmfRun
	shape [2]int
	began time.Time
	aside time.Duration // spent on watching
	count int
}

// Maximize is that of the model, recorded.
func (w *watched) Maximize(s *vbmf.Statistics, p, dst *vbmf.Parameters) (*vbmf.Parameters, error) {
	q, err := w.Iterative.Maximize(s, p, dst)
	if err != nil {
		return q, err
	}
	w.count++
	now := time.Now()
	w.run.Seconds = append(w.run.Seconds, (now.Sub(w.began) - w.aside).Seconds())
	if w.count < 10 || w.count%10 == 0 {
		floor := 1e-3 * (math.Sqrt(float64(w.shape[0])) + math.Sqrt(float64(w.shape[1]))) * math.Sqrt(q.Noise)
		rank := 0
		for _, v := range q.Singular(s) {
			if v > floor {
				rank++
			}
		}
		w.run.Iterations, w.run.Ranks = append(w.run.Iterations, float64(w.count)), append(w.run.Ranks, float64(rank))
	}
	w.aside += time.Since(now)
	return q, nil
}

func (c vbmfCase) iterate(ctx context.Context, y *mat.Dense, seed uint64, iterations int) (vbmfRun, error) {
	t, err := blocks.FromMatrix(y)
	if err != nil {
		return vbmfRun{}, err
	}
	var run vbmfRun
	l, m := y.Dims()
	w := &watched{run: &run, shape: [2]int{l, m}, began: time.Now()}
	res, err := framework.Fit(ctx, w, t, framework.Options{
		K: min(l, m), Method: framework.EM, Seed: seed, MaxIterations: iterations, Tolerance: 1e-300, Workers: 1,
	})
	if err != nil {
		return run, err
	}
	for _, v := range res.Trace {
		run.Energy = append(run.Energy, perEntry(y, -v))
	}
	run.Noise, run.FreeEnergy = res.Parameters.Noise, -res.Value
	return run, nil
}

// vbmfNear is how near to the exact free energy, in nats an entry, counts as having
// reached it.
const vbmfNear = 1e-4

func (c vbmfCase) conclude(s *Settings, runs []vbmfRun) (*Outcome, error) {
	exact, starts := runs[0], runs[1:]
	rank := exact.Ranks[0]
	out := &Outcome{}
	paper := fmt.Sprintf("The analytic solution has rank %d.", c.rank)
	if c.trueRank {
		paper = fmt.Sprintf("The analytic solution finds the true rank, %d, immediately.", c.rank)
	}
	out.Statements = append(out.Statements, Statement{Central: true, Paper: paper, Agrees: int(rank) == c.rank,
		Measured: fmt.Sprintf("rank %.0f, σ² = %.5g, F = %.3f", rank, exact.Noise, exact.FreeEnergy)})

	least, reached := math.Inf(1), 0
	var excess, seconds []float64
	for _, r := range starts {
		last := r.Energy[len(r.Energy)-1]
		least = min(least, last)
		excess = append(excess, last-exact.Energy[0])
		if last-exact.Energy[0] < vbmfNear {
			reached++
		}
		seconds = append(seconds, r.Seconds[len(r.Seconds)-1])
	}
	out.Statements = append(out.Statements,
		Statement{
			Central:  true,
			Paper:    "It is the global minimum: no iterative run has a lower free energy.",
			Agrees:   least >= exact.Energy[0]-1e-9,
			Measured: fmt.Sprintf("F/(LM) is %.6f; the best of %d starts ends at %.6f", exact.Energy[0], len(starts), least),
		},
		Statement{
			Paper:  c.paper,
			Agrees: reached < len(starts) && (!c.trapped || reached == 0),
			Measured: fmt.Sprintf(
				"after %d iterations %d of %d starts are within %g nats an entry of the exact solution; the others "+
					"are %.2g to %.2g above", len(starts[0].Energy), reached, len(starts), vbmfNear,
				slices.Min(excess), slices.Max(excess),
			),
		},
		Statement{Paper: "The analytic solution is much faster.", Agrees: stat.Mean(seconds, nil) > 10*exact.Seconds[0],
			Measured: fmt.Sprintf("%.3g s against %.3g s for %d "+
				"iterations", exact.Seconds[0], stat.Mean(seconds, nil), len(starts[0].Energy))})

	trace := Table{
		Name: "runs",
		About: "free energy per entry, of the matrix scaled to a mean square of 1, and seconds, after each " +
			"iteration; iteration 0 is the exact solution",
		Header: []string{"run", "iteration", "free_energy", "seconds"},
	}
	trace.Add("exact", 0, exact.Energy[0], exact.Seconds[0])
	ranks := Table{Name: "ranks", About: "estimated rank", Header: []string{"run", "iteration", "rank"}}
	ranks.Add("exact", 0, rank)
	energy, clock, size := chart("Free energy", "iteration", "F/(LM)"), chart("Time", "iteration", "seconds"),
		chart("Rank", "iteration", "estimated rank")
	clock.Legend.Left = true
	end := float64(len(starts[0].Energy))
	for i, r := range starts {
		var steps []float64
		for j, e := range r.Energy {
			steps = append(steps, float64(j+1))
			trace.Add(fmt.Sprintf("start %d", i+1), j+1, e, r.Seconds[j])
		}
		for j, at := range r.Iterations {
			ranks.Add(fmt.Sprintf("start %d", i+1), at, r.Ranks[j])
		}
		name := ""
		if i == 0 {
			name = "iterative"
		}
		// The first iterations are much higher than all others.
		from := min(4, len(steps)-1)
		series{Name: name, X: steps[from:], Y: r.Energy[from:]}.draw(energy, 0)
		series{Name: name, X: steps, Y: r.Seconds[:len(steps)]}.draw(clock, 0)
		series{Name: name, X: r.Iterations, Y: r.Ranks}.draw(size, 0)
	}
	for _, of := range []struct {
		p *plot.Plot
		y float64
	}{{energy, exact.Energy[0]}, {clock, exact.Seconds[0]}, {size, rank}} {
		series{Name: "exact", X: []float64{0, end}, Y: []float64{of.y, of.y}, Dashed: true}.draw(of.p, 1)
	}
	size.Y.Max += (size.Y.Max - size.Y.Min) / 4 // room for the legend
	out.Tables = []Table{trace, ranks}
	out.Figures = []Figure{{
		Name:   "figure",
		Width:  24 * vg.Centimeter,
		Height: 8 * vg.Centimeter,
		Plots:  [][]*plot.Plot{{energy, clock, size}},
		Caption: fmt.Sprintf("Free energy per entry, time and estimated rank of %d iterative runs against the exact "+
			"solution (dashed).", len(starts)),
	}}
	return out, nil
}

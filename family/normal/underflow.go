package normal

import (
	"math"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// underflow is the work space for leaving out scores whose exp underflows to 0, and the schedule of when
// that is tried. It changes no bit of the others.
type underflow struct {
	list    []int32
	zeros   []float64
	base    []float64 // K, the log joints that the scores are added to
	best    []float64 // of each row, the highest bound
	certain []float64 // of each row, one log joint that it has
	likely  []int32   // of each row, the component that has it
	x, r    []float64 // the rows kept, column-major, and their log joints or weights

	pause, patience int // chunks until the next trial, and how many it was when the last one failed
	left            int // scores left out so far
}

// maxPatience is the number of chunks after which a bound is tried again at the latest.
const maxPatience = 63

// due reports whether this chunk should try, and counts it.
func (f *underflow) due() bool {
	if f.pause > 0 {
		f.pause--
		return false
	}
	return true
}

// note records whether a trial has paid: after each that has not, more chunks pass until the next.
func (f *underflow) note(paid bool) {
	if paid {
		f.patience = 0
		return
	}
	f.patience = min(2*f.patience+1, maxPatience)
	f.pause = f.patience
}

func (f *underflow) resize(k, n int) {
	if len(f.likely) < n {
		f.list, f.likely = make([]int32, n+simd.WithinSpace), make([]int32, n)
	}
	f.zeros, f.base = linalg.Resize(f.zeros, n), linalg.Resize(f.base, k)
	f.best, f.certain, f.r = linalg.Resize(f.best, n), linalg.Resize(f.certain, n), linalg.Resize(f.r, n)
}

// within lists the rows at which a − b is above gap, or NaN.
func (f *underflow) within(a, b []float64, gap float64) []int32 {
	return f.list[:simd.Within(f.list, a, b, gap)]
}

// gathering is what moving a number of a row costs, in multiplications and additions of the
// kernels for scores and moments.
const gathering = 6

// minColumns is the number of columns from which on it pays to look for weights of 0.
const minColumns = 12

// boundFrom is the row of R that a bound begins with: a third of the rows are in it, with a
// ninth of the work, and not so few that they could hardly rule out anything.
func (g gaussian) boundFrom() int { return max(0, g.d-max(10, g.d/3)) &^ 3 }

// AddJoints is AddScores when nothing else is added later (see [family.Selective]). The last rows of R give an upper
// bound of every score; the score of the component whose bound is highest is computed, and then the scores that this
// one does not rule out: a log joint −[simd.Negligible] below another of the row is at least as far below the row's
// highest, and so is anything below a bound.
func (g gaussian) AddJoints(o *family.Observed, scores family.Table, r []float64) {
	d, n, k, from, f := g.d, o.Padded(), scores.K, g.boundFrom(), &memory[own](o).underflow
	if k == 1 || from == 0 || g.tied || !o.Complete || !f.due() { // tied classes share the work
		g.AddScores(o, scores, r)
		return
	}
	full, bound := d*(d+1)/2, (d-from)*(d-from+1)/2 // products a row
	if excludable := g.addBounds(o, scores, r); excludable*full <= n*(k*bound+gathering*d) {
		f.note(false)
		for j := range k {
			linalg.Fill(linalg.Row(r, j, n), f.base[j])
		}
		g.AddScores(o, scores, r)
		return
	}
	computed, moved := g.scoreLikeliest(o, scores, r), 0
	for j := range k {
		to := linalg.Row(r, j, n)
		list := f.within(to, f.certain, simd.Negligible)
		kept := list[:0]
		for _, row := range list {
			if f.likely[row] != int32(j) {
				kept = append(kept, row)
			}
		}
		if 4*len(kept) > 3*n {
			linalg.Fill(to, f.base[j])
			g.scoreAll(o, scores, j, to)
			computed += n
			continue
		}
		g.scoreRows(o, scores, j, to, kept)
		moved += len(kept)
	}
	computed += moved
	f.left += k*n - computed
	f.note((k*n-computed)*full > n*(k*bound+gathering*d)+moved*gathering*d)
}

// addBounds is AddScores with bounds, from log joints that it notes, and notes the highest of
// each row. It counts the pairs of a row and a component that they could rule out at best.
func (g gaussian) addBounds(o *family.Observed, scores family.Table, r []float64) (excludable int) {
	d, n, f := g.d, o.Padded(), &memory[own](o).underflow
	f.resize(scores.K, n)
	o.Work = linalg.Resize(o.Work, simd.ScoresWork(d))
	linalg.Fill(f.best, math.Inf(-1))
	for j := range scores.K {
		score := scores.Row(j, 1+d+d*d)
		m, root := g.split(score, 1)
		to := linalg.Row(r, j, n)
		f.base[j] = to[0]
		simd.GaussianBounds(to, o.X, d, n, g.boundFrom(), score[0], m, root, o.Work)
		simd.Raise(f.best, to)
	}
	for j := range scores.K {
		excludable += n - len(f.within(linalg.Row(r, j, n), f.best, simd.Negligible))
	}
	return excludable
}

// scoreLikeliest puts the log joint of each row with the component whose bound is highest in
// the place of the bound, and notes both. It returns how many it has computed, a
// few more than rows where bounds are equal.
func (g gaussian) scoreLikeliest(o *family.Observed, scores family.Table, r []float64) (computed int) {
	n, f := o.Padded(), &memory[own](o).underflow
	for j := range scores.K {
		to := linalg.Row(r, j, n)
		list := f.within(to, f.best, -math.SmallestNonzeroFloat64)
		g.scoreRows(o, scores, j, to, list)
		for _, row := range list {
			f.certain[row], f.likely[row] = to[row], int32(j)
		}
		computed += len(list)
	}
	return computed
}

// scoreAll adds one component's scores.
func (g gaussian) scoreAll(o *family.Observed, scores family.Table, j int, to []float64) {
	score := scores.Row(j, 1+g.d+g.d*g.d)
	m, root := g.split(score, 1)
	simd.GaussianScores(to, o.X, g.d, len(to), score[0], m, root, o.Work)
}

// scoreRows puts one component's log joints of some rows into their places.
func (g gaussian) scoreRows(o *family.Observed, scores family.Table, j int, to []float64, list []int32) {
	f, d, n := &memory[own](o).underflow, g.d, simd.Padded(len(list))
	f.x = linalg.Resize(f.x, d*n)
	simd.Gather(f.x, o.X, d, o.Padded(), list)
	joint := f.r[:n]
	linalg.Fill(joint, f.base[j])
	score := scores.Row(j, 1+d+d*d)
	m, root := g.split(score, 1)
	simd.GaussianScores(joint, f.x, d, n, score[0], m, root, o.Work)
	for i, row := range list {
		to[row] = joint[i]
	}
}

// weighed are the rows of weights that are not 0, filled up with some of weight 0: all rows as
// they are, unless so many can be left out that moving the others pays. It depends on the
// weights only: sums round differently without the zeros among them.
func (g gaussian) weighed(o *family.Observed, weights []float64) (x, w []float64) {
	f, d, n := &memory[own](o).underflow, g.d, o.Padded()
	if d < minColumns {
		return o.X, weights
	}
	f.resize(1, n)
	list := f.within(weights, f.zeros, 0)
	kept := simd.Padded(len(list))
	if (d+3+2*gathering)*kept > (d+3)*n {
		return o.X, weights
	}
	f.x = linalg.Resize(f.x, d*kept)
	simd.Gather(f.x, o.X, d, n, list)
	w = f.r[:kept]
	clear(w[len(list):])
	for i, row := range list {
		w[i] = weights[row]
	}
	return f.x, w
}

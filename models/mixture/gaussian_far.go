package mixture

import (
	"math"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

// underflow is a difference of log joints from which on down exp is exactly 0.
const underflow = -746

// far is the work space for leaving out what contributes exactly nothing, and when that is
// to be tried. Trying or not changes no bit of a score that counts.
type far struct {
	list    []int32
	zeros   []float64
	base    []float64 // K, the log joints that the scores are added to
	best    []float64 // of each row, the highest bound
	certain []float64 // of each row, one log joint that it has
	likely  []int32   // of each row, the component that has it
	x, r    []float64 // the rows kept, side by side, and what goes with them

	pause, patience int // chunks until the next trial, and how many it was when the last one failed
	left            int // scores left out so far
}

// mostPatience is the number of chunks after which a bound is tried again at the latest.
const mostPatience = 63

// due says that this chunk should try, and counts it.
func (f *far) due() bool {
	if f.pause > 0 {
		f.pause--
		return false
	}
	return true
}

func (f *far) judge(paid bool) {
	if paid {
		f.patience = 0
		return
	}
	f.patience = min(2*f.patience+1, mostPatience)
	f.pause = f.patience
}

func (f *far) resize(k, n int) {
	if cap(f.list) < n+simd.WithinSpace {
		f.list = make([]int32, n+simd.WithinSpace)
		f.likely = make([]int32, n)
	}
	f.zeros, f.base = linalg.Resize(f.zeros, n), linalg.Resize(f.base, k)
	f.best, f.certain, f.r = linalg.Resize(f.best, n), linalg.Resize(f.certain, n), linalg.Resize(f.r, n)
}

// gathering is what moving a number of a row costs, in multiplications and additions of the kernels.
const gathering = 6

// boundFrom is the row of R that a bound begins with: a third of the rows are in it, with a
// ninth of the work, and not so few that they could hardly rule out anything.
func (g gaussian) boundFrom() int { return max(0, g.d-max(10, g.d/3)) &^ 3 }

// addJoints is addScores where nothing else will be added: what it leaves at a row and a
// component, instead of their log joint, may be any number from which exp underflows below
// the row's highest. The last rows of R give an upper bound of every score; that of the
// component whose bound is highest is computed, and then those that its score does
// not rule out.
func (g gaussian) addJoints(o *observed, scores table, r []float64) {
	d, n, k, from, f := g.d, o.padded(), scores.k, g.boundFrom(), &o.far
	if k == 1 || from == 0 || !f.due() {
		g.addScores(o, scores, r)
		return
	}
	f.resize(k, n)
	o.work = linalg.Resize(o.work, simd.ScoresWork(d))
	fill(f.best, math.Inf(-1))
	for j := range k {
		score := scores.row(j, 1+d+d*d)
		m, root := g.split(score, 1)
		bounds := at(r, j, n)
		f.base[j] = bounds[0]
		simd.GaussianBounds(bounds, o.x, d, n, from, score[0], m, root, o.work)
		simd.Raise(f.best, bounds)
	}
	whole, bound := d*(d+1)/2, (d-from)*(d-from+1)/2
	hopeful := 0
	for j := range k {
		hopeful += n - simd.Within(f.list, at(r, j, n), f.best, underflow)
	}
	if hopeful*whole <= n*(k*bound+gathering*d) {
		f.judge(false)
		for j := range k {
			fill(at(r, j, n), f.base[j])
		}
		g.addScores(o, scores, r)
		return
	}
	moved := 0
	for j := range k {
		list := f.list[:simd.Within(f.list, at(r, j, n), f.best, -math.SmallestNonzeroFloat64)]
		if len(list) == 0 {
			continue
		}
		g.scoreRows(o, scores, j, list)
		to := at(r, j, n)
		for i, row := range list {
			to[row], f.certain[row], f.likely[row] = f.r[i], f.r[i], int32(j)
		}
		moved += len(list)
	}
	computed := moved
	for j := range k {
		to := at(r, j, n)
		list := f.list[:simd.Within(f.list, to, f.certain, underflow)]
		kept := list[:0]
		for _, row := range list {
			if f.likely[row] != int32(j) {
				kept = append(kept, row)
			}
		}
		switch m := len(kept); {
		case m == 0:
		case 4*m > 3*n:
			fill(to, f.base[j])
			g.scoreAll(o, scores, j, to)
			computed += n
		default:
			g.scoreRows(o, scores, j, kept)
			for i, row := range kept {
				to[row] = f.r[i]
			}
			moved += m
			computed += m
		}
	}
	f.left += k*n - computed
	f.judge((k*n-computed)*whole > n*k*bound+moved*gathering*d)
}

// scoreAll adds one component's scores.
func (g gaussian) scoreAll(o *observed, scores table, j int, to []float64) {
	score := scores.row(j, 1+g.d+g.d*g.d)
	m, root := g.split(score, 1)
	simd.GaussianScores(to, o.x, g.d, len(to), score[0], m, root, o.work)
}

// scoreRows puts one component's log joints of some rows into f.r.
func (g gaussian) scoreRows(o *observed, scores table, j int, list []int32) {
	f, d, n := &o.far, g.d, o.padded()
	kept := simd.Padded(len(list))
	f.x = linalg.Resize(f.x, d*kept)
	simd.Gather(f.x, o.x, d, n, list)
	fill(f.r[:kept], f.base[j])
	score := scores.row(j, 1+d+d*d)
	m, root := g.split(score, 1)
	simd.GaussianScores(f.r[:kept], f.x, d, kept, score[0], m, root, o.work)
}

// weighed are the rows of weights that are not 0: the rows themselves, unless enough are left
// out that moving the others pays.
func (g gaussian) weighed(o *observed, weights []float64) (x, w []float64) {
	f, d, n := &o.far, g.d, o.padded()
	if d < 12 {
		return o.x, weights
	}
	f.resize(1, n)
	list := f.list[:simd.Within(f.list, weights, f.zeros, 0)]
	kept := simd.Padded(len(list))
	if (d+3+2*gathering)*kept > (d+3)*n {
		return o.x, weights
	}
	f.x = linalg.Resize(f.x, d*kept)
	simd.Gather(f.x, o.x, d, n, list)
	w = f.r[:kept]
	clear(w[len(list):])
	for i, row := range list {
		w[i] = weights[row]
	}
	return f.x, w
}

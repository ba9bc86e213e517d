package evidence

import (
	"context"
	"math"
	"slices"

	"github.com/latent-go/latent/internal/parallel"
)

// Allocation is one way to assign the rows to the components: all Z that agree in how
// many copies of each distinct row go to each component, up to the labels.
type Allocation struct {
	// Sizes holds N_k, the rows in each component. It has min(K, N) entries: no more
	// components can be used at once, and the other ones are empty.
	Sizes []int
	// LogJoint is ln p(X,Z|K) in nats of any one such Z.
	LogJoint float64

	*tables
	cells []int // slots×cells, row-major
}

// Rows returns N.
func (a *Allocation) Rows() int { return a.rows }

// Count returns n_kml, how many of the rows in component k, below len(a.Sizes), have the given level
// in the given column, both counted from 0.
func (a *Allocation) Count(k, column, level int) int {
	l, found := slices.BinarySearch(a.levels[column], level)
	if !found {
		return 0
	}
	return a.cells[k*a.tables.cells+a.offsets[column]+l]
}

const (
	// negligible is how many nats below the largest a term is left out: 1e10 of them change
	// the sum by less than a part in 1e17.
	negligible = 64
	// minTasks is how many parts of the sum there are at least, where it is long
	// enough: a number of its own, so that the bits do not depend on the workers.
	minTasks = 256
	// checkEvery is the number of terms between two checks of the context.
	checkEvery = 1 << 14
)

// walker enumerates the allocations, pattern by pattern and component by
// component. Labels are exchangeable, so it visits only those in which the
// components' copies, read as one word each, descend, and counts the others.
type walker struct {
	ctx    context.Context
	visit  func(a *Allocation, dst []float64)
	total  accumulator
	at     Allocation
	copies []int  // patterns×slots: copies of the pattern in the component
	tied   []bool // (patterns+1)×slots: all earlier patterns as in the component before

	anyTied bool // some components are equal in all patterns but the last

	splitAt int // pattern before which the walk is cut into tasks, −1 for none
	tasks   []task

	logs   []float64 // terms of the inner loop
	values []float64 // what visit returns
	terms  int       // since the context was checked
}

// task is the part of the sum that begins with given allotments.
type task struct {
	walker    *walker
	logWeight float64
}

// sum adds up all terms but for the factor exp(logPrior).
func (t *tables) sum(ctx context.Context, workers, dim int, visit func(*Allocation, []float64)) (*accumulator, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	// All weights begin with every relabelling counted; leaf divides.
	logWeight := t.factorial[t.slots] + t.labels[t.slots]
	for _, p := range t.patterns {
		logWeight += t.factorial[p.copies]
	}
	w := t.walker(ctx, dim, visit)
	if t.slots == 1 {
		for p, pattern := range t.patterns {
			w.add(p, 0, pattern.copies)
			logWeight -= t.factorial[pattern.copies]
		}
		w.leaf(logWeight, w.component(0))
		return &w.total, nil
	}
	w.splitAt = t.split()
	if err := w.pattern(0, logWeight); err != nil {
		return nil, err
	}
	err := parallel.DoContext(ctx, len(w.tasks), workers, func(ctx context.Context, i int) error {
		part := w.tasks[i].walker
		part.ctx = ctx
		part.values, part.total = make([]float64, dim), newAccumulator(dim)
		return part.pattern(w.splitAt, w.tasks[i].logWeight)
	})
	if err != nil {
		return nil, err
	}
	for i := range w.tasks {
		w.total.merge(&w.tasks[i].walker.total)
	}
	return &w.total, nil
}

func (t *tables) walker(ctx context.Context, dim int, visit func(*Allocation, []float64)) *walker {
	w := &walker{
		ctx: ctx, visit: visit, total: newAccumulator(dim),
		at:     Allocation{tables: t, Sizes: make([]int, t.slots), cells: make([]int, t.slots*t.cells)},
		copies: make([]int, len(t.patterns)*t.slots),
		tied:   make([]bool, (len(t.patterns)+1)*t.slots),
		values: make([]float64, dim),
	}
	for k := 1; k < t.slots; k++ {
		w.tied[k] = true
	}
	return w
}

// split is the number of patterns that are allotted before the sum is cut.
func (t *tables) split() int {
	tasks := 0.0
	for p := range t.patterns[:len(t.patterns)-1] {
		if tasks >= math.Log(minTasks) {
			return p
		}
		tasks += logAllocations(t.patterns[p].copies, t.slots)
	}
	return len(t.patterns) - 1
}

// cut sets the walk aside as a task.
func (w *walker) cut(logWeight float64) {
	c := *w
	c.splitAt = -1
	c.tasks = nil
	c.at.Sizes, c.at.cells = slices.Clone(w.at.Sizes), slices.Clone(w.at.cells)
	c.copies, c.tied = slices.Clone(w.copies), slices.Clone(w.tied)
	w.tasks = append(w.tasks, task{&c, logWeight})
}

// add puts c more copies of pattern p into component k.
func (w *walker) add(p, k, c int) {
	w.copies[p*w.at.slots+k] += c
	w.at.Sizes[k] += c
	cells := w.at.cells[k*w.at.tables.cells:]
	for _, i := range w.at.patterns[p].cells {
		cells[i] += c
	}
}

// component is the log of component k's factor of p(X,Z|K).
func (w *walker) component(k int) float64 {
	sum := w.at.size[w.at.Sizes[k]]
	for _, n := range w.at.cells[k*w.at.tables.cells : (k+1)*w.at.tables.cells] {
		sum += w.at.cell[n]
	}
	return sum
}

// tie finds which components equal the one before in the patterns before p.
func (w *walker) tie(p int) {
	if p == 0 {
		return
	}
	slots := w.at.slots
	before, copies := w.tied[(p-1)*slots:p*slots], w.copies[(p-1)*slots:p*slots]
	for k := 1; k < slots; k++ {
		w.tied[p*slots+k] = before[k] && copies[k] == copies[k-1]
	}
}

// pattern goes through the allotments of pattern p and those after it.
func (w *walker) pattern(p int, logWeight float64) error {
	w.tie(p)
	if p == w.splitAt {
		w.cut(logWeight)
		return w.ctx.Err()
	}
	return w.place(p, 0, w.at.patterns[p].copies, logWeight)
}

// place gives the rest of the copies of pattern p to the components from k on.
func (w *walker) place(p, k, rest int, logWeight float64) error {
	low, high := w.bounds(p, k, rest)
	lastPair := k == w.at.slots-2
	if lastPair && p == len(w.at.patterns)-1 {
		return w.pair(low, high, rest, logWeight)
	}
	for c := low; c <= high; c++ {
		weight := logWeight - w.at.factorial[c]
		w.add(p, k, c)
		var err error
		if lastPair {
			w.add(p, k+1, rest-c)
			err = w.pattern(p+1, weight-w.at.factorial[rest-c])
			w.add(p, k+1, c-rest)
		} else {
			err = w.place(p, k+1, rest-c, weight)
		}
		w.add(p, k, -c)
		if err != nil {
			return err
		}
	}
	return nil
}

// bounds are the copies that component k may take: no more than the component before
// if they are equal so far, and no fewer than leave room for the rest.
func (w *walker) bounds(p, k, rest int) (low, high int) {
	slots := w.at.slots
	tied := w.tied[p*slots : (p+1)*slots]
	high = rest
	if tied[k] {
		high = min(high, w.copies[p*slots+k-1])
	}
	if !slices.Contains(tied[k+1:], false) {
		low = (rest + slots - k - 1) / (slots - k)
	}
	return low, high
}

// pair is the inner loop: the last pattern's copies on the last two components, from
// low to high of them on the first of the two.
func (w *walker) pair(low, high, rest int, logWeight float64) error {
	t := w.at.tables
	last, i := len(t.patterns)-1, t.slots-2
	width := high - low + 1
	if w.terms += width; w.terms > checkEvery {
		w.terms = 0
		if err := w.ctx.Err(); err != nil {
			return err
		}
	}
	if cap(w.logs) < width {
		w.logs = make([]float64, rest+1)
	}
	logs := w.logs[:width]
	w.anyTied = slices.Contains(w.tied[last*t.slots:(last+1)*t.slots], true)
	fixed := 0.0
	for k := range i {
		fixed += w.component(k)
	}
	first, second := w.at.cells[i*t.cells:(i+1)*t.cells], w.at.cells[(i+1)*t.cells:]
	for _, j := range t.others {
		fixed += t.cell[first[j]] + t.cell[second[j]]
	}
	for c := range logs {
		logs[c] = fixed
	}
	addPair(logs, t.size[w.at.Sizes[i]+low:], t.size[:w.at.Sizes[i+1]+rest-low+1])
	for _, j := range t.patterns[last].cells {
		addPair(logs, t.cell[first[j]+low:], t.cell[:second[j]+rest-low+1])
	}
	ways, copies := t.factorial[low:], t.factorial[:rest-low+1]
	for c, log := range logs {
		weight := logWeight - ways[c] - copies[len(copies)-1-c]
		if weight+log < w.total.max-negligible {
			continue
		}
		w.add(last, i, low+c)
		w.add(last, i+1, rest-low-c)
		w.leaf(weight, log)
		w.add(last, i, -low-c)
		w.add(last, i+1, low+c-rest)
	}
	return nil
}

// addPair adds first read forwards and second read backwards.
func addPair(dst, first, second []float64) {
	first = first[:len(dst)]
	second = second[len(second)-len(dst):]
	for i := range dst {
		dst[i] += first[i] + second[len(second)-1-i]
	}
}

// leaf counts an allocation whose components have the factors exp(log) and that stands
// for at most exp(logWeight) of all Z, if no relabellings are the same.
func (w *walker) leaf(logWeight, log float64) {
	t := w.at.tables
	if w.anyTied {
		logWeight -= w.logRuns()
	}
	used := 0
	for _, size := range w.at.Sizes {
		if size > 0 {
			used++
		}
	}
	logWeight += t.labels[used] - t.labels[t.slots]
	if w.visit != nil {
		w.at.LogJoint = t.logPrior + log
		w.visit(&w.at, w.values)
	}
	w.total.add(logWeight+log, 1, w.values)
}

// logRuns is the sum of ln r! over the runs of r equal components.
func (w *walker) logRuns() float64 {
	t := w.at.tables
	w.tie(len(t.patterns))
	sum, run := 0.0, 1
	for _, tied := range w.tied[len(t.patterns)*t.slots:] {
		if !tied {
			run = 1
			continue
		}
		run++
		sum += math.Log(float64(run))
	}
	return sum
}

// accumulator is Σ exp(log) and Σ exp(log)·values, over exp(max).
type accumulator struct {
	max, sum float64
	values   []float64
}

func newAccumulator(dim int) accumulator {
	return accumulator{max: math.Inf(-1), values: make([]float64, dim)}
}

// add adds exp(log)·sum and exp(log)·sum·values.
func (a *accumulator) add(log, sum float64, values []float64) {
	if log > a.max {
		scale := math.Exp(a.max - log)
		a.max = log
		a.sum *= scale
		for i := range a.values {
			a.values[i] *= scale
		}
	}
	weight := math.Exp(log-a.max) * sum
	a.sum += weight
	for i, v := range values {
		a.values[i] += weight * v
	}
}

func (a *accumulator) merge(b *accumulator) {
	if b.sum == 0 {
		return
	}
	for i := range b.values {
		b.values[i] /= b.sum
	}
	a.add(b.max, b.sum, b.values)
}

package command

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// stateHead heads the column of states, from 1.
const stateHead = "state"

// beginnings are what --start says: how a fit is initialised, and for chains what is assumed of the first state.
type beginnings struct {
	fit   family.Start
	chain hmm.Initial
}

// hmmSettings are those of hidden Markov models.
type hmmSettings struct {
	columnSettings
	Start *string `json:"start,omitempty" placeholder:"NAME" help:"Initialisation of the states: kmeans, random (responsibilities), rows, scaled (k-means without whitening), hierarchical (Ward), seeded (k-means++ alone), or varied: kmeans, hierarchical, scaled and rows, then seeded and rows in turn. Default: varied. Instead, or after a comma, the distribution of the first state: free, uniform, stationary, or first (with --left-right). Default: free."`
	covarianceSettings
	fitted.SequenceSettings
	LeftRight *int `json:"left_right,omitempty" placeholder:"STATES" range:"[1,inf)" help:"Moves lead to the same state or up to this many states further, never back. gfic charges little for such chains and finds many states: compare by bic, or give --k."`
}

// starting takes --start apart.
func (start *startSettings) starting(chain bool) (b beginnings, err error) {
	b.fit = family.Varied
	fits, chains := 0, 0
	for name := range strings.SplitSeq(valueOr(start.Start, family.Varied.String()), ",") {
		way, unknown := family.StartByName(name)
		if unknown == nil {
			if fits++; fits > 1 {
				return b, misused("--start %s: name one initialisation", *start.Start)
			}
			b.fit = way
			continue
		}
		first, err := hmm.InitialByName(name)
		switch {
		case !chain:
			return b, misused("--start %s: choose one of varied, kmeans, random, rows, scaled, hierarchical, seeded", name)
		case err != nil:
			return b, misused("--start %s: choose one of varied, kmeans, random, rows, scaled, hierarchical, seeded "+
				"for the fit, and of free, uniform, stationary, first for the first state", name)
		}
		if chains++; chains > 1 {
			return b, misused("--start %s: name one distribution of the first state", *start.Start)
		}
		b.chain = first
	}
	return b, nil
}

func (m *hmmSettings) check(f *modelFlags) error {
	if err := m.checkFloor(f); err != nil {
		return err
	}
	b, err := m.starting()
	switch {
	case err != nil:
		return err
	case m.LeftRight != nil && b.chain == hmm.Stationary:
		return misused(
			"--start stationary cannot be used with --left-right: a chain that never goes back ends in its last state",
		)
	case m.LeftRight == nil && b.chain == hmm.FirstState:
		return misused("--start first requires --left-right: states have no order without it")
	case b.chain == hmm.Stationary && f.model().informed(f.Method):
		return misused("--start stationary cannot be used with --method %s: it has no conjugate prior", f.Method)
	}
	m.addFactors(f)
	return f.checkClasses()
}

func (m *hmmSettings) starting() (beginnings, error) {
	return (&startSettings{m.Start}).starting(true)
}

// chainKeys are those of --prior that are about a chain.
var chainKeys = []string{"start", "transitions", "stay"}

// chainPrior is what --prior says of the chain.
func (f *modelFlags) chainPrior() hmm.ChainPrior {
	v := f.Prior.values
	return hmm.ChainPrior{
		Start: prior.Dirichlet{Alpha: v["start"]}, Rows: prior.Dirichlet{Alpha: v["transitions"]}, Stay: v["stay"],
	}
}

// takeSequences takes the column of --sequence out of the table: rows with one value of it, one after the other, are a
// sequence.
func (in *input) takeSequences(column string) error {
	if column == "" {
		return nil
	}
	t, err := in.Factor(column, nil, false)
	if err != nil {
		return in.wrap(fmt.Errorf("--sequence: %w", err))
	}
	levels, codes := t.Levels(column), t.Codes(column)
	ids := make([]string, len(codes))
	for row, code := range codes {
		if code < 0 {
			return in.wrap(
				fmt.Errorf("--sequence: row %d has no value of column %.60q: every row belongs to a sequence", row+1, column),
			)
		}
		ids[row] = levels[code]
	}
	if in.ends, err = framework.EndsOf(ids); err != nil {
		return in.wrap(fmt.Errorf("--sequence: %w", err))
	}
	for _, end := range in.ends {
		in.sequences = append(in.sequences, ids[end-1])
	}
	if in.label == column {
		in.label = ""
	}
	in.Table, err = in.Table.Drop(column)
	return in.wrap(err)
}

// series are the rows as sequences, each with the weight that its rows have.
func (in *input) series(rows *framework.Table) (*framework.SequenceTable, error) {
	x := rows.All()
	table, err := framework.FromIncomplete(x.X, x.N, x.D)
	if err != nil {
		return nil, err
	}
	s, err := framework.NewSequences(table, in.ends)
	if err != nil || in.frequencies == nil {
		return s, err
	}
	var weights []float64
	first := 0
	for _, end := range in.endsOf(x.N) {
		for row := first; row < end; row++ {
			if in.frequencies[row] != in.frequencies[first] {
				return nil, fmt.Errorf("the weights of rows %d and %d, column %q, differ: a weight belongs to a whole sequence",
					first+1, row+1, in.weights)
			}
		}
		weights = append(weights, in.frequencies[first])
		first = end
	}
	return s.WithWeights(weights)
}

// endsOf are the ends of the sequences of n rows: one where none are known.
func (in *input) endsOf(n int) []int {
	if in.ends == nil {
		return []int{n}
	}
	return in.ends
}

func (m *hmmSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	rows, err := in.rows(s, f)
	if err != nil {
		return nil, err
	}
	src, err := in.series(rows.Table)
	if err != nil {
		return nil, err
	}
	b, err := m.starting()
	if err != nil {
		return nil, err
	}
	t := rows.task(f, "state")
	t.largest = mostByRows(rows.Table, rows.family) // steps that look alike may be in states that others follow
	base := hmm.Model{
		Family:    rows.family,
		Structure: hmm.Structure{Initial: b.chain, LeftRight: valueOr(m.LeftRight, 0)},
		Start:     b.fit,
		Workers:   f.Workers,
		Prior:     f.Prior.unit(),
	}
	t.engine, err = hmmEngine(f, src, rows, base)
	return t, err
}

// hmmEngine makes the model of the method.
func hmmEngine(f *modelFlags, src *framework.SequenceTable, rows *describedRows, base hmm.Model) (engine, error) {
	_, of, err := f.mixturePriors(rows.family)
	if err != nil {
		return nil, err
	}
	if f.Method == methodVB {
		variational := hmm.Variational{
			Family:    rows.family,
			Structure: base.Structure,
			Start:     base.Start,
			Workers:   base.Workers,
			Prior:     of,
			Chain:     f.chainPrior(),
		}
		return &iterated[framework.Sequences, *hmm.Posterior, *hmm.Statistics]{variational, src,
			func(q *hmm.Posterior, s *hmm.Statistics) (*result, error) {
				p, err := variational.Point(q)
				if err != nil {
					return nil, err
				}
				found, err := newChain(base, f.Family, rows.columns, p, s)
				if err != nil {
					return nil, err
				}
				r := found.result(src)
				_, q, err = variational.Keep(s, q, found.places)
				r.posterior = q
				return r, err
			}}, nil
	}
	made := &iterated[framework.Sequences, *hmm.Parameters, *hmm.Statistics]{Model: base, Source: src}
	if f.Method == methodMAP {
		made.Model = hmm.MAP{Model: base, Prior: of, Chain: f.chainPrior()}
	}
	made.Found = func(p *hmm.Parameters, s *hmm.Statistics) (*result, error) {
		found, err := newChain(base, f.Family, rows.columns, p, s)
		if err != nil {
			return nil, err
		}
		r := found.result(src)
		r.bootstrap = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
			e, err := drawnComponents(ctx, found.components, made.Model, src, found.params, (*hmm.Parameters).Vector, o)
			if err != nil {
				return bootstrap.Outcome{}, err
			}
			moves := e.Numbers[found.params.K:][:found.params.K*found.params.K]
			for i := range moves {
				e, interval := drawn(moves[i])
				found.moveErrors, found.moveIntervals = append(found.moveErrors, e), append(found.moveIntervals, interval)
			}
			r.params = found.estimates()
			return e.Outcome, nil
		}
		return r, nil
	}
	return made, nil
}

// A chain is the result of a hidden Markov model: what is seen in its states, as components of the mixture that the
// steps make if their order is forgotten, and how states follow one another. The states are ordered by their steps, the
// most first, but for those of a chain from left to right.
type chain struct {
	*components
	model  hmm.Model
	params *hmm.Parameters
	errors []float64 // standard errors of the transitions given the states
	places []int     // where the states were in what the engine found
	path   []int     // of the rows that were fitted; nil until it is asked for

	moveErrors    []number // of the transitions, by bootstrap
	moveIntervals [][]number
}

func newChain(m hmm.Model, name string, columns []data.Column, p *hmm.Parameters, s *hmm.Statistics) (*chain, error) {
	c := &chain{model: m, places: upTo(0, p.K-1)}
	if m.Structure.LeftRight == 0 {
		slices.SortStableFunc(c.places, func(i, j int) int { return cmp.Compare(s.Nk[j], s.Nk[i]) })
	}
	sums, params, err := m.Keep(s, p, c.places)
	if err != nil {
		return nil, err
	}
	c.params, c.errors = params, m.TransitionErrors(sums, params)
	stepSums, steps := m.Steps(sums, params)
	c.components, err = describeComponents(mixture.Model{Family: m.Family}, name, columns, steps, stepSums)
	if err != nil {
		return nil, err
	}
	c.noun, c.assign, c.probabilities = "state", c.visited, nil
	for k := range c.list { // steps are not independent
		c.list[k].WeightError = number(math.NaN())
	}
	return c, nil
}

func (c *chain) result(src framework.Source[framework.Sequences]) *result {
	r := c.components.result()
	r.params, r.print, r.sections, r.finding = c.estimates(), c.print, c.sections, c.finding
	r.count = onPaths(src, c.model, c.params)
	return r
}

func (c *chain) estimates() chainEstimates {
	k := c.params.K
	return chainEstimates{Parameters: c.params, Transitions: nested(numbers(c.params.Transitions), k),
		Durations: numbers(c.model.Durations(c.params)), Stationary: c.stationary(),
		Errors: chainErrors{Transitions: nested(numbers(c.errors), k), Components: c.components.errors.Components},
		Drawn:  nested(c.moveErrors, k), Intervals: nested(c.moveIntervals, k)}
}

// chainEstimates are parameters as a report has them: with a list for each row of the transitions.
type chainEstimates struct {
	*hmm.Parameters
	Transitions [][]number  `json:"transitions"`
	Durations   []number    `json:"durations"`  // expected steps in a state, once it is entered; null of one that is never left
	Stationary  []number    `json:"stationary"` // share of steps in each state in the long run; null where it depends on the beginning
	Errors      chainErrors `json:"complete_data_standard_errors"`

	Drawn     [][]number   `json:"transitions_bootstrap_standard_errors,omitempty"`
	Intervals [][][]number `json:"transitions_bootstrap_intervals,omitempty"` // two ends each
}

type chainErrors struct {
	Transitions [][]number `json:"transitions"`
	Components  []number   `json:"components"`
}

// nested cuts a list into rows.
func nested[T any](list []T, width int) [][]T { return slices.Collect(slices.Chunk(list, width)) }

func (c *chain) stationary() []number {
	share, err := c.model.Stationary(c.params)
	if err != nil {
		return nil
	}
	return numbers(share)
}

// visited are the states of rows on the most probable path.
func (c *chain) visited(in *input, rows []int) ([]int, error) {
	if c.path == nil {
		b, err := in.steps()
		if err != nil {
			return nil, err
		}
		if c.path, _, err = c.model.Viterbi(b, c.params); err != nil {
			return nil, err
		}
	}
	list := make([]int, len(rows))
	for i, row := range rows {
		list[i] = c.path[row]
	}
	return list, nil
}

// steps are the rows of the table as one block of sequences.
func (in *input) steps() (framework.Sequences, error) {
	x, n, d, err := in.Values()
	return framework.Sequences{Steps: framework.Rows{N: n, D: d, Stride: d, X: x}, Ends: in.endsOf(n)}, err
}

// print shows what is seen in the states, and how they follow one another.
func (c *chain) print(p *page) {
	c.components.print(p)
	used := 0 // states that hold steps: those that hold none come last, but for chains from left to right
	for i, state := range c.list {
		if state.Rows >= 0.5 {
			used = i + 1
		}
	}
	k := min(max(used, 1), mostRows)
	durations, share := c.model.Durations(c.params), c.stationary()
	shown, g := p.widest(k, func(n int) *grid {
		heads := []string{"from state", "begins", "stays, steps"}
		if share != nil {
			heads = append(heads, "long run")
		}
		heads = append(heads, numbered("to ", n)...)
		g := newGrid(heads...)
		for i := range k {
			row := []string{strconv.Itoa(i + 1), fmt.Sprintf("%.3f", c.params.Start[i]), stayed(durations[i])}
			if share != nil {
				row = append(row, fmt.Sprintf("%.3f", float64(share[i])))
			}
			for j := range n {
				cell := fmt.Sprintf("%.3f", c.params.Move(i, j))
				if c.moveErrors != nil {
					cell += fmt.Sprintf(" ± %.3f", float64(c.moveErrors[i*c.params.K+j]))
				}
				row = append(row, cell)
			}
			g.row(row...)
		}
		return g
	})
	p.line("")
	text := "Probabilities of the first state, mean steps in a state once it is entered, and probabilities " +
		"of the next state"
	if share != nil {
		text = strings.Replace(text, "entered, and", "entered, the share of steps in the state in the long run, and", 1)
	}
	if c.moveErrors != nil {
		text += ", ± standard errors by bootstrap"
	}
	p.prose(0, "%s:", text)
	p.grid(g)
	if left := max(used, 1) - shown; left > 0 {
		p.prose(0, "%s left out (--format json has all).", are(left, "more state"))
	}
}

// stayed is the number of steps in a state, for readers.
func stayed(steps float64) string {
	if math.IsInf(steps, 1) {
		return "for good"
	}
	return fmt.Sprintf("%.4g", steps)
}

// moments are mean and standard deviation of a column of numbers, where its family has them.
func (s columnSummary) moments(name string) (mean, sd number, ok bool) {
	if name == families.Bernoulli {
		p := float64(s.Values[s.keys[0]])
		return number(p), number(math.Sqrt(p * (1 - p))), true
	}
	of := families.Named(name).Moments
	if of == nil {
		return 0, 0, false
	}
	m, v := of(func(name string) float64 { return float64(s.Values[name]) })
	return number(m), number(v), true
}

// expectation is what the columns are where the states have given probabilities: mean and standard deviation of
// numbers, and the probabilities of levels.
func expectation(m hmm.Model, p *hmm.Parameters, columns []data.Column, states []float64) (forecastStep, error) {
	step := forecastStep{States: numbers(states), Mean: map[string]number{}, SD: map[string]number{}}
	names, err := m.Numbers(p)
	if err != nil {
		return step, err
	}
	squares := map[string]number{}
	for k, weight := range states {
		for j, s := range summaries(columns, names, p.Component(k)) {
			if len(columns[j].Levels) > 0 {
				step.addLevels(columns[j], weight, s.probabilities(columns[j]))
			} else if mean, sd, ok := s.moments(columns[j].Family); ok {
				step.Mean[s.Name] += number(weight) * mean
				squares[s.Name] += number(weight) * (sd*sd + mean*mean)
			}
		}
	}
	for name, mean := range step.Mean {
		step.SD[name] = number(math.Sqrt(float64(max(0, squares[name]-mean*mean))))
	}
	return step, nil
}

package hmm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/builtin/internal/curves"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/hmm"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// A chain is the result of a hidden Markov model: what is seen in its states, as components of the mixture that the
// steps make if their order is forgotten, and how states follow one another. The states are ordered by their steps, the
// most first, but for those of a chain from left to right.
type chain struct {
	*classes.Components
	model     hmm.Model
	params    *hmm.Parameters
	posterior *hmm.Posterior // of vb
	errors    []float64      // standard errors of the transitions given the states
	places    []int          // where the states were in what the engine found
	path      []int          // of the rows that were fitted; nil until it is asked for
	steps     *blocks.SequenceTable
	gates     []*classes.GateReport // of moves that depend on covariates, by the state before
	within    within                // what is seen in the states: these components, or the curves of regressions
	design    design.Gate

	moveErrors    []fitted.Number // of the transitions, by bootstrap
	moveIntervals [][]fitted.Number
}

// within says what is seen in the states.
type within interface {
	Facts() [][2]string
	Print(p report.Page)
	Sections() ([]report.Section, error)
	Finding() (report.Section, error)
}

func newChain(m hmm.Model, name string, columns []data.Column, t *data.Named,
	src *blocks.SequenceTable, p *hmm.Parameters, s *hmm.Statistics) (*chain, error) {
	c := &chain{model: m, steps: src, places: wording.UpTo(0, p.K-1)}
	if m.Structure.LeftRight == 0 {
		slices.SortStableFunc(c.places, func(i, j int) int { return cmp.Compare(s.Nk[j], s.Nk[i]) })
	}
	sums, params, err := m.Keep(s, p, c.places)
	if err != nil {
		return nil, err
	}
	c.params, c.errors = params, m.TransitionErrors(sums, params)
	stepSums, steps := m.Steps(sums, params)
	c.Components, err = classes.DescribeComponents(mixture.Model{Family: m.Family}, name, columns, t, steps, stepSums)
	if err != nil {
		return nil, err
	}
	c.within = c.Components
	c.Noun, c.Assign, c.Probabilities, c.Counter = "state", c.visited, nil, onPaths(src, m, params)
	for k := range c.List { // steps are not independent
		c.List[k].WeightError = fitted.Number(math.NaN())
	}
	return c, nil
}

// takeGates has the coefficients of moves that depend on covariates, with their doubts.
func (c *chain) takeGates(e binding) error {
	ctx := context.Background()
	list, err := c.model.Coefficients(ctx, e.steps, c.params)
	if err != nil {
		return err
	}
	c.design = e.gate
	if e.gate.Seen != nil {
		table, err := classes.TableOf(e.steps.All().Steps, nil)
		if err != nil {
			return err
		}
		c.within = &curves.Curves{Components: c.Components, Design: e.gate.Seen, Expanded: table}
	}
	width := 1 + c.model.Structure.Covariates
	for i, of := range list {
		g := classes.NewGateReport(e.gate)
		if i < c.params.K {
			g.After, g.Reference = i+1, i+1
		}
		for one := range slices.Chunk(of, width) {
			g.Add(one)
		}
		c.gates = append(c.gates, g)
	}
	doubts, err := c.model.Doubts(ctx, e.steps, c.params)
	c.Warnings = append(c.Warnings, doubts...)
	return err
}

// Gate is how moves depend on covariates; nil if they do not.
func (c *chain) Gate() any {
	if c.gates == nil {
		return nil
	}
	return c.gates
}

// Facts are those of the states.
func (c *chain) Facts() [][2]string { return c.within.Facts() }

// Posterior is that of vb; nil of other methods.
func (c *chain) Posterior() any {
	if c.posterior == nil {
		return nil
	}
	return c.posterior
}

// Describe is what the page says.
func (c *chain) Describe() (*fitted.Description, error) {
	return classes.DescribedBy(c.finding, c.sections)
}

// Params are the parameters with their standard errors.
func (c *chain) Params() any {
	k := c.params.K
	return chainEstimates{Parameters: c.params, Transitions: nested(fitted.Numbers(c.params.Transitions), k),
		Durations: fitted.Numbers(c.model.Durations(c.params)), Stationary: c.stationary(),
		Errors: chainErrors{Transitions: nested(fitted.Numbers(c.errors), k), Components: c.Components.Errors.Components},
		Drawn:  nested(c.moveErrors, k), Intervals: nested(c.moveIntervals, k), Regression: c.design.Seen}
}

// chainEstimates are parameters as a report has them: with a list for each row of the transitions.
type chainEstimates struct {
	*hmm.Parameters
	Transitions [][]fitted.Number `json:"transitions"`
	// expected steps in a state, once it is entered; null of one that is never left
	Durations []fitted.Number `json:"durations"`
	// share of steps in each state in the long run; null where it depends on the beginning
	Stationary []fitted.Number `json:"stationary"`
	Errors     chainErrors     `json:"complete_data_standard_errors"`

	Drawn     [][]fitted.Number   `json:"transitions_bootstrap_standard_errors,omitempty"`
	Intervals [][][]fitted.Number `json:"transitions_bootstrap_intervals,omitempty"` // two ends each

	Regression *design.Regression `json:"regression,omitempty"` // of states that are regressions
}

type chainErrors struct {
	Transitions [][]fitted.Number `json:"transitions"`
	Components  []fitted.Number   `json:"components"`
}

// shown are the steps as they are shown, whatever their sequences weigh.
func (c *chain) shown() blocks.Sequences {
	all := c.steps.All()
	all.Weights = nil
	return all
}

// nested cuts a list into rows.
func nested[T any](list []T, width int) [][]T { return slices.Collect(slices.Chunk(list, width)) }

func (c *chain) stationary() []fitted.Number {
	share, err := c.model.Stationary(c.params)
	if err != nil || c.gates != nil {
		return nil
	}
	return fitted.Numbers(share)
}

// visited are the states of rows on the most probable path.
func (c *chain) visited(rows []int) ([]int, error) {
	if c.path == nil {
		var err error
		if c.path, _, err = c.model.Viterbi(c.shown(), c.params); err != nil {
			return nil, err
		}
	}
	list := make([]int, len(rows))
	for i, row := range rows {
		list[i] = c.path[row]
	}
	return list, nil
}

// Print shows what is seen in the states, and how they follow one another.
func (c *chain) Print(p report.Page) {
	c.within.Print(p)
	used := 0 // states that hold steps: those that hold none come last, but for chains from left to right
	for i, state := range c.List {
		if state.Rows >= 0.5 {
			used = i + 1
		}
	}
	k := min(max(used, 1), wording.MostRows)
	durations, share := c.model.Durations(c.params), c.stationary()
	shown, g := p.Widest(k, func(n int) *report.Grid {
		heads := []string{"from state", "begins", "stays, steps"}
		if share != nil {
			heads = append(heads, "long run")
		}
		heads = append(heads, wording.Numbered("to ", n)...)
		g := report.NewGrid(heads...)
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
			g.Row(row...)
		}
		return g
	})
	p.Line("")
	text := "Probabilities of the first state, mean steps in a state once it is entered, and probabilities " +
		"of the next state"
	if share != nil {
		text = strings.Replace(text, "entered, and", "entered, the share of steps in the state in the long run, and", 1)
	}
	if c.moveErrors != nil {
		text += ", ± standard errors by bootstrap"
	}
	if c.gates != nil {
		text += ", which are averages over the rows"
	}
	p.Prose(0, "%s:", text)
	p.Grid(g)
	if left := max(used, 1) - shown; left > 0 {
		p.Prose(0, "%s left out (--format json has all).", wording.Are(left, "more state"))
	}
	if c.gates != nil && c.params.K > 1 {
		classes.PrintGates(p, c.aboutOdds()+" (standard errors: observed information, with the states held fixed):", "state",
			c.gates...)
	}
}

// aboutOdds says what the coefficients of moves are about.
func (c *chain) aboutOdds() string {
	text := "Log odds of the next state against staying, by covariate of the next row"
	if len(c.gates) > c.params.K {
		text += "; in a first row, of its state against state 1"
	}
	return text
}

// stayed is the number of steps in a state, for readers.
func stayed(steps float64) string {
	if math.IsInf(steps, 1) {
		return "for good"
	}
	return fmt.Sprintf("%.4g", steps)
}

// onPaths counts steps by the states of the most probable paths.
func onPaths(src framework.Source[blocks.Sequences], m hmm.Model, p *hmm.Parameters) classes.Counter {
	type visit = func(b blocks.Sequences, add func(class int, weight float64)) error
	return classes.CountOver(src, p.K, func() (visit, error) {
		return func(b blocks.Sequences, add func(class int, weight float64)) error {
			path, _, err := m.Viterbi(b, p)
			if err != nil {
				return err
			}
			for i := range b.Len() {
				first, end := b.Bounds(i)
				for _, state := range path[first:end] {
					add(state, b.Weight(i))
				}
			}
			return nil
		}, nil
	})
}

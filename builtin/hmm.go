package builtin

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/hmm"
)

// A Chain is a hidden Markov model, whose rows are the steps of sequences.
type Chain struct {
	scoring.Rows
	Of         hmm.Model
	Parameters *hmm.Parameters
}

// chain takes the parameters out of a model file, and the families of its columns.
func (l loader) chain(f *fitted.File) (fitted.Model, error) {
	var read struct {
		*hmm.Parameters
		Transitions [][]float64 `json:"transitions"`
	}
	if err := json.Unmarshal(f.Params, &read); err != nil {
		return nil, err
	}
	p := read.Parameters
	if p == nil {
		return nil, errors.New("no parameters")
	}
	p.Transitions = slices.Concat(read.Transitions...)
	if err := f.Matches(p.K, p.D); err != nil {
		return nil, err
	}
	if err := l.check(f, false); err != nil {
		return nil, err
	}
	c := &Chain{Of: hmm.Model{Family: l.families.OfRows(f.Family, f.Columns)}, Parameters: p}
	if err := c.Of.Check(p); err != nil {
		return nil, err
	}
	c.Takes = fitted.Input{Gaps: !families.NeedsComplete(f.Family), Sequence: true}
	c.Says = fitted.Layout{
		First: []string{"state", "probability"},
		List:  "responsibilities",
		Items: wording.Numbered("p", p.K),
		Last:  []string{"log_predictive"},
	}
	return c, nil
}

// NewScorer returns a [fitted.SequenceScorer]. It says of each step its state on the most probable path and the
// probability of that, given all of the sequence; the probability of each state; and ln p(x_t|x_1…x_t−1).
func (c *Chain) NewScorer() (fitted.Scorer, error) {
	r, err := c.Of.Reader(c.Parameters)
	return &steps{Chain: c, r: r}, err
}

type steps struct {
	*Chain
	r                 *hmm.Reader
	path, ends        []int
	logProb, smoothed []float64
	course            hmm.Course
}

// Score takes the rows of a block for one sequence.
func (c *steps) Score(b framework.Rows, dst []float64) error {
	c.ends = append(c.ends[:0], b.N)
	return c.ScoreSequences(framework.Sequences{Steps: b, Ends: c.ends}, dst)
}

func (c *steps) ScoreSequences(b framework.Sequences, dst []float64) (err error) {
	if c.path, c.logProb, err = c.r.Viterbi(b, c.path, c.logProb); err != nil {
		return err
	}
	if c.logProb, c.smoothed, err = c.r.Score(b, c.logProb, c.smoothed); err != nil {
		return err
	}
	if err = c.r.Filter(b, &c.course); err != nil {
		return err
	}
	k, width := c.Parameters.K, c.Says.Width()
	for t, z := range c.path {
		own, row := c.smoothed[t*k:(t+1)*k], dst[t*width:(t+1)*width]
		row[0], row[1], row[width-1] = float64(z+1), own[z], c.course.LogDensity[t]
		copy(row[2:], own)
	}
	return nil
}

// NewSampler draws the steps of one sequence.
func (c *Chain) NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error) {
	one, k := *c.Parameters, c.Parameters.K // which starts where the steps before ended
	return func(n int) ([]float64, []int, error) {
		x, states, err := c.Of.Sample(&one, []int{n}, rng)
		if err == nil && n > 0 {
			from := states[n-1]
			one.Start = one.Transitions[from*k : (from+1)*k]
		}
		return x, states, err
	}
}

// SampleSequences draws sequences of the given lengths.
func (c *Chain) SampleSequences(lengths []int, rng *rand.Rand) ([]float64, error) {
	x, _, err := c.Of.Sample(c.Parameters, lengths, rng)
	return x, err
}

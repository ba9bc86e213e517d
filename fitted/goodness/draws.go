package goodness

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
)

// rows draws a table with the rows, the gaps and the given columns of the checked one.
func (c *checker) rows(m fitted.Model, rng *rand.Rand) (*sample, error) {
	s := &sample{Rows: c.table.Rows, ends: c.table.ends}
	var err error
	sequences, inSequences := m.(fitted.SequenceSampler)
	given, isGiven := m.(fitted.ConditionalSampler)
	sampler, samples := m.(fitted.Sampler)
	switch {
	case c.input.Sequence && inSequences && c.input.Given == 0:
		lengths, first := []int(nil), 0
		for _, end := range s.ends {
			lengths, first = append(lengths, end-first), end
		}
		s.X, err = sequences.SampleSequences(lengths, rng)
	case c.input.Given > 0 && isGiven:
		s.X = slices.Clone(c.table.X)
		s.X, _, err = given.SampleGiven(s.Rows, rng)
	case !c.input.Sequence && c.input.Given == 0 && samples:
		s.X, _, err = sampler.NewSampler(rng)(s.N)
	default:
		return nil, ErrNoDraws
	}
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoDraws, err)
	}
	s.Stride = s.D
	for i, v := range c.table.X {
		if math.IsNaN(v) {
			s.X[i] = v
		}
	}
	return s, nil
}

// rowsOfBlock bounds the rows that are scored at once.
const rowsOfBlock = 4096

// score has what a model says of the rows of a sample.
func (c *checker) score(ctx context.Context, m fitted.Model, s *sample) (*scored, error) {
	scorer, err := m.NewScorer()
	if err != nil {
		return nil, err
	}
	of := &scored{sample: s, log: make([]float64, 0, s.N)}
	take := func(numbers []float64) {
		for row := range slices.Chunk(numbers, c.width) {
			if of.log = append(of.log, row[c.log]); c.k > 1 {
				of.r = append(of.r, row[c.first:c.first+c.k]...)
			}
		}
	}
	if c.input.Sequence {
		numbers := make([]float64, s.N*c.width)
		b := blocks.Sequences{Steps: s.Rows, Ends: s.ends}
		if err := scorer.(fitted.SequenceScorer).ScoreSequences(b, numbers); err != nil {
			return nil, err
		}
		take(numbers)
		return of, of.check()
	}
	numbers := make([]float64, min(s.N, rowsOfBlock)*c.width)
	for first := 0; first < s.N; first += rowsOfBlock {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		b := s.Rows
		b.First, b.N = first, min(rowsOfBlock, s.N-first)
		b.X = s.X[first*s.D : (first+b.N)*s.D]
		block := numbers[:b.N*c.width]
		if err := scorer.Score(b, block); err != nil {
			return nil, err
		}
		take(block)
	}
	return of, of.check()
}

func (s *scored) check() error {
	if i := slices.IndexFunc(s.log, func(v float64) bool { return v-v != 0 }); i >= 0 {
		return blocks.FaultyRow(i, "has the log-likelihood %v: its numbers are out of the range of the model's", s.log[i])
	}
	return nil
}

// A reference is what a model expects, from many drawn rows.
type reference struct {
	log   []float64   // ln p of rows, sorted
	tail  float64     // below which there are a hundredth of them
	cells [][]float64 // of each pair of columns of codes the probabilities of its cells
	z     []float64   // of each other pair the mean of artanh r
}

const (
	mostCopies    = 10         // tables that a reference is drawn from
	mostReference = 20_000_000 // numbers of them
	unlikely      = 0.01       // share of the rows in the tail
)

// reference draws what a model expects. Streams of random numbers from the last one down are those of references.
func (c *checker) reference(ctx context.Context, m fitted.Model, b uint64) (*reference, error) {
	rng := rand.New(rand.NewPCG(c.o.Seed, math.MaxUint64-b))
	ref := new(reference)
	var err error
	if ref.cells, err = c.exactCells(m); err != nil {
		return nil, err
	}
	exact := ref.cells != nil
	copies := max(1, min(mostCopies, mostReference/len(c.table.X)))
	for range copies {
		s, err := c.rows(m, rng)
		if err != nil {
			return nil, err
		}
		of, err := c.score(ctx, m, s)
		if err != nil {
			return nil, err
		}
		if ref.log = append(ref.log, of.log...); !exact {
			ref.cells = c.addCells(ref.cells, s)
		}
		z := c.pairs.correlations(of)
		if ref.z == nil {
			ref.z = make([]float64, len(z))
		}
		floats.AddScaled(ref.z, 1/float64(copies), z)
	}
	if !exact {
		shares(ref.cells, 1/float64(2*copies))
	}
	slices.Sort(ref.log)
	ref.tail = ref.log[int(unlikely*float64(len(ref.log)))]
	return ref, nil
}

// figures are the statistics of a table.
type figures struct {
	of    [groups][]float64
	least int      // row of the smallest ln p
	far   *lengths // nil: there are none
}

// draw has the figures of a table drawn from the model, by the model or by one that is fitted to that table.
func (c *checker) draw(ctx context.Context, m fitted.Model, b uint64) (*figures, error) {
	s, err := c.rows(m, rand.New(rand.NewPCG(c.o.Seed, b)))
	if err != nil {
		return nil, err
	}
	expected := c.shared
	if c.o.Refit != nil {
		table := &fitted.Table{Columns: c.columns}
		if table.Rows, err = blocks.FromIncomplete(s.X, s.N, s.D); err == nil && s.ends != nil {
			table.Sequences, err = blocks.NewSequences(table.Rows, s.ends)
		}
		if err == nil {
			m, err = c.o.Refit(ctx, table)
		}
		if err == nil {
			expected, err = c.reference(ctx, m, b)
		}
		if err != nil {
			return nil, err
		}
	}
	of, err := c.score(ctx, m, s)
	if err != nil {
		return nil, err
	}
	return c.statistics(ctx, m, of, expected)
}

// statistics are those of a table by a model, and what is expected of it.
func (c *checker) statistics(
	ctx context.Context, m fitted.Model, of *scored, expected *reference,
) (f *figures, err error) {
	f = &figures{far: c.distances(m, of), least: floats.MinIdx(of.log)}
	if f.of[patterns], err = c.patternStatistics(ctx, m, of); err != nil {
		return nil, err
	}
	f.of[associations] = c.pairs.statistics(of, expected)
	f.of[likelihood] = likelihoodStatistics(of, expected, f.far)
	f.of[outlier] = []float64{-of.log[f.least], f.far.most()}
	f.of[residuals], err = c.residualStatistics(m, of.sample)
	return f, err
}

package factor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Init guesses the noise, at random from the second start on, and takes the loadings with the highest likelihood
// given that noise. It returns an error for constant columns, for rows or columns without any value, and, unless the
// noise is isotropic, for columns that depend linearly on others.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	c, err := lineargaussian.SummarizeColumns(ctx, src)
	if err != nil {
		return nil, err
	}
	if c.Gap == 0 {
		moments, err := lineargaussian.Summarize(ctx, src, 0)
		if err != nil {
			return nil, err
		}
		return m.start(ctx, moments, k, rng)
	}
	moments, err := m.filled(ctx, src, c)
	if err != nil {
		return nil, err
	}
	p, err := m.start(ctx, moments, k, rng)
	if err == nil {
		p.Center = slices.Clone(p.Mean)
	}
	return p, err
}

// Init starts as [Model] does, from moments.
func (c Compressed) Init(
	ctx context.Context, src framework.Source[*lineargaussian.Moments], k int, rng *rand.Rand,
) (*Parameters, error) {
	m, err := lineargaussian.Pool(ctx, src)
	if err != nil {
		return nil, err
	}
	return c.start(ctx, m, k, rng)
}

// start makes parameters of the moments.
func (st Structure) start(ctx context.Context, m *lineargaussian.Moments, k int, rng *rand.Rand) (*Parameters, error) {
	c, err := st.covariance(m)
	if err != nil {
		return nil, err
	}
	if k < 1 || k >= m.D {
		return nil, fmt.Errorf("factor: K = %d with D = %d columns: choose K from 1 to %d, so that noise is left over",
			k, m.D, m.D-1)
	}
	p := &Parameters{K: k, D: m.D, Mean: slices.Clone(m.Mean), Structure: st, Unit: st.gather(c, m.D)}
	share := st.shares(c, m.D, k)
	if framework.StartOf(ctx) > 0 {
		for i := range share {
			share[i] = 0.1 + 0.8*rng.Float64()
		}
	}
	p.Noise = st.fraction(p.Unit, share)
	r, ok := st.root(p.Noise, m.D)
	if !ok {
		return nil, errDependent
	}
	solution, err := lawley(c, r, k, m.D)
	if err != nil {
		return nil, err
	}
	if st.Isotropic { // the eigenvectors are those of any noise, which can be that of the rest
		noise := p.Noise[0] * max(solution.trace-floats.Sum(solution.values), 1e-12*solution.trace) / float64(m.D-k)
		floats.Scale(p.Noise[0]/noise, solution.values)
		p.Noise[0] = noise
		r, _ = st.root(p.Noise, m.D)
	}
	for i, v := range solution.values { // a factor at the level of the noise keeps loadings from which it can grow
		length := 1.0
		if v-1 < 0.1 {
			length = math.Sqrt(0.1)
		} else {
			length = math.Sqrt(v - 1)
		}
		for j := range m.D {
			solution.vectors[j*k+i] *= length
		}
	}
	p.Loadings = solution.vectors
	columns(p.Loadings, k, r.colour)
	return p, nil
}

// shares are guesses of the shares of the variances that are noise: of factor analysis those of Jöreskog (1967), of
// others one half.
func (st Structure) shares(c []float64, d, k int) []float64 {
	share := make([]float64, len(st.parts(d)))
	linalg.Fill(share, 0.5)
	if !st.diagonal() {
		return share
	}
	inverse := slices.Clone(c)
	chol, ok := linalg.NewCholesky(d, inverse)
	if !ok {
		return share
	}
	chol.Invert()
	for j := range share {
		share[j] = min(0.95, max(0.05, (1-float64(k)/float64(2*d))/(inverse[j*(d+1)]*c[j*(d+1)])))
	}
	return share
}

// fraction is Ψ of shares of the units.
func (st Structure) fraction(unit, share []float64) []float64 {
	if st.Isotropic {
		return []float64{mean(share) * mean(unit)}
	}
	noise, at := slices.Clone(unit), 0
	for g, part := range st.parts(len(share)) {
		m := len(part)
		linalg.Scale(share[g], noise[at:at+m*m])
		at += m * m
	}
	return noise
}

// covariance is Σ (x − mean)(x − mean)ᵀ/N of moments that the structure can describe.
func (st Structure) covariance(m *lineargaussian.Moments) ([]float64, error) {
	if err := st.Check(m.D); err != nil {
		return nil, err
	}
	switch {
	case m.Rows < 2 || !(m.N >= 2):
		return nil, fmt.Errorf("factor: %d rows of weight %v: a covariance needs at least two rows", m.Rows, m.N)
	case m.D < 2:
		return nil, fmt.Errorf("factor: %d column: factors explain what columns have in common, which needs at least two "+
			"columns",
			m.D)
	}
	c := slices.Clone(m.Scatter)
	linalg.Scale(1/m.N, c)
	for j := range m.D {
		switch v := c[j*(m.D+1)]; {
		case v == 0:
			return nil, fmt.Errorf("factor: %w", blocks.FaultyColumn(j, blocks.ErrConstant))
		case !(v > 1e-280) || math.IsInf(v, 0):
			return nil, fmt.Errorf("factor: the variance of column %d is %v: rescale it to numbers near 1", j+1, v)
		}
	}
	if st.Isotropic {
		return c, nil
	}
	if m.Rows == 2 {
		return nil, errors.New(
			"factor: 2 rows: noise of each column needs at least three rows, since any two columns are proportional in two rows",
		)
	}
	for i := range m.D {
		for j := range i {
			if r := c[i*m.D+j] / math.Sqrt(c[i*(m.D+1)]) / math.Sqrt(c[j*(m.D+1)]); math.Abs(r) > 1-1e-10 {
				return nil, fmt.Errorf("factor: %w", blocks.FaultyColumn(i, &RepeatedError{Of: j}))
			}
		}
	}
	for b, block := range st.Blocks {
		own := Structure{Blocks: [][]int{block}}.gather(c, m.D)
		if chol, ok := linalg.NewCholesky(len(block), own); !ok || math.IsInf(chol.LogDet(), 0) {
			return nil, fmt.Errorf("factor: block %d: %w", b+1, errDependent)
		}
	}
	return c, nil
}

// A RepeatedError reports a column that equals another one up to a factor and a constant.
type RepeatedError struct{ Of int } // the other column, from 0

func (e *RepeatedError) Error() string {
	return fmt.Sprintf("repeats column %d, up to scale: drop one of the two", e.Of+1)
}

// Named returns the error's message with the name of the other column.
func (e *RepeatedError) Named(columns []string) string {
	return fmt.Sprintf("repeats column %.60q, up to scale: drop one of the two", columns[e.Of])
}

// ofFilled names the moments of filled rows, which have whole blocks.
type ofFilled struct{ blocks string }

// filled are the moments of rows whose missing entries are the mean of the column, with the variances of what it
// shows: good enough to start from. It returns an error for columns and rows without entries, and for a row that shows
// part of a block.
func (st Structure) filled(
	ctx context.Context, src framework.Source[blocks.Rows], c *lineargaussian.Columns,
) (*lineargaussian.Moments, error) {
	d := len(c.Mean)
	if err := st.Check(d); err != nil {
		return nil, err
	}
	if j := slices.Index(c.Count, 0); j >= 0 {
		return nil, fmt.Errorf("factor: %w", blocks.FaultyColumn(j, blocks.ErrNoValue))
	}
	parts := st.parts(d)
	q := framework.Ask(ofFilled{fmt.Sprint(st.Blocks)},
		func() (*lineargaussian.Moments, error) { return new(lineargaussian.Moments), nil },
		func(m *lineargaussian.Moments, b blocks.Rows) error {
			full := blocks.Rows{First: b.First, N: b.N, D: d, Stride: d, X: make([]float64, b.N*d), Weights: b.Weights}
			for i := range b.N {
				if _, err := shown(parts, b.Row(i), b.First+i); err != nil {
					return err
				}
				for j, v := range b.Row(i) {
					if v == v {
						full.X[i*d+j] = v - c.Mean[j]
					}
				}
			}
			return m.Add(full)
		}, (*lineargaussian.Moments).Merge)
	if err := framework.SurveyAll(ctx, src, 0, q); err != nil {
		return nil, err
	}
	m := q.Sum
	scale := c.Variances() // of the standard deviation
	for j := range scale {
		scale[j] = math.Sqrt(scale[j])
		if v := m.Scatter[j*(d+1)]; v > 0 {
			scale[j] *= math.Sqrt(c.N / v)
		}
	}
	scaled := mat.NewDense(d, d, m.Scatter)
	scaled.Apply(func(i, j int, v float64) float64 { return v * scale[i] * scale[j] }, scaled)
	return &lineargaussian.Moments{Rows: c.Rows, N: c.N, D: d, Mean: c.Mean, Scatter: m.Scatter}, nil
}

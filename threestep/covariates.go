package threestep

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/logit"
)

// A Logit is a multinomial logit of the classes on P covariates: its values are the coefficients of
// ln(P(X = t)/P(X = 1)) for the classes t = 2…K, one after another, the intercept and then a slope for each covariate.
type Logit struct {
	Estimates
	K, Width int // classes and covariates
	Rows     int // rows with all covariates
	Left     int // rows without
}

// What a [blocks.DataError] about a covariate wraps.
var (
	ErrConstant  = errors.New("the covariate has one value: leave it out")
	ErrDependent = errors.New("the covariate is a linear combination of others: leave it out")
	// ErrSeparated says that covariates rule out some class for some rows, so that the likelihood has no maximum.
	ErrSeparated = errors.New("the covariates tell the classes of some rows apart without a doubt: the log odds have no " +
		"finite estimate (separation); leave a covariate out, or join levels")
)

// Covariates estimates how the probabilities of the classes depend on covariates, x of rows×width, NaN where missing.
// Levels of a categorical covariate are indicators. It returns a [blocks.DataError] that names the column for
// [ErrConstant] and [ErrDependent], and [ErrSeparated].
func (c *Classification) Covariates(x []float64, width int, how Correction) (*Logit, error) {
	if width < 1 || len(x) != width*len(c.weights) {
		return nil, fmt.Errorf("threestep: %d values are not %d covariates of %d rows", len(x), width, len(c.weights))
	}
	g := &Logit{K: c.K, Width: width}
	var rows []int
	for i, w := range c.weights {
		switch own := x[i*width : (i+1)*width]; {
		case floats.HasNaN(own):
			g.Left++
		case math.IsInf(floats.Norm(own, 1), 0):
			return nil, fmt.Errorf("threestep: %w", blocks.FaultyRow(i, "has a covariate that is infinite"))
		case w > 0:
			rows = append(rows, i)
		}
	}
	if g.Rows = len(rows); g.Rows == 0 {
		return nil, errors.New("threestep: every row lacks a covariate")
	}
	d, err := c.design(x, width, rows)
	if err != nil {
		return nil, err
	}
	l, list, err := c.likelihood(d, rows, how)
	if err != nil {
		return nil, err
	}
	gate, err := l.Maximize()
	if errors.Is(err, logit.ErrSeparated) {
		err = ErrSeparated
	}
	if err != nil {
		return nil, fmt.Errorf("threestep: %w", err)
	}
	free := (c.K - 1) * l.Width
	_, _, information := l.Derivatives(gate)
	scores, row := mat.NewSymDense(free, nil), make([]float64, free)
	l.Scores(gate, func(n int, t, score []float64) {
		for k, v := range score[1:] {
			floats.AddScaled(row[k*l.Width:(k+1)*l.Width], l.Weights[n]*v, t)
		}
		if n+1 == len(list) || list[n+1].row != list[n].row {
			scores.SymRankOne(scores, 1/c.weights[list[n].row], mat.NewVecDense(free, row))
			clear(row)
		}
	})
	cov, err := sandwich(information, scores)
	if err != nil {
		return nil, err
	}
	var units mat.Dense
	units.Kronecker(identity(c.K-1), d.units)
	var values mat.VecDense
	values.MulVec(&units, mat.NewVecDense(free, gate[l.Width:]))
	g.Values, g.ThirdStep = values.RawVector().Data, through(&units, cov)
	return g, nil
}

func identity(n int) *mat.DiagDense {
	one := make([]float64, n)
	floats.AddConst(1, one)
	return mat.NewDiagDense(n, one)
}

// likelihood is that of the rows with a design, and which records they are.
func (c *Classification) likelihood(d *matrix, rows []int, how Correction) (*logit.Likelihood, []record, error) {
	l := &logit.Likelihood{K: c.K, Width: d.width}
	add := func(t []float64, weight float64) {
		l.T, l.Weights = append(l.T, t...), append(l.Weights, weight)
	}
	var list []record
	if how != ML {
		b, err := c.Weights(how)
		if err != nil {
			return nil, nil, err
		}
		for i, row := range rows {
			add(d.row(i), c.weights[row])
			l.Shares = append(l.Shares, b[row*c.K:(row+1)*c.K]...)
			list = append(list, record{row: row})
		}
		return l, list, nil
	}
	list = c.records(rows)
	of, i := make([]float64, c.K), 0
	for _, r := range list {
		for rows[i] != r.row {
			i++
		}
		add(d.row(i), r.weight)
		c.logErrors(r.class, of)
		l.LogDensity = append(l.LogDensity, of...)
	}
	return l, list, nil
}

// A matrix has the numbers of some rows that the logit is of: 1 and the covariates, standardised.
type matrix struct {
	width int
	t     []float64
	units *mat.Dense // times coefficients of these, coefficients of the covariates as they came
}

func (d *matrix) row(i int) []float64 { return d.t[i*d.width : (i+1)*d.width] }

func (c *Classification) design(x []float64, width int, rows []int) (*matrix, error) {
	d := &matrix{width: 1 + width, units: mat.NewDense(1+width, 1+width, nil)}
	d.units.Set(0, 0, 1)
	values, weights := mat.NewDense(len(rows), width, nil), make([]float64, len(rows))
	for i, row := range rows {
		values.SetRow(i, x[row*width:(row+1)*width])
		weights[i] = c.weights[row]
	}
	column := make([]float64, len(rows))
	for j := range width {
		mat.Col(column, j, values)
		if floats.Min(column) == floats.Max(column) {
			return nil, blocks.FaultyColumn(j, ErrConstant)
		}
		mean, sd := stat.PopMeanStdDev(column, weights)
		floats.AddConst(-mean, column)
		floats.Scale(1/sd, column)
		values.SetCol(j, column)
		d.units.Set(0, 1+j, -mean/sd)
		d.units.Set(1+j, 1+j, 1/sd)
	}
	const dependent = 1e12
	var correlations mat.SymDense
	stat.CorrelationMatrix(&correlations, values, weights)
	for j := range width {
		var chol mat.Cholesky
		if !chol.Factorize(correlations.SliceSym(0, j+1)) || chol.Cond() > dependent {
			return nil, blocks.FaultyColumn(j, ErrDependent)
		}
	}
	for i := range rows {
		d.t = append(append(d.t, 1), values.RawRowView(i)...)
	}
	return d, nil
}

// Without tests that the slopes of some covariates, from 0, are 0 in all classes.
func (g *Logit) Without(covariates ...int) Test {
	n := 1 + g.Width
	contrasts := mat.NewDense((g.K-1)*len(covariates), len(g.Values), nil)
	for k := range g.K - 1 {
		for i, j := range covariates {
			contrasts.Set(k*len(covariates)+i, k*n+1+j, 1)
		}
	}
	return g.Wald(contrasts)
}

// TwoSided is the probability that a standard normal number is farther from 0 than z.
func TwoSided(z float64) float64 { return math.Erfc(math.Abs(z) / math.Sqrt2) }

// Package lds defines the linear dynamical system of package builtin, whose columns are linear in latent numbers that
// evolve from step to step: its settings, the results of its fits, predictions for sequences, and its model files.
package lds

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/axes"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/lds"
	"github.com/latent-go/latent/report"
)

// Definition returns the definition of linear dynamical systems (package models/lds).
func Definition(families fitted.Families) fitted.Definition {
	return fitted.Definition{Name: "lds", Title: "Linear dynamical system", Sequences: true, Gaps: true, Starts: 5,
		About:   "a linear dynamical system, for series",
		Example: "geyser", Families: families, New: func() fitted.Settings { return new(Settings) }, Load: load,
		Methods: fitted.ByEvidence(),
		Advice: func(err error) string {
			if errors.Is(err, lds.ErrTooFewSteps) {
				return "--criterion evidence, or --method em --criterion bic"
			}
			return ""
		}}
}

// Settings are the options of linear dynamical systems.
type Settings struct {
	fitted.SequenceSettings
	fitted.NoiseSettings
	Covariates []string `json:"covariates,omitempty" placeholder:"COL" help:"Known inputs, such as the weather: columns of numbers without gaps, which act on the other columns and on the latent numbers of their step. The fit finds the effects. The columns are not described."`
}

// CovariateColumns returns the names of the covariates, whose columns come last in the table.
func (m *Settings) CovariateColumns() []string { return m.Covariates }

// Check returns nil, because all settings are valid.
func (*Settings) Check(fitted.Request) error { return nil }

// Bind prepares the model for the sequences. The covariates must be the last columns, in the order of Covariates,
// without missing values.
func (m *Settings) Bind(_ context.Context, t *fitted.Table, _ fitted.Request) (*fitted.Bound, error) {
	model, what, names := lds.Model{Isotropic: m.Isotropic(), Inputs: len(m.Covariates)}, "gaussian noise", t.Names()
	if model.Inputs > 0 {
		d := len(names) - model.Inputs
		if d < 1 || !slices.Equal(names[d:], m.Covariates) {
			return nil, &fitted.SettingError{Setting: "Covariates", Reason: fmt.Sprintf(
				": %s must be the last columns of the table, after at least one other; its columns are %s",
				wording.Quoted(m.Covariates), wording.Quoted(names))}
		}
		if err := known(t.Rows.All(), d); err != nil {
			return nil, err
		}
		what += ", given " + wording.Quoted(m.Covariates)
	}
	return &fitted.Bound{What: what, Problem: &fitted.Engine[
		fitted.Found, blocks.Sequences, *lds.Parameters, *lds.Statistics]{Model: model, Source: t.Sequences,
		Found: func(p *lds.Parameters, s *lds.Statistics) (fitted.Found, error) {
			p, s = p.Canonical(s)
			f := newFound(p, names)
			cov := s.Covariance()
			f.Share = make([]float64, p.K)
			for j, unit := range p.Unit {
				c := mat.NewVecDense(p.K, p.Loadings[j*p.K:(j+1)*p.K])
				var moved mat.VecDense // covariances of dimensions with what all of them add to the column
				moved.MulVec(cov, c)
				for k := range p.K {
					f.Share[k] += c.AtVec(k) * moved.AtVec(k) / (unit * float64(p.D))
				}
			}
			for k := range p.K {
				f.SD = append(f.SD, math.Sqrt(cov.At(k, k)))
			}
			return f, nil
		}}}, nil
}

// known refuses missing values of covariates, the columns from d on.
func known(rows blocks.Rows, d int) error {
	for i := range rows.N {
		for l, v := range rows.Row(i)[d:] {
			if v != v {
				return &blocks.DataError{Row: i, Column: d + l, Value: v,
					Reason: errors.New("a covariate needs a value in every step: fill it in")}
			}
		}
	}
	return nil
}

// found are the dynamics of sequences.
type found struct {
	scoring.Rows
	parameters
	names, covariates []string
}

// parameters are what JSON and a model file have.
type parameters struct {
	*lds.Parameters
	// Share is the covariance of what each dimension adds to the columns with what all of them do, in units of the
	// columns' variances: the shares add up to what the dimensions explain.
	Share []float64 `json:"share"`
	SD    []float64 `json:"sd"` // standard deviation of each dimension over the steps
}

func newFound(p *lds.Parameters, names []string) *found {
	f := &found{parameters: parameters{Parameters: p}, names: names[:p.D], covariates: names[p.D:]}
	f.Takes = fitted.Input{Gaps: true, Sequence: true, Given: p.Inputs}
	f.Says = fitted.Layout{List: "mean", Items: wording.Numbered("z", p.K),
		Last: append(wording.Numbered("sd_z", p.K), "log_predictive")}
	return f
}

func load(f *fitted.File) (fitted.Model, error) {
	var p parameters
	if err := json.Unmarshal(f.Params, &p); err != nil {
		return nil, err
	}
	if p.Parameters == nil || p.Check() != nil || len(p.Share) != p.K || len(p.SD) != p.K {
		return nil, errors.New("its parameters are inconsistent, or some are not finite")
	}
	if err := f.Matches(p.K, p.D+p.Inputs); err != nil {
		return nil, err
	}
	m := newFound(p.Parameters, (&fitted.Table{Columns: f.Columns}).Names())
	m.parameters = p
	return m, nil
}

func (f *found) Params() any { return f.parameters }

// Doubts are about columns without noise.
func (f *found) Doubts() []error {
	var bare []string
	for j, name := range f.names {
		if f.NoiseOf(j) <= lds.Floor*f.Unit[j]*(1+1e-9) {
			bare = append(bare, name)
		}
	}
	if len(bare) == 0 {
		return nil
	}
	return []error{fmt.Errorf("the noise of %s is at its minimum, %v of the variance: a dimension may stand for one "+
		"column", wording.Quoted(bare), lds.Floor)}
}

// A mode is an eigenvalue of A, or a pair of conjugates.
type mode struct {
	Real    fitted.Number `json:"real"`
	Imag    fitted.Number `json:"imaginary"` // of a pair the positive one
	Modulus fitted.Number `json:"modulus"`   // what is left of it after a step
	Steps   fitted.Number `json:"steps"`     // until 1/e is left; null of what does not decay
	Period  fitted.Number `json:"period"`    // in steps; null of what does not turn
}

// modes are those of A, the slowest to decay first.
func (f *found) modes() (list []mode) {
	var eigen mat.Eigen
	if !eigen.Factorize(mat.NewDense(f.K, f.K, f.Dynamics), mat.EigenNone) {
		return nil
	}
	of := func(v float64) fitted.Number { return fitted.Number(v) }
	for _, v := range eigen.Values(nil) {
		if imag(v) < 0 {
			continue
		}
		m := mode{of(real(v)), of(imag(v)), of(cmplx.Abs(v)), of(math.Inf(1)), of(math.NaN())}
		if m.Modulus < 1 {
			m.Steps = -1 / of(math.Log(cmplx.Abs(v)))
		}
		if angle := cmplx.Phase(v); angle > 0 {
			m.Period = of(2 * math.Pi / angle)
		}
		list = append(list, m)
	}
	slices.SortStableFunc(list, func(a, b mode) int { return cmp.Compare(b.Modulus, a.Modulus) })
	return list
}

// Shown are the modes.
func (f *found) Shown() any {
	return struct {
		Modes []mode `json:"modes"`
	}{f.modes()}
}

// Describe has how the dimensions decay and turn, and what each adds to the columns.
func (f *found) Describe() (*fitted.Description, error) {
	a := axes.Axes{Noun: "dimension", Names: f.names, K: f.K, Shares: f.Share}
	for j, unit := range f.Unit {
		for k, sd := range f.SD {
			c := f.Loadings[j*f.K+k] * sd
			a.Loadings, a.Strength = append(a.Loadings, c), append(a.Strength, max(-1, min(1, c/math.Sqrt(unit))))
		}
	}
	d := &fitted.Description{Omitted: a.Omitted(), Finding: report.Section{Items: a.Items()}}
	d.Finding.Text = fmt.Sprintf("%s that %s from step to step, seen in %s", wording.Counted(f.K, "latent dimension"),
		wording.Plural(f.K, "evolves", "evolve"), wording.Counted(f.D, "column"))
	if f.Inputs > 0 {
		d.Finding.Text += ", given " + wording.Counted(f.Inputs, "covariate")
	}
	d.Finding.Text += "."
	about := "Eigenvalues of A in z_t = A z_t-1 + w_t: what is left after a step, after how many steps 1/e is left, and " +
		"after how many it has turned once."
	table := report.Table{Caption: "how the dimensions decay and turn",
		Columns: report.Columns("mode", "left after a step", "steps to 1/e", "steps a turn")}
	text := func(v fitted.Number, none string) any {
		if v-v != 0 {
			return none
		}
		return report.Of(float64(v))
	}
	for i, m := range f.modes() {
		table.Add(i+1, report.Of(float64(m.Modulus)), text(m.Steps, "does not decay"), text(m.Period, "does not turn"))
	}
	d.Sections = a.Section("Dynamics", about, nil, table)
	k := min(f.K, wording.MostRows)
	columns := a.Sorted(wording.Largest(f.Unit, wording.MostProfiles))
	about = "What a dimension one standard deviation above its mean adds to each column, in its units; z=0 is the " +
		"column without any. Shares of the variance add up to what all explain: a dimension's is the covariance with " +
		"what all add. The colour is the same in standard deviations of the column." +
		wording.LeftOut(f.K-k, "weaker dimension", "")
	cells := a.Cells("what each dimension adds to each column", columns, k,
		func(j, l int) any { return a.Loadings[j*f.K+l] })
	axes.Beside(&cells, columns, "z=0", func(j int) (mean, variance float64) { return f.Mean[j], f.NoiseOf(j) },
		"share of the variance", f.Share[:k])
	heat := a.Heat("What dimensions add", about, columns, k, func(j, l int) string {
		return fmt.Sprintf("%s (%+.2f sd)", wording.Signed(a.Loadings[j*f.K+l]), a.Strength[j*a.K+l])
	})
	d.Sections = append(d.Sections, a.Section("What dimensions add", about, heat, cells)...)
	if f.Inputs > 0 {
		d.Sections = append(d.Sections, f.effects(columns, k))
	}
	return d, nil
}

// effects are what covariates add to some columns, and to the first k dimensions.
func (f *found) effects(columns []int, k int) report.Section {
	table := report.Table{Open: true, Caption: "what one unit of a covariate adds to each column and dimension",
		Columns: report.Columns(append([]string{"column"}, f.covariates...)...)}
	add := func(name string, effects []float64, of int) {
		row := []any{name}
		for _, v := range effects[of*f.Inputs : (of+1)*f.Inputs] {
			row = append(row, report.Of(v))
		}
		table.Add(row...)
	}
	for _, j := range columns {
		add(f.names[j], f.Effects, j)
	}
	for l := range k {
		add(fmt.Sprintf("dimension %d", l+1), f.Drive, l)
	}
	return report.Section{Title: "What covariates add", Tables: []report.Table{table}, Wide: f.Inputs > 2,
		Text: "What one unit of a covariate adds in its step: to each column, in the column's units, and to each " +
			"dimension, in standard deviations of its innovations (not in the first step of a sequence). What dimensions " +
			"get lasts as they do. At z=0 every covariate is 0."}
}

// NewScorer returns a [fitted.SequenceScorer]: mean and deviation of z given all of the sequence, and ln p(x_t|x_1 …
// x_t−1).
func (f *found) NewScorer() (fitted.Scorer, error) { return &scorer{found: f}, nil }

type scorer struct {
	*found
	course lds.Course
}

// Score takes the rows of a block for one sequence.
func (c *scorer) Score(b blocks.Rows, dst []float64) error {
	return c.ScoreSequences(blocks.Sequences{Steps: b, Ends: []int{b.N}}, dst)
}

func (c *scorer) ScoreSequences(b blocks.Sequences, dst []float64) error {
	if err := known(b.Steps, c.D); err != nil {
		return err
	}
	err := lds.Model{}.Smooth(b, c.Parameters, &c.course)
	for i, v := range c.course.Variance {
		c.course.Variance[i] = math.Sqrt(v)
	}
	k, width := c.K, c.Says.Width()
	for t, log := range c.course.LogDensity {
		row := dst[t*width : (t+1)*width]
		copy(row, c.course.Mean[t*k:(t+1)*k])
		copy(row[k:], c.course.Variance[t*k:(t+1)*k])
		row[2*k] = log
	}
	return err
}

// PseudoResiduals are those of the system.
func (f *found) PseudoResiduals(b blocks.Sequences) ([]float64, error) {
	return lds.Model{}.PseudoResiduals(b, f.Parameters)
}

// NewSampler draws the steps of one sequence, if they depend on no covariates.
func (f *found) NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error) {
	var last []float64
	return func(n int) (x []float64, _ []int, _ error) {
		x, last = f.Sample(n, last, nil, rng)
		return x, nil, nil
	}
}

// SampleSequences draws sequences of the given lengths, likewise.
func (f *found) SampleSequences(lengths []int, rng *rand.Rand) (x []float64, err error) {
	for _, n := range lengths {
		one, _ := f.Sample(n, nil, nil, rng)
		x = append(x, one...)
	}
	return x, nil
}

// Forecast is what is expected after each sequence, likewise.
func (f *found) Forecast(b blocks.Sequences, h int) ([]fitted.Forecast, error) {
	var c lds.Course
	if err := (lds.Model{}).Smooth(b, f.Parameters, &c); err != nil {
		return nil, err
	}
	var list []fitted.Forecast
	k, a := f.K, mat.NewDense(f.K, f.K, f.Dynamics)
	for i, end := range b.Ends {
		z, cov := mat.NewVecDense(k, c.Mean[(end-1)*k:end*k]), mat.NewDense(k, k, c.End[i*k*k:(i+1)*k*k])
		for range h {
			z.MulVec(a, mat.VecDenseCopyOf(z))
			cov.Product(a, mat.DenseCopyOf(cov), a.T())
			for l := range k {
				cov.Set(l, l, 1+cov.At(l, l))
			}
			one := fitted.Forecast{Latent: slices.Clone(z.RawVector().Data)}
			for j, mean := range f.Mean {
				row := mat.NewVecDense(k, f.Loadings[j*k:(j+1)*k])
				one.Mean = append(one.Mean, mean+mat.Dot(row, z))
				one.SD = append(one.SD, math.Sqrt(mat.Inner(row, cov, row)+f.NoiseOf(j)))
			}
			list = append(list, one)
		}
	}
	return list, nil
}

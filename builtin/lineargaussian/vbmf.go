package lineargaussian

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/axes"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/vbmf"
	"github.com/latent-go/latent/report"
)

// VBMF returns the definition of variational Bayesian matrix factorisation (package models/vbmf).
func VBMF(families fitted.Families) fitted.Definition {
	method := fitted.Method{
		Engine:   framework.EM,
		Criteria: []framework.Criterion{framework.ELBO},
		FindsK:   true,
		Prior:    []string{"noise", "a", "b"},
	}
	solved, iterated := method, method
	solved.Name, solved.ClosedForm, iterated.Name = "closed-form", true, "vb"
	return fitted.Definition{
		Name:     "vbmf",
		Title:    "Variational Bayesian matrix factorisation",
		Example:  "satellite",
		Families: families,
		Help: "--prior: noise (variance), a and b (variances of the entries of the factors of columns and of rows); " +
			"what is not given is estimated.",
		Methods: []fitted.Method{solved, iterated},
		New:     func() fitted.Settings { return new(VBMFSettings) },
		Load:    loadVBMF,
		Advice: func(err error) string {
			if errors.Is(err, vbmf.ErrNoNoise) {
				return "--prior noise=VARIANCE"
			}
			return ""
		},
	}
}

// VBMFSettings are the options of matrix factorisation.
type VBMFSettings struct {
	Center bool `json:"center,omitempty" help:"Centre the columns first."`
}

// Check returns an error if rows have weights, or if the prior gives only one of a and b.
func (*VBMFSettings) Check(r fitted.Request) error {
	switch {
	case r.Weighted:
		return &fitted.SettingError{
			Setting: "Weights", Reason: "cannot be used with --model vbmf: rows of a matrix have no weights; repeat them",
		}
	case (r.Prior["a"] != 0) != (r.Prior["b"] != 0):
		return &fitted.SettingError{Setting: "Prior",
			Reason: "has one of a and b: give both a and b, the variances of the entries of A (columns) and B " +
				"(rows), or neither, to estimate them"}
	}
	return nil
}

// Bind takes the table as a matrix. It centres the columns only if Center is set.
func (m *VBMFSettings) Bind(ctx context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	n, d := t.Rows.Dims()
	e := factorization{Table: *t, prior: r.Prior, mean: make([]float64, d)}
	var err error
	if m.Center {
		if e.Rows, e.mean, err = vbmf.Centre(ctx, t.Rows); err != nil {
			return nil, err
		}
	}
	if r.Method.ClosedForm {
		e.spectrum, err = vbmf.Decompose(ctx, e.Rows, 0)
	}
	most := min(n, d)
	return &fitted.Bound{Problem: e, What: "gaussian factors and noise", KMax: most, CheckK: func(k int) error {
		if k > most {
			return fmt.Errorf("%d factors of a %d×%d matrix: choose K up to %d", k, n, d, most)
		}
		return nil
	}}, err
}

// A factorization fits a matrix.
type factorization struct {
	fitted.Table
	prior    map[string]float64
	mean     []float64      // that was taken off the columns
	spectrum *vbmf.Spectrum // of the closed form; nil if it is iterated
}

type fit = framework.Result[fitted.Found, struct{}]

// known are the hyperparameters of k factors that were given.
func (e factorization) known(k int) (noise float64, priors []vbmf.Prior) {
	if e.prior["a"] != 0 {
		for range k {
			priors = append(priors, vbmf.Prior{A: e.prior["a"], B: e.prior["b"]})
		}
	}
	return e.prior["noise"], priors
}

func (e factorization) Fit(ctx context.Context, o framework.Options) (*fit, error) {
	if e.spectrum == nil {
		return e.iterated(o.K).Fit(ctx, o)
	}
	options := vbmf.Options{}
	if options.Noise, options.Priors = e.known(o.K); options.Priors == nil {
		options.MaxRank = o.K
	}
	sol, err := e.spectrum.Complete(options)
	if err != nil {
		return nil, err
	}
	file := factors{
		D:          len(e.mean),
		Mean:       e.mean,
		Loadings:   []float64{},
		Shrunk:     []float64{},
		Noise:      sol.Noise,
		Components: append([]vbmf.Component{}, sol.Components...),
	}
	for _, c := range sol.Kept() {
		file.Singular, file.Shrunk = append(file.Singular, c.Singular), append(file.Shrunk, c.Shrunk)
	}
	shape := framework.Shape{K: sol.Rank, Component: sol.Rank * len(e.mean), Shared: 1}
	n, _ := e.Rows.Dims()
	evaluation := framework.Evaluation{Shape: shape, N: float64(n), LogLikelihood: math.NaN(), Entropy: math.NaN()}
	res := fitted.Solved[fitted.Found](e.found(file, sol.Point()), framework.ELBO, -sol.FreeEnergy, evaluation)
	if options.Priors == nil && !o.FixedK {
		res.Met, err = e.below(sol, options)
	}
	return res, cmp.Or(err, ctx.Err())
}

// below has the bounds at smaller ranks, which fall with the rank, as far as they say anything of it.
func (e factorization) below(sol *vbmf.Solution, o vbmf.Options) (met []float64, err error) {
	const nothing = 15 // nats: a probability of 3e-7
	met = slices.Repeat([]float64{math.Inf(-1)}, sol.Rank+1)
	for at := sol; ; {
		met[at.Rank] = -at.FreeEnergy
		if o.MaxRank = at.Rank - 1; o.MaxRank < 1 || at.FreeEnergy > sol.FreeEnergy+nothing {
			return met, nil
		}
		if at, err = e.spectrum.Complete(o); err != nil {
			return nil, err
		}
	}
}

func (e factorization) iterated(
	k int,
) *fitted.Engine[fitted.Found, blocks.Rows, *vbmf.Parameters, *vbmf.Statistics] {
	noise, priors := e.known(k)
	return &fitted.Engine[fitted.Found, blocks.Rows, *vbmf.Parameters, *vbmf.Statistics]{
		Model: vbmf.Iterative{Noise: noise, Priors: priors}, Source: e.Rows,
		Found: func(p *vbmf.Parameters, s *vbmf.Statistics) (fitted.Found, error) {
			point := p.Point()
			return e.found(factors{D: point.D, Mean: e.mean, Shrunk: p.Singular(s)[:point.K]}, point), nil
		}}
}

// Select solves with every cap on the rank. A cap at or beyond the best rank changes nothing.
func (e factorization) Select(
	ctx context.Context, ks []int, o framework.Options, criteria ...framework.Criterion,
) (*fitted.Selection[fitted.Found], error) {
	if e.spectrum == nil {
		return e.iterated(ks[len(ks)-1]).Select(ctx, ks, o, criteria...)
	}
	fits := make([]*fit, len(ks))
	_, priors := e.known(1)
	for i := len(ks) - 1; i >= 0; i-- {
		if i+1 < len(ks) && priors == nil && fits[i+1].Shape.K <= ks[i] {
			fits[i] = fits[i+1]
			continue
		}
		var err error
		if fits[i], err = e.Fit(ctx, framework.Options{K: ks[i], FixedK: true}); err != nil {
			return nil, err
		}
	}
	return fitted.SelectionOf(ks, criteria, fits), nil
}

// factors are the contents of a model file: enough of package bpca's parameters to apply the model to rows.
type factors struct {
	K        int       `json:"k"` // the rank
	D        int       `json:"d"`
	Mean     []float64 `json:"mean"`               // 0 unless centred
	Loadings []float64 `json:"loadings"`           // E[A]·C_B^½, D×K
	Noise    float64   `json:"noise"`              // σ²
	Singular []float64 `json:"singular,omitempty"` // of the matrix, those kept
	Shrunk   []float64 `json:"shrunk"`             // of E[BAᵀ]
	// Components are the lengths and variances of the posterior, see package vbmf.
	Components []vbmf.Component `json:"components,omitzero"`
}

// A factorized matrix describes its rows by a probabilistic PCA, which is nil at rank 0.
type factorized struct {
	principal
	factors
	edge float64 // the largest singular value of a matrix of the noise alone
}

// found is a factorization of the table.
func (e factorization) found(f factors, p *bpca.Parameters) *factorized {
	m := &factorized{factors: f}
	if p != nil {
		p.Mean = f.Mean
		m.K, m.Loadings, m.Noise = p.K, p.Loadings, p.Noise
		m.principal = newPrincipal(p, e.Columns)
	}
	n, d := e.Rows.Dims()
	m.edge = math.Sqrt(m.Noise) * (math.Sqrt(float64(n)) + math.Sqrt(float64(d)))
	return m
}

// errNoFactors does not mean that a file is damaged.
var errNoFactors = fmt.Errorf("a matrix factorisation of rank 0, in which nothing stands out from the noise: %w",
	fitted.ErrNothing)

func loadVBMF(f *fitted.File) (fitted.Model, error) {
	var size *struct{ K int }
	if err := json.Unmarshal(f.Params, &size); err == nil && size != nil && size.K == 0 && f.K == 0 {
		return nil, errNoFactors
	}
	m, err := loadPrincipal(f)
	return &m, err
}

func (m *factorized) NewScorer() (fitted.Scorer, error) {
	if m.Parameters == nil {
		return nil, errNoFactors
	}
	return m.principal.NewScorer()
}

func (m *factorized) Params() any { return m.factors }

// Size returns the rank.
func (m *factorized) Size() int { return m.factors.K }

// Fields adds the shares of the variance if the rank is above 0.
func (m *factorized) Fields() any {
	if m.Parameters == nil {
		return nil
	}
	return explained{fitted.Numbers(m.Explained())}
}

// Doubts reports a matrix without noise.
func (m *factorized) Doubts() []error {
	if m.factors.Noise == 0 {
		return []error{errors.New("no noise is left over: the ELBO is infinite and compares nothing")}
	}
	return nil
}

// Describe shows the rank, the noise, and the columns that each factor moves.
func (m *factorized) Describe() (*fitted.Description, error) {
	d := &fitted.Description{
		Facts: [][2]string{{"rank", strconv.Itoa(m.factors.K)}, axes.NoiseFact(m.factors.Noise)}, Sections: m.sections(),
	}
	d.Finding.Text = "Nothing stands out from the noise. The rank is 0."
	if m.Parameters != nil {
		a := axes.OfPCA("factor", m.Parameters, m.names)
		d.Finding, d.Omitted = a.Finding(m.factors.Noise), a.Omitted()
	}
	return d, nil
}

// sections draw the loadings, and the singular values before and after shrinkage.
func (m *factorized) sections() []report.Section {
	f := m.factors
	text := fmt.Sprintf("Rank %d. Noise variance %s, standard deviation %s: the largest singular value of a matrix "+
		"of such noise alone is about %s.",
		f.K, report.Readable(f.Noise), report.Readable(math.Sqrt(f.Noise)), report.Readable(m.edge))
	rank := report.Table{Caption: "rank and noise", Columns: report.Columns("number", "value"), Long: true}
	rank.Add("rank", f.K)
	rank.Add("noise variance", f.Noise)
	noise := report.Section{Title: "Rank and noise", Text: text, Tables: []report.Table{rank}}
	if f.K == 0 {
		return []report.Section{noise}
	}
	about := fmt.Sprintf("Singular values of the matrix and what shrinkage leaves of them, for the %s kept; beside "+
		"them the edge of the noise, about σ(√rows + √columns).", wording.Counted(f.K, "factor"))
	table := report.Table{Caption: "singular values", Columns: report.Columns("factor", "before", "after shrinkage")}
	for k, shrunk := range f.Shrunk[:min(len(f.Shrunk), wording.MostIterations)] {
		before := math.NaN()
		if k < len(f.Singular) {
			before = f.Singular[k]
		}
		table.Add(k+1, before, shrunk)
	}
	series := append(table.Series("before", 1), table.Series("after", 2)...)
	if len(f.Singular) == 0 {
		about = fmt.Sprintf("Singular values of E[BAᵀ], after shrinkage, for the %s kept; iterations do not compute "+
			"those of the matrix.", wording.Counted(f.K, "factor"))
		series = series[1:]
	}
	noise.Tables = append(noise.Tables, table)
	noise.Figure = report.Chart{
		Title: "Singular values", About: about, XName: "factor", Names: wording.Numbered("", len(table.Rows)),
		Panels: []report.Panel{{Name: "singular value, log scale", Height: 220, Bars: true, Log: true, Series: series,
			Levels: []report.Level{{Name: "edge of the noise", Value: m.edge}}}},
	}
	return append(axes.Loadings("factor", m.Parameters, m.names), noise)
}

package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/vbmf"
	"github.com/latent-go/latent/report"
)

// vbmfSettings are those of matrix factorisations.
type vbmfSettings struct {
	Center bool `json:"center,omitempty" help:"Centre the columns first."`
}

func (*vbmfSettings) check(f *modelFlags) error {
	if f.Weights != "" {
		return misused("--weights cannot be used with --model vbmf: rows of a matrix have no weights; repeat them")
	}
	if err := f.Prior.among("noise", "a", "b"); err != nil {
		return err
	}
	if f.Prior.has("a") != f.Prior.has("b") {
		return misused("--prior: give both a and b, the variances of the entries of A (columns) and B (rows), or none, to have them estimated")
	}
	return nil
}

// bindVBMF takes the table as a matrix, uncentred unless --center.
func (m *vbmfSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	table, n, d, err := in.matrix()
	if err != nil {
		return nil, err
	}
	e := factorization{prior: &f.Prior, mean: make([]float64, d), table: table}
	if m.Center {
		if e.table, e.mean, err = vbmf.Centre(table); err != nil {
			return nil, err
		}
	}
	if f.Method == methodClosedForm {
		e.spectrum, err = vbmf.Decompose(s, e.table, 0)
	}
	most := min(n, d)
	return &task{engine: e, what: "gaussian factors and noise", columns: named(in.Names), largest: most, checkSize: func(k int) error {
		if k > most {
			return fmt.Errorf("%d factors of a %d×%d matrix: choose K up to %d", k, n, d, most)
		}
		return nil
	}}, err
}

// A factorization fits a matrix.
type factorization struct {
	prior    *hyperparameters
	mean     []float64 // that was taken off the columns
	table    *framework.Table
	spectrum *vbmf.Spectrum // of the closed form; nil where it is iterated
}

// known are the hyperparameters of k factors that were given.
func (e factorization) known(k int) (noise float64, priors []vbmf.Prior) {
	if e.prior.has("a") {
		for range k {
			priors = append(priors, vbmf.Prior{A: e.prior.values["a"], B: e.prior.values["b"]})
		}
	}
	return e.prior.values["noise"], priors
}

func (e factorization) fit(ctx context.Context, o framework.Options) (*outcome, error) {
	if e.spectrum == nil {
		return e.iterated(o.K).fit(ctx, o)
	}
	options := vbmf.Options{}
	if options.Noise, options.Priors = e.known(o.K); options.Priors == nil {
		options.MaxRank = o.K
	}
	sol, err := e.spectrum.Complete(options)
	if err != nil {
		return nil, err
	}
	file := factorsFile{D: len(e.mean), Mean: e.mean, Loadings: []float64{}, Shrunk: []float64{}, Noise: sol.Noise, Components: append([]vbmf.Component{}, sol.Components...)}
	for _, c := range sol.Kept() {
		file.Singular, file.Shrunk = append(file.Singular, c.Singular), append(file.Shrunk, c.Shrunk)
	}
	shape := framework.Shape{K: sol.Rank, Component: sol.Rank * len(e.mean), Shared: 1}
	n, _ := e.table.Dims()
	return solved(file.result(sol.Point()), framework.ELBO, -sol.FreeEnergy,
		framework.Evaluation{Shape: shape, N: float64(n), LogLikelihood: math.NaN(), Entropy: math.NaN()}), ctx.Err()
}

func (e factorization) iterated(k int) *iterated[framework.Rows, *vbmf.Parameters, *vbmf.Statistics] {
	noise, priors := e.known(k)
	return &iterated[framework.Rows, *vbmf.Parameters, *vbmf.Statistics]{vbmf.Iterative{Noise: noise, Priors: priors}, e.table,
		func(p *vbmf.Parameters, s *vbmf.Statistics) (*result, error) {
			point := p.Point()
			return factorsFile{D: point.D, Mean: e.mean, Shrunk: p.Singular(s)[:point.K]}.result(point), nil
		}}
}

// score solves with every cap on the rank. A cap at or beyond the best rank changes nothing.
func (e factorization) score(ctx context.Context, ks []int, o framework.Options, criteria []framework.Criterion) (*scores, error) {
	if e.spectrum == nil {
		return e.iterated(ks[len(ks)-1]).score(ctx, ks, o, criteria)
	}
	s := &scores{}
	s.K, s.Criteria = ks, criteria
	fits := make([]*outcome, len(ks))
	_, priors := e.known(1)
	for i := len(ks) - 1; i >= 0; i-- {
		if i+1 < len(ks) && priors == nil && fits[i+1].Shape.K <= ks[i] {
			fits[i] = fits[i+1]
			continue
		}
		var err error
		if fits[i], err = e.fit(ctx, framework.Options{K: ks[i]}); err != nil {
			return nil, err
		}
	}
	for _, f := range fits {
		s.add([]float64{f.Value}, f.Evaluation, nil)
	}
	s.fit = func(i int) (*outcome, error) { return fits[i], nil }
	return s, nil
}

// factorsFile is what a model file keeps: enough of package bpca's parameters to apply
// the model to rows.
type factorsFile struct {
	K        int       `json:"k"` // the rank
	D        int       `json:"d"`
	Mean     []float64 `json:"mean"`               // 0 unless --center
	Loadings []float64 `json:"loadings"`           // E[A]·C_B^½, D×K
	Noise    float64   `json:"noise"`              // σ²
	Singular []float64 `json:"singular,omitempty"` // of the matrix, those kept
	Shrunk   []float64 `json:"shrunk"`             // of E[BAᵀ]
	// Components are the lengths and variances of the posterior, see package vbmf.
	Components []vbmf.Component `json:"components,omitzero"`
}

// result is that of a factorization whose rows are a probabilistic PCA, nil at rank 0.
func (f factorsFile) result(p *bpca.Parameters) *result {
	r := &result{}
	if p != nil {
		p.Mean = f.Mean
		f.K, f.Loadings, f.Noise = p.K, p.Loadings, p.Noise
		r.k, r.explained = p.K, p.Explained()
	}
	r.params = f
	r.facts = [][2]string{{"rank", strconv.Itoa(f.K)}, noiseFact(f.Noise)}
	if f.Noise == 0 {
		r.doubts = []error{errors.New("no noise is left over, and the ELBO is infinite: it compares nothing")}
	}
	r.print = f.print
	r.sections = func(in *input) ([]report.Section, error) { return f.sections(in, p), nil }
	r.finding = func(in *input) (report.Section, error) { return f.finding(in, p), nil }
	return r
}

func (f factorsFile) print(out *page) {
	if f.K == 0 {
		out.line("")
		out.prose(0, "Nothing stands out from the noise.")
		return
	}
	out.dimensions([]string{"factor", "singular value", "after shrinkage"}, f.K, func(k int) []string {
		before := "–"
		if k < len(f.Singular) {
			before = fmt.Sprintf("%.6g", f.Singular[k])
		}
		return []string{before, fmt.Sprintf("%.6g", f.Shrunk[k])}
	})
}

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strconv"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/vbmf"
)

// vbmfModel is --model vbmf: the table as a matrix, uncentred unless --center.
type vbmfModel struct{}

func (vbmfModel) data() string { return "satellite" }

func (vbmfModel) families() []string { return []string{familyGaussian} }

func (vbmfModel) methods() []string { return []string{methodClosedForm, methodVB} }

func (vbmfModel) selecting() string { return methodClosedForm }

func (vbmfModel) criteria(string) []framework.Criterion {
	return []framework.Criterion{framework.ELBO}
}

func (vbmfModel) needsAll(*modelFlags) bool { return true }

func (vbmfModel) finds(string) bool { return true }

func (vbmfModel) informed(string) bool { return true }

func (vbmfModel) starts(int) int { return 1 }

func (vbmfModel) check(f *modelFlags) error {
	switch {
	case f.Columns.text != "":
		return misused("--columns does not go with --model vbmf: it gives columns of mixtures their families")
	case f.Start != nil:
		return misused("--start does not go with --model vbmf: it is how mixtures begin")
	case f.Weights != "":
		return misused("--weights does not go with --model vbmf: rows of a matrix have no weights; repeat them")
	}
	if err := f.Prior.among("noise", "a", "b"); err != nil {
		return err
	}
	if f.Prior.has("a") != f.Prior.has("b") {
		return misused("--prior: give both a and b, the variances of the entries of A (columns) and B (rows), or none, to have them estimated")
	}
	return nil
}

// known are the hyperparameters of k factors that were given.
func (vbmfModel) known(f *modelFlags, k int) (noise float64, priors []vbmf.Prior) {
	if f.Prior.has("a") {
		for range k {
			priors = append(priors, vbmf.Prior{A: f.Prior.values["a"], B: f.Prior.values["b"]})
		}
	}
	return f.Prior.values["noise"], priors
}

func (m vbmfModel) bind(s *session, f *modelFlags, in *input) (estimator, error) {
	x, n, d, err := in.Matrix()
	if err != nil {
		return nil, err
	}
	table, err := in.source(x, n, d)
	if err != nil {
		return nil, err
	}
	mean := make([]float64, d)
	if f.Center {
		if table, mean, err = vbmf.Centre(table); err != nil {
			return nil, err
		}
	}
	e := vbmfEstimator{n: n, names: in.Names, known: func(k int) (float64, []vbmf.Prior) { return m.known(f, k) }, mean: mean, table: table}
	if f.Method == methodClosedForm {
		e.spectrum, err = vbmf.Decompose(s, table, 0)
	}
	return e, err
}

type vbmfEstimator struct {
	n        int
	names    []string
	known    func(k int) (noise float64, priors []vbmf.Prior)
	mean     []float64 // that was taken off the columns
	table    *framework.Table
	spectrum *vbmf.Spectrum // of the closed form
}

func (e vbmfEstimator) described() []column { return named(e.names) }

func (vbmfEstimator) what() string { return "gaussian factors and noise" }

func (e vbmfEstimator) largest() int { return min(e.n, len(e.names)) }

func (e vbmfEstimator) checkSize(k int) error {
	if k > e.largest() {
		return fmt.Errorf("%d factors of a %d×%d matrix: choose K up to %d", k, e.n, len(e.names), e.largest())
	}
	return nil
}

func (vbmfEstimator) telling(framework.Criterion) bool { return true }

func (e vbmfEstimator) fit(ctx context.Context, o framework.Options) (*fitted, error) {
	if e.spectrum == nil {
		return e.iterated(o.K).fit(ctx, o)
	}
	noise, priors := e.known(o.K)
	options := vbmf.Options{Noise: noise, Priors: priors}
	if priors == nil {
		options.MaxRank = o.K
	}
	sol, err := e.spectrum.Complete(options)
	if err != nil {
		return nil, err
	}
	return e.solved(sol), ctx.Err()
}

// solved is the outcome of the closed form.
func (e vbmfEstimator) solved(sol *vbmf.Solution) *fitted {
	found := factors{solution: sol, params: sol.Point(), mean: e.mean}
	if found.params != nil {
		found.params.Mean = e.mean
	}
	f := &fitted{status: statusClosedForm}
	f.Parameters, f.N, f.Value, f.Criterion, f.Status = found, float64(e.n), -sol.FreeEnergy, framework.ELBO.Name, framework.Converged
	f.Shape = framework.Shape{K: sol.Rank, Component: sol.Rank * len(e.names), Shared: 1}
	return f
}

func (e vbmfEstimator) iterated(k int) *iterated[framework.Rows, *vbmf.Parameters, *vbmf.Statistics] {
	noise, priors := e.known(k)
	return &iterated[framework.Rows, *vbmf.Parameters, *vbmf.Statistics]{vbmf.Iterative{Noise: noise, Priors: priors}, e.table,
		func(p *vbmf.Parameters, s *vbmf.Statistics) (finding, error) {
			params := p.Point()
			params.Mean = e.mean
			return factors{shrunk: p.Singular(s)[:params.K], params: params, mean: e.mean}, nil
		}}
}

// score solves with every cap on the rank. A cap at or beyond the best rank changes nothing.
func (e vbmfEstimator) score(ctx context.Context, ks []int, o framework.Options, criteria []framework.Criterion) (*scores, error) {
	if e.spectrum == nil {
		return e.iterated(ks[len(ks)-1]).score(ctx, ks, o, criteria)
	}
	s := &scores{}
	s.K, s.Criteria = ks, criteria
	fits := make([]*fitted, len(ks))
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
		s.Values, s.ends, s.Errs = append(s.Values, []float64{f.Value}), append(s.ends, ending{status: statusClosedForm, converged: true}), append(s.Errs, nil)
	}
	s.fit = func(i int) (*fitted, error) { return fits[i], nil }
	return s, nil
}

// factors are the finding of a matrix factorisation.
type factors struct {
	solution *vbmf.Solution   // of the closed form
	shrunk   []float64        // singular values of E[BAᵀ], of iterations
	params   *bpca.Parameters // the rows as a probabilistic PCA; nil at rank 0
	mean     []float64
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
	Components []vbmf.Component `json:"components,omitempty"`
}

func (f factors) file() factorsFile {
	p := factorsFile{D: len(f.mean), Mean: f.mean, Loadings: []float64{}, Shrunk: f.shrunk}
	if f.params != nil {
		p.K, p.Loadings, p.Noise = f.params.K, f.params.Loadings, f.params.Noise
	}
	if f.solution != nil {
		p.Noise, p.Components, p.Shrunk = f.solution.Noise, f.solution.Components, []float64{}
		for _, c := range f.solution.Kept() {
			p.Singular, p.Shrunk = append(p.Singular, c.Singular), append(p.Shrunk, c.Shrunk)
		}
	}
	return p
}

func (f factors) fill(s *summary) (err error) {
	s.K = 0
	if f.params != nil {
		s.K = f.params.K
		s.Explained = numbers(f.params.Explained())
	}
	s.Params, err = encode(f.file())
	return err
}

func (f factors) facts() [][2]string {
	file := f.file()
	return [][2]string{
		{"rank", strconv.Itoa(file.K)},
		{"noise variance", fmt.Sprintf("%.6g, standard deviation %.6g", file.Noise, math.Sqrt(file.Noise))},
	}
}

func (f factors) print(p *page) {
	file := f.file()
	if file.K == 0 {
		p.line("")
		p.prose(0, "Nothing stands out from the noise.")
		return
	}
	p.line("")
	g := newGrid("factor", "singular value", "after shrinkage")
	for k, shrunk := range file.Shrunk {
		before := "–"
		if k < len(file.Singular) {
			before = fmt.Sprintf("%.6g", file.Singular[k])
		}
		if k < mostRows || k == file.K-1 {
			g.row(strconv.Itoa(k+1), before, fmt.Sprintf("%.6g", shrunk))
		} else if k == mostRows {
			g.row("…", "", "")
		}
	}
	p.grid(g)
}

// errNoFactors is no damage to a file.
var errNoFactors = errors.New("a matrix factorisation of rank 0, in which nothing stands out from the noise: there is nothing to predict or to sample")

// load takes the parameters out of a model file.
func (vbmfModel) load(m *modelFile) (learned, error) {
	var p *bpca.Parameters
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, err
	}
	if p != nil && p.K == 0 && m.K == 0 {
		return nil, errNoFactors
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return projection{p}, m.goesWith(p.K, p.D)
}

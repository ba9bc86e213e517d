package main

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
)

// bpcaModel is --model bpca.
type bpcaModel struct{}

func (bpcaModel) data() string { return "satellite" }

func (bpcaModel) families() []string { return []string{familyGaussian} }

func (bpcaModel) methods() []string {
	return []string{methodGFAB, methodFAB, methodEM, methodVB, methodClosedForm}
}

func (bpcaModel) selecting() string { return methodClosedForm }

func (bpcaModel) criteria(method string) []framework.Criterion { return criteriaOf(method) }

func (bpcaModel) needsAll(*modelFlags) bool { return true }

func (bpcaModel) finds(method string) bool { return prunes(method) }

func (bpcaModel) informed(method string) bool { return method == methodVB || method == methodMAP }

func (bpcaModel) starts(int) int { return 1 }

func (bpcaModel) check(f *modelFlags) error {
	switch {
	case f.Columns.text != "":
		return misused("--columns does not go with --model bpca: it gives columns of mixtures their families")
	case f.Start != nil:
		return misused("--start does not go with --model bpca: it is how mixtures begin")
	}
	_, err := bpcaPrior(&f.Prior)
	return err
}

func bpcaPrior(h *hyperparameters) (p bpca.Prior, err error) {
	if err := h.among("a_alpha", "b_alpha", "a_lambda", "b_lambda", "alpha", "unit"); err != nil {
		return p, err
	}
	if h.has("alpha") && (h.has("a_alpha") || h.has("b_alpha")) {
		return p, misused("--prior: alpha fixes what a_alpha and b_alpha are the prior of: give one or the other")
	}
	v := h.values
	return bpca.Prior{AlphaShape: v["a_alpha"], AlphaRate: v["b_alpha"], LambdaShape: v["a_lambda"], LambdaRate: v["b_lambda"], FixedAlpha: v["alpha"], Unit: v["unit"]}, nil
}

// bind chooses how the rows reach the model: through their D×D moments, which makes an
// iteration free of N, or block by block where there are more columns than rows.
func (bpcaModel) bind(s *session, f *modelFlags, in *input) (estimator, error) {
	x, n, d, err := in.Matrix()
	if err != nil {
		return nil, err
	}
	table, err := in.source(x, n, d)
	if err != nil {
		return nil, err
	}
	e := bpcaEstimator{n: n, names: in.Names, method: f.Method}
	if f.Method == methodClosedForm {
		e.engine, err = newClosedForm(s, table, f.Workers)
		return e, err
	}
	p, err := bpcaPrior(&f.Prior)
	if err != nil {
		return nil, err
	}
	variational := bpca.Variational{Prior: p}
	if d > n {
		e.engine = &iterated[framework.Rows, *bpca.Parameters, *bpca.Statistics]{bpca.Model{}, table, estimated}
		if f.Method == methodVB {
			e.engine = &iterated[framework.Rows, *bpca.Posterior, *bpca.Statistics]{variational, table, inferred}
		}
		return e, nil
	}
	moments, err := bpca.Summarize(s, table, f.Workers)
	if err != nil {
		return nil, err
	}
	e.engine = &iterated[*bpca.Moments, *bpca.Parameters, *bpca.Statistics]{bpca.Compressed{}, moments.Source(), estimated}
	if f.Method == methodVB {
		e.engine = &iterated[*bpca.Moments, *bpca.Posterior, *bpca.Statistics]{bpca.CompressedVariational{Variational: variational}, moments.Source(), inferred}
	}
	return e, nil
}

type bpcaEstimator struct {
	engine
	n      int
	names  []string
	method string
}

func (e bpcaEstimator) described() []column { return named(e.names) }

// named are columns of which the names tell everything.
func named(names []string) (columns []column) {
	for _, name := range names {
		columns = append(columns, column{Name: name})
	}
	return columns
}

func (bpcaEstimator) what() string { return "gaussian noise" }

// largest must leave noise over: D columns have rank D, and N centred rows N − 1.
func (e bpcaEstimator) largest() int { return max(1, min(len(e.names)-1, e.n-2)) }

// checkSize leaves what is wrong with the data themselves to the model.
func (e bpcaEstimator) checkSize(k int) error {
	switch d := len(e.names); {
	case d == 1 && k > 1:
		return fmt.Errorf("1 column and K = %d: bpca needs two columns at least", k)
	case d > 1 && k >= d:
		return fmt.Errorf("no noise is left over at K = %d with D = %d columns: choose K from 1 to %d", k, d, d-1)
	}
	return nil
}

// telling leaves out the ELBO of estimated parameters, which never falls as K grows, and
// gFIC and FIC where they do not exist.
func (e bpcaEstimator) telling(c framework.Criterion) bool {
	counts := c.Needs&framework.NeedsCurvature != 0
	return (c.Name != framework.ELBO.Name || e.method == methodVB) && (!counts || e.n > len(e.names))
}

// principal is the finding of BPCA: parameters in canonical rotation.
type principal struct {
	params    *bpca.Parameters
	posterior *bpca.Posterior // of vb
}

func estimated(p *bpca.Parameters, _ *bpca.Statistics) (finding, error) {
	return principal{params: p.Canonical()}, nil
}

func inferred(p *bpca.Posterior, _ *bpca.Statistics) (finding, error) {
	return principal{p.Point().Canonical(), p}, nil
}

func (f principal) fill(s *summary) (err error) {
	s.Explained = numbers(f.params.Explained())
	if s.Params, err = encode(f.params); err == nil && f.posterior != nil {
		s.Posterior, err = encode(f.posterior)
	}
	return err
}

func (f principal) facts() [][2]string {
	return [][2]string{{"noise variance", fmt.Sprintf("%.6g, standard deviation %.6g", f.params.Noise, math.Sqrt(f.params.Noise))}}
}

func (f principal) print(p *page) {
	p.line("")
	g := newGrid("dimension", "variance explained", "cumulative")
	sum := 0.0
	shares := f.params.Explained()
	for k, share := range shares {
		sum += share
		if k < mostRows || k == len(shares)-1 {
			g.row(strconv.Itoa(k+1), percent(share), percent(sum))
		} else if k == mostRows {
			g.row("…", "", "")
		}
	}
	p.grid(g)
}

// load takes the parameters out of a model file.
func (bpcaModel) load(m *modelFile) (learned, error) {
	var p *bpca.Parameters
	if err := json.Unmarshal(m.Params, &p); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	return projection{p}, m.goesWith(p.K, p.D)
}

// projection is a saved BPCA.
type projection struct{ params *bpca.Parameters }

func (projection) needsAll() bool { return true }

func (projection) recode(*input, []int, bool) error { return nil }

func (projection) values(_ *session, in *input) (x []float64, rows int, err error) {
	x, rows, _, err = in.Matrix()
	return x, rows, err
}

func (m projection) layout() (layout, error) {
	l := layout{list: "mean", last: m.params.K}
	for j := range m.params.K {
		l.names = append(l.names, "z"+strconv.Itoa(j+1))
	}
	l.names = append(l.names, "log_likelihood")
	_, cov, err := m.params.Transform(mat.NewDense(1, m.params.D, nil))
	if err != nil {
		return l, err
	}
	var rows [][]number
	for i := range m.params.K {
		rows = append(rows, numbers(mat.Row(nil, i, cov)))
	}
	l.constants = map[string]any{"covariance": rows}
	return l, nil
}

func (m projection) judge(b framework.Rows) ([]float64, error) {
	x := mat.NewDense(b.N, b.D, b.X)
	mean, _, err := m.params.Transform(x)
	if err != nil {
		return nil, err
	}
	logProb, err := m.params.LogProb(x)
	var table []float64
	for i, l := range logProb {
		table = append(append(table, mean.RawRowView(i)...), l)
	}
	return table, err
}

func (projection) labelled() bool { return false }

func (m projection) sample(n int, rng *rand.Rand) (x []float64, labels []int, err error) {
	rows, err := m.params.Sample(n, rng)
	if err != nil {
		return nil, nil, err
	}
	return rows.RawMatrix().Data, nil, nil
}

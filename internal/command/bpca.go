package command

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/report"
)

// bpcaSettings are none.
type bpcaSettings struct{}

func (*bpcaSettings) check(f *modelFlags) error {
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

func (*bpcaSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	table, n, d, err := in.matrix()
	if err != nil {
		return nil, err
	}
	t := &task{what: "gaussian noise", columns: named(in.Names)}
	t.largest = max(1, min(d-1, n-2)) // noise is left over: D columns have rank D, and N centred rows N − 1
	t.checkSize = func(k int) error { // what is wrong with the data themselves, the model says
		switch {
		case d == 1 && k > 1:
			return fmt.Errorf("1 column and K = %d: bpca needs two columns at least", k)
		case d > 1 && k >= d:
			return fmt.Errorf("no noise is left over at K = %d with D = %d columns: choose K from 1 to %d", k, d, d-1)
		}
		return nil
	}
	t.informative = func(c framework.Criterion) bool { // gFIC and FIC do not exist with no more rows than columns
		counts := c.Needs&framework.NeedsCurvature != 0
		return compares(c, f.Method) && (!counts || n > d)
	}
	t.engine, err = bpcaEngine(s, f, table)
	return t, err
}

// bpcaEngine chooses how the rows reach the model: through their D×D moments, which makes an
// iteration free of N, or block by block where there are more columns than rows.
func bpcaEngine(s *session, f *modelFlags, table *framework.Table) (engine, error) {
	if f.Method == methodClosedForm {
		return newClosedForm(s, table, f.Workers)
	}
	p, err := bpcaPrior(&f.Prior)
	if err != nil {
		return nil, err
	}
	estimated := func(p *bpca.Parameters, stat *bpca.Statistics) (*result, error) {
		p, err := bpca.Model{}.Estimates(stat, p)
		if err != nil {
			return nil, err
		}
		return principal(p.Canonical(), nil), nil
	}
	inferred := func(p *bpca.Posterior, _ *bpca.Statistics) (*result, error) {
		return principal(p.Point().Canonical(), p), nil
	}
	variational := bpca.Variational{Prior: p}
	if n, d := table.Dims(); d > n {
		if f.Method == methodVB {
			return &iterated[framework.Rows, *bpca.Posterior, *bpca.Statistics]{variational, table, inferred}, nil
		}
		return &iterated[framework.Rows, *bpca.Parameters, *bpca.Statistics]{bpca.Model{}, table, estimated}, nil
	}
	moments, err := bpca.Summarize(s, table, f.Workers)
	if err != nil {
		return nil, err
	}
	if f.Method == methodVB {
		return &iterated[*bpca.Moments, *bpca.Posterior, *bpca.Statistics]{bpca.CompressedVariational{Variational: variational}, moments.Source(), inferred}, nil
	}
	return &iterated[*bpca.Moments, *bpca.Parameters, *bpca.Statistics]{bpca.Compressed{}, moments.Source(), estimated}, nil
}

// principal is the result of BPCA: parameters in canonical rotation, and the posterior of vb.
func principal(p *bpca.Parameters, posterior *bpca.Posterior) *result {
	r := &result{k: p.K, params: p, explained: p.Explained(), facts: [][2]string{noiseFact(p.Noise)}}
	if posterior != nil {
		r.posterior = posterior
	}
	r.print = func(out *page) {
		cumulative := floats.CumSum(make([]float64, p.K), r.explained)
		out.dimensions([]string{"dimension", "variance explained", "cumulative"}, p.K, func(k int) []string {
			return []string{percent(r.explained[k]), percent(cumulative[k])}
		})
	}
	r.sections = func(in *input) ([]report.Section, error) {
		return append(loadingsSection("dimension", p, in.Names), spectrumSection(p)...), nil
	}
	r.finding = func(in *input) (report.Section, error) {
		return pcaAxes("dimension", p, in.Names).finding(p.Noise), nil
	}
	return r
}

func noiseFact(variance float64) [2]string {
	return [2]string{"noise variance", fmt.Sprintf("%.6g, standard deviation %.6g", variance, math.Sqrt(variance))}
}

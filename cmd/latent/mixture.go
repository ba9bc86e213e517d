package main

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// mixtureModel is --model mixture, or with bernoulli --model bernmix.
type mixtureModel struct{ bernoulli bool }

func (m mixtureModel) data() string {
	if m.bernoulli {
		return "housevotes84"
	}
	return "faithful"
}

func (m mixtureModel) families() []string {
	if m.bernoulli {
		return []string{familyBernoulli}
	}
	return familyNames
}

func (mixtureModel) methods() []string {
	return []string{methodGFAB, methodFAB, methodEM, methodMAP, methodVB}
}

func (mixtureModel) selecting() string { return methodEM }

// criteria are those of all models and ICL, as z is discrete.
func (mixtureModel) criteria(method string) []framework.Criterion {
	list := criteriaOf(method)
	if method == methodVB {
		return list
	}
	return slices.Insert(list, len(list)-1, framework.ICL)
}

func (mixtureModel) needsAll(f *modelFlags) bool { return joint(f.Family) }

func (mixtureModel) finds(method string) bool { return prunes(method) }

func (mixtureModel) informed(method string) bool { return method == methodVB || method == methodMAP }

// starts make up for local maxima where they cost little.
func (mixtureModel) starts(rows int) int {
	if rows <= 5000 {
		return 10
	}
	return 1
}

func (m mixtureModel) check(f *modelFlags) error {
	switch {
	case f.Columns.text != "" && m.bernoulli:
		return misused("--columns does not go with --model bernmix, all of whose columns are bernoulli: take --model mixture")
	case f.Columns.text != "" && joint(f.Family):
		return misused("--columns does not go with --family %s, which describes all columns together: take auto or gaussian-diagonal", f.Family)
	}
	if err := f.Prior.among(m.keys()...); err != nil {
		return err
	}
	for _, pair := range [][2]string{{"a", "b"}, {"shape", "rate"}} {
		if f.Prior.has(pair[0]) != f.Prior.has(pair[1]) && !m.bernoulli {
			return misused("--prior: %s and %s are one distribution: give both or neither", pair[0], pair[1])
		}
	}
	if f.Method == methodMAP {
		return m.checkModes(&f.Prior)
	}
	return nil
}

// checkModes refuses densities that MAP could climb without end, at the edge of their range.
func (m mixtureModel) checkModes(h *hyperparameters) error {
	beta := []string{"a", "b"}
	if m.bernoulli {
		beta = beta[1:]
	}
	for _, d := range []struct {
		name string
		keys []string
	}{{"Dirichlet", []string{m.weightsKey(), "alpha"}}, {"beta", beta}, {"gamma", []string{"shape"}}} {
		for _, key := range d.keys {
			if h.has(key) && h.values[key] < 1 {
				return misused("--prior: %s=%v: with less than 1 a %s distribution has no most probable value: give 1 or more, or --method vb", key, h.values[key], d.name)
			}
		}
	}
	return nil
}

func (m mixtureModel) weightsKey() string {
	if m.bernoulli {
		return "a"
	}
	return "weights"
}

func (m mixtureModel) keys() []string {
	if m.bernoulli {
		return []string{"a", "b"}
	}
	return []string{"weights", "kappa", "nu", "a", "b", "shape", "rate", "alpha"}
}

// conjugates are what each family takes of --prior, and the keys of it.
var conjugates = []struct {
	families, keys []string
	make           func(v map[string]float64) prior.Prior
}{
	{[]string{familyGaussian, familyTied, familyDiagonal, familySpherical}, []string{"kappa", "nu"},
		func(v map[string]float64) prior.Prior { return prior.DataScaled{Kappa: v["kappa"], Nu: v["nu"]} }},
	{[]string{familyBernoulli}, []string{"a", "b"},
		func(v map[string]float64) prior.Prior { return prior.Beta{A: v["a"], B: v["b"]} }},
	{[]string{familyPoisson, familyExponential}, []string{"shape", "rate"},
		func(v map[string]float64) prior.Prior { return prior.Gamma{Shape: v["shape"], Rate: v["rate"]} }},
	{[]string{familyCategorical, familyMultinomial}, []string{"alpha"},
		func(v map[string]float64) prior.Prior { return prior.Dirichlet{Alpha: v["alpha"]} }},
}

// priors turns --prior into those of the weights and of the families that the model has;
// nil stands for their defaults.
func (m mixtureModel) priors(h *hyperparameters, family mixture.Family) (weights prior.Dirichlet, of prior.Prior, err error) {
	weights.Alpha = h.values[m.weightsKey()]
	if m.bernoulli {
		if b := h.values["b"]; b != 0 {
			of = prior.Beta{A: b, B: b}
		}
		return weights, of, nil
	}
	own := mixture.Priors{}
	names := parts(family)
	taken := []string{m.weightsKey()}
	for _, c := range conjugates {
		for _, name := range c.families {
			if !slices.Contains(names, name) {
				continue
			}
			taken = append(taken, c.keys...)
			if slices.ContainsFunc(c.keys, h.has) {
				own[name] = c.make(h.values)
			}
		}
	}
	for _, key := range h.keys {
		if !slices.Contains(taken, key) {
			return weights, nil, misused("--prior: no family of the model takes %s: %s takes %s", key, strings.Join(slices.Compact(slices.Sorted(slices.Values(names))), ", "), strings.Join(taken, ", "))
		}
	}
	if len(own) > 0 {
		of = own
	}
	return weights, of, nil
}

// parts are the names of the families that a family is made of.
func parts(family mixture.Family) []string {
	product, ok := family.(mixture.Product)
	if !ok {
		return []string{family.Name()}
	}
	var names []string
	for _, f := range product {
		names = append(names, f.Name())
	}
	return names
}

// bind finds out what the columns are and makes numbers of them.
func (m mixtureModel) bind(s *session, f *modelFlags, in *input) (estimator, error) {
	columns, err := described(s, in, f.Family, &f.Columns)
	if err != nil {
		return nil, err
	}
	if f.Family == familyMultinomial && len(columns) < 2 {
		return nil, errors.New("1 column: multinomial counts in two categories at least")
	}
	if err := in.recode(columns, upTo(0, len(columns)-1), false); err != nil {
		return nil, err
	}
	x, n, d, err := in.Values()
	if err != nil {
		return nil, err
	}
	if err := in.reportGaps(s, x, joint(f.Family)); err != nil {
		return nil, err
	}
	if f.Family == familyMultinomial && floats.Norm(x, 1) == 0 {
		return nil, errors.New("every count is 0: there is nothing to fit")
	}
	if err := in.refuseConstant(columns, x); err != nil {
		return nil, err
	}
	if full := f.Family == familyGaussian || f.Family == familyTied; full && n <= d { // said before D² numbers are made
		return nil, fmt.Errorf("%s and %s: a covariance matrix needs more rows than columns: --family gaussian-diagonal or gaussian-spherical, or --model bpca --method vb", counted(n, "row"), counted(d, "column"))
	}
	table, err := in.source(x, n, d)
	if err != nil {
		return nil, err
	}
	e := mixtureEstimator{table: table, columns: columns, family: familyFrom(f.Family, columns), method: f.Method}
	e.engine, err = m.engine(f, e)
	return e, err
}

// refuseConstant refuses columns of one value, all at once, where a family has to measure how
// the values of each column vary.
func (in *input) refuseConstant(columns []column, x []float64) error {
	var constant []string
	for j, c := range columns {
		if !varying(c.Family) {
			continue
		}
		low, high := math.Inf(1), math.Inf(-1)
		for i := j; i < len(x) && !(low < high); i += len(columns) {
			if v := x[i]; v == v && (in.frequencies == nil || in.frequencies[i/len(columns)] > 0) {
				low, high = min(low, v), max(high, v)
			}
		}
		if low == high {
			constant = append(constant, c.Name)
		}
	}
	switch len(constant) {
	case 0:
		return nil
	case len(columns):
		return errors.New("every column is constant: there is nothing to fit")
	case 1:
		return fmt.Errorf("column %.60q is constant: %s", constant[0], dropping(constant))
	}
	return fmt.Errorf("columns %s are constant: %s", quoted(constant), dropping(constant))
}

// varying tells the families of one column that measure how its values vary.
func varying(family string) bool {
	return slices.Contains([]string{familyGaussian, familyTied, familyGamma}, family)
}

// engine makes the model of the method.
func (m mixtureModel) engine(f *modelFlags, e mixtureEstimator) (engine, error) {
	weights, of, err := m.priors(&f.Prior, e.family)
	if err != nil {
		return nil, err
	}
	start, err := mixture.StartByName(valueOr(f.Start, mixture.KMeans.String()))
	if err != nil {
		return nil, err
	}
	base := mixture.Model{Family: e.family, Start: start}
	if f.Method == methodVB {
		variational := mixture.Variational{Family: e.family, Start: start, Prior: of, Weights: weights}
		return &iterated[framework.Rows, *mixture.Posterior, *mixture.Statistics]{variational, e.table, func(q *mixture.Posterior, s *mixture.Statistics) (finding, error) {
			p, err := variational.Point(q)
			if err != nil {
				return nil, err
			}
			return findComponents(base, f.Family, e.columns, p, q, s)
		}}, nil
	}
	made := &iterated[framework.Rows, *mixture.Parameters, *mixture.Statistics]{base, e.table, func(p *mixture.Parameters, s *mixture.Statistics) (finding, error) {
		return findComponents(base, f.Family, e.columns, p, nil, s)
	}}
	if f.Method == methodMAP {
		made.model = mixture.MAP{Model: base, Prior: of, Weights: weights}
	}
	return made, nil
}

type mixtureEstimator struct {
	engine
	table   *framework.Table
	columns []column
	family  mixture.Family
	method  string
}

func (e mixtureEstimator) described() []column { return e.columns }

func (e mixtureEstimator) what() string {
	var names []string
	for _, name := range parts(e.family) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, ", ") + " components"
}

// mostComponents is the default of kmax in large tables.
const mostComponents = 10

// largest leaves two rows to a component, or one more than columns where its covariance
// is full, and no more components than there are distinct rows.
func (e mixtureEstimator) largest() int {
	n, d := e.table.Dims()
	each := 2
	if g, ok := e.family.(mixture.Gaussian); ok && g.Covariance == mixture.Full {
		each = d + 1
	}
	return max(1, min(mostComponents, n/each, e.distinct(mostComponents)))
}

// distinct counts different rows of positive weight, up to a limit. To a multinomial family,
// those are the same that are proportional.
func (e mixtureEstimator) distinct(limit int) int {
	rows := e.table.All()
	_, shares := e.family.(mixture.Multinomial)
	same := func(a, b []float64) bool {
		one, other := 1., 1.
		if shares {
			one, other = floats.Sum(b), floats.Sum(a) // counts have exact products
		}
		return slices.EqualFunc(a, b, func(x, y float64) bool { return x*one == y*other || x != x && y != y })
	}
	var seen [][]float64
	for i := 0; i < rows.N && len(seen) < limit; i++ {
		row := rows.Row(i)
		if rows.Weight(i) > 0 && !slices.ContainsFunc(seen, func(other []float64) bool { return same(row, other) }) {
			seen = append(seen, row)
		}
	}
	return len(seen)
}

// checkSize refuses what the rows cannot fill, before it takes memory. That the model
// needs rows that differ, it finds out itself.
func (e mixtureEstimator) checkSize(k int) error {
	if n, _ := e.table.Dims(); k > n {
		return fmt.Errorf("%d components for %s: choose K up to %d", k, counted(n, "row"), n)
	}
	return nil
}

// telling leaves out the ELBO of estimated parameters, which never falls as K grows.
func (e mixtureEstimator) telling(c framework.Criterion) bool {
	return c.Name != framework.ELBO.Name || e.method == methodVB
}

package command

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/alecthomas/kong"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/factor"
)

// factorSettings are those of factor analysis.
type factorSettings struct {
	noiseSettings
	Blocks string  `json:"blocks,omitempty" placeholder:"A,B;C,D" help:"Blocks of columns, in which the noise correlates as it will, so that factors are what blocks have in common. Two blocks: canonical correlation. Backslashes before commas and semicolons in names."`
	Rotate *string `json:"rotate,omitempty" placeholder:"NAME" enum:"none,varimax,promax,oblimin" help:"Rotation of the loadings: none (the factors of maximum likelihood), varimax, promax or oblimin. Default: none."`
}

// noiseSettings are about the noise that latent dimensions leave over.
type noiseSettings struct {
	Noise *string `json:"noise,omitempty" placeholder:"NAME" enum:"diagonal,isotropic" help:"Variances of the noise: diagonal, one for each column, or isotropic, one for all. Default: diagonal."`
}

func (n noiseSettings) isotropic() bool { return valueOr(n.Noise, "") == "isotropic" }

func (m *factorSettings) check(*modelFlags) error {
	if m.Blocks != "" && m.Noise != nil {
		return misused("--blocks cannot be used with --noise %s: within a block the noise correlates", *m.Noise)
	}
	return nil
}

// structure is that of the noise, for a table with these columns.
func (m *factorSettings) structure(names []string) (st factor.Structure, err error) {
	st.Isotropic = m.isotropic()
	if m.Blocks == "" {
		return st, nil
	}
	for i, block := range kong.SplitEscaped(m.Blocks, ';') {
		var columns []int
		for _, name := range kong.SplitEscaped(block, ',') {
			j := slices.Index(names, strings.TrimSpace(name))
			switch {
			case j < 0:
				return st, fmt.Errorf("--blocks names %q, and the columns are %s", strings.TrimSpace(name), quoted(names))
			case slices.Contains(columns, j):
				return st, fmt.Errorf("--blocks: block %d names column %q twice", i+1, names[j])
			case slices.ContainsFunc(st.Blocks, func(b []int) bool { return slices.Contains(b, j) }):
				return st, fmt.Errorf("--blocks: column %q is in two blocks: each column belongs to one", names[j])
			}
			columns = append(columns, j)
		}
		st.Blocks = append(st.Blocks, columns)
	}
	for j, name := range names {
		if !slices.ContainsFunc(st.Blocks, func(b []int) bool { return slices.Contains(b, j) }) {
			return st, fmt.Errorf("--blocks: column %q is in no block: name it, or leave it out by --drop %s", name, item(name))
		}
	}
	return st, st.Check(len(names))
}

func (m *factorSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	x, n, d, err := in.numbers(s, false, false)
	if err != nil {
		return nil, err
	}
	gaps := slices.ContainsFunc(x, math.IsNaN)
	table, err := in.source(x, n, d)
	if err != nil {
		return nil, err
	}
	st, err := m.structure(in.Names)
	if err != nil {
		return nil, err
	}
	if err := f.iterate(s, in, st, gaps); err != nil {
		return nil, err
	}
	least := counts(x, d)
	t := &task{what: noiseText(st), columns: named(in.Names), largest: max(1, st.Identified(d))}
	t.checkSize = func(k int) error {
		if most := st.Identified(d); f.Method == methodClosedForm && k > most {
			return fmt.Errorf("the covariance matrix of %s identifies %s at most, and K is %d", counted(d, "column"), counted(most, "factor"), k)
		}
		if k >= d {
			return fmt.Errorf("no noise is left over at K = %d with D = %s: choose K from 1 to %d", k, counted(d, "column"), max(1, d-1))
		}
		return nil
	}
	t.informative = func(c framework.Criterion) bool { // gFIC and FIC do not exist where a column has no more entries than there are columns
		if c.Name == framework.Evidence.Name { // of noise of one variance, as of bpca, it takes nearly all axes where tables have no such noise
			return !st.Isotropic
		}
		return compares(c, f.Method) && (c.Needs&framework.NeedsCurvature == 0 || least > d)
	}
	t.engine, err = factorEngine(s, f, factorView{st: st, names: in.Names, rotate: valueOr(m.Rotate, ""), table: table}, gaps)
	return t, err
}

// counts is the smallest number of entries of a column.
func counts(x []float64, d int) int {
	shown := make([]int, d)
	for i, v := range x {
		if v == v {
			shown[i%d]++
		}
	}
	return slices.Min(shown)
}

// iterate takes another method than the closed form where there is none: gFAB, accelerated, since a column whose noise
// creeps to the floor would take thousands of iterations.
func (f *modelFlags) iterate(s *session, in *input, st factor.Structure, gaps bool) error {
	if f.Method != methodClosedForm || !gaps && len(st.Blocks) <= 2 {
		return f.checkMethod()
	}
	reason := "missing entries"
	if !gaps {
		reason = "more than two blocks"
	}
	if !f.byDefault {
		return misused("--method closed-form cannot be used with %s: take --method gfab or em", reason)
	}
	f.decide(s, in, methodGFAB, "there are "+reason, "default elsewhere: "+methodClosedForm)
	f.Accelerate = true
	return f.checkPrior()
}

func noiseText(st factor.Structure) string {
	switch {
	case st.Isotropic:
		return "one variance of the noise"
	case st.Blocks == nil:
		return "a variance of the noise for each column"
	}
	return counted(len(st.Blocks), "block")
}

// factorEngine is the closed form, or iterations on moments where no entry is missing and on rows where some are.
func factorEngine(s *session, f *modelFlags, show factorView, gaps bool) (engine, error) {
	found := func(p *factor.Parameters, stat *factor.Statistics) (*result, error) {
		p, err := p.Rescaled(stat)
		if err != nil {
			return nil, err
		}
		return show.result(p.Canonical())
	}
	model := factor.Model{Structure: show.st}
	if gaps {
		return &iterated[framework.Rows, *factor.Parameters, *factor.Statistics]{model, show.table, found}, nil
	}
	moments, err := bpca.Summarize(s, show.table, f.Workers)
	if err != nil {
		return nil, err
	}
	if f.Method == methodClosedForm {
		return factorSolved{moments, show}, nil
	}
	return &iterated[*bpca.Moments, *factor.Parameters, *factor.Statistics]{factor.Compressed{Model: model}, moments.Source(), found}, nil
}

// factorSolved reads all K off one covariance matrix.
type factorSolved struct {
	moments *bpca.Moments
	show    factorView
}

func (e factorSolved) fit(ctx context.Context, o framework.Options) (*outcome, error) {
	s, err := e.score(ctx, []int{o.K}, o, []framework.Criterion{o.Criterion})
	if err != nil {
		return nil, err
	}
	return s.fit(0)
}

func (e factorSolved) score(_ context.Context, ks []int, _ framework.Options, criteria []framework.Criterion) (*scores, error) {
	solutions, err := factor.Solve(e.moments, e.show.st, ks[len(ks)-1])
	if err != nil {
		return nil, err
	}
	s := &scores{}
	s.K, s.Criteria = ks, criteria
	columns := make([][]float64, len(criteria))
	for j, c := range criteria {
		if columns[j], err = solutions.Values(c); err != nil {
			return nil, err
		}
	}
	for _, k := range ks {
		row, failed := make([]float64, len(criteria)), error(nil)
		for j := range criteria {
			if row[j] = math.NaN(); k <= solutions.Max() {
				row[j] = columns[j][k]
			}
		}
		if k > solutions.Max() {
			failed = fmt.Errorf("no solution at K = %d: no noise is left beyond K = %d", k, solutions.Max())
		}
		evaluation, _ := solutions.Evaluation(min(k, solutions.Max()), framework.EM)
		s.add(row, evaluation, failed)
	}
	s.fit = func(i int) (*outcome, error) {
		p, err := solutions.Parameters(ks[i])
		if err != nil {
			return nil, err
		}
		show := e.show
		show.solutions, show.none = solutions, columns[0][0]-s.Values[i][0]
		show.criterion = strings.ToLower(criteria[0].Name)
		if len(ks) > 1 {
			show.others = otherChoices(solutions, criteria[0])
		}
		r, err := show.result(p)
		if err != nil {
			return nil, err
		}
		evaluation, err := solutions.Evaluation(ks[i], bpca.MethodFor(criteria[0]))
		others := further(func(c framework.Criterion) (float64, error) {
			values, err := solutions.Values(c)
			if err != nil {
				return 0, err
			}
			return values[ks[i]], nil
		})
		return solved(r, criteria[0], s.Values[i][0], evaluation, others...), err
	}
	return s, nil
}

// otherChoices are the K that further criteria choose, which cost nothing here.
func otherChoices(solutions *factor.Solutions, own framework.Criterion) string {
	var list []string
	for _, c := range []framework.Criterion{framework.GFIC, framework.BIC, framework.SBIC, framework.AIC} {
		if values, err := solutions.Values(c); err == nil && c.Name != own.Name && len(values) > 1 {
			list = append(list, fmt.Sprintf("%s %d", strings.ToLower(c.Name), 1+floats.MaxIdx(values[1:])))
		}
	}
	return strings.Join(list, ", ")
}

// factorFile is what JSON and a model file have of the parameters. Where the rotation is oblique, so that the factors
// correlate, the loadings are what a column gains for each standard deviation of a factor.
type factorFile struct {
	*factor.Parameters
	Uniquenesses []float64   `json:"uniquenesses"` // shares of the columns' variances
	Rotation     *axesOfFile `json:"rotation,omitempty"`
}

// oblique says that the factors correlate.
func (f factorFile) oblique() bool { return f.Rotation != nil && f.Rotation.Name != "varimax" }

// axesOfFile are a rotation: the loadings are those of maximum likelihood, times Basis.
type axesOfFile struct {
	Name         string      `json:"name"`
	Basis        []float64   `json:"basis"`        // K×K
	Correlations [][]float64 `json:"correlations"` // of the factors
}

// rotated applies --rotate.
func rotated(p *factor.Parameters, name string) (factorFile, error) {
	file := factorFile{Parameters: p, Uniquenesses: p.Uniquenesses()}
	if name == "" || name == "none" || p.K < 2 {
		return file, nil
	}
	var r *factor.Rotated
	var err error
	switch standard := p.Standardized(); name {
	case "varimax":
		r, err = factor.Varimax(standard)
	case "promax":
		r, err = factor.Promax(standard, 0)
	default:
		r, err = factor.Oblimin(standard, 0)
	}
	if err != nil {
		return file, err
	}
	q := *p
	q.Loadings = make([]float64, len(p.Loadings))
	q.W().Mul(p.W(), r.Basis)
	file.Parameters = &q
	file.Rotation = &axesOfFile{Name: name, Basis: mat.DenseCopyOf(r.Basis).RawMatrix().Data}
	for k := range p.K {
		file.Rotation.Correlations = append(file.Rotation.Correlations, mat.Row(nil, k, r.Correlations))
	}
	return file, nil
}

func noiseFact(variance float64) [2]string {
	return [2]string{"noise variance", fmt.Sprintf("%.6g, standard deviation %.6g", variance, math.Sqrt(variance))}
}

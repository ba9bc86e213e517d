package lineargaussian

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/lineargaussian"
)

// Factor returns the definition of factor analysis, canonical correlation and group factor analysis (package
// models/factor).
func Factor(families fitted.Families) fitted.Definition {
	evidence := []framework.Criterion{framework.Evidence}
	methods := fitted.Estimating(evidence, framework.ELBO)
	solved := fitted.Method{Name: "closed-form", ClosedForm: true, Criteria: append(evidence, methods[0].Criteria...)}
	methods = append([]fitted.Method{solved}, methods...)
	for i := range methods {
		m := &methods[i]
		if m.Bootstrap = true; !m.FindsK {
			m.Swept = []framework.Criterion{framework.SBIC}
		}
	}
	return fitted.Definition{Name: "factor", Title: "Factor analysis", About: "factor analysis, canonical correlation",
		Example: "satellite", Families: families, Gaps: true, Float32: true, Methods: methods,
		UnitKeys: fitted.UnitKeys[:1],
		Help: "closed-form gives the result of gfab without iterations, and requires a complete table; for other tables " +
			"gfab is the default.",
		New: func() fitted.Settings { return new(FactorSettings) }, Load: loadFactor,
		Advice: func(err error) string {
			if errors.Is(err, lineargaussian.ErrTooFewRows) {
				return "--method em --criterion bic"
			}
			return ""
		}}
}

// FactorSettings are the options of factor analysis.
type FactorSettings struct {
	fitted.NoiseSettings
	Blocks string  `json:"blocks,omitempty" placeholder:"A,B;C,D" help:"Blocks of columns, within which the noise may correlate, so that factors are what blocks have in common. Two blocks: canonical correlation. Backslashes before commas and semicolons in names."`
	Rotate *string `json:"rotate,omitempty" placeholder:"NAME" enum:"none,varimax,promax,oblimin" help:"Rotation of the loadings: none (the factors of maximum likelihood), varimax, promax or oblimin. Default: none."`
}

func (m *FactorSettings) wrong(format string, args ...any) error {
	return &fitted.SettingError{Setting: "Blocks", Reason: fmt.Sprintf(format, args...)}
}

// Check returns an error if both Blocks and Noise are set, because noise correlates within a block.
func (m *FactorSettings) Check(fitted.Request) error {
	if m.Blocks != "" && m.Noise != nil {
		return m.wrong("cannot be used with --noise %s: within a block the noise correlates", *m.Noise)
	}
	return nil
}

// escaped splits a list. A separator with a backslash before it belongs to a name.
func escaped(list, separator string) (parts []string) {
	for part := range strings.SplitSeq(list, separator) {
		if last := len(parts) - 1; last >= 0 && strings.HasSuffix(parts[last], `\`) {
			parts[last] = strings.TrimSuffix(parts[last], `\`) + separator + part
		} else {
			parts = append(parts, part)
		}
	}
	return parts
}

// structure is that of the noise, for a table with these columns.
func (m *FactorSettings) structure(names []string) (st factor.Structure, err error) {
	st.Isotropic = m.Isotropic()
	if m.Blocks == "" {
		return st, nil
	}
	for i, block := range escaped(m.Blocks, ";") {
		var columns []int
		for _, name := range escaped(block, ",") {
			j := slices.Index(names, strings.TrimSpace(name))
			switch {
			case j < 0:
				return st, m.wrong("names %q, and the columns are %s", strings.TrimSpace(name), wording.Quoted(names))
			case slices.Contains(columns, j):
				return st, m.wrong("names column %q twice in block %d", names[j], i+1)
			case slices.ContainsFunc(st.Blocks, func(b []int) bool { return slices.Contains(b, j) }):
				return st, m.wrong("names column %q in two blocks: each column belongs to one", names[j])
			}
			columns = append(columns, j)
		}
		st.Blocks = append(st.Blocks, columns)
	}
	for j, name := range names {
		if !slices.ContainsFunc(st.Blocks, func(b []int) bool { return slices.Contains(b, j) }) {
			return st, m.wrong("names no block of column %q: name it there, or leave it out of the table", name)
		}
	}
	return st, st.Check(len(names))
}

// unsolved returns why a table has no closed form; empty if it has one.
func (m *FactorSettings) unsolved(gaps bool) string {
	switch {
	case gaps:
		return "missing entries"
	case m.Blocks != "" && len(escaped(m.Blocks, ";")) > 2:
		return "more than two blocks"
	}
	return ""
}

// Choose chooses gFAB if the table has no closed form. The fit is accelerated, because it would otherwise take
// thousands of iterations if the noise of a column approaches its floor slowly.
func (m *FactorSettings) Choose(t *fitted.Table, _ fitted.Request) fitted.Choice {
	if reason := m.unsolved(t.Rows.HasGaps(len(t.Columns))); reason != "" {
		return fitted.Choice{Method: "gfab", Why: "there are " + reason, Elsewhere: "default elsewhere: closed-form",
			Accelerate: true}
	}
	return fitted.Choice{}
}

// begun is the number of factors up to which factor analysis is solved first.
const begun = 10

// Bind prepares the closed form, which computes every K from one covariance matrix, or the iterations.
func (m *FactorSettings) Bind(ctx context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	n, d := t.Rows.Dims()
	st, err := m.structure(t.Names())
	if err != nil {
		return nil, err
	}
	facts := factsOf(r)
	if facts.Shown == 0 {
		facts.Shown = leastOf(t.Rows)
	}
	if reason := m.unsolved(facts.Shown < n); reason != "" && r.Method.ClosedForm {
		return nil, &fitted.SettingError{Setting: "Method", Reason: "closed-form cannot be used with " + reason + ": " +
			"take --method gfab or em"}
	}
	identified := st.Identified(d)
	b := &fitted.Bound{What: noiseText(st), KMax: max(1, identified), Facts: facts}
	if r.Method.ClosedForm && !st.Isotropic && st.Blocks == nil && identified > begun {
		b.KMax, b.DoubleTo = begun, identified // one search each: the time of all K is that of D⁴
	}
	b.CheckK = func(k int) error {
		if r.Method.ClosedForm && k > identified {
			return fmt.Errorf("the covariance matrix of %s identifies %s at most, and K is %d", wording.Counted(d, "column"),
				wording.Counted(identified, "factor"), k)
		}
		if k >= d {
			return fmt.Errorf("no noise is left over at K = %d with D = %s: choose K from 1 to %d", k,
				wording.Counted(d, "column"), max(1, d-1))
		}
		return nil
	}
	b.Compares = func(c framework.Criterion) bool {
		if c.Name == framework.Evidence.Name { // of one variance, it takes nearly all axes where tables have no such noise
			return !st.Isotropic
		}
		// gFIC and FIC do not exist where a column has no more entries than there are columns
		return compares(c, r.Method) && (!c.Needs.Curvature || facts.Shown > d)
	}
	b.Problem, err = m.problem(ctx, factorTable{t, st, valueOr(m.Rotate)}, r, facts)
	return b, err
}

func valueOr(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}

// leastOf is the smallest number of entries of a column.
func leastOf(t *blocks.Table) int {
	n, d := t.Dims()
	shown := slices.Repeat([]int{n}, d)
	for b := range t.Lent() {
		for i := range b.N {
			for j, v := range b.Row(i) {
				if v != v {
					shown[j]--
				}
			}
		}
	}
	return slices.Min(shown)
}

func noiseText(st factor.Structure) string {
	switch {
	case st.Isotropic:
		return "one variance of the noise"
	case st.Blocks == nil:
		return "a variance of the noise for each column"
	}
	return wording.Counted(len(st.Blocks), "block")
}

// A factorTable holds the properties of a table by which its fits are described.
type factorTable struct {
	*fitted.Table
	st     factor.Structure
	rotate string
}

// problem returns the closed form, or iterations: on moments if no entry is missing, and otherwise on rows.
func (m *FactorSettings) problem(
	ctx context.Context, t factorTable, r fitted.Request, facts *fitted.Facts,
) (fitted.Problem[fitted.Found], error) {
	found := func(p *factor.Parameters, stat *factor.Statistics) (fitted.Found, error) {
		p, err := p.Rescaled(stat)
		if err != nil {
			return nil, err
		}
		return t.found(p.Canonical())
	}
	model := factor.Model{Structure: t.st, Prior: r.EvidencePrior()}
	if facts.Shown < t.Rows.Rows() {
		return &fitted.Engine[fitted.Found, blocks.Rows, *factor.Parameters, *factor.Statistics]{
			Model: model, Source: t.Rows, Found: found}, nil
	}
	moments, err := momentsOf(ctx, t.Table, r, facts)
	if err != nil {
		return nil, err
	}
	if r.Method.ClosedForm {
		return fitted.ClosedForm[fitted.Found](func(kmax int) (fitted.Solutions[fitted.Found], error) {
			all, err := factor.Solve(moments, t.st, kmax)
			if err != nil {
				return nil, err
			}
			all.Prior, _ = r.UnitInformation()
			return factorSolutions{all, t}, nil
		}), nil
	}
	return &fitted.Engine[fitted.Found, *lineargaussian.Moments, *factor.Parameters, *factor.Statistics]{
		Model: factor.Compressed{Model: model}, Source: moments.Source(), Found: found}, nil
}

// factorSolutions are those of every K.
type factorSolutions struct {
	*factor.Solutions
	t factorTable
}

func (s factorSolutions) Evaluation(k int, of framework.Criterion) (framework.Evaluation, error) {
	return s.Solutions.Evaluation(k, bpca.MethodFor(of))
}

func (s factorSolutions) Found(k int, by framework.Criterion, alone bool) (fitted.Found, error) {
	p, err := s.Parameters(k)
	if err != nil {
		return nil, err
	}
	m, err := s.t.found(p)
	if err != nil {
		return nil, err
	}
	values, err := s.Values(by)
	if err != nil {
		return nil, err
	}
	m.solutions, m.none, m.criterion = s.Solutions, values[0]-values[k], strings.ToLower(by.Name)
	if !alone {
		m.others = otherChoices(s.Solutions, by)
	}
	return m, nil
}

// otherChoices returns the K that further criteria choose, at no cost.
func otherChoices(solutions *factor.Solutions, own framework.Criterion) string {
	var list []string
	for _, c := range []framework.Criterion{framework.GFIC, framework.BIC, framework.SBIC, framework.AIC} {
		if values, err := solutions.Values(c); err == nil && c.Name != own.Name && len(values) > 1 {
			list = append(list, fmt.Sprintf("%s %d", strings.ToLower(c.Name), 1+floats.MaxIdx(values[1:])))
		}
	}
	return strings.Join(list, ", ")
}

// factorFile holds the parameters of JSON and of a model file. If the rotation is oblique, so that the factors
// correlate, a loading is the change of a column per standard deviation of a factor.
type factorFile struct {
	*factor.Parameters
	Uniquenesses []float64 `json:"uniquenesses"` // shares of the columns' variances
	Rotation     *rotation `json:"rotation,omitempty"`
}

// oblique reports whether the factors correlate.
func (f factorFile) oblique() bool { return f.Rotation != nil && f.Rotation.Name != "varimax" }

// A rotation: the loadings are those of maximum likelihood, times Basis.
type rotation struct {
	Name         string      `json:"name"`
	Basis        []float64   `json:"basis"`        // K×K
	Correlations [][]float64 `json:"correlations"` // of the factors
}

// rotated applies a rotation by its name.
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
	file.Rotation = &rotation{Name: name, Basis: mat.DenseCopyOf(r.Basis).RawMatrix().Data}
	for k := range p.K {
		file.Rotation.Correlations = append(file.Rotation.Correlations, mat.Row(nil, k, r.Correlations))
	}
	return file, nil
}

// factored is a factor analysis. For each row it gives the regression scores and the log-likelihood.
type factored struct {
	scoring.Filling
	factorFile
	factorTable                    // of a fit
	unrotated   *factor.Parameters // the factors of maximum likelihood, which are uncorrelated
	solutions   *factor.Solutions  // of the closed form; otherwise nil
	criterion   string             // what the sizes were compared by
	others      string             // the K of further criteria
	none        float64            // how much higher it is of no factors at all
	errs        []float64          // standard errors of standardised loadings, D×K, by bootstrap
}

// found is a fit of canonical parameters.
func (t factorTable) found(p *factor.Parameters) (*factored, error) {
	file, err := rotated(p, t.rotate)
	m := &factored{factorFile: file, factorTable: t, unrotated: p}
	if err != nil {
		return nil, err
	}
	return m, m.ready()
}

// basis transforms the loadings of uncorrelated factors to those of the file, K×K.
func (f factorFile) basis() *mat.Dense {
	if f.Rotation != nil {
		return mat.NewDense(f.K, f.K, f.Rotation.Basis)
	}
	return mat.DenseCopyOf(mat.NewDiagDense(f.K, slices.Repeat([]float64{1}, f.K)))
}

// ready prepares scoring by uncorrelated factors, whose scores it transforms to those of the file.
func (m *factored) ready() error {
	var to mat.Dense
	if err := to.Inverse(m.basis()); err != nil {
		return fmt.Errorf("its rotation cannot be inverted: %w", err)
	}
	if m.unrotated == nil {
		q := *m.Parameters
		q.Loadings = slices.Clone(q.Loadings)
		q.W().Mul(m.W(), &to)
		m.unrotated = &q
	}
	p := m.unrotated
	cov, err := p.Covariance()
	if err != nil {
		return err
	}
	var own mat.Dense
	own.Product(&to, cov, to.T())
	m.Gaps, m.Draw, m.Linear, m.Takes.Gaps = p.Fill, p.Sample, true, true
	m.Says = scoring.Latent(wording.Numbered("z", p.K), mat.NewSymDense(p.K, own.RawMatrix().Data))
	m.Ready = func() (scoring.Of, error) {
		score := p.Scorer()
		var z []float64
		return func(b blocks.Rows, logProb, own []float64) (_, _ []float64, err error) {
			if logProb, z, err = score(b, logProb, z); err != nil {
				return nil, nil, err
			}
			own = linalg.Resize(own, len(z))
			linalg.Mul(false, true, 1, linalg.General(b.N, p.K, z), to.RawMatrix(), 0, linalg.General(b.N, p.K, own))
			return logProb, own, nil
		}, nil
	}
	return nil
}

// loadFactor reads the parameters of a file, and computes the loadings of uncorrelated factors.
func loadFactor(f *fitted.File) (fitted.Model, error) {
	m := &factored{factorTable: factorTable{Table: &fitted.Table{Columns: f.Columns}}}
	if err := json.Unmarshal(f.Params, &m.factorFile); err != nil {
		return nil, err
	}
	p := m.Parameters
	if err := p.Check(); err != nil {
		return nil, err
	}
	if r := m.Rotation; r != nil {
		if len(r.Basis) != p.K*p.K || slices.ContainsFunc(r.Basis, func(v float64) bool { return v-v != 0 }) {
			return nil, fmt.Errorf("its rotation has no basis of %d×%d numbers", p.K, p.K)
		}
		if len(r.Correlations) != p.K || slices.ContainsFunc(r.Correlations,
			func(row []float64) bool { return len(row) != p.K }) {
			return nil, fmt.Errorf("its rotation has no correlations of %d×%d numbers", p.K, p.K)
		}
	}
	return m, cmp.Or(m.ready(), f.Matches(p.K, p.D))
}

func (m *factored) Params() any { return m.factorFile }

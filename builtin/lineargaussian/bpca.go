package lineargaussian

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/axes"
	"github.com/latent-go/latent/models/bpca"
	"github.com/latent-go/latent/models/lineargaussian"
)

// BPCA returns the definition of Bayesian principal component analysis (package models/bpca).
func BPCA(families fitted.Families) fitted.Definition {
	d := pcaOf("bpca", "Bayesian PCA", families)
	further := []framework.Criterion{framework.Evidence}
	d.Methods = fitted.Estimating(further, framework.ELBO)
	d.Help = "--prior of vb: a_alpha, b_alpha, a_lambda and b_lambda (gamma shapes and rates), alpha (fixed; 1 is VB1), " +
		"unit (the standard deviation that counts as 1)."
	d.Methods = append(d.Methods,
		fitted.Method{Name: "vb", Engine: framework.EM, Criteria: []framework.Criterion{framework.ELBO},
			Prior: []string{"a_alpha", "b_alpha", "a_lambda", "b_lambda", "alpha", "unit"}},
		fitted.Method{Name: "closed-form", Criteria: d.Methods[0].Criteria, Further: further, ClosedForm: true})
	return d
}

// PPCA returns the definition of probabilistic principal component analysis (package models/bpca), by maximum
// likelihood. By default BIC compares its sizes.
func PPCA(families fitted.Families) fitted.Definition {
	d := pcaOf("ppca", "Probabilistic PCA", families)
	d.About = "probabilistic PCA, by maximum likelihood"
	method := fitted.Method{
		Criteria: []framework.Criterion{framework.BIC, framework.AIC}, Further: []framework.Criterion{framework.Evidence},
	}
	solved, em := method, method
	solved.Name, solved.ClosedForm, em.Name, em.Engine = "closed-form", true, "em", framework.EM
	d.Methods = []fitted.Method{solved, em}
	return d
}

func pcaOf(name, title string, families fitted.Families) fitted.Definition {
	return fitted.Definition{Name: name, Title: title, Example: "satellite", Families: families,
		Float32: true, UnitKeys: fitted.UnitKeys[:1],
		New: func() fitted.Settings { return new(PCASettings) },
		Load: func(f *fitted.File) (fitted.Model, error) {
			m, err := loadPrincipal(f)
			return &pca{principal: m}, err
		},
		Advice: func(err error) string {
			if errors.Is(err, lineargaussian.ErrTooFewRows) {
				return "--method em or --method vb"
			}
			return ""
		}}
}

// PCASettings is empty: PCA has no options.
type PCASettings struct{}

// Check returns an error if the prior gives both alpha, a fixed value, and a_alpha or b_alpha, the prior of alpha.
func (*PCASettings) Check(r fitted.Request) error {
	if r.Prior["alpha"] != 0 && (r.Prior["a_alpha"] != 0 || r.Prior["b_alpha"] != 0) {
		return &fitted.SettingError{
			Setting: "Prior", Reason: "has both alpha, a fixed value, and a_alpha or b_alpha, its prior: give one or the other",
		}
	}
	return nil
}

// Bind prepares the model for the rows.
func (*PCASettings) Bind(ctx context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	n, d := t.Rows.Dims()
	// noise is left over: D columns have rank D, and N centred rows N − 1
	b := &fitted.Bound{What: "gaussian noise", KMax: max(1, min(d-1, n-2))}
	b.CheckK = func(k int) error { // what is wrong with the data themselves, the model says
		switch {
		case d == 1 && k > 1:
			return fmt.Errorf("1 column and K = %d: bpca needs two columns at least", k)
		case d > 1 && k >= d:
			return fmt.Errorf("no noise is left over at K = %d with D = %d columns: choose K from 1 to %d", k, d, d-1)
		}
		return nil
	}
	b.Compares = func(c framework.Criterion) bool { // gFIC and FIC do not exist with no more rows than columns
		return compares(c, r.Method) && (!c.Needs.Curvature || n > d)
	}
	b.Facts = factsOf(r)
	var err error
	b.Problem, err = pcaProblem(ctx, t, r, b.Facts)
	return b, err
}

// factsOf are those that another process has found out, or none yet.
func factsOf(r fitted.Request) *fitted.Facts { return cmp.Or(r.Facts, new(fitted.Facts)) }

// momentsOf are those of the rows, which the facts have then.
func momentsOf(
	ctx context.Context, t *fitted.Table, r fitted.Request, facts *fitted.Facts,
) (*lineargaussian.Moments, error) {
	if facts.Scatter == nil {
		m, err := lineargaussian.Summarize(ctx, t.Rows, r.Workers)
		if err != nil {
			return nil, err
		}
		facts.Weight, facts.Mean, facts.Scatter = m.N, m.Mean, m.Scatter
	}
	n, d := t.Rows.Dims()
	return &lineargaussian.Moments{Rows: n, N: facts.Weight, D: d, Mean: facts.Mean, Scatter: facts.Scatter}, nil
}

// compares leaves out the ELBO of estimated parameters, which never falls as K grows.
func compares(c framework.Criterion, m fitted.Method) bool {
	return c.Name != framework.ELBO.Name || m.Criteria[0].Name == c.Name
}

// pcaProblem passes the rows to the model as their D×D moments, so that the time of an iteration does not depend on N,
// or block by block if there are more columns than rows.
func pcaProblem(
	ctx context.Context, t *fitted.Table, r fitted.Request, facts *fitted.Facts,
) (fitted.Problem[fitted.Found], error) {
	if r.Method.ClosedForm {
		return solvedPCA(ctx, t, r, facts)
	}
	estimated := func(p *bpca.Parameters, stat *lineargaussian.Statistics) (fitted.Found, error) {
		p, err := bpca.Model{}.Estimates(stat, p)
		if err != nil {
			return nil, err
		}
		return &pca{principal: newPrincipal(p.Canonical(), t.Columns)}, nil
	}
	inferred := func(p *bpca.Posterior, _ *lineargaussian.Statistics) (fitted.Found, error) {
		return &pca{newPrincipal(p.Point().Canonical(), t.Columns), p}, nil
	}
	v := r.Prior
	variational := bpca.Variational{Prior: bpca.Prior{AlphaShape: v["a_alpha"], AlphaRate: v["b_alpha"],
		LambdaShape: v["a_lambda"], LambdaRate: v["b_lambda"], FixedAlpha: v["alpha"], Unit: v["unit"]}}
	model, vb := bpca.Model{Prior: r.EvidencePrior()}, r.Method.Name == "vb"
	if n, d := t.Rows.Dims(); d > n {
		if vb {
			return &fitted.Engine[fitted.Found, blocks.Rows, *bpca.Posterior, *lineargaussian.Statistics]{
				Model: variational, Source: t.Rows, Found: inferred,
			}, nil
		}
		return &fitted.Engine[fitted.Found, blocks.Rows, *bpca.Parameters, *lineargaussian.Statistics]{
			Model: model, Source: t.Rows, Found: estimated,
		}, nil
	}
	moments, err := momentsOf(ctx, t, r, facts)
	if err != nil {
		return nil, err
	}
	if vb {
		return &fitted.Engine[fitted.Found, *lineargaussian.Moments, *bpca.Posterior, *lineargaussian.Statistics]{
			Model: bpca.CompressedVariational{Variational: variational}, Source: moments.Source(), Found: inferred}, nil
	}
	return &fitted.Engine[fitted.Found, *lineargaussian.Moments, *bpca.Parameters, *lineargaussian.Statistics]{
		Model: bpca.Compressed{Model: model}, Source: moments.Source(), Found: estimated}, nil
}

// solvedPCA computes all K up to a largest from one spectrum. If the table is wide, it decomposes only when it knows
// how many eigenvalues are needed: the solutions use the sum of the others alone.
func solvedPCA(
	ctx context.Context, t *fitted.Table, r fitted.Request, facts *fitted.Facts,
) (fitted.ClosedForm[fitted.Found], error) {
	solve := func(s *lineargaussian.Spectrum, kmax int) (fitted.Solutions[fitted.Found], error) {
		all, err := bpca.Solve(s, kmax)
		if err != nil {
			return nil, err
		}
		all.Prior, _ = r.UnitInformation()
		return pcaSolutions{all, t.Columns}, nil
	}
	if n, d := t.Rows.Dims(); n >= d {
		moments, err := momentsOf(ctx, t, r, facts)
		return func(kmax int) (fitted.Solutions[fitted.Found], error) {
			decompose := moments.Spectrum
			if d >= 400 && 16*kmax <= d {
				decompose = func() (*lineargaussian.Spectrum, error) { return moments.LeadingSpectrum(kmax) }
			}
			s, err := decompose()
			if err != nil {
				return nil, err
			}
			return solve(s, kmax)
		}, err
	}
	s, err := lineargaussian.Decompose(ctx, t.Rows, r.Workers)
	return func(kmax int) (fitted.Solutions[fitted.Found], error) { return solve(s, kmax) }, err
}

// pcaSolutions are those of every K.
type pcaSolutions struct {
	*bpca.Solutions
	columns []data.Column
}

func (s pcaSolutions) Evaluation(k int, of framework.Criterion) (framework.Evaluation, error) {
	return s.Solutions.Evaluation(k, bpca.MethodFor(of))
}

func (s pcaSolutions) Found(k int, _ framework.Criterion, _ bool) (fitted.Found, error) {
	p, err := s.Parameters(k, framework.EM)
	if err != nil {
		return nil, err
	}
	return &pca{principal: newPrincipal(p, s.columns)}, nil
}

// pca is a fit in canonical rotation, with the posterior of vb.
type pca struct {
	principal
	posterior *bpca.Posterior
}

func (m *pca) Params() any { return m.Parameters }

// Posterior returns the posterior of vb; nil for other methods.
func (m *pca) Posterior() any {
	if m.posterior == nil {
		return nil
	}
	return m.posterior
}

// Fields adds the shares of the variance.
func (m *pca) Fields() any { return explained{fitted.Numbers(m.Explained())} }

// Describe shows which columns each dimension moves, and its share of the variance.
func (m *pca) Describe() (*fitted.Description, error) {
	a := axes.OfPCA("dimension", m.Parameters, m.names)
	return &fitted.Description{
		Finding:  a.Finding(m.Noise),
		Omitted:  a.Omitted(),
		Facts:    [][2]string{axes.NoiseFact(m.Noise)},
		Sections: append(axes.Loadings("dimension", m.Parameters, m.names), axes.Spectrum(m.Parameters)...),
	}, nil
}

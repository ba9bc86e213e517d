package builtin

import (
	"encoding/json"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/features"
)

// factors are the parameters of a factor analysis, whose loadings may be rotated.
type factors struct {
	*factor.Parameters
	Rotation *struct {
		Basis []float64 // K×K: the loadings are those of maximum likelihood, times it
	}
}

// loadFactors says the regression scores and the log-likelihood of each row.
func loadFactors(f *fitted.File) (fitted.Model, error) {
	var file factors
	if err := json.Unmarshal(f.Params, &file); err != nil {
		return nil, err
	}
	p := file.Parameters
	if err := p.Check(); err != nil {
		return nil, err
	}
	axes, err := file.straighten()
	if err != nil {
		return nil, err
	}
	cov, err := p.Covariance()
	if err != nil {
		return nil, err
	}
	var own mat.Dense
	own.Product(axes, cov, axes.T())
	m := &scoring.Filling{Gaps: p.Fill}
	m.Draw = p.Sample
	m.Takes.Gaps = true
	m.Says = scoring.Latent("mean", wording.Numbered("z", p.K), mat.NewSymDense(p.K, own.RawMatrix().Data))
	m.Ready = func() (scoring.Of, error) {
		score := p.Scorer()
		var z []float64
		return func(b framework.Rows, logProb, own []float64) (_, _ []float64, err error) {
			if logProb, z, err = score(b, logProb, z); err != nil {
				return nil, nil, err
			}
			own = linalg.Resize(own, len(z))
			linalg.Mul(false, true, 1, linalg.General(b.N, p.K, z), axes.RawMatrix(), 0, linalg.General(b.N, p.K, own))
			return logProb, own, nil
		}, nil
	}
	return m, f.Matches(p.K, p.D)
}

// straighten gives the parameters the loadings of uncorrelated factors, and returns the matrix that takes their
// scores to those of the file.
func (f *factors) straighten() (*mat.Dense, error) {
	p := f.Parameters
	inverse := mat.NewDense(p.K, p.K, nil)
	if f.Rotation == nil {
		for k := range p.K {
			inverse.Set(k, k, 1)
		}
		return inverse, nil
	}
	if len(f.Rotation.Basis) != p.K*p.K || slices.ContainsFunc(f.Rotation.Basis, func(v float64) bool { return v-v != 0 }) {
		return nil, fmt.Errorf("its rotation has no basis of %d×%d numbers", p.K, p.K)
	}
	if err := inverse.Inverse(mat.NewDense(p.K, p.K, f.Rotation.Basis)); err != nil {
		return nil, fmt.Errorf("its rotation cannot be inverted: %w", err)
	}
	p.W().Mul(mat.DenseCopyOf(p.W()), inverse)
	return inverse, nil
}

// loadFeatures says the probability of each feature and the log-likelihood of each row.
func loadFeatures(f *fitted.File) (fitted.Model, error) {
	var p *features.Parameters
	if err := json.Unmarshal(f.Params, &p); err != nil {
		return nil, err
	}
	if err := p.Check(); err != nil {
		return nil, err
	}
	m := &scoring.Filling{Gaps: p.Fill}
	m.Draw = p.Sample
	m.Takes.Gaps = true
	m.Says = fitted.Layout{List: "probabilities", Items: wording.Numbered("feature", p.K), Last: []string{"log_likelihood"}}
	if p.K > features.MaxExact {
		m.Says.Last[0] = "log_likelihood_bound"
	}
	m.Ready = func() (scoring.Of, error) { return p.Scorer(), nil }
	return m, f.Matches(p.K, p.D)
}

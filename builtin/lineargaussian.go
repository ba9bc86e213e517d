package builtin

import (
	"encoding/json"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/features"
)

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

// Package lineargaussian defines the models of package builtin whose rows are linear in a few normal latent numbers,
// with normal noise: their settings, the results of their fits, predictions for rows, and their model files.
package lineargaussian

import (
	"encoding/json"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/builtin/internal/scoring"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/bpca"
)

// principal is a model of rows by axes and noise of one variance. For each row it gives the mean of z and the
// log-likelihood; the covariance of z is the same for all rows.
type principal struct {
	scoring.Continuous
	*bpca.Parameters
	names []string // of the columns
}

// newPrincipal prepares parameters. The scorer reports errors in them.
func newPrincipal(p *bpca.Parameters, columns []data.Column) principal {
	m := principal{Parameters: p, names: (&fitted.Table{Columns: columns}).Names()}
	m.Draw = p.Sample
	_, cov, fault := p.Transform(mat.NewDense(1, p.D, nil))
	if fault == nil {
		m.Says = scoring.Latent(wording.Numbered("z", p.K), cov)
	}
	m.Ready = func() (scoring.Of, error) {
		if fault != nil {
			return nil, fault
		}
		return p.Scorer()
	}
	return m
}

// loadPrincipal checks parameters of a file.
func loadPrincipal(f *fitted.File) (m principal, err error) {
	var p *bpca.Parameters
	if err := json.Unmarshal(f.Params, &p); err != nil {
		return m, err
	}
	if err := p.Check(); err != nil {
		return m, err
	}
	m = newPrincipal(p, f.Columns)
	if _, err := m.Ready(); err != nil {
		return m, err
	}
	return m, f.Matches(p.K, p.D)
}

// explained is a field of JSON and files.
type explained struct {
	Explained []fitted.Number `json:"explained,omitempty"` // share of the variance, a latent dimension
}

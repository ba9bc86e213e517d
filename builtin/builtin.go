// Package builtin has the models of latent, for programs that use what latent fit --out has written.
package builtin

import (
	"github.com/latent-go/latent/builtin/blockmodel"
	"github.com/latent-go/latent/builtin/features"
	"github.com/latent-go/latent/builtin/hmm"
	"github.com/latent-go/latent/builtin/lds"
	"github.com/latent-go/latent/builtin/lineargaussian"
	"github.com/latent-go/latent/builtin/mixture"
	"github.com/latent-go/latent/builtin/regression"
	"github.com/latent-go/latent/builtin/topics"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/families"
)

// Load opens a model file of a model of [Models].
func Load(path string) (*fitted.Fitted, error) { return Models().Open(path) }

// A Family is one of an author's own, for mixtures, hidden Markov models and gates.
type Family struct {
	Name string        // as --family and files have it: "negative-binomial"
	Of   family.Family // of a single column; where Joint is true, of all columns together
	// Joint families describe all columns together. Of others each column has its own, beside columns of other families.
	Joint bool
}

// Models are those of latent, their components also of an author's own families. Their rows are rows of a table, of a
// hidden Markov model the steps of a sequence, of a block model two nodes, and of a topic model the counts
// of a document's words.
func Models(own ...Family) fitted.Registry {
	var set families.Set
	for _, f := range own {
		set.Own = append(set.Own, families.Own(f.Name, f.Of, f.Joint))
	}
	gaussian := families.Only{families.Gaussian}
	return fitted.Registry{
		mixture.Definition(set),
		mixture.Bernoulli(),
		hmm.Definition(set),
		regression.Definition(),
		lineargaussian.BPCA(gaussian),
		lineargaussian.PPCA(gaussian),
		lineargaussian.Factor(gaussian),
		lineargaussian.VBMF(gaussian),
		lds.Definition(gaussian),
		features.Definition(gaussian),
		topics.Definition(families.Only{families.Categorical}),
		blockmodel.Definition(families.Only{families.Bernoulli, families.Poisson}),
	}
}

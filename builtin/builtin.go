// Package builtin registers the models of the command latent. Programs load model files with it that latent fit --out
// has written.
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

// Load reads a model file of one of the [Models]. It returns an error if the file is missing, damaged, of another
// format version or of another model.
func Load(path string) (*fitted.Fitted, error) { return Models().Open(path) }

// A Family is an author's family of distributions, for the components of mixtures, with a gate or without, and for the
// states of hidden Markov models.
type Family struct {
	Name string        // as --family and files have it: "negative-binomial"
	Of   family.Family // of a single column; where Joint is true, of all columns together
	// Joint is true if the family describes all columns together. Otherwise it describes one column, beside columns of
	// other families.
	Joint bool
}

// Models returns the definitions of all models of latent; own adds families for their components. A row is a row of the
// table, except in three models: in a hidden Markov model it is the steps of a sequence, in a block model two nodes,
// and in a topic model the counts of a document's words.
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

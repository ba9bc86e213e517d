// Package builtin has the models of latent, for programs that use what latent fit --out has written.
package builtin

import (
	"encoding/json"
	"slices"

	"github.com/latent-go/latent/builtin/blockmodel"
	"github.com/latent-go/latent/builtin/features"
	"github.com/latent-go/latent/builtin/hmm"
	"github.com/latent-go/latent/builtin/lds"
	"github.com/latent-go/latent/builtin/lineargaussian"
	"github.com/latent-go/latent/builtin/regression"
	"github.com/latent-go/latent/builtin/topics"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/classes"
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
	gaussian, all := families.Only{families.Gaussian}, loader{set}
	return fitted.Registry{
		{Name: "mixture", Starts: 10, Title: "Mixture", About: "components, each with its own distribution",
			Part: "component", Classes: true, Example: "faithful", Families: set, Load: all.mixture, Methods: mixing(),
			Help: "latent fit uses cvb0 where cvb0 finds K in a table of codes and counts (to 1,000) of at most 1,000,000 " +
				"cells, otherwise gfab, and compares covariance structures of measured columns (--cov). latent select " +
				"uses em, and gfab for the evidence. " + classes.AboutPrior},
		{Name: "bernmix", Starts: 10, Title: "Bernoulli mixture", About: "a mixture with Bernoulli columns only",
			Part: "component", Classes: true, Example: "housevotes84", Families: families.Only{families.Bernoulli},
			Load: all.mixture, Methods: mixing(),
			Help: "The method is chosen as for mixture. --prior of map, vb and cvb0: a (Dirichlet of the weights) and b " +
				"(beta(b, b) of the probabilities)."},
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

// mixing are the methods of mixtures: what integrates the parameters out or counts labels takes a further pass.
func mixing() []fitted.Method {
	swept := []framework.Criterion{framework.SBIC, framework.Slope}
	coded := []framework.Criterion{framework.ExactICL, framework.DNML}
	list := fitted.OfClasses(swept...)
	list = append(list,
		fitted.Method{Name: "map", Engine: framework.EM, Criteria: list[2].Criteria, Swept: swept, Prior: []string{}},
		fitted.Method{Name: "vb", Engine: framework.EM, Criteria: []framework.Criterion{framework.ELBO}, Prior: []string{}})
	for i := range list {
		list[i].Further = slices.Concat(list[i].Further, []framework.Criterion{framework.Collapsed}, coded)
	}
	return append(list, fitted.Method{Name: "cvb0", Engine: framework.PrunedEM, FindsK: true, Prior: []string{},
		Criteria: []framework.Criterion{framework.Collapsed}, Further: coded})
}

// A loader loads files of models whose columns have families.
type loader struct{ families families.Set }

// settings are those that loading takes.
type settings struct {
	Gate  []string
	Floor *float64
}

func settingsOf(f *fitted.File) (s settings, err error) {
	if f.Settings != nil {
		err = json.Unmarshal(f.Settings, &s)
	}
	return s, err
}

// Package builtin has the models of latent, for programs that use what latent fit --out has written.
package builtin

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/latent-go/latent/builtin/blockmodel"
	"github.com/latent-go/latent/builtin/features"
	"github.com/latent-go/latent/builtin/lds"
	"github.com/latent-go/latent/builtin/lineargaussian"
	"github.com/latent-go/latent/builtin/topics"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/design"
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
			Part: "component", Example: "faithful", Families: set, Load: all.mixture, Methods: mixing(),
			Help: "latent fit uses cvb0 where cvb0 finds K in a table of codes and counts (to 1,000) of at most 1,000,000 " +
				"cells, otherwise gfab, and compares covariance structures of measured columns (--cov). latent select " +
				"uses em, and gfab for the evidence. " + priorOfClasses},
		{Name: "bernmix", Starts: 10, Title: "Bernoulli mixture", About: "a mixture with Bernoulli columns only",
			Part: "component", Example: "housevotes84", Families: families.Only{families.Bernoulli}, Load: all.mixture,
			Methods: mixing(), Help: "The method is chosen as for mixture. --prior of map, vb and cvb0: a (Dirichlet of the " +
				"weights) and b (beta(b, b) of the probabilities)."},
		{Name: "hmm", Starts: 10, Title: "Hidden Markov model", About: "a hidden Markov model: rows are steps of sequences",
			Part: "state", Example: "geyser", Families: set, Load: all.chain, Sequences: true, Methods: chaining(),
			Help: "latent select uses em, and gfab for the evidence. --prior of map and vb also takes start and transitions " +
				"(Dirichlet, of the first state and of each row) and stay (added for the same state). " + priorOfClasses},
		{
			Name:     "regression",
			Starts:   10,
			Title:    "Mixture of regressions",
			About:    "a mixture of regressions of one column on other columns",
			Part:     "component",
			Example:  "NPreg",
			Families: families.Only{families.Gaussian, families.Poisson, design.Binomial},
			Load:     loadRegression,
			Methods:  fitted.OfClasses(framework.Slope),
		},
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

// priorOfClasses says what --prior has of what classes, or states, describe.
const priorOfClasses = "--prior of map, vb and cvb0: weights (Dirichlet; not of states), kappa and nu (gaussian and " +
	"lognormal, scaled by the data), a and b (bernoulli, beta), shape and rate (poisson and exponential, gamma), alpha " +
	"(categorical and multinomial, Dirichlet). Of gfab: rows and covariance."

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

// chaining are the methods of hidden Markov models.
func chaining() []fitted.Method {
	swept := []framework.Criterion{framework.Slope}
	// a prior lets states without steps be, for which BICEM hardly charges
	likely := []framework.Criterion{framework.BIC, framework.BICEM, framework.GFIC, framework.FIC, framework.AIC,
		framework.ICL, framework.ELBO}
	return append(fitted.OfClasses(swept...),
		fitted.Method{Name: "map", Engine: framework.EM, Criteria: likely, Swept: swept, Prior: []string{}},
		fitted.Method{Name: "vb", Engine: framework.EM, Criteria: []framework.Criterion{framework.ELBO}, Prior: []string{}})
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

// check says what is wrong with the families of the columns.
func (l loader) check(f *fitted.File, gated bool) error {
	names := l.families.Names(true)
	if f.Model == "bernmix" || l.families.Joint(f.Family) {
		names = []string{f.Family}
	}
	if gated {
		names = append(names, families.Gate)
	}
	for _, c := range f.Columns {
		if err := families.Check(c, names); err != nil {
			return err
		}
	}
	return nil
}

// hasColumns says which of the names is none of a column.
func hasColumns(columns []data.Column, names []string) error {
	known := map[string]bool{}
	for _, c := range columns {
		known[c.Name] = true
	}
	for _, name := range names {
		if !known[name] {
			return fmt.Errorf("no column %q, which its gate has", name)
		}
	}
	return nil
}

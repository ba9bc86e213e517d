// Package builtin has the models of latent, for programs that use what latent fit --out has written.
package builtin

import (
	"encoding/json"
	"fmt"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
)

// Load opens a model file of a model of [Models].
func Load(path string) (*fitted.Fitted, error) { return Models().Open(path) }

// Models are those of latent. Their rows are rows of a table, of a hidden Markov model the steps of a sequence, of a
// block model two nodes ([Graph]), and of a topic model the counts of a document's words ([Documents]).
func Models() fitted.Registry {
	gaussian := []string{families.Gaussian}
	return fitted.Registry{
		{Name: "mixture", Families: families.Names(false), Made: families.Joint, Load: loadMixture},
		{Name: "bernmix", Families: []string{families.Bernoulli}, Load: loadMixture},
		{Name: "hmm", Families: families.Names(false), Made: families.Joint, Load: loadHMM},
		{Name: "regression", Families: []string{families.Gaussian, families.Poisson, design.Binomial}, Load: loadRegression},
		{Name: "bpca", Families: gaussian, Load: loadPCA},
		{Name: "ppca", Families: gaussian, Load: loadPCA},
		{Name: "vbmf", Families: gaussian, Load: loadFactorization},
		{Name: "factor", Families: gaussian, Load: loadFactors},
		{Name: "features", Families: gaussian, Load: loadFeatures},
		{Name: "blockmodel", Families: []string{families.Bernoulli, families.Poisson}, Load: loadGraph},
		{Name: "topics", Families: []string{families.Categorical}, Load: loadTopics},
	}
}

// rows is what a model says of its rows.
type rows struct {
	input  fitted.Input
	layout fitted.Layout
}

func (r *rows) Input() fitted.Input   { return r.input }
func (r *rows) Layout() fitted.Layout { return r.layout }

// A scorerOf is a scorer that is a function.
type scorerOf func(b framework.Rows, dst []float64) error

func (f scorerOf) Score(b framework.Rows, dst []float64) error { return f(b, dst) }

// A rowScorer has the log densities of the rows of a block, and K numbers of each such as responsibilities, in the two
// slices.
type rowScorer = func(b framework.Rows, logProb, r []float64) ([]float64, []float64, error)

// numbered are names with the numbers from 1 to n.
func numbered(prefix string, n int) (names []string) {
	for i := range n {
		names = append(names, fmt.Sprint(prefix, i+1))
	}
	return names
}

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

// checkFamilies says what is wrong with the families of the columns.
func checkFamilies(f *fitted.File, gated bool) error {
	names := families.Names(true)
	if f.Model == "bernmix" || families.Joint(f.Family) {
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

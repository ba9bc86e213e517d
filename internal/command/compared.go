package command

import (
	"slices"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
)

// severalOf makes of --cov the structures that one fit compares; nil where it names one.
func severalOf(c *classes.CovarianceSettings) (list []fitted.Structure, err error) {
	wanted := strings.Split(c.Cov, ",")
	switch {
	case strings.EqualFold(c.Cov, familyAll):
		return fitted.Structures(), nil
	case len(wanted) == 1:
		return nil, nil
	}
	names, known := covariances()
	asked := map[string]bool{}
	for _, name := range wanted {
		of, ok := known[strings.ToLower(strings.TrimSpace(name))]
		if !ok {
			return nil, misused("unknown covariance %q: choose among %s, or all", name, strings.Join(names, ", "))
		}
		asked[of] = true
	}
	return slices.DeleteFunc(fitted.Structures(), func(f fitted.Structure) bool { return !asked[f.Family] }), nil
}

// compare has one fit compare several covariance structures, or refuses what does not go together with that.
func (f *modelFlags) compare(list []fitted.Structure) error {
	const one = "name one covariance by --cov"
	switch {
	case !f.compares:
		return misused("--cov with several covariances requires latent fit; latent select takes one, or all")
	case !f.model().Compares:
		return misused("--cov with several covariances requires --model mixture, not %s", f.Model)
	case f.Method != methodGFAB:
		return misused("--cov with several covariances requires --method %s, and the method is %s: "+
			"latent select --cov all compares by other methods", methodGFAB, f.Method)
	case f.noisy() || len(f.Gate()) > 0:
		return misused("--noise and --gate cannot be used with several covariances: %s", one)
	case f.Described().Text != "":
		return misused("--columns cannot be used with several covariances, which describe all columns together")
	}
	if f.compared = list; f.Family != families.Auto {
		f.Family = families.Gaussian
	}
	return nil
}

// usual are the structures that a fit compares where none is named: spheres, axes along the columns or not, what varies
// varying together.
var usual = []string{"EII", "EEI", "VVI", "EEE", "VVE", "VVV"}

// compareUsual has a fit of measured columns compare the usual structures where nothing is said about the family, and
// the criterion is the evidence.
func (c *fitCommand) compareUsual() {
	usually := c.anyFamily && c.Family == families.Gaussian || c.Family == families.Auto
	if !c.model().Compares || !usually || c.covariance != "" || c.compared != nil || c.Method != methodGFAB ||
		c.Criterion != "" || c.noisy() || len(c.Gate()) > 0 || c.Described().Text != "" || c.Online > 0 {
		return
	}
	c.compared, c.ordinary = append([]fitted.Structure{fitted.HeavyTailed}, fitted.StructuresNamed(usual...)...), true
}

// compareBy has covariance structures compared by the criterion of their fits, where it is named, and else by the
// evidence less the entropy of the labels: a structure that is not the classes' own makes up for it by components that
// overlap, which the evidence does not mind and a reader does. It refuses criteria whose values do not compare: gFIC
// and FIC leave out what differs between structures.
func (f *modelFlags) compareBy(c framework.Criterion, named bool) error {
	if f.comparedBy = c; !named {
		f.comparedBy = framework.Completed
	}
	scale := []string{framework.Evidence.Name, framework.BIC.Name, framework.ICL.Name, framework.AIC.Name}
	if len(f.compared) > 0 && f.Online > 0 {
		return misused("--online makes one fit, and does not compare covariances: name one by --cov")
	}
	if len(f.compared) == 0 || slices.Contains(scale, c.Name) {
		return nil
	}
	return misused("--criterion %s does not compare between covariances: choose %s, or name one covariance by --cov",
		strings.ToLower(c.Name), strings.ToLower(strings.Join(scale, ", ")))
}

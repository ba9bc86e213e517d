package command

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/report"
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
	f.compared, f.Family = list, families.Gaussian
	return nil
}

// usual are the structures that a fit compares where none is named: spheres, axes along the columns or not, what varies
// varying together.
var usual = []string{"EII", "EEI", "VVI", "EEE", "VVE", "VVV"}

// compareUsual has a fit of measured columns compare the usual structures where nothing is said about the family, and
// the criterion is the evidence.
func (c *fitCommand) compareUsual() {
	usually := c.anyFamily && c.Family == families.Gaussian || c.Family == families.Auto
	if !c.model().Compares || !usually || c.Method != methodGFAB || c.Criterion != "" ||
		c.noisy() || len(c.Gate()) > 0 || c.Described().Text != "" {
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
	if len(f.compared) == 0 || slices.Contains(scale, c.Name) {
		return nil
	}
	return misused("--criterion %s does not compare between covariances: choose %s, or name one covariance by --cov",
		strings.ToLower(c.Name), strings.ToLower(strings.Join(scale, ", ")))
}

// takeWinner makes the report that of the best structure.
func (r *fitReport) takeWinner(by framework.Criterion, in *tables.Input) {
	w, is := r.found.(fitted.Winner)
	if !is {
		return
	}
	if r.Columns, r.what, r.Compared = w.Won(); r.Family != families.Auto {
		r.Family = r.Compared[0].Family
	}
	r.ComparedBy = strings.ToLower(by.Name)
	for i, one := range r.Compared {
		if one.Err != nil {
			r.Compared[i].Error = in.Render(one.Err)
		}
	}
}

// selecting is the command that fits every K of the structure that is the best.
func (r *fitReport) selecting() string {
	switch {
	case len(r.Compared) == 0 || r.Family == families.Auto:
		return "select"
	case r.Compared[0].Structure == fitted.HeavyTailed:
		return "select --family " + fitted.HeavyTailed.Family
	}
	return "select --cov " + r.Compared[0].Covariance
}

// comparedFact says which structure is the best, and by how much.
func (r *fitReport) comparedFact() [][2]string {
	if len(r.Compared) < 2 {
		return nil
	}
	best, second, by := r.Compared[0], r.Compared[1], r.ComparedBy
	if by != r.Criterion { // no flag has its code
		by = criterionCalled(by)
	}
	said := fmt.Sprintf("%s (%s), the best of %d structures compared by %s",
		best.Structure.Label(), best.Structure.About(), len(r.Compared), by)
	switch {
	case second.Error != "":
		said += ": no other could be fitted"
		if errors.Is(second.Err, framework.ErrSingle) {
			said += ", or has several components"
		}
	case second.K == 1 && best.K == 1 && second.Behind <= closeBy:
		said += "; of one component others are the same"
	default:
		lead := digits(float64(second.Behind))
		said += fmt.Sprintf(": %s nats ahead of %s with K = %d", lead, second.Structure.Label(), second.K)
	}
	return [][2]string{{"covariance", said}}
}

// comparedSection shows how the structures compare.
func (r *fitReport) comparedSection() []report.Section {
	if len(r.Compared) < 2 {
		return nil
	}
	table := report.Table{Caption: "covariance structures", Open: true, High: "the best",
		Columns: report.Columns("structure", "covariances have", "K", r.ComparedBy, "below the best", "search")}
	for _, one := range r.Compared {
		about := one.Structure.About()
		if one.Error != "" {
			table.Add(one.Structure.Label(), about, report.Missing, report.Missing, report.Missing, one.Error)
			continue
		}
		behind := report.Shaded(report.Nats(one.Behind), math.Exp(-float64(one.Behind)/much))
		table.Add(one.Structure.Label(), about, strconv.Itoa(one.K), report.Nats(one.Value), behind, one.Stage)
	}
	list := section("Covariance structures", nil, table)
	list[0].Text = fmt.Sprintf("Structures are compared by %s. Searches that fell behind were stopped early, "+
		"and a complete search may find slightly more.", criterionCalled(r.ComparedBy))
	return list
}

package command

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/crew"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
)

// familyAll is --family all, and --cov all, of latent select.
const familyAll = "all"

// noisy says whether a component of noise is added.
func (f *modelFlags) noisy() bool {
	own, sets := f.Flags().(fitted.FamilySetter)
	if !sets {
		return false
	}
	name, err := own.SetFamily(families.Gaussian)
	return err == nil && strings.HasSuffix(name, families.NoiseSuffix)
}

// covariances are the values of --cov and the families that they stand for.
func covariances() (names []string, named map[string]string) {
	names = []string{"full", "tied", "diag", "spherical"}
	named = map[string]string{
		"full":      families.Gaussian,
		"tied":      families.Tied,
		"diag":      families.Diagonal,
		"diagonal":  families.Diagonal,
		"spherical": families.Spherical,
	}
	all, forms := normal.Structures()
	for i, name := range all {
		names = append(names, name)
		named[strings.ToLower(name)] = normal.Family{Covariance: forms[i]}.Name()
	}
	return names, named
}

// takeCovariance makes --cov a family.
func (f *modelFlags) takeCovariance() error {
	c := f.Covariances()
	if c == nil || c.Cov == "" {
		return nil
	}
	list, err := severalOf(c)
	if err != nil {
		return err
	}
	names, known := covariances()
	name, ok := known[strings.ToLower(c.Cov)]
	switch {
	case f.Family != "" && f.Family != families.Gaussian && f.Family != families.Auto && f.Family != name:
		return misused("--cov requires --family gaussian or auto, and the family is %s", f.Family)
	case list != nil:
		return f.compare(list)
	case !ok:
		return misused("unknown covariance %q: choose one of %s", c.Cov, strings.Join(names, ", "))
	}
	if f.covariance = name; f.Family != families.Auto {
		f.Family = name
	}
	return nil
}

// expand takes --family all and --cov all, which compare families, out of the flags.
func (c *selectCommand) expand() error {
	cov, flags := "", c.Covariances()
	if flags != nil {
		cov = flags.Cov
	}
	all := strings.EqualFold(cov, familyAll)
	switch {
	case all && c.Family != "" && c.Family != families.Gaussian:
		return misused("--cov all compares covariances of --family gaussian, and the family is %s: --family all "+
			"compares families", c.Family)
	case !all && c.Family != familyAll:
		return nil
	case !c.known.models[c.Model].Compares:
		return misused("--family all and --cov all require --model mixture, not %s", c.Model)
	case c.noisy():
		return misused("--noise cannot be used with --family all or --cov all: compare with latent select --noise --cov NAME")
	case c.Described().Text != "":
		return misused("--columns cannot be used with --family all, which describes all columns alike")
	case c.Family == familyAll && cov != "" && !all:
		return misused("--cov %s is one covariance, and --family all compares them all", cov)
	}
	c.compares, c.Family, flags.Cov = familyAll, families.Gaussian, ""
	if all && c.Family != familyAll {
		c.compares = "cov"
	}
	return nil
}

// candidates are the families that --family all or --cov all compares on a table: Gaussians of every
// structure, and those of positive numbers and of counts where all columns are such.
func (c *selectCommand) candidates(in *tables.Input) (list []string) {
	_, forms := normal.Structures()
	for _, form := range forms {
		list = append(list, normal.Family{Covariance: form}.Name())
	}
	if c.compares != familyAll {
		return list
	}
	list = append(list, families.StudentT)
	x, _, _, err := in.Values()
	if err != nil {
		return list // each family says what is wrong
	}
	if !slices.ContainsFunc(x, func(v float64) bool { return v <= 0 }) {
		list = append(list, families.Exponential, families.Gamma, families.Lognormal)
	}
	if !slices.ContainsFunc(in.Kinds(), func(k data.Kind) bool { return k != data.Count }) {
		list = append(list, families.Poisson)
	}
	return list
}

// compare fits every family at every K.
func (c *selectCommand) compare(s *session, in *tables.Input, progress *keeper) (*outcome.Comparison, error) {
	began := time.Now()
	named, err := c.named()
	if err != nil {
		return nil, err
	}
	criterion := framework.BIC
	if len(named) > 0 {
		criterion = named[0]
	}
	t := &outcome.Comparison{
		Model:     c.Model,
		Method:    c.Method,
		Criterion: strings.ToLower(criterion.Name),
		D:         in.Cols(),
		Rows:      in.Rows(),
		KMin:      c.Kmin,
		Seed:      c.Seed,
		Margin:    number(math.NaN()),
	}
	names, err := crew.FromFirst(s, s.crew, func() ([]string, error) { return c.candidates(in), nil })
	if err != nil {
		return nil, err
	}
	var first error
	for _, name := range names {
		row, err := c.candidate(s, in, t, name, criterion, progress)
		if s.Err() != nil {
			return nil, s.Err()
		}
		if err != nil {
			row = outcome.ComparisonRow{
				Family: name, Value: number(math.NaN()), LogLikelihood: number(math.NaN()), Error: in.Render(err),
			}
			first = cmp.Or(first, err)
		}
		t.Table = append(t.Table, row)
	}
	// NaN is the least
	slices.SortStableFunc(t.Table, func(a, b outcome.ComparisonRow) int { return cmp.Compare(b.Value, a.Value) })
	best := t.Table[0]
	if math.IsNaN(float64(best.Value)) {
		return nil, first
	}
	for i := range t.Table {
		t.Table[i].Behind = best.Value - t.Table[i].Value
	}
	t.Best, t.K, t.Seconds = best.Family, best.K, number(time.Since(began).Seconds())
	if second := t.Table[1]; !math.IsNaN(float64(second.Value)) {
		t.Second, t.Margin = second.Family, second.Behind
	}
	if best.K == best.KMax {
		s.noteEnd(best.CheckK, t.KMin, best.KMax, []string{best.Family})
	}
	t.Warnings = append([]string{}, s.Notes...)
	return t, nil
}

// of is the command for one of the families that are compared.
func (c *selectCommand) of(name string) *selectCommand {
	one := *c
	one.Family, one.covariance, one.rival = name, "", name
	if c.compares != familyAll && families.Named(name).Normal { // --cov all: of the measured columns
		one.covariance = name
	}
	return &one
}

// candidate fits one family at every K, and takes the best.
func (c *selectCommand) candidate(
	s *session, in *tables.Input, t *outcome.Comparison, name string, criterion framework.Criterion, progress *keeper,
) (outcome.ComparisonRow, error) {
	one := c.of(name)
	notes, table, here := len(s.Notes), in.Table, s.Context
	defer func() {
		s.closePasses()
		in.Table, in.For, s.Context = table, &c.modelFlags, here
	}()
	in.For = &one.modelFlags
	task, o, err := one.setup(s, in, one.Kmax, one.Kmin)
	s.Notes = s.Notes[:notes]
	if err != nil {
		return outcome.ComparisonRow{}, err
	}
	one.Kmin = max(one.Kmin, task.KMin)
	status := s.Line()
	defer status.Close()
	o.Recorder = status.Recorder(name+"  "+criterion.Name, upTo(one.Kmin, o.K), o)
	progress.attach(name, &o)
	all, err := task.score(s, upTo(one.Kmin, o.K), o, []framework.Criterion{criterion})
	if err != nil {
		return outcome.ComparisonRow{}, err
	}
	best := all.BestUnder(0, one.sizePrior())
	if best < 0 {
		return outcome.ComparisonRow{}, all.Without(criterion)
	}
	f, err := all.Open(best)
	if err != nil {
		return outcome.ComparisonRow{}, err
	}
	t.N, t.KMax = number(f.N), max(t.KMax, o.K)
	return outcome.ComparisonRow{CheckK: task.CheckK, KMax: o.K, Family: name, K: all.K[best],
		Value:         number(all.Values[best][0]),
		LogLikelihood: number(f.Evaluation.LogLikelihood),
		Free:          f.Shape.Identifiable(), Converged: all.Ends[best].Converged}, nil
}

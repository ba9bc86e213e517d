package command

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/report"
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
	case f.Family != "" && f.Family != families.Gaussian && f.Family != name:
		return misused("--cov requires --family gaussian, and the family is %s", f.Family)
	case list != nil:
		return f.compare(list)
	case !ok:
		return misused("unknown covariance %q: choose one of %s", c.Cov, strings.Join(names, ", "))
	}
	f.Family = name
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

// A comparison is the object that --format json writes of families side by side.
type comparison struct {
	Model     string          `json:"model"`
	Method    string          `json:"method"`
	Criterion string          `json:"criterion"`
	N         number          `json:"n"`
	D         int             `json:"d"`
	Rows      int             `json:"rows"`
	KMin      int             `json:"kmin"`
	KMax      int             `json:"kmax"` // of the family with the most
	Seed      uint64          `json:"seed"`
	Seconds   number          `json:"seconds"`
	Best      string          `json:"best"`
	K         int             `json:"k"`
	Second    string          `json:"second,omitempty"`
	Margin    number          `json:"margin"` // of the best over the second, in nats; null where there is none
	Table     []comparisonRow `json:"table"`  // the best first
	Warnings  []string        `json:"warnings"`
}

// A comparisonRow is a family at its best K.
type comparisonRow struct {
	Family        string `json:"family"`
	K             int    `json:"k"`
	Value         number `json:"value"`
	Behind        number `json:"behind"` // the best, in nats
	LogLikelihood number `json:"loglik"`
	Free          int    `json:"df"`
	Converged     bool   `json:"converged"`
	Error         string `json:"error,omitempty"`

	task *task
	kmax int
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
func (c *selectCommand) compare(s *session, in *tables.Input, progress *keeper) (*comparison, error) {
	began := time.Now()
	named, err := c.named()
	if err != nil {
		return nil, err
	}
	criterion := framework.BIC
	if len(named) > 0 {
		criterion = named[0]
	}
	t := &comparison{
		Model:     c.Model,
		Method:    c.Method,
		Criterion: strings.ToLower(criterion.Name),
		D:         in.Cols(),
		Rows:      in.Rows(),
		KMin:      c.Kmin,
		Seed:      c.Seed,
		Margin:    number(math.NaN()),
	}
	var first error
	for _, name := range c.candidates(in) {
		row, err := c.candidate(s, in, t, name, criterion, progress)
		if s.Err() != nil {
			return nil, s.Err()
		}
		if err != nil {
			row = comparisonRow{
				Family: name, Value: number(math.NaN()), LogLikelihood: number(math.NaN()), Error: in.Render(err),
			}
			first = cmp.Or(first, err)
		}
		t.Table = append(t.Table, row)
	}
	// NaN is the least
	slices.SortStableFunc(t.Table, func(a, b comparisonRow) int { return cmp.Compare(b.Value, a.Value) })
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
	if best.K == best.kmax {
		s.noteEnd(best.task, t.KMin, best.kmax, []string{best.Family})
	}
	t.Warnings = append([]string{}, s.Notes...)
	return t, nil
}

// candidate fits one family at every K, and takes the best.
func (c *selectCommand) candidate(
	s *session, in *tables.Input, t *comparison, name string, criterion framework.Criterion, progress *keeper,
) (comparisonRow, error) {
	one := *c
	one.Family = name
	notes, table := len(s.Notes), in.Table
	defer func() { in.Table, in.For = table, &c.modelFlags }()
	in.For = &one.modelFlags
	task, o, err := one.setup(s, in, one.Kmax, one.Kmin)
	s.Notes = s.Notes[:notes]
	if err != nil {
		return comparisonRow{}, err
	}
	status := s.Line()
	defer status.Close()
	o.Recorder = status.Recorder(name+"  "+criterion.Name, upTo(one.Kmin, o.K), o)
	progress.attach(name, &o)
	all, err := task.score(s, upTo(one.Kmin, o.K), o, []framework.Criterion{criterion})
	if err != nil {
		return comparisonRow{}, err
	}
	best := all.BestUnder(0, one.sizePrior())
	if best < 0 {
		return comparisonRow{}, all.without(criterion)
	}
	f, err := all.fit(best)
	if err != nil {
		return comparisonRow{}, err
	}
	t.N, t.KMax = number(f.N), max(t.KMax, o.K)
	return comparisonRow{task: task, kmax: o.K, Family: name, K: all.K[best], Value: number(all.Values[best][0]),
		LogLikelihood: number(f.Evaluation.LogLikelihood),
		Free:          f.Shape.Identifiable(), Converged: all.ends[best].converged}, nil
}

// print writes the comparison for people.
func (t *comparison) print(s *session, in *tables.Input) error {
	p := s.page()
	p.Prose(0, "%s", in.Describe(float64(t.N)))
	p.Prose(0, "%s, each family at its best K from %d to %d, by %s; nats, larger is better", t.Model,
		t.KMin, t.KMax, t.Method)
	p.Line("")
	g := report.NewGrid("family", "K", t.Criterion, "behind", "log-likelihood", "parameters")
	g.Wrap("family")
	for _, r := range t.Table {
		if r.Error != "" {
			g.Row(r.Family, "failed", "", "", "", "")
			continue
		}
		k := strconv.Itoa(r.K)
		if !r.Converged {
			k = "! " + k
		}
		g.Row(r.Family, k, digits(float64(r.Value)), fmt.Sprintf("%.3f", float64(r.Behind)),
			digits(float64(r.LogLikelihood)), strconv.Itoa(r.Free))
	}
	p.Grid(g)
	p.Line("")
	for _, r := range t.Table {
		if r.Error != "" {
			p.Prose(2, "%s: %s", r.Family, r.Error)
		}
	}
	if t.Second == "" {
		p.Prose(0, "%s chooses %s with K = %d: no other family could be fitted", t.Criterion, t.Best, t.K)
	} else {
		p.Prose(0, "%s chooses %s with K = %d, %.3f nats ahead of %s with K = %d", t.Criterion, t.Best, t.K,
			float64(t.Margin), t.Second, t.Table[1].K)
	}
	if slices.ContainsFunc(t.Table, func(r comparisonRow) bool { return r.Family == families.Poisson }) {
		p.Prose(0, "poisson gives probabilities of counts, and the others densities: the two are comparable if a "+
			"density hardly varies over a step of 1")
	}
	p.Line("time   %.3g s", float64(t.Seconds))
	return s.show(p)
}

package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/experts"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// bernoulliOnly says whether the model is bernmix, whose columns are all of one family.
func (f *modelFlags) bernoulliOnly() bool { return f.Model == "bernmix" }

// mixtureSettings are those of mixtures.
type mixtureSettings struct {
	classes.ColumnSettings
	classes.StartSettings
	classes.CovarianceSettings
	Noise bool `json:"-" method:"gfab,fab,em" help:"Add noise to a mixture of Gaussians or t distributions: one more component, of the same density everywhere in the box that holds the table, for outliers."`
	classes.GateSettings
}

// bernmixSettings are those of mixtures of Bernoulli columns.
type bernmixSettings struct {
	classes.StartSettings
	classes.GateSettings
}

func (m *mixtureSettings) check(f *modelFlags) error {
	if m.Noise && len(m.Gate) > 0 {
		return misused("--gate cannot be used with --noise")
	}
	_, err := m.Starting()
	if err := f.flagged(cmp.Or(m.CheckFloor(f.request()), err)); err != nil {
		return err
	}
	if err := m.addNoise(f); err != nil {
		return err
	}
	return f.checkClasses()
}

func (m *bernmixSettings) check(f *modelFlags) error {
	if _, err := m.Starting(); err != nil {
		return f.flagged(err)
	}
	return f.checkClasses()
}

// checkClasses refuses priors that do not go together.
func (f *modelFlags) checkClasses() error {
	keys := classes.Keys("weights")
	if f.bernoulliOnly() {
		keys = []string{"a", "b"}
	}
	if f.Prior.ofEvidence() {
		keys = classes.UnitKeys
	}
	return cmp.Or(f.Prior.among(keys...), f.flagged(classes.CheckPrior(f.request(), f.weightsKey())))
}

// weightsKey is the key of --prior for the weights.
func (f *modelFlags) weightsKey() string {
	if f.bernoulliOnly() {
		return "a"
	}
	return "weights"
}

// mixturePriors makes of --prior those of the weights and of the families that the model
// has; nil stands for their defaults.
func (f *modelFlags) mixturePriors(rows family.Family) (weights prior.Dirichlet, of prior.Prior, err error) {
	weights.Alpha = f.Prior.values[f.weightsKey()]
	if f.bernoulliOnly() {
		if b := f.Prior.values["b"]; b != 0 {
			of = prior.Beta{A: b, B: b}
		}
		return weights, of, nil
	}
	of, err = classes.Prior(f.request(), rows, "weights")
	return weights, of, f.flagged(err)
}

// describedRows are a table of numbers, and the family of its rows.
type describedRows struct {
	*framework.Table                // the columns that the classes describe
	whole            framework.Rows // with those of the gate, which come last: codes of levels
	columns          []data.Column  // likewise
	family           family.Family
}

// fewestKnown is how many rows it takes to know codes and counts from measurements.
const fewestKnown = 8

// takeKinds chooses --family auto if nobody named a family and a column holds texts, codes, counts or two values.
// Numbers that are written in another way are an error, and so is a single column of texts, which may be a table with
// another separator.
func (f *modelFlags) takeKinds(s *session, in *input) error {
	texts := without(in.texts(), setOf(f.gate()))
	if !f.anyFamily || f.Family != families.Gaussian || !f.byKinds() {
		return nil
	}
	if len(texts) > 0 && in.Cols() == 1 {
		if familyOf[in.Suggest(texts[0], in.Weights).Kind] == "" { // which the error says
			f.Family = families.Auto
		}
		return nil
	}
	if len(texts) == 0 {
		if others := in.unmeasured(f.gate()); len(others) > 0 && in.Rows() >= fewestKnown {
			f.Family = families.Auto
			s.note("%s: each column by its kind (--family auto), as these are not measurements: %s: "+
				"--family gaussian treats all as measurements", in.name, detailed(others))
		}
		return nil
	}
	for _, name := range texts {
		if _, err := in.Column(name); isMisspelt(err) {
			return err
		}
	}
	f.Family = families.Auto
	s.note("%s: each column by its kind (--family auto), as texts are in %s: %s leaves them out", in.name,
		abridged(texts, ", ", quotedCell), dropping(texts))
	return nil
}

// rows finds out what the columns are and makes numbers of them.
func (in *input) rows(s *session, f *modelFlags) (*describedRows, error) {
	if err := in.checkGate(f.gate()); err != nil {
		return nil, err
	}
	if err := f.takeKinds(s, in); err != nil {
		return nil, err
	}
	all, err := described(s, in, f.Family, f.described())
	if err != nil {
		return nil, err
	}
	if all, err = f.measuredTogether(in, all); err != nil {
		return nil, err
	}
	d := len(all) - len(f.gate())
	for j := range f.gate() {
		all[d+j].Family = families.Gate
	}
	columns := all[:d]
	if f.byTable {
		f.suit(s, in, columns)
		if err := f.checkMethod(); err != nil {
			return nil, err
		}
	}
	if ordinal := slices.IndexFunc(columns,
		func(c data.Column) bool { return c.Family == families.Ordinal }); ordinal >= 0 && f.model().informed(f.Method) {
		return nil, fmt.Errorf("column %.60q is ordinal, which has no conjugate prior: take the column as categorical, or "+
			"another method than %s", columns[ordinal].Name, f.Method)
	}
	if f.Family == families.Multinomial && len(columns) < 2 {
		return nil, errors.New("1 column: multinomial needs counts of at least two categories")
	}
	if err := in.recode(all, upTo(0, len(all)-1), false); err != nil {
		return nil, err
	}
	x, n, _, err := in.numbers(s, true, families.NeedsComplete(f.Family))
	if err != nil {
		return nil, err
	}
	whole := framework.Rows{N: n, D: len(all), Stride: len(all), X: x}
	if d < len(all) {
		x = make([]float64, 0, n*d)
		for i := range n {
			x = append(x, whole.Row(i)[:d]...)
		}
	}
	if f.Family == families.Multinomial && floats.Norm(x, 1) == 0 {
		return nil, errors.New("every count is 0: there is nothing to fit")
	}
	if err := in.refuseConstant(columns, f.floor() > 0); err != nil {
		return nil, err
	}
	if families.WholeMatrix(f.Family) && n <= d && len(f.compared) == 0 { // said before D² numbers are made
		return nil, fmt.Errorf("%s and %s: a covariance matrix needs more rows than columns: --family "+
			"gaussian-diagonal or gaussian-spherical, or --model bpca --method vb", counted(n, "row"), counted(d, "column"))
	}
	table, err := in.source(x, n, d, nil)
	if err != nil {
		return nil, err
	}
	return &describedRows{
		table, whole, all, overTable(family.WithFloor(f.model().Families.OfRows(f.Family, columns), f.floor()), x, d),
	}, nil
}

// task is one of a model whose rows belong to components.
func (r *describedRows) task(f *modelFlags) *task {
	b := classes.Bind(&fitted.Table{Rows: r.Table}, r.family, f.request(), "component")
	return &task{what: b.What, columns: r.columns, largest: mostComponents(r.Table, r.family), checkSize: b.CheckK,
		informative: b.Compares}
}

// doubling says how far K may double.
func (t *task) doubling(in *input) {
	if t.doubleTo = 0; t.largest == mostByDefault {
		t.doubleTo = classes.Doubling(in.Rows(), in.Cols())
	}
}

func (m *mixtureSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	return f.mixture(s, in, &m.StartSettings)
}

func (m *bernmixSettings) bind(s *session, f *modelFlags, in *input) (*task, error) {
	return f.mixture(s, in, &m.StartSettings)
}

// mixture readies a mixture that begins so.
func (f *modelFlags) mixture(s *session, in *input, start *classes.StartSettings) (*task, error) {
	begins, err := start.Starting()
	if err != nil {
		return nil, err
	}
	rows, err := in.rows(s, f)
	if err != nil {
		return nil, err
	}
	if len(f.compared) > 0 {
		return rows.comparing(s, f, in, begins)
	}
	t := rows.task(f)
	t.doubling(in)
	if len(f.gate()) > 0 {
		gate := design.GateOf(rows.columns, f.gate())
		base := mixture.Model{Family: rows.family, Start: begins, Prior: f.Prior.unit()}
		own := rows.columns[:gate.Own]
		e, searches, err := classes.GatedEngine(gate, rows.whole, own, &in.Named, f.Family, base,
			func(g *classes.Gated) (*result, error) { return definedResult(g, g.Mixture.K), nil })
		// A steep gate makes EM slow (docs/theory/experts.md, section 3).
		f.Accelerate = f.Accelerate || !searches
		in.shown = append(namesOf(own), gate.Names()...)
		t.engine = (*iterated[framework.Rows, *experts.Parameters, *experts.Statistics])(e)
		return t, err
	}
	t.engine, err = mixtureEngine(f, begins, &in.Named, rows.Table, rows.columns, rows.family)
	return t, err
}

// mostCells is the size of table up to which codes and counts have their parameters integrated out by default: it takes
// seconds there (docs/guides/criteria-and-priors.md).
const mostCells = 1_000_000

// integrable says whether all columns are codes or counts.
func integrable(columns []data.Column) bool {
	return !slices.ContainsFunc(columns, func(c data.Column) bool {
		return c.Family != families.Bernoulli && c.Family != families.Categorical && c.Family != families.Poisson
	})
}

// suit takes cvb0 for a table of codes and counts, or says what keeps it from that.
func (f *modelFlags) suit(s *session, in *input, columns []data.Column) {
	if !integrable(columns) {
		return
	}
	what := "codes"
	if slices.ContainsFunc(columns, func(c data.Column) bool { return c.Family == families.Poisson }) {
		what = "codes or counts"
	}
	switch {
	case in.largeCounts(columns):
		f.decide(s, in, methodGFAB, fmt.Sprintf("there are counts above %d", largestCount),
			"default for smaller counts: "+methodCVB0)
	case in.Rows()*len(columns) > mostCells:
		f.decide(s, in, methodGFAB, fmt.Sprintf("a table of more than %d cells makes cvb0 slow", mostCells),
			"gfab may keep components of a few rows; --method cvb0 integrates the parameters out")
	case f.fixesK:
		f.decide(s, in, methodGFAB, "--k gives K", "default where K of "+what+" is found: "+methodCVB0)
	default:
		f.decide(s, in, methodCVB0, "the columns are "+what, "default elsewhere: "+methodGFAB)
	}
}

// largestCount is the count up to which cvb0 is the default: from about 10,000 on, the predictive probabilities of rows
// left out lose their digits, and its fits do not converge.
const largestCount = 1000

// largeCounts says whether a column of counts has larger ones.
func (in *input) largeCounts(columns []data.Column) bool {
	return slices.ContainsFunc(columns, func(c data.Column) bool {
		if c.Family != families.Poisson {
			return false
		}
		values, err := in.Column(c.Name) // that it has none is found out when they are fitted
		return err == nil && slices.ContainsFunc(values, func(v float64) bool { return v > largestCount })
	})
}

// floor is the factor of the least variances of Gaussian columns, or that there are none.
func (f *modelFlags) floor() float64 {
	if floor := f.ownSettings.floor(); floor > 0 && f.Method != methodVB {
		return floor
	}
	return family.NoFloor
}

// refuseConstant refuses columns of one value, all at once, where a family has to measure how
// the values of each column vary: not normal ones with a floor, unless all are constant.
func (in *input) refuseConstant(columns []data.Column, floor bool) error {
	var constant []string
	bounded := 0 // of the constant ones
	for j, c := range columns {
		if families.Named(c.Family).Varies && in.Constant(j, in.Weights) {
			constant = append(constant, c.Name)
			if floor && families.Named(c.Family).Normal {
				bounded++
			}
		}
	}
	if bounded == len(constant) && bounded < len(columns) {
		return nil
	}
	if in.Rows() == 1 {
		return errOneRow
	}
	return refusal(constant, len(columns), "every column is constant", "is constant", "are constant")
}

var errOneRow = errors.New("1 row: a fit needs several " +
	"(--header no reads the first line of a file as a row)")

// mixtureEngine makes the model of the method.
func mixtureEngine(
	f *modelFlags, start family.Start, t *data.Named, table *framework.Table, columns []data.Column, rows family.Family,
) (engine, error) {
	weights, of, err := f.mixturePriors(rows)
	if err != nil {
		return nil, err
	}
	base := mixture.Model{Family: rows, Start: start, Prior: f.Prior.unit()}
	if f.Method == methodVB || f.Method == methodCVB0 {
		variational := mixture.Variational{Family: rows, Start: start, Prior: of, Weights: weights}
		var model framework.Model[framework.Rows, *mixture.Posterior, *mixture.Statistics] = variational
		if f.Method == methodCVB0 {
			model = mixture.CVB0{Variational: variational}
		}
		return &iterated[framework.Rows, *mixture.Posterior, *mixture.Statistics]{model, table,
			func(q *mixture.Posterior, s *mixture.Statistics) (*result, error) {
				p, err := variational.Point(q)
				if err != nil {
					return nil, err
				}
				found, err := classes.NewComponents(base, f.Family, columns, t, p, q, s)
				if err != nil {
					return nil, err
				}
				found.JoinOver(table)
				return definedResult(found, p.K), nil
			}}, nil
	}
	made := &iterated[framework.Rows, *mixture.Parameters, *mixture.Statistics]{Model: base, Source: table}
	if f.Method == methodMAP {
		made.Model = mixture.MAP{Model: base, Prior: of, Weights: weights}
	}
	made.Found = func(p *mixture.Parameters, s *mixture.Statistics) (*result, error) {
		found, err := classes.NewComponents(base, f.Family, columns, t, p, nil, s)
		if err != nil {
			return nil, err
		}
		if f.Method == methodMAP {
			found.Warnings = append(found.Warnings, found.Emptied(f.weightsKey())...)
		}
		found.JoinOver(table)
		found.Draw = func(ctx context.Context, o bootstrap.Options) (bootstrap.Outcome, error) {
			return found.DrawRows(ctx, made.Model, table, o)
		}
		return definedResult(found, p.K), nil
	}
	return made, nil
}

// mostComponents is the default of kmax: as [classes.MostByRows] has it, and no more components than there are
// different rows of positive weight. To a multinomial family, rows are the same that are proportional.
func mostComponents(table *framework.Table, of family.Family) int {
	most := classes.MostByRows(table, of)
	_, shares := of.(family.Multinomial)
	same := func(a, b []float64) bool {
		one, other := 1., 1.
		if shares {
			one, other = floats.Sum(b), floats.Sum(a) // counts have exact products
		}
		return slices.EqualFunc(a, b, func(x, y float64) bool { return x*one == y*other || x != x && y != y })
	}
	var seen [][]float64
	rows := table.All()
	for i := 0; i < rows.N && len(seen) < most; i++ {
		row := rows.Row(i)
		if rows.Weight(i) > 0 && !slices.ContainsFunc(seen, func(other []float64) bool { return same(row, other) }) {
			seen = append(seen, row)
		}
	}
	return max(1, len(seen))
}

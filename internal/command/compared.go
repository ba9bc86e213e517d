package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// A form is a covariance structure, by its name in mclust, and the family that it is to --family.
type form struct{ name, family string }

// forms are all covariance structures, those with fewer parameters first.
func forms() (list []form) {
	names, of := family.Structures()
	for i, name := range names {
		list = append(list, form{name, family.Gaussian{Covariance: of[i]}.Name()})
	}
	return list
}

// heavyTailed are Student-t components with scale matrices of their own.
var heavyTailed = form{"VVV", families.StudentT}

// label tells structures apart.
func (f form) label() string {
	if f == heavyTailed {
		return "Student-t " + f.name
	}
	return f.name
}

// formsNamed are the structures of some names of mclust, in the order of [forms].
func formsNamed(names ...string) []form {
	return slices.DeleteFunc(forms(), func(f form) bool { return !slices.Contains(names, f.name) })
}

// about says in words which parts of the covariances vary.
func (f form) about() string {
	var parts [3][]string
	for i, part := range []string{"volume", "shape", "orientation"} {
		at := strings.IndexByte("EVI", f.name[i])
		parts[at] = append(parts[at], part)
	}
	var said []string
	for i, how := range []string{"equal", "varying"} {
		if len(parts[i]) > 0 {
			said = append(said, how+" "+strings.Join(parts[i], " and "))
		}
	}
	switch f.name[1:] {
	case "II":
		said = append(said, "spheres")
	case "EI", "VI":
		said = append(said, "axes along the columns")
	}
	if f == heavyTailed {
		said = append(said, "heavy tails")
	}
	return strings.Join(said, ", ")
}

// severalOf makes of --cov the structures that one fit compares; nil where it names one.
func severalOf(c *classes.CovarianceSettings) (list []form, err error) {
	wanted := strings.Split(c.Cov, ",")
	switch {
	case strings.EqualFold(c.Cov, familyAll):
		return forms(), nil
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
	return slices.DeleteFunc(forms(), func(f form) bool { return !asked[f.family] }), nil
}

// compare has one fit compare several covariance structures, or refuses what does not go together with that.
func (f *modelFlags) compare(list []form) error {
	const one = "name one covariance by --cov"
	m, mixtures := f.own.(*mixtureSettings)
	switch {
	case !f.compares:
		return misused("--cov with several covariances requires latent fit; latent select takes one, or all")
	case !mixtures:
		return misused("--cov with several covariances requires --model mixture, not %s", f.Model)
	case f.Method != methodGFAB:
		return misused("--cov with several covariances requires --method %s, and the method is %s: "+
			"latent select --cov all compares by other methods", methodGFAB, f.Method)
	case m.Noise || len(m.Gate) > 0:
		return misused("--noise and --gate cannot be used with several covariances: %s", one)
	case m.Columns.Text != "":
		return misused("--columns cannot be used with several covariances, which describe all columns together")
	}
	f.compared, f.Family = list, families.Gaussian
	return nil
}

// usual are the structures that a fit compares where none is named: spheres, axes along the columns or not, what varies
// varying together.
var usual = []string{"EII", "EEI", "VVI", "EEE", "VVE", "VVV"}

// mostTurned is the largest number of columns whose common axes (VVE) are found in the time that the other structures
// take.
const mostTurned = 15

// compareUsual has a fit of measured columns compare the usual structures where nothing is said about the family, and
// the criterion is the evidence.
func (c *fitCommand) compareUsual() {
	m, mixtures := c.own.(*mixtureSettings)
	usually := c.anyFamily && c.Family == families.Gaussian || c.Family == families.Auto
	if !mixtures || !usually || c.Method != methodGFAB || c.Criterion != "" ||
		m.Noise || len(m.Gate) > 0 || m.Columns.Text != "" {
		return
	}
	c.compared, c.ordinary = append([]form{heavyTailed}, formsNamed(usual...)...), true
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

// measuredTogether moves columns of measurements beside one another where their covariances are compared, in a table
// that has others, too.
func (f *modelFlags) measuredTogether(in *input, columns []data.Column) ([]data.Column, error) {
	if f.Family != families.Auto || f.compared == nil {
		return columns, nil
	}
	var before, block, after []data.Column
	for _, c := range columns {
		switch {
		case c.Family == families.Gaussian:
			block = append(block, c)
		case block == nil:
			before = append(before, c)
		default:
			after = append(after, c)
		}
	}
	if len(block) < 2 {
		f.compared = nil
		return columns, nil
	}
	columns = slices.Concat(before, block, after)
	t, err := in.Table.Select(namesOf(columns)...)
	if err == nil {
		in.Table = t
	}
	return columns, err
}

// possible are the structures to compare that n rows of these numbers of a table can have; a note says why others are
// left out.
func (f *modelFlags) possible(s *session, in *input, rows framework.Rows, block []int) []form {
	n, d := rows.N, len(block)
	if d == 1 { // the volume is all that there is
		var names []string
		for _, one := range f.compared {
			names = append(names, map[byte]string{'E': "EEE", 'V': "VVV"}[one.name[0]])
		}
		list := formsNamed(names...)
		if slices.Contains(f.compared, heavyTailed) && !slices.ContainsFunc(rows.X, math.IsNaN) {
			list = slices.Insert(list, 0, heavyTailed)
		}
		return list
	}
	// Spheres have no place for constant columns.
	constant := f.ordinary && slices.ContainsFunc(block, func(j int) bool { return in.Constant(j, in.Weights) })
	gaps := slices.ContainsFunc(rows.X, math.IsNaN)
	var few, incomplete []string
	list := slices.DeleteFunc(slices.Clone(f.compared), func(one form) bool {
		switch {
		case f.ordinary && d > mostTurned && one.name == "VVE", constant && one.name == "EII",
			one == heavyTailed && (constant || gaps || f.Family == families.Auto):
		case f.Family == families.Auto && families.NeedsComplete(one.family): // nor could rows to come have gaps
		case (families.WholeMatrix(one.family) || one == heavyTailed) && n <= d:
			few = append(few, one.label())
		case gaps && families.NeedsComplete(one.family):
			incomplete = append(incomplete, one.name)
		default:
			return false
		}
		return true
	})
	if len(few) > 0 {
		s.note("%s: %s not compared: a covariance matrix needs more rows than columns, and there are %d and %d",
			in.name, strings.Join(few, ", "), n, d)
	}
	if len(incomplete) > 0 {
		s.note("%s: %s not compared: these covariances need complete rows "+
			"(--missing drop leaves the rows out)",
			in.name, strings.Join(incomplete, ", "))
	}
	return list
}

// A comparing engine fits mixtures of several covariance structures, and takes the best.
type comparing struct {
	engine // of the last of them
	list   []rival
	flags  *modelFlags
}

type mixtures = iterated[framework.Rows, *mixture.Parameters, *mixture.Statistics]

// A rival is one of the structures that are compared, with the rows that it describes.
type rival struct {
	form
	*mixtures
	rows *describedRows
}

// comparing readies a mixture of each structure for a table, and the task of the comparison.
func (r *describedRows) comparing(s *session, f *modelFlags, in *input, start family.Start) (*task, error) {
	block := upTo(0, len(r.columns)-1)
	if f.Family == families.Auto {
		block = slices.DeleteFunc(block, func(j int) bool { return r.columns[j].Family != families.Gaussian })
	}
	list := f.possible(s, in, r.All(), block)
	if len(list) == 0 {
		return nil, errors.New("none of these covariances can describe the table: --cov diag can")
	}
	e := &comparing{flags: f}
	var t *task
	for _, one := range list {
		flags, rows := *f, *r
		rows.columns = slices.Clone(r.columns)
		for _, j := range block {
			switch c := &rows.columns[j]; {
			case one.family == families.Diagonal:
				c.Family = families.Gaussian
			case f.Family == families.Auto:
				c.Block = one.family
			default:
				c.Family = one.family
			}
		}
		if f.Family != families.Auto {
			flags.Family = one.family
		}
		rows.family = family.WithFloor(f.model().Families.OfRows(flags.Family, rows.columns), f.floor())
		made, err := mixtureEngine(&flags, start, &in.Named, rows.Table, rows.columns, rows.family)
		if err != nil {
			return nil, err
		}
		e.engine, e.list = made, append(e.list, rival{one, made.(*mixtures), &rows})
		own := rows.task(&flags)
		if t != nil {
			own.largest = min(own.largest, t.largest)
		}
		t = own
	}
	t.engine = e
	t.doubling(in)
	return t, nil
}

func (e *comparing) fit(ctx context.Context, o framework.Options) (*outcome, error) {
	models := make([]framework.Model[framework.Rows, *mixture.Parameters, *mixture.Statistics], len(e.list))
	for i, one := range e.list {
		models[i] = one.Model
	}
	src := fitted.Passing[framework.Rows, *mixture.Parameters](ctx, e.list[0].Source)
	c, err := framework.FitBest(ctx, models, src, e.flags.comparedBy, o)
	if c == nil {
		return nil, err
	}
	for _, one := range c.Compared { // spheres, named by nobody, would describe a column that no other structure can
		if e.flags.ordinary && errors.Is(one.Err, framework.ErrConstant) {
			return nil, one.Err
		}
	}
	best := e.list[c.Model]
	found, fault := best.Found(c.Parameters, c.Statistics)
	if found != nil {
		found.winner = &winner{best, e.flags.comparedBy, e.compared(c.Compared)}
	}
	return outcomeOf(fitted.With(c.Result, found), cmp.Or(err, fault))
}

// A winner is the best of several structures.
type winner struct {
	rival
	by       framework.Criterion
	compared []comparedForm
}

// A comparedForm is a covariance structure that took part in a comparison.
type comparedForm struct {
	Covariance string `json:"covariance"`
	Family     string `json:"family"`
	K          int    `json:"k"`
	Value      number `json:"value"`
	Behind     number `json:"behind"` // the best, in nats
	Converged  bool   `json:"converged"`
	Stage      string `json:"stage"` // that the search ended at
	form       form
	err        error
	Error      string `json:"error,omitempty"`
}

// compared lists how the structures fared, the best first.
func (e *comparing) compared(all []framework.Compared) (list []comparedForm) {
	for i, one := range all {
		list = append(list, comparedForm{Covariance: e.list[i].name, Family: e.list[i].family, form: e.list[i].form, K: one.K,
			Value: number(one.Value), Behind: number(one.Behind), Converged: one.Converged,
			Stage: one.Stage.String(), err: one.Err})
	}
	whole := func(c comparedForm) int {
		if c.Stage == framework.WholeSearch.String() {
			return 1 // others may be as good
		}
		return 0
	}
	slices.SortStableFunc(list, func(a, b comparedForm) int {
		return cmp.Or(cmp.Compare(whole(b), whole(a)), cmp.Compare(b.Value, a.Value)) // NaN is the least
	})
	return list
}

// takeWinner makes the report that of the best structure.
func (r *fitReport) takeWinner(w *winner, in *input) {
	if w == nil {
		return
	}
	r.Columns, r.what = w.rows.columns, strings.Join(classes.Parts(w.rows.family), ", ")+" components"
	if r.Family != families.Auto {
		r.Family = w.family
	}
	r.ComparedBy = strings.ToLower(w.by.Name)
	for _, one := range w.compared {
		if one.err != nil {
			one.Error = in.render(one.err)
		}
		r.Compared = append(r.Compared, one)
	}
}

// selecting is the command that fits every K of the structure that is the best.
func (r *fitReport) selecting() string {
	switch {
	case len(r.Compared) == 0 || r.Family == families.Auto:
		return "select"
	case r.Compared[0].form == heavyTailed:
		return "select --family " + heavyTailed.family
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
		best.form.label(), best.form.about(), len(r.Compared), by)
	switch {
	case second.Error != "":
		said += ": no other could be fitted"
		if errors.Is(second.err, framework.ErrSingle) {
			said += ", or has several components"
		}
	case second.K == 1 && best.K == 1 && second.Behind <= closeBy:
		said += "; of one component others are the same"
	default:
		lead := digits(float64(second.Behind))
		said += fmt.Sprintf(": %s nats ahead of %s with K = %d", lead, second.form.label(), second.K)
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
		about := one.form.about()
		if one.Error != "" {
			table.Add(one.form.label(), about, report.Missing, report.Missing, report.Missing, one.Error)
			continue
		}
		behind := report.Shaded(report.Nats(one.Behind), math.Exp(-float64(one.Behind)/much))
		table.Add(one.form.label(), about, strconv.Itoa(one.K), report.Nats(one.Value), behind, one.Stage)
	}
	list := section("Covariance structures", nil, table)
	list[0].Text = fmt.Sprintf("Structures are compared by %s. Searches that fell behind were stopped early, "+
		"and a complete search may find slightly more.", criterionCalled(r.ComparedBy))
	return list
}

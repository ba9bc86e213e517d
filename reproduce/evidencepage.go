package reproduce

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"
)

// How a structure is had: it is known, or one of a few or of all is chosen together with K.
const (
	formKnown = iota
	formFew
	formAll
	formWays
)

var formNames = [formWays]string{"known", "of five", "of all"}

// competing are the structures of table s that take part; none where the way is not taken.
func (s evidenceSetting) competing(way int) []string {
	switch {
	case way == formKnown:
		return []string{s.form}
	case s.columns != "gaussian" || way == formAll && !s.all():
		return nil
	case s.d == 1 || way == formAll:
		return s.forms()
	}
	return evidenceFew
}

// choose is the K with the highest value of a criterion, over structures that compete; 0 where there is no value. full
// says that the structure's axes lie in any direction.
func (s evidenceSetting) choose(values [][][]float64, way, criterion int) (k int, full bool) {
	best, ks := math.Inf(-1), s.ks()
	competing := s.competing(way)
	for i, form := range s.forms() {
		if !slices.Contains(competing, form) {
			continue
		}
		for j, v := range values[i] {
			if v[criterion] > best {
				best, k, full = v[criterion], ks[j], form != "" && form[2] != 'I'
			}
		}
	}
	return k, full
}

// A share is the mean of numbers, such as 1 where K is right, with its standard error.
type share struct{ n, sum, squares float64 }

func (s *share) add(v float64) {
	s.n++
	s.sum += v
	s.squares += v * v
}

func (s *share) mean() float64 { return s.sum / s.n }

func (s *share) error() float64 {
	return math.Sqrt(max(0, s.squares/s.n-s.mean()*s.mean()) / max(1, s.n-1))
}

// percent is the mean in per cent.
func (s *share) percent() string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%.0f", 100*s.mean())
}

// points is a difference in points, with its standard error.
func (s *share) points() string {
	if s.n == 0 {
		return "–"
	}
	return fmt.Sprintf("%+.1f ± %.1f", 100*s.mean(), 100*s.error())
}

// evidenceCriteria are all: of the evidence one by what full covariances are worth.
const evidenceCriteria = evidenceE + 5

// A finding is how often K is right in a group of tables, by the way to the structure.
type finding struct {
	tables [formWays]int
	right  [formWays][evidenceCriteria]share
	// the default evidence less the criterion, of the tables where both have a value
	beyond [formWays][evidenceCriteria]share
	full   [formWays][evidenceCriteria]share // structures chosen that have axes in any direction
}

func (f *finding) add(s evidenceSetting, values [][][]float64) {
	for way := range formWays {
		if len(s.competing(way)) == 0 {
			continue
		}
		f.tables[way]++
		right := func(c int) (float64, bool, bool) {
			k, full := s.choose(values, way, c)
			return indicator(k == s.k), full, k > 0
		}
		of, _, _ := right(evidenceE + evidenceDefault)
		for c := range evidenceCriteria {
			if v, full, ok := right(c); ok {
				f.right[way][c].add(v)
				f.beyond[way][c].add(of - v)
				f.full[way][c].add(indicator(full))
			}
		}
	}
}

func indicator(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}

// findings are those of groups of tables, in the order in which they come up.
type findings struct {
	names []string
	of    map[string]*finding
}

func (f *findings) at(name string) *finding {
	if f.of == nil {
		f.of = map[string]*finding{}
	}
	if f.of[name] == nil {
		f.names, f.of[name] = append(f.names, name), &finding{}
	}
	return f.of[name]
}

// within are the names of a kind, kind/name, in order.
func (f *findings) within(kind string) (list []string) {
	for _, name := range f.names {
		if strings.HasPrefix(name, kind+"/") {
			list = append(list, name)
		}
	}
	slices.SortStableFunc(list, func(a, b string) int {
		of, first := sizeOf(a)
		than, second := sizeOf(b)
		return cmp.Or(cmp.Compare(of, than), cmp.Compare(first, second))
	})
	return list
}

// sizeOf are the parts of a name such as "worth/D = 4 to 6": what has the size, and the first number.
func sizeOf(name string) (of string, size int) {
	of, interval, _ := strings.Cut(name, " = ")
	for _, word := range strings.Fields(interval) {
		if n, err := strconv.Atoi(word); err == nil {
			if strings.HasPrefix(interval, "more") {
				n++
			}
			return of, n
		}
	}
	return of, 0
}

// groups are those that a table counts in.
func (s evidenceSetting) groups() []string {
	list := []string{"family/" + s.columns}
	if s.columns != "gaussian" {
		return append(list, "variant/"+s.columns+", "+s.variant, "size/"+s.columns+", "+s.sizeGroup(),
			"one/"+s.columns+s.oneGroup())
	}
	axes := "axes along the columns"
	if s.form[2] != 'I' {
		axes = "axes in any direction"
	}
	list = append(list, "variant/gaussian, "+s.variant, "size/gaussian, "+s.sizeGroup(), "one/gaussian"+s.oneGroup())
	if s.d > 1 {
		list = append(list, "worth/all", "worth/D = "+within(s.d, 3, 6, 10, 20), "worth/N/D = "+within(s.n/s.d, 10, 40),
			"axes/"+axes, "form/"+s.form)
		if s.variant == "base" {
			list = append(list, "worth/base tables")
		}
		if s.k == 1 {
			list = append(list, "worth/one class")
		}
	}
	return list
}

func (s evidenceSetting) sizeGroup() string { return "N = " + within(s.n, 100, 300, 1000) }

func (s evidenceSetting) oneGroup() string {
	if s.k == 1 {
		return ", one class"
	}
	return ", K > 1"
}

// within names the interval, of those that the ends make, that v lies in.
func within(v int, ends ...int) string {
	for i, end := range ends {
		switch {
		case v > end:
		case i == 0:
			return fmt.Sprintf("at most %d", end)
		default:
			return fmt.Sprintf("%d to %d", ends[i-1]+1, end)
		}
	}
	return fmt.Sprintf("more than %d", ends[len(ends)-1])
}

// evidenceConclude makes the page of the jobs' results, in the order of the jobs.
func evidenceConclude(s *Settings, runs []evidenceRun) (*Outcome, error) {
	bias, worst := biasTable(s, &runs)
	var all findings
	var drawn calibrated
	for i := range s.tables(evidenceTables, 12) {
		of := drawSetting(i)
		for _, name := range append(of.groups(), "all/all") {
			all.at(name).add(of, runs[0].Values)
		}
		runs = runs[1:]
		if i%wideEvery == 0 {
			wide := wideSetting(i / wideEvery)
			for _, name := range []string{
				"worth/wide", "worth/wide" + wide.oneGroup(), "wide/all", "wide/D = " + within(wide.d, 10, 20),
			} {
				all.at(name).add(wide, runs[0].Values)
			}
			runs = runs[1:]
		}
		for _, r := range runs[:2] {
			drawn.add(r.K, r.Posterior)
		}
		runs = runs[2:]
	}
	out := &Outcome{Statements: all.statements(worst, &drawn)}
	out.Tables = append(out.Tables,
		all.rates("family", "family",
			"Per cent of the tables in which K is right, by family and by how the structure is had;"+
				" the last column is the evidence less BIC, in points with the standard error of the paired difference"),
		all.rates("variant", "variant", "The same by what tables have besides classes of the family: outliers in one row"+
			" of fifty, t(4) or overdispersed classes (heavy), skewed ones, columns without classes (noise)"),
		all.rates("size", "size", "The same by the number of rows"),
		all.rates("one", "one", "The same for one class and for more"),
		all.rates("axes", "axes", "The same for Gaussian tables of two columns and more, by the truth's axes"),
		all.rates("structure", "form", "The same by the true structure of Gaussian classes"),
		all.rates("wide", "wide", "The same for wide tables, which are not among the others"),
		all.worths(), bias, drawn.tenths(), drawn.coverage())
	out.Figures = []Figure{all.figure(&drawn)}
	return out, nil
}

// rates is a table of how often K is right.
func (f *findings) rates(name, kind, about string) Table {
	header := append([]string{"tables of", "structure", "tables"}, evidenceScores[:]...)
	t := Table{Name: name, Shown: name != "structure", About: about, Header: append(header, "evidence", "evidence − BIC")}
	for _, group := range f.within(kind) {
		of := f.of[group]
		for way, n := range of.tables {
			if n == 0 {
				continue
			}
			row := []any{strings.TrimPrefix(group, kind+"/"), formNames[way], n}
			for c := range evidenceE {
				row = append(row, of.right[way][c].percent())
			}
			t.Add(append(row, of.right[way][evidenceE+evidenceDefault].percent(), of.beyond[way][evidenceBIC].points())...)
		}
	}
	return t
}

// worths is a table of how often K is right by what a full covariance is worth.
func (f *findings) worths() Table {
	t := Table{
		Name:  "worth",
		Shown: true,
		About: "Per cent of the Gaussian tables of two columns and more in which K is right," +
			" by what the prior of a covariance with axes in any direction is worth, in rows; in brackets √D less that number," +
			" in points with its standard error, and after the semicolon the per cent of tables whose structure is " +
			"chosen with such axes",
		Header: []string{"tables of", "structure", "tables"},
	}
	for _, w := range evidenceWorths {
		t.Header = append(t.Header, w.name)
	}
	for _, group := range append(f.within("worth"), f.within("axes")...) {
		of, name := f.of[group], strings.SplitN(group, "/", 2)[1]
		for way, n := range of.tables {
			if n == 0 {
				continue
			}
			row := []any{name, formNames[way], n}
			for i := range evidenceWorths {
				c := evidenceE + i
				text := of.right[way][c].percent()
				if i != evidenceDefault {
					text += " (" + of.beyond[way][c].points() + ")"
				}
				if way != formKnown {
					text += "; " + of.full[way][c].percent()
				}
				row = append(row, text)
			}
			t.Add(row...)
		}
	}
	return t
}

// biasTable takes its results off runs; worst is the highest of the evidence less ln p(X|K).
func biasTable(s *Settings, runs *[]evidenceRun) (t Table, worst float64) {
	t = Table{
		Name:  "bias",
		Shown: true,
		About: "Value less ln p(X|K = 2), nats: mean and standard deviation over tables of 10 rows" +
			" (VVV) or 12, of the fit with the highest evidence of 20 starts; −0.69 is that of two labels that can be exchanged",
		Header: append([]string{"columns", "overlap", "tables"}, evidenceBiases...),
	}
	worst = math.Inf(-1)
	for _, c := range biasSettings() {
		row := []any{strings.TrimSpace(fmt.Sprintf("%d %s %s", c.d, c.columns, c.form)), c.overlap, s.seeds(biasTables, 1)}
		for j := range evidenceBiases {
			var of share
			for _, r := range (*runs)[:s.seeds(biasTables, 1)] {
				of.add(r.Bias[j])
				if j == 0 {
					worst = max(worst, r.Bias[j])
				}
			}
			row = append(row, fmt.Sprintf("%+.2f ± %.2f", of.mean(), of.error()*math.Sqrt(max(1, of.n-1))))
		}
		*runs = (*runs)[s.seeds(biasTables, 1):]
		t.Add(row...)
	}
	return t, worst
}

// calibrated are draws from the prior, by setting.
type calibrated struct {
	draws     int
	predicted [10]share // of each tenth of p(K|X)
	frequency [10]share
	of        []struct{ holds, mass, mode share }
}

// add adds the next draw.
func (c *calibrated) add(truth int, p []float64) {
	settings := priorSettings()
	if c.of == nil {
		c.of = make([]struct{ holds, mass, mode share }, len(settings))
	}
	at := &c.of[c.draws%len(settings)]
	c.draws++
	holds, mass := smallest(p, truth)
	at.holds.add(indicator(holds))
	at.mass.add(mass)
	at.mode.add(indicator(floats.MaxIdx(p)+1 == truth))
	for i, v := range p {
		tenth := min(9, int(10*v))
		c.predicted[tenth].add(v)
		c.frequency[tenth].add(indicator(i+1 == truth))
	}
}

func (c *calibrated) tenths() Table {
	t := Table{
		Name:  "calibration",
		Shown: true,
		About: "Of every table drawn from the prior and every K to 8: p(K|X) by tenths," +
			" its mean, and how often K is the truth, with standard errors",
		Header: []string{"tenth", "pairs", "mean", "frequency", "standard error"},
	}
	for i := range c.predicted {
		p, f := &c.predicted[i], &c.frequency[i]
		if p.n > 0 {
			text := func(v float64) string { return fmt.Sprintf("%.3f", v) }
			t.Add(fmt.Sprintf("%.1f to %.1f", float64(i)/10, float64(i+1)/10), int(p.n), text(p.mean()),
				text(f.mean()), text(f.error()))
		}
	}
	return t
}

// all is over all settings.
func (c *calibrated) all() (holds, mass share) {
	for i := range c.of {
		for _, pair := range []struct{ into, from *share }{{&holds, &c.of[i].holds}, {&mass, &c.of[i].mass}} {
			pair.into.n += pair.from.n
			pair.into.sum += pair.from.sum
			pair.into.squares += pair.from.squares
		}
	}
	return holds, mass
}

func (c *calibrated) coverage() Table {
	t := Table{
		Name:  "coverage",
		Shown: true,
		About: "Smallest sets of K with 90 % of p(K|X): how often they hold the truth, in per cent" +
			" with standard errors, and their mean mass; and how often the most probable K is the truth",
		Header: []string{"family", "N", "tables", "coverage", "mean mass", "K right"},
	}
	for i, s := range priorSettings() {
		if i >= len(c.of) || c.of[i].holds.n == 0 {
			continue
		}
		of := &c.of[i]
		t.Add(s.name, s.of.n, int(of.holds.n), fmt.Sprintf("%.1f ± %.1f", 100*of.holds.mean(), 100*of.holds.error()),
			fmt.Sprintf("%.1f", 100*of.mass.mean()), of.mode.percent())
	}
	return t
}

// statements are what the default and the prior rest on.
func (f *findings) statements(worst float64, drawn *calibrated) (list []Statement) {
	beats := func(group, what string, way int) {
		of := f.of[group]
		if of == nil || of.tables[way] == 0 {
			return
		}
		d := &of.beyond[way][evidenceBIC]
		right := &of.right[way]
		list = append(list, Statement{
			Paper:  "The evidence finds K more often than BIC: " + what + ".",
			Agrees: d.mean() > 2*d.error(),
			Measured: fmt.Sprintf("%s points over %d tables: %s %% against %s %%", d.points(), of.tables[way],
				right[evidenceE+evidenceDefault].percent(), right[evidenceBIC].percent()),
		})
	}
	for _, group := range f.within("family") {
		name := strings.TrimPrefix(group, "family/")
		beats(group, name+" columns"+map[bool]string{true: ", structure known"}[name == "gaussian"], formKnown)
	}
	beats("family/gaussian", "gaussian columns, structure of five", formFew)
	beats("family/gaussian", "gaussian columns, structure of all 14 (12 beyond five columns)", formAll)
	for way := range formWays {
		of := f.of["worth/all"]
		if of == nil || of.tables[way] == 0 {
			continue
		}
		good, text := true, ""
		for i, w := range evidenceWorths {
			d := &of.beyond[way][evidenceE+i]
			good = good && d.mean() >= -2*d.error()
			if i != evidenceDefault {
				text += fmt.Sprintf("; %s: %s", w.name, d.points())
			}
		}
		list = append(list, Statement{Agrees: good,
			Paper: "No other number of rows for full covariances finds K more often than √D, by two standard errors: " +
				"structure " +
				formNames[way] + ".",
			Measured: "√D less the other, points: " + strings.TrimPrefix(text, "; ")})
	}
	holds, mass := drawn.all()
	return append(list,
		Statement{Paper: "The evidence lies below ln p(X|K) of every tiny table.", Agrees: worst < 0,
			Measured: fmt.Sprintf("%+.2f nats at most", worst)},
		Statement{
			Paper:  "On tables from the prior, 90 % sets of K hold the truth as often as their mean mass says, to 2 points.",
			Agrees: math.Abs(holds.mean()-mass.mean()) <= 0.02,
			Measured: fmt.Sprintf("%.1f ± %.1f %% of %.0f, mean mass %.1f %%",
				100*holds.mean(), 100*holds.error(), holds.n, 100*mass.mean()),
		})
}

// figure shows K right by the worth of the prior, and p(K|X) against frequencies.
func (f *findings) figure(drawn *calibrated) Figure {
	worth := chart("wide tables", "rows that a full covariance's prior is worth", "K right, per cent")
	var places []plot.Tick
	for i, w := range evidenceWorths {
		places = append(places, plot.Tick{Value: float64(i), Label: w.name})
	}
	worth.X.Tick.Marker, worth.Legend.Top, worth.Legend.Left = plot.ConstantTicks(places), false, true
	for way, name := range formNames {
		if of := f.of["worth/wide"]; of != nil && of.tables[way] > 0 {
			s := series{Name: "structure " + name, Points: true}
			for i := range evidenceWorths {
				r := &of.right[way][evidenceE+i]
				s.X, s.Y, s.Spread = append(s.X, float64(i)), append(s.Y, 100*r.mean()), append(s.Spread, 100*r.error())
			}
			s.draw(worth, way)
		}
	}
	reliable := chart("tables from the prior", "p(K|X)", "frequency of K")
	reliable.Legend.Left = true
	s := series{Name: "by tenths", Points: true}
	for i := range drawn.predicted {
		if p, q := &drawn.predicted[i], &drawn.frequency[i]; p.n > 0 {
			s.X, s.Y, s.Spread = append(s.X, p.mean()), append(s.Y, q.mean()), append(s.Spread, q.error())
		}
	}
	s.draw(reliable, 0)
	series{Name: "equal", X: []float64{0, 1}, Y: []float64{0, 1}, Dashed: true}.draw(reliable, 7)
	return Figure{
		Name:   "figure",
		Width:  20 * vg.Centimeter,
		Height: 9 * vg.Centimeter,
		Plots:  [][]*plot.Plot{{worth, reliable}},
		Caption: "Left: how often K is right in wide tables, with standard errors, by what the prior of a full " +
			"covariance is worth." +
			" Right: on tables from the prior, how often K is the truth against p(K|X).",
	}
}

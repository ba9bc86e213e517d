// Package families has the families of package family by the names that flags and model files have for them.
package families

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/prior"
)

// Names of families.
const (
	Auto        = "auto" // each column has the family that its values look like
	Gaussian    = "gaussian"
	Tied        = "gaussian-tied"
	Diagonal    = "gaussian-diagonal"
	Spherical   = "gaussian-spherical"
	StudentT    = "student-t" // multivariate, with degrees of freedom of each component's own
	Poisson     = "poisson"
	Exponential = "exponential"
	Gamma       = "gamma"
	Lognormal   = "lognormal"
	Bernoulli   = "bernoulli"
	Categorical = "categorical"
	Ordinal     = "ordinal"
	Multinomial = "multinomial"
	// Indicators is what columns have for a family of which one is 1 and the others are 0, as a category is in columns of
	// its levels. Their Block, which ends with their number, says which these are.
	Indicators = "indicators"
	// a factor analysis of each component; where the most factors are given, the name ends with them
	Analysers = "factor-analysers"
	// Gate is what a column has for a family that probabilities of components depend on, and that no component
	// describes. Such columns come last.
	Gate = "gate"
	// Known is what the column of known classes has for a family, the last that components describe.
	Known = "known"
	// NoiseSuffix is what noise adds to the name of a family.
	NoiseSuffix = "+noise"
)

// A Distribution is what there is to know of a family beside what package family does.
type Distribution struct {
	Name   string
	Joint  func(d int) family.Family      // of all columns together; nil: there is none
	Single func(levels int) family.Family // of one column; nil: there is none
	Normal bool                           // of one column, it has a mean and a variance
	Shares bool                           // its numbers are probabilities
	// the least number of levels that it takes, where it describes codes of levels; 0 of numbers
	Levels int
	Varies bool     // it measures how values vary, of which a constant column has nothing
	Keys   []string // of --prior
	Prior  func(v map[string]float64) prior.Prior
	// Moments are mean and standard deviation of a column, of its numbers by name; nil where there are none.
	Moments func(v func(name string) float64) (mean, sd float64)
}

func gaussian(c normal.Covariance) func(int) family.Family {
	return func(int) family.Family { return normal.Family{Covariance: c} }
}

// All are the families, the default first.
var All = func() []Distribution {
	gauss := Distribution{
		Keys:    []string{"kappa", "nu"},
		Prior:   func(v map[string]float64) prior.Prior { return prior.DataScaled{Kappa: v["kappa"], Nu: v["nu"]} },
		Moments: func(v func(string) float64) (mean, sd float64) { return v("mean"), v("sd") },
	}
	full, tied, diagonal, spherical := gauss, gauss, gauss, gauss
	full.Name, full.Joint, full.Normal, full.Varies = Gaussian, gaussian(normal.Full), true, true
	full.Single = func(int) family.Family {
		return family.Of{Family: normal.Family{Covariance: normal.Diagonal}, Width: 1}
	}
	tied.Name, tied.Joint, tied.Normal, tied.Varies = Tied, gaussian(normal.Tied), true, true
	diagonal.Name = Diagonal // gaussian of each column
	spherical.Name, spherical.Joint, spherical.Normal = Spherical, gaussian(normal.Spherical), true
	logs := gauss // prior and its keys
	logs.Name, logs.Varies, logs.Single = Lognormal, true, func(int) family.Family { return normal.Lognormal{} }
	logs.Moments = func(v func(string) float64) (mean, sd float64) {
		variance := v("log sd") * v("log sd")
		mean = math.Exp(v("log mean") + variance/2)
		return mean, mean * math.Sqrt(math.Expm1(variance))
	}
	rates := func(v map[string]float64) prior.Prior { return prior.Gamma{Shape: v["shape"], Rate: v["rate"]} }
	shares := func(v map[string]float64) prior.Prior { return prior.Dirichlet{Alpha: v["alpha"]} }
	return append([]Distribution{full, tied, diagonal, spherical,
		{
			Name:    Poisson,
			Single:  func(int) family.Family { return family.Poisson{} },
			Keys:    []string{"shape", "rate"},
			Prior:   rates,
			Moments: func(v func(string) float64) (mean, sd float64) { return v("rate"), math.Sqrt(v("rate")) },
		},
		{
			Name:    Exponential,
			Single:  func(int) family.Family { return family.Exponential{} },
			Keys:    []string{"shape", "rate"},
			Prior:   rates,
			Moments: func(v func(string) float64) (mean, sd float64) { return 1 / v("rate"), 1 / v("rate") },
		},
		{Name: Gamma, Single: func(int) family.Family { return family.Gamma{} }, Varies: true,
			Moments: func(v func(string) float64) (mean, sd float64) {
				return v("shape") / v("rate"), math.Sqrt(v("shape")) / v("rate")
			}},
		logs,
		{
			Name:   Bernoulli,
			Single: func(int) family.Family { return family.Bernoulli{} },
			Shares: true,
			Keys:   []string{"a", "b"},
			Prior:  func(v map[string]float64) prior.Prior { return prior.Beta{A: v["a"], B: v["b"]} },
		},
		{
			Name:   Categorical,
			Single: func(levels int) family.Family { return family.Categorical{Levels: levels} },
			Shares: true,
			Levels: 2,
			Keys:   []string{"alpha"},
			Prior:  shares,
		},
		{Name: Ordinal, Single: func(levels int) family.Family { return family.Ordinal{Levels: levels} }, Levels: 3,
			Moments: func(v func(string) float64) (mean, sd float64) {
				return v("location"), v("scale") * (math.Pi / math.Sqrt(3))
			}},
		{Name: Multinomial, Joint: func(d int) family.Family { return family.Multinomial{Categories: d} }, Shares: true,
			Keys: []string{"alpha"}, Prior: shares},
		{Name: Auto},
	}, append(structured(tied), analysers(0))...)
}()

// structured are the families of covariance structures that have no name but that of mclust, like tied but for the
// name, and that of heavy tails.
func structured(tied Distribution) (list []Distribution) {
	_, forms := normal.Structures()
	for _, form := range forms {
		if form >= normal.EII { // the others have names of their own
			one := tied
			one.Name, one.Joint = normal.Family{Covariance: form}.Name(), gaussian(form)
			list = append(list, one)
		}
	}
	student := Distribution{Name: StudentT, Joint: func(int) family.Family { return normal.StudentT{} }, Varies: true}
	student.Moments = func(v func(string) float64) (mean, sd float64) {
		nu := max(2, v("degrees of freedom")) // the variance of 2 is infinite
		return v("mean"), v("scale sd") * math.Sqrt(nu/(nu-2))
	}
	return append(list, student)
}

// analysers are the distribution of at most so many factors: 0 stands for the default of the library.
func analysers(factors int) Distribution {
	f := normal.FactorAnalysers{Factors: factors}
	return Distribution{Name: f.Name(), Joint: func(int) family.Family { return f }, Normal: true, Varies: true,
		Moments: func(v func(string) float64) (mean, sd float64) { return v("mean"), v("sd") }}
}

// numbered is that of a name with a number: the most factors of analysers, or the indicators of a category.
func numbered(name string) (d Distribution, ok bool) {
	if width := groupOf(name); width > 0 || name == Indicators {
		d = Named(Categorical)
		d.Name, d.Single, d.Levels = name, nil, 0
		d.Joint = func(int) family.Family { return family.Indicators{Categorical: family.Categorical{Levels: width}} }
		return d, true
	}
	digits, ok := strings.CutPrefix(name, Analysers+"-")
	if !ok {
		return d, false
	}
	factors, err := strconv.Atoi(digits)
	if err != nil || factors < 0 {
		return d, false
	}
	if factors == 0 {
		factors = normal.NoFactors
	}
	d = analysers(factors)
	return d, d.Name == name
}

// GroupOf is the Block of so many indicators.
func GroupOf(columns int) string { return fmt.Sprintf("%s-%d", Indicators, columns) }

// groupOf is how many indicators a block has; 0 of others.
func groupOf(block string) int {
	digits, _ := strings.CutPrefix(block, Indicators+"-")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 2 || block != GroupOf(n) {
		return 0
	}
	return n
}

// noisy is a family of all columns with noise, which has the box of the table yet to get.
func noisy(d Distribution) Distribution {
	without := d.Joint
	if without == nil {
		return Distribution{Name: d.Name + NoiseSuffix}
	}
	d.Name, d.Single, d.Keys = d.Name+NoiseSuffix, nil, nil
	d.Joint = func(columns int) family.Family { return normal.Noise{Family: without(columns)} }
	return d
}

// Named finds a family, of which nothing but the name is known where there is no such.
func Named(name string) Distribution { return Set{}.named(name) }

// Names are those of all families.
func Names() []string { return Set{}.Names(false) }

// Joint families describe all columns together.
func Joint(name string) bool { return Set{}.Joint(name) }

// A Set is the families of package family with those of an author's own. It is a fitted.Families.
type Set struct{ Own []Distribution }

// Own is a family of an author's, of all columns together or of a single one.
func Own(name string, of family.Family, joint bool) Distribution {
	if of == nil {
		return Distribution{Name: name} // which Check refuses
	}
	on := func(columns int) family.Family { return called{family.Of{Family: of, Width: columns}, name} }
	if joint {
		return Distribution{Name: name, Joint: on}
	}
	return Distribution{Name: name, Single: func(int) family.Family { return on(1) }}
}

// A called family has the name that its author gave it.
type called struct {
	family.Of
	name string
}

func (c called) Name() string { return c.name }

// WithFloor is that of the family.
func (c called) WithFloor(floor float64) family.Family {
	c.Family = family.WithFloor(c.Family, floor)
	return c
}

// Check says what is wrong with the author's.
func (s Set) Check() error {
	for i, f := range s.Own {
		same := func(other Distribution) bool { return other.Name == f.Name }
		switch {
		case f.Name == "" || strings.ContainsAny(f.Name, " ,=+\\\"'"):
			return fmt.Errorf("a family of one's own is named %q: a name is one word, without =, + and commas", f.Name)
		case slices.ContainsFunc(All, same) || f.Name == Gate || strings.HasPrefix(f.Name, Analysers):
			return fmt.Errorf("a family of one's own has the name of a family of the library, %s", f.Name)
		case slices.ContainsFunc(s.Own[:i], same):
			return fmt.Errorf("two families of one's own are named %s", f.Name)
		case f.Joint == nil && f.Single == nil:
			return fmt.Errorf("the family %s of one's own has no Of", f.Name)
		case f.Joint == nil:
			if _, err := family.NewPlan(f.Single(0), 1); err != nil {
				return fmt.Errorf("the family %s of one column: %w", f.Name, err)
			}
		}
	}
	return nil
}

func (s Set) named(name string) Distribution {
	if without, ok := strings.CutSuffix(name, NoiseSuffix); ok {
		return noisy(s.named(without))
	}
	if d, ok := numbered(name); ok {
		return d
	}
	for _, list := range [][]Distribution{All, s.Own} {
		if i := slices.IndexFunc(list, func(f Distribution) bool { return f.Name == name }); i >= 0 {
			return list[i]
		}
	}
	return Distribution{Name: name}
}

// Names are those of all families, the default first, or of those that can describe a single column.
func (s Set) Names(single bool) (names []string) {
	for _, f := range slices.Concat(All, s.Own) {
		if !single || f.Single != nil {
			names = append(names, f.Name)
		}
	}
	return names
}

// Joint families describe all columns together.
func (s Set) Joint(name string) bool { return s.named(name).Joint != nil }

// structure is the name of a covariance structure, such as VVE, in a family of that name; empty: it has none.
func structure(name string) string {
	names, forms := normal.Structures()
	for i, form := range forms {
		if (normal.Family{Covariance: form}).Name() == name {
			return names[i]
		}
	}
	return ""
}

// WholeMatrix says whether a family has a D×D covariance.
func WholeMatrix(name string) bool {
	s := structure(name)
	return s != "" && s[2] != 'I'
}

// OwnMatrix says whether more than the volume of a family's covariance differs between components.
func OwnMatrix(name string) bool {
	s := structure(name)
	return s != "" && strings.Contains(s[1:], "V")
}

// NeedsComplete says whether a family has no place for missing values.
func NeedsComplete(name string) bool {
	return Joint(name) && !WholeMatrix(name) && !strings.HasPrefix(name, Analysers)
}

// OfRows makes the family of a whole row out of those of its columns, which [Check] has let through.
func OfRows(name string, columns []data.Column) family.Family { return Set{}.OfRows(name, columns) }

// OfRows makes the family of a whole row out of those of its columns, which [Check] has let through.
func (s Set) OfRows(name string, columns []data.Column) family.Family {
	if d := Described(columns); d < len(columns) {
		return WithKnown(s.OfRows(name, columns[:d]), columns[d:])
	}
	if f := s.named(name); f.Joint != nil {
		return f.Joint(len(columns))
	}
	var product family.Product
	for len(columns) > 0 {
		c, width := columns[0], 1
		most := cmp.Or(groupOf(c.Block), len(columns))
		for c.Block != "" && width < min(most, len(columns)) && columns[width].Block == c.Block {
			width++
		}
		one := s.named(c.Family).Single
		if c.Block != "" {
			one = func(int) family.Family { return family.Of{Family: s.named(c.Block).Joint(width), Width: width} }
		}
		product, columns = append(product, one(len(c.Levels))), columns[width:]
	}
	return product
}

// WithKnown gives a family the column of known classes, which [Check] has let through, if there is one.
func WithKnown(of family.Family, column []data.Column) family.Family {
	if len(column) == 0 {
		return of
	}
	_, sets, _ := Labels(column[0].Levels)
	return known.Family{Family: of, Sets: sets}
}

// Described is how many of the columns that components have come before that of known classes: all if there is none.
func Described(columns []data.Column) int {
	d := len(columns)
	if d > 0 && columns[d-1].Family == Known {
		d--
	}
	return d
}

// Labels are the classes that the levels of a column of known classes name, in their order, and for each level its
// classes: several are separated by vertical bars. It is an error if a class is never named alone.
func Labels(levels []string) (labels []string, sets [][]int, err error) {
	for _, level := range levels {
		if !strings.Contains(level, "|") {
			labels = append(labels, level)
		}
	}
	for _, level := range levels {
		var set []int
		for name := range strings.SplitSeq(level, "|") {
			label := slices.Index(labels, strings.TrimSpace(name))
			if label < 0 {
				return nil, nil, fmt.Errorf("%.60q names the class %.60q, which no row is known to have alone", level,
					strings.TrimSpace(name))
			}
			set = append(set, label)
		}
		sets = append(sets, set)
	}
	return labels, sets, nil
}

// Correlated are the columns that have a covariance matrix, in rows of a family with such columns.
func Correlated(name string, columns []data.Column) (list []int) {
	for j, c := range columns {
		if c.Family != Known && WholeMatrix(cmp.Or(c.Block, name)) {
			list = append(list, j)
		}
	}
	return list
}

// Only is a list of families whose names the model knows by itself, the default first. It is a fitted.Families.
type Only []string

// Check has nothing to say.
func (Only) Check() error { return nil }

// Names are the list, or none of a single column.
func (o Only) Names(single bool) []string {
	if single {
		return nil
	}
	return o
}

// Joint is false.
func (Only) Joint(string) bool { return false }

// OfRows is that of package family.
func (Only) OfRows(name string, columns []data.Column) family.Family { return OfRows(name, columns) }

// Check says what is wrong with a column whose family is to be one of some.
func Check(c data.Column, names []string) error {
	levels := len(c.Levels)
	wrong := levels > 0
	switch c.Family {
	case Categorical, Ordinal:
		wrong = levels < Named(c.Family).Levels
	case Bernoulli:
		wrong = levels != 0 && levels != 2
	case Gate:
		wrong = levels == 1
	case Known:
		if _, _, err := Labels(c.Levels); err != nil {
			return fmt.Errorf("column %q: %w", c.Name, err)
		}
		wrong = levels == 0
	}
	switch {
	case c.Family == Indicators && groupOf(c.Block) > 0 && (levels == 0 || levels == 2):
		return nil
	case c.Block != "" && (c.Family != Gaussian || !Named(c.Block).Normal || !Joint(c.Block)):
		return fmt.Errorf("column %q is %s, of a block of family %.40q, which describes no such columns",
			c.Name, c.Family, c.Block)
	case !slices.Contains(names, c.Family):
		return fmt.Errorf("the family of column %q is %q, and this model has %s", c.Name, c.Family, strings.Join(names, ", "))
	case wrong:
		many := "s"
		if levels == 1 {
			many = ""
		}
		return fmt.Errorf("column %q is %s and has %d level%s", c.Name, c.Family, levels, many)
	case len(slices.Compact(slices.Sorted(slices.Values(c.Levels)))) < levels:
		return fmt.Errorf("column %q has a level twice", c.Name)
	}
	return nil
}

// Over gives noise the box of the rows of a table of d columns, the ranges of its first ones; other families need none.
func Over(f family.Family, d int, box func(columns int) (low, high []float64)) family.Family {
	n, is := known.Inner(f).(normal.Noise)
	if !is {
		return f
	}
	if of, is := f.(known.Family); is { // the last column has codes
		n.Low, n.High = box(d - 1)
		of.Family = n
		return of
	}
	n.Low, n.High = box(d)
	return n
}

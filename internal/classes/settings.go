package classes

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/known"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/prior"
)

// ColumnSettings are about the columns that classes describe.
type ColumnSettings struct {
	Columns ColumnFamilies `json:"columns,omitzero" placeholder:"COL=FAMILY,…" help:"Families of single columns, where they differ from --family. Write a backslash before a comma in a name."`
	Floor   *float64       `json:"floor,omitempty" placeholder:"FACTOR" range:"[0,inf)" help:"Variances of gaussian, student-t, lognormal and gamma columns are at least this times step²/12, step the least gap between the column's values, so that no component collapses onto equal values. 0: no floor. Default: 1."`
}

// Described returns the families of single columns.
func (c *ColumnSettings) Described() *ColumnFamilies { return &c.Columns }

// CheckFloor refuses the method that has no use for a floor.
func (c *ColumnSettings) CheckFloor(r fitted.Request) error {
	if c.Floor != nil && r.Method.Name == "vb" {
		return &fitted.SettingError{Setting: "Floor",
			Reason: "cannot be used with --method vb, whose prior keeps variances from 0"}
	}
	return nil
}

// LeastVariance returns the factor of the least variances of Gaussian columns, or that there are none.
func (c *ColumnSettings) LeastVariance(r fitted.Request) float64 {
	floor := 1.0
	if c.Floor != nil {
		floor = *c.Floor
	}
	if floor > 0 && r.Method.Name != "vb" {
		return floor
	}
	return family.NoFloor
}

// ColumnFamilies are families of single columns by their names.
type ColumnFamilies struct {
	Names  []string // as they were given
	Family map[string]string
	Text   string
}

// MarshalText is the text as it was given.
func (c ColumnFamilies) MarshalText() ([]byte, error) { return []byte(c.Text), nil }

// UnmarshalText reads COL=FAMILY,….
func (c *ColumnFamilies) UnmarshalText(text []byte) (err error) {
	*c = ColumnFamilies{Text: string(text)}
	c.Names, c.Family, err = byColumn(c.Text, "FAMILY", func(family string) (string, error) { return family, nil })
	return err
}

// byColumn reads COL=VALUE,…: the names of the columns as they were given, and the values. The last = of an item is the
// one that counts, and a comma of a name has a backslash before it.
func byColumn[V any](text, form string, read func(value string) (V, error)) ([]string, map[string]V, error) {
	names, of := []string(nil), map[string]V{}
	for _, item := range wording.Items(text) {
		at := strings.LastIndex(item, "=")
		if at < 0 {
			return nil, nil, fmt.Errorf("%q: write COL=%s,…", item, form)
		}
		name := strings.TrimSpace(item[:at])
		v, err := read(strings.TrimSpace(item[at+1:]))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", item, err)
		}
		if _, twice := of[name]; twice {
			return nil, nil, fmt.Errorf("column %q is given twice", name)
		}
		names, of[name] = append(names, name), v
	}
	return names, of, nil
}

// StartSettings say how a fit begins.
type StartSettings struct {
	Start *string `json:"start,omitempty" placeholder:"NAME" help:"Initialisation: kmeans, random (responsibilities), rows, scaled (k-means without whitening), hierarchical (Ward), seeded (k-means++ alone), or varied: kmeans, hierarchical, scaled and rows, then seeded and rows in turn. Default: varied."`
}

// GateSettings name the columns of a gate.
type GateSettings struct {
	Gate []string `json:"gate,omitempty" aliases:"covariates" placeholder:"COL" help:"Columns that the probabilities of the components depend on, by a multinomial logistic regression (latent class regression, mixtures of experts). The components describe the other columns; --regress may name columns of the gate too. Texts, and columns that are categorical by --columns, become indicators of all levels except the first. Requires --method gfab, fab or em; implies --accelerate."`
}

// GateColumns returns the columns.
func (g *GateSettings) GateColumns() []string { return g.Gate }

// KnownSettings name the column of known classes.
type KnownSettings struct {
	Known string `json:"known,omitempty" placeholder:"COL" help:"Column of known classes: rows with a value are in the class of that name, rows with values A|B in one of these, and rows without a value in any class. K is at least the number of names, and further classes may be found."`
}

// KnownColumn returns the column.
func (k *KnownSettings) KnownColumn() string { return k.Known }

// Labels are the names of known classes among the columns of a table; nil if there is no such column.
func Labels(columns []data.Column) []string {
	d := families.Described(columns)
	if d == len(columns) {
		return nil
	}
	labels, _, _ := families.Labels(columns[d].Levels)
	return labels
}

// Starts are the names of initialisations.
const Starts = "varied, kmeans, random, rows, scaled, hierarchical, seeded"

// Starting returns the initialisation, varied by default.
func (s *StartSettings) Starting() (family.Start, error) {
	if s.Start == nil {
		return family.Varied, nil
	}
	way, err := family.StartByName(*s.Start)
	if err != nil {
		err = &fitted.SettingError{Setting: "Start", Reason: *s.Start + ": choose one of " + Starts}
	}
	return way, err
}

// CovarianceSettings are about covariances of Gaussian classes.
type CovarianceSettings struct {
	Cov     string `json:"-" placeholder:"NAME" help:"Covariance of --family gaussian: full, tied, diag, spherical, or a structure by its name in mclust, EII to VVV; latent fit compares several in one fit, as in EII,VVI,VVV, or all; of measured columns six by default (EII, EEI, VVI, EEE, VVE, VVV). In a table with texts, or by --family auto, it is the covariance of the measured columns. latent select --cov all compares their fits by --criteria, and --family all further families too."`
	Factors *int   `json:"-" family:"factor-analysers" placeholder:"Q" range:"[0,inf)" help:"With --family factor-analysers: a component has at most Q factors, and gfab and fab find how many. Default: 5, fewer of few columns."`
}

// SetFamily makes a family of the number of factors.
func (c *CovarianceSettings) SetFamily(name string) (string, error) {
	if c.Factors != nil {
		name = fmt.Sprintf("%s-%d", families.Analysers, *c.Factors)
	}
	return name, nil
}

// CovarianceFlags returns the settings.
func (c *CovarianceSettings) CovarianceFlags() *CovarianceSettings { return c }

// ---- Priors

// Keys returns the keys of --prior of classes, those of their weights first.
func Keys(weights ...string) []string {
	return append(weights, "kappa", "nu", "a", "b", "shape", "rate", "alpha")
}

// AboutPrior says what --prior has of what classes describe.
const AboutPrior = "--prior of map, vb and cvb0: weights (Dirichlet; not of states), kappa and nu (gaussian and " +
	"lognormal, scaled by the data), a and b (bernoulli, beta), shape and rate (poisson and exponential, gamma), alpha " +
	"(categorical and multinomial, Dirichlet). Of gfab: rows and covariance."

// CheckPrior refuses values of a prior that do not go together. The keys of Dirichlet distributions are named.
func CheckPrior(r fitted.Request, dirichlet ...string) error {
	for _, pair := range [][2]string{{"a", "b"}, {"shape", "rate"}} {
		if (r.Prior[pair[0]] != 0) != (r.Prior[pair[1]] != 0) && !slices.Contains(dirichlet, pair[0]) {
			return wrongPrior("%s and %s are one distribution: give both or neither", pair[0], pair[1])
		}
	}
	if r.Method.Name != "map" {
		return nil
	}
	distributions := map[string]string{"alpha": "Dirichlet", "a": "beta", "b": "beta", "shape": "gamma"}
	for _, key := range dirichlet {
		distributions[key] = "Dirichlet"
	}
	// densities that MAP could climb without end, at the edge of their range
	for _, key := range slices.Sorted(maps.Keys(r.Prior)) {
		if name := distributions[key]; name != "" && r.Prior[key] < 1 {
			return wrongPrior("%s=%v: with less than 1 a %s distribution has no most probable value: give 1 or "+
				"more, or --method vb", key, r.Prior[key], name)
		}
	}
	return nil
}

// wrongPrior is an error about the prior.
func wrongPrior(format string, args ...any) error {
	return &fitted.SettingError{Setting: "Prior", Reason: ": " + fmt.Sprintf(format, args...)}
}

// Prior returns the prior of the families of rows that a request has; nil stands for their defaults. Keys of chains or
// weights are taken elsewhere.
func Prior(r fitted.Request, rows family.Family, elsewhere ...string) (prior.Prior, error) {
	if _, given := r.UnitInformation(); given {
		return nil, nil
	}
	own, names, taken := family.Priors{}, Parts(rows), slices.Clone(elsewhere)
	for _, f := range families.All {
		if !slices.Contains(names, f.Name) {
			continue
		}
		taken = append(taken, f.Keys...)
		if slices.ContainsFunc(f.Keys, func(key string) bool { return r.Prior[key] != 0 }) {
			own[f.Name] = f.Prior(r.Prior)
		}
	}
	for _, key := range slices.Sorted(maps.Keys(r.Prior)) {
		if !slices.Contains(taken, key) {
			return nil, wrongPrior("no family of the model takes %s: %s takes %s", key,
				strings.Join(slices.Sorted(slices.Values(names)), ", "), strings.Join(taken, ", "))
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	return own, nil
}

// ---- Rows

// CheckColumns refuses columns of a file whose families cannot be those of rows of a family, or further ones.
func CheckColumns(of fitted.Families, rows string, columns []data.Column, further ...string) error {
	names := of.Names(true)
	if len(names) == 0 || of.Joint(rows) {
		names = []string{rows}
	}
	for _, c := range columns {
		if err := families.Check(c, slices.Concat(names, further)); err != nil {
			return err
		}
	}
	return nil
}

// Parts returns the names of the families that a family is made of.
func Parts(of family.Family) (names []string) {
	of = known.Inner(of)
	product, ok := of.(family.Product)
	if !ok {
		return []string{of.Name()}
	}
	for _, f := range product {
		if !slices.Contains(names, f.Name()) {
			names = append(names, f.Name())
		}
	}
	return names
}

// MostByDefault is where kmax begins.
const MostByDefault = 10

// Doubling returns how far K may double by itself: a full covariance takes so many rows.
func Doubling(rows, columns int) int { return rows / max(2, columns+1) }

// MostByRows returns the default of kmax if rows may be alike: 10, but two rows to a component, or one more than
// columns if its covariance or scale matrix is full, or has factors.
func MostByRows(table *blocks.Table, of family.Family) int {
	n, d := table.Dims()
	each := 2
	if part, is := of.(known.Family); is {
		of, d = part.Family, d-1
	}
	switch g := of.(type) {
	case normal.Family:
		if g.Covariance == normal.Full {
			each = d + 1
		}
	case normal.StudentT, normal.FactorAnalysers:
		each = d + 1
	}
	return max(1, min(n/each, MostByDefault))
}

// Bind returns what all models of classes say of a table whose rows have a family.
func Bind(t *fitted.Table, of family.Family, r fitted.Request, class string) *fitted.Bound {
	b := &fitted.Bound{What: strings.Join(Parts(of), ", ") + " " + class + "s"}
	if part, is := of.(known.Family); is {
		b.KMin = part.Labels()
	}
	b.CheckK = func(k int) error { // that the model needs rows that differ, it finds out itself
		if k < b.KMin {
			return fmt.Errorf("%s known, and K = %d: must be at least %d", wording.Are(b.KMin, class), k, b.KMin)
		}
		if n := t.Rows.Rows(); k > n {
			return fmt.Errorf("%s for %s: choose K up to %d", wording.Counted(k, class), wording.Counted(n, "row"), n)
		}
		return nil
	}
	without := mixture.Model{Family: of}.CheckPrior()
	b.Compares = func(c framework.Criterion) bool { // the ELBO of estimated parameters never falls as K grows
		return (c.Name != framework.ELBO.Name || r.Method.Name == "vb") &&
			(c.Name != framework.Evidence.Name || without == nil)
	}
	return b
}

// DataOf returns the table as its rows are shown.
func DataOf(t *fitted.Table) (*data.Named, error) {
	if t.Data != nil {
		return t.Data, nil
	}
	rows := t.Rows.All()
	b, err := data.NewBuilder(t.Names(), make([]bool, rows.D), rows.N, nil)
	if err != nil {
		return nil, err
	}
	for j := range rows.D {
		values, stride := b.Numbers(j)
		for i := range rows.N {
			values[i*stride] = rows.Row(i)[j]
		}
	}
	named := &data.Named{Table: b.Table(0), Weights: rows.Weights}
	if t.Sequences != nil {
		named.Ends = t.Sequences.All().Ends
	}
	return named, nil
}

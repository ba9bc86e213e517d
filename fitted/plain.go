package fitted

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/report"
)

// Plain defines a model of package framework whose rows are independent numbers, without further code. The model's
// optional interfaces decide its capabilities:
//
//	methods                    gfab and fab of a Curved Projector, vb of a Variational model, em of all others
//	labels, probabilities      Responsibilities (optional.Assigner)
//	log-likelihood of rows     LogProb (optional.LogProber), or else ln p(x, z) and the entropy of q(z) of a row alone
//	standard errors of what    Permute and Resample (bootstrap.Permuter, bootstrap.Resampler)
//	follows from the labels
//	rows that are drawn        Sample(p P, n int, rng *rand.Rand) (x []float64, labels []int, err error)
//	checks of files            Check(p P) error
//
// JSON has the exported fields of P, or the result of its MarshalJSON; this must be all of P. Text and page have a
// row for each latent dimension, from the fields with K numbers or a multiple of K.
func Plain[P any, S framework.Statistics[S]](name, title string, m framework.Model[blocks.Rows, P, S]) Definition {
	d := Definition{Name: name, Title: title, New: func() Settings { return &plainSettings[P, S]{model: m} }}
	if m == nil {
		d.Load = func(*File) (Model, error) { return nil, errors.New("it has no model") }
		return d // which Registry.Check refuses: it has no methods
	}
	d.Methods = MethodsOf(m)
	if _, assigns := m.(optional.Assigner[blocks.Rows, P]); assigns {
		d.Part = "component"
	}
	d.Load = func(f *File) (Model, error) {
		var p P
		if err := json.Unmarshal(f.Params, &p); err != nil {
			return nil, err
		}
		if v := reflect.ValueOf(&p).Elem(); v.Kind() == reflect.Pointer && v.IsNil() {
			return nil, errors.New("no parameters")
		}
		found, err := newPlain(m, p, len(f.Columns))
		if err != nil {
			return nil, err
		}
		return found, f.Matches(found.k(), len(f.Columns))
	}
	return d
}

// plainSettings are none.
type plainSettings[P any, S framework.Statistics[S]] struct {
	model framework.Model[blocks.Rows, P, S]
}

func (*plainSettings[P, S]) Check(Request) error { return nil }

func (s *plainSettings[P, S]) Bind(_ context.Context, t *Table, _ Request) (*Bound, error) {
	found := func(p P, _ S) (Found, error) {
		text, err := json.Marshal(p)
		if err != nil {
			return nil, fmt.Errorf("fitted: the parameters, %T, cannot be saved: %w", p, err)
		}
		var again P
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(p, again) {
			return nil, fmt.Errorf("fitted: the parameters, %T, change on a round trip through JSON: "+
				"export their fields, or add MarshalJSON and UnmarshalJSON", p)
		}
		return newPlain(s.model, p, len(t.Columns))
	}
	e := &Engine[Found, blocks.Rows, P, S]{Model: s.model, Source: t.Rows, Found: found}
	return &Bound{Problem: e}, nil
}

// plain is a model at parameters.
type plain[P any, S framework.Statistics[S]] struct {
	model    framework.Model[blocks.Rows, P, S]
	params   P
	d        int
	layout   Layout
	assigner optional.Assigner[blocks.Rows, P]
	prober   optional.LogProber[blocks.Rows, P]
	single   bool // the local step says what one row is like
}

// A plainSampler can be drawn from, too.
type plainSampler[P any, S framework.Statistics[S]] struct {
	*plain[P, S]
	sample sampler[P]
}

type sampler[P any] interface {
	Sample(p P, n int, rng *rand.Rand) (x []float64, labels []int, err error)
}

// counted is a plain model that knows its K.
type counted interface {
	Found
	k() int
}

// newPlain checks that parameters go together, which may be those of a file.
func newPlain[P any, S framework.Statistics[S]](
	m framework.Model[blocks.Rows, P, S], p P, d int,
) (_ counted, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("its parameters are inconsistent: %v", fault)
		}
	}()
	f := &plain[P, S]{model: m, params: p, d: d}
	if checked, is := m.(interface{ Check(p P) error }); is {
		if err := checked.Check(p); err != nil {
			return nil, err
		}
	}
	if err := m.Prepare(p, nil, m.NewStatistics(p)); err != nil {
		return nil, err
	}
	f.assigner, _ = m.(optional.Assigner[blocks.Rows, P])
	f.prober, _ = m.(optional.LogProber[blocks.Rows, P])
	_, variational := m.(optional.Variational)
	_, penalized := m.(optional.Penalized[P])
	_, coupled := m.(optional.Coupled[blocks.Rows, framework.Source[blocks.Rows], P, S])
	f.single = f.prober == nil && !variational && !penalized && !coupled
	if f.assigner != nil {
		f.layout = Layout{First: []string{"label", "probability"}, List: "responsibilities"}
		for k := range f.k() {
			f.layout.Items = append(f.layout.Items, "p"+strconv.Itoa(k+1))
		}
	}
	if f.prober != nil || f.single {
		f.layout.Last = []string{"log_likelihood"}
	}
	if _, bounded := m.(optional.BoundedLikelihood); bounded && f.single {
		f.layout.Note = "log_likelihood is a lower bound (mean field)"
	}
	if s, is := m.(sampler[P]); is {
		return plainSampler[P, S]{f, s}, nil
	}
	return f, nil
}

func (f *plain[P, S]) k() int         { return f.model.Shape(f.params).K }
func (f *plain[P, S]) Params() any    { return f.params }
func (f *plain[P, S]) Input() Input   { return Input{} }
func (f *plain[P, S]) Layout() Layout { return f.layout }

// Refit refits the model to tables drawn from it, if it can be drawn from and labelled.
func (f *plain[P, S]) Refit(ctx context.Context, r Refitting) (*bootstrap.Estimates, error) {
	return RefitRows(ctx, f.model, f.params, r)
}

// NewSampler draws rows, one independent of another.
func (f plainSampler[P, S]) NewSampler(rng *rand.Rand) func(n int) (x []float64, labels []int, err error) {
	return func(n int) (x []float64, labels []int, err error) {
		x, labels, err = f.sample.Sample(f.params, n, rng)
		if err == nil && (len(x) != n*f.d || labels != nil && len(labels) != n) {
			err = fmt.Errorf("fitted: Sample of %T drew %d numbers and %d labels for %d rows of %d columns",
				f.model, len(x), len(labels), n, f.d)
		}
		return x, labels, err
	}
}

func (f *plain[P, S]) NewScorer() (Scorer, error) {
	if f.layout.Width() == 0 {
		return nil, fmt.Errorf("fitted: %T cannot score single rows: it has neither LogProb nor Responsibilities", f.model)
	}
	return &plainScorer[P, S]{f: f, s: f.model.NewStatistics(f.params)}, nil
}

// plainScorer scores in one goroutine.
type plainScorer[P any, S framework.Statistics[S]] struct {
	f          *plain[P, S]
	s          S
	logProb, r []float64
}

func (c *plainScorer[P, S]) Score(b blocks.Rows, dst []float64) (err error) {
	f := c.f
	b.Weights = nil
	c.logProb = slices.Grow(c.logProb[:0], b.N)[:b.N]
	switch {
	case f.prober != nil:
		c.logProb, err = f.prober.LogProb(b, f.params, c.logProb)
	case f.single:
		err = c.single(b)
	}
	k, width := len(f.layout.Items), f.layout.Width()
	if err == nil && f.assigner != nil {
		c.r = slices.Grow(c.r[:0], b.N*k)[:b.N*k]
		c.r, err = f.assigner.Responsibilities(b, f.params, c.r)
	}
	if err != nil {
		return err
	}
	for i := range b.N {
		row := dst[i*width : (i+1)*width]
		if f.assigner != nil {
			own := c.r[i*k : (i+1)*k]
			label := floats.MaxIdx(own)
			row[0], row[1] = float64(label+1), own[label]
			copy(row[2:], own)
		}
		if len(f.layout.Last) > 0 {
			row[width-1] = c.logProb[i]
		}
	}
	return nil
}

// single is ln p(x) of each row: E_q[ln p(x, z)] + H(q) of its q alone.
func (c *plainScorer[P, S]) single(b blocks.Rows) error {
	for i := range b.N {
		one := blocks.Rows{First: b.First + i, N: 1, D: b.D, Stride: b.D, X: b.Row(i)}
		if err := c.f.model.Prepare(c.f.params, nil, c.s); err != nil {
			return err
		}
		entropy, err := c.f.model.Infer(one, c.f.params, c.s)
		if err != nil {
			return err
		}
		c.logProb[i] = c.f.model.LogJoint(c.s, c.f.params) + entropy
	}
	return nil
}

// Describe has a row for each latent dimension, and one for each number that is of none.
func (f *plain[P, S]) Describe() (*Description, error) {
	k := f.k()
	own := report.Table{Caption: "parameters of the latent dimensions", Columns: report.Columns("dimension"), Open: true}
	if f.assigner != nil {
		own.Columns[0].Name = "component"
	}
	others := report.Table{Caption: "other parameters", Columns: report.Columns("number", "value"), Open: true}
	cells := make([][]any, k)
	for i := range cells {
		cells[i] = []any{i + 1}
	}
	for _, one := range numbersIn(reflect.ValueOf(f.params)) {
		n := len(one.values)
		if n == 0 || k == 0 || n%k != 0 || !one.list {
			for i, v := range one.values {
				others.Add(one.called(i, n), v)
			}
			continue
		}
		for j := range n / k {
			own.Columns = append(own.Columns, report.Column{Name: one.called(j, n/k)})
			for i := range k {
				cells[i] = append(cells[i], one.values[i*(n/k)+j])
			}
		}
	}
	section := report.Section{Title: "Parameters"}
	if len(own.Columns) > 1 {
		for _, row := range cells {
			own.Add(row...)
		}
		section.Tables = append(section.Tables, own)
	}
	if len(others.Rows) > 0 {
		section.Tables = append(section.Tables, others)
	}
	if section.Tables == nil {
		section.Text = "The parameters are not lists of numbers: --format json writes them."
	}
	return &Description{Sections: []report.Section{section}}, nil
}

// numbers are those of a field.
type numbers struct {
	name   string
	values []float64
	list   bool
}

// called is the name of one of n.
func (l numbers) called(i, n int) string {
	if n == 1 {
		return l.name
	}
	return fmt.Sprint(l.name, " ", i+1)
}

// numbersIn are those of the exported fields of a struct: numbers, lists, and lists of lists, row after row.
func numbersIn(v reflect.Value) (all []numbers) {
	v = reflect.Indirect(v)
	if v.Kind() != reflect.Struct {
		return nil
	}
	for i := range v.NumField() {
		if field := v.Type().Field(i); field.IsExported() {
			if values := appended(nil, v.Field(i)); len(values) > 0 {
				all = append(all, numbers{strings.ToLower(field.Name), values, v.Field(i).Kind() == reflect.Slice})
			}
		}
	}
	return all
}

func appended(list []float64, v reflect.Value) []float64 {
	switch {
	case v.CanFloat():
		return append(list, v.Float())
	case v.CanInt():
		return append(list, float64(v.Int()))
	case v.Kind() == reflect.Slice || v.Kind() == reflect.Array:
		for i := range v.Len() {
			list = appended(list, v.Index(i))
		}
	}
	return list
}

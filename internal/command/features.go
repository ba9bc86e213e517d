package command

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/features"
)

// mostFeatures is the default of kmax: 2^8 states a row are cheap.
const mostFeatures = 8

// featuresSettings are those of binary features.
type featuresSettings struct {
	Noise *string `json:"noise,omitempty" placeholder:"NAME" enum:"diagonal,isotropic" help:"Variances of the noise: diagonal, one for each column, or isotropic, one for all. Default: diagonal."`
}

func (*featuresSettings) check(*modelFlags) error { return nil }

func (m *featuresSettings) bind(_ *session, f *modelFlags, in *input) (*task, error) {
	table, n, _, err := in.matrix()
	if err != nil {
		return nil, err
	}
	t := &task{what: "binary features, a variance of the noise for each column", columns: named(in.Names), largest: max(1, min(mostFeatures, n-1))}
	model := features.Model{Isotropic: valueOr(m.Noise, "") == "isotropic"}
	if model.Isotropic {
		t.what = "binary features, one variance of the noise"
	}
	t.checkSize = func(k int) error {
		switch {
		case n < 2:
			return errors.New("1 row: features are what tells rows apart, which takes at least two")
		case k >= n:
			return fmt.Errorf("%s of %s: choose K from 1 to %d", counted(k, "feature"), counted(n, "row"), n-1)
		case k > features.MaxExact && f.Accelerate:
			return misused("--accelerate cannot be used with more than %d features, and K is %d", features.MaxExact, k)
		}
		return nil
	}
	t.engine = featuresEngine{model, table, in.Names}
	return t, nil
}

// featuresEngine enumerates the states of a row where there are few enough features, and else takes a mean-field q.
type featuresEngine struct {
	model features.Model
	table *framework.Table
	names []string
}

func (e featuresEngine) fit(ctx context.Context, o framework.Options) (*outcome, error) {
	return e.of(ctx, o.K, o.Workers).fit(ctx, o)
}

func (e featuresEngine) score(ctx context.Context, ks []int, o framework.Options, criteria []framework.Criterion) (*scores, error) {
	return e.of(ctx, ks[len(ks)-1], o.Workers).score(ctx, ks, o, criteria)
}

// of is the engine for up to k features.
func (e featuresEngine) of(ctx context.Context, k, workers int) engine {
	var m framework.Model[framework.Rows, *features.Parameters, *features.Statistics] = e.model
	if k > features.MaxExact {
		m = features.MeanField{Model: e.model}
	}
	find := func(p *features.Parameters, _ *features.Statistics) (*result, error) {
		p = p.Canonical()
		s, _, err := framework.LocalStep(ctx, m, framework.Source[framework.Rows](e.table), p, workers)
		if err != nil {
			return nil, err
		}
		r := featuresView{newFeaturesFile(p, s.CoOccurrence()), e.names}.result()
		if k > features.MaxExact {
			r.doubts = append(r.doubts, fmt.Errorf("with K above %d, features are taken for independent of one another in each row, which finds fewer of them than --kmax %d may", features.MaxExact, features.MaxExact))
		}
		return r, nil
	}
	return &iterated[framework.Rows, *features.Parameters, *features.Statistics]{m, e.table, find}
}

// featuresFile is what JSON and a model file have of the parameters.
type featuresFile struct {
	*features.Parameters
	Together [][]float64 `json:"co_occurrence"` // shares of the rows that have two features, K×K
}

func newFeaturesFile(p *features.Parameters, shares mat.Symmetric) featuresFile {
	file := featuresFile{Parameters: p}
	for k := range p.K {
		file.Together = append(file.Together, mat.Row(nil, k, shares))
	}
	return file
}

// correlation of features k and l over the rows; NaN where all rows or none have one of them.
func (f featuresFile) correlation(k, l int) float64 {
	a, b := f.Together[k][k], f.Together[l][l]
	return (f.Together[k][l] - a*b) / math.Sqrt(a*(1-a)*b*(1-b))
}

// featuresView shows a fit in text and on the page.
type featuresView struct {
	featuresFile
	names []string
}

func (v featuresView) result() *result {
	r := &result{k: v.K, params: v.featuresFile, print: v.print, sections: v.sections, finding: v.finding}
	if v.Isotropic {
		r.facts = append(r.facts, noiseFact(v.Noise[0]))
	}
	var bare []string
	for _, j := range v.AtFloor() {
		bare = append(bare, v.names[j])
	}
	if len(bare) > 0 {
		r.doubts = append(r.doubts, fmt.Errorf("no noise is left in %s but the rounding of the values: features may stand for single values", quoted(bare)))
	}
	r.without = func(c framework.Criterion, value, n float64) error {
		e := v.Featureless(n)
		if none := c.Value(&e); none > value {
			return fmt.Errorf("%s of no features at all is %s nats higher: the rows may have none", strings.ToLower(c.Name), digits(none-value))
		}
		return nil
	}
	return r
}

// print shows what each feature adds to the columns.
func (v featuresView) print(out *page) {
	out.line("")
	shown, g := out.widest(v.K, func(n int) *grid {
		g := newGrid(append(append([]string{"column", "without"}, numbered("feature ", n)...), "noise sd")...)
		row := []string{"share of rows", ""}
		for k := range n {
			row = append(row, percent(v.On[k]))
		}
		g.row(append(row, "")...)
		for j := range min(v.D, mostRows) {
			row := []string{short(v.names[j]), readable(v.Offset[j])}
			for k := range n {
				row = append(row, fmt.Sprintf("%+.4g", v.Loadings[j*v.K+k]))
			}
			g.row(append(row, readable(math.Sqrt(v.NoiseOf(j))))...)
		}
		return g
	})
	out.grid(g)
	if left := v.K - shown; left > 0 {
		out.line("(%s left out: --format json has all)", are(left, "feature"))
	}
	if left := v.D - mostRows; left > 0 {
		out.line("(%s left out: --format json has all)", are(left, "column"))
	}
	out.prose(0, "A row is the sum of what it has without features and what those that it has add to it, in the units of the columns, and noise.")
}

func noiseFact(variance float64) [2]string {
	return [2]string{"noise variance", fmt.Sprintf("%.6g, standard deviation %.6g", variance, math.Sqrt(variance))}
}

package fitted_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/examples/geometric"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/html"
)

// An exponential distribution of one column, as a model of one's own.
type exponential struct{ Rate float64 }

func (exponential) Input() fitted.Input                 { return fitted.Input{} }
func (exponential) Layout() fitted.Layout               { return fitted.Layout{Last: []string{"log_likelihood"}} }
func (m exponential) NewScorer() (fitted.Scorer, error) { return m, nil }

func (m exponential) Score(b blocks.Rows, dst []float64) error {
	for i := range b.N {
		dst[i] = math.Log(m.Rate) - m.Rate*b.Row(i)[0]
	}
	return nil
}

// A registry is a value: a program loads the models that it has in it.
func Example() {
	registry := fitted.Registry{{Name: "exponential", Load: func(f *fitted.File) (fitted.Model, error) {
		var m exponential
		err := json.Unmarshal(f.Params, &m)
		return m, err
	}}}
	dir, err := os.MkdirTemp("", "latent")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing of it is needed
	path := filepath.Join(dir, "model.json")
	if err := fitted.Save(path, []byte(`{"model":"exponential","k":1,"d":1,"columns":[{"name":"wait"}],"params":{"Rate":2}}`)); err != nil {
		log.Fatal(err)
	}
	m, err := registry.Open(path)
	if err != nil {
		log.Fatal(err)
	}
	logProb, err := m.LogProb([]float64{1})
	fmt.Printf("%.6f %v\n", logProb, err)

	text, err := fitted.ReadFile(path)
	if err != nil {
		log.Fatal(err)
	}
	_, err = fitted.Registry{{Name: "gamma", Load: registry[0].Load}}.Parse(text)
	fmt.Println(err)
	text[60]++
	_, err = registry.Parse(text)
	fmt.Println(err)
	// Output:
	// -1.306853 <nil>
	// unknown model "exponential": this program knows gamma
	// damaged, or changed after it was saved: its checksum is wrong
}

// counts are those of twelve visits.
func counts() *blocks.Table {
	src, err := blocks.FromSlice([]float64{0, 0, 1, 0, 2, 0, 31, 24, 55, 40, 12, 37}, 12, 1)
	if err != nil {
		log.Fatal(err)
	}
	return src
}

// A model of package framework, with all that its optional interfaces allow.
func ExamplePlain() {
	d := fitted.Plain("geometric", "Geometric mixture", geometric.Model{})
	for _, method := range d.Methods {
		fmt.Println(method.Name, method.Criteria[0].Name)
	}
	table := &fitted.Table{Columns: []data.Column{{Name: "visits"}}, Rows: counts()}
	bound, err := d.New().Bind(context.Background(), table, fitted.Request{Method: d.Methods[0]})
	if err != nil {
		log.Fatal(err)
	}
	fit, err := bound.Fit(context.Background(), framework.Options{K: 3, Criterion: framework.GFIC})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(fit.Shape.K, fit.Parameters.Layout().Names())
	// Output:
	// gfab gFIC
	// fab FIC
	// em BICEM
	// 2 [label probability p1 p2 log_likelihood]
}

// What a model found is one document, which is written as a page, as JSON, and a table of it as CSV or Parquet.
func ExampleDescriber() {
	d := fitted.Plain("geometric", "Geometric mixture", geometric.Model{})
	table := &fitted.Table{Columns: []data.Column{{Name: "visits"}}, Rows: counts()}
	bound, err := d.New().Bind(context.Background(), table, fitted.Request{Method: d.Methods[0]})
	if err != nil {
		log.Fatal(err)
	}
	fit, err := bound.Fit(context.Background(), framework.Options{K: 3, Criterion: framework.GFIC})
	if err != nil {
		log.Fatal(err)
	}
	found, err := fit.Parameters.(fitted.Describer).Describe()
	if err != nil {
		log.Fatal(err)
	}
	document := &report.Document{Title: "Visits", Sections: found.Sections}
	var page bytes.Buffer
	if err := html.Write(&page, document); err != nil {
		log.Fatal(err)
	}
	object, err := json.Marshal(document)
	fmt.Println(strings.Contains(page.String(), "Parameters</h2>"), strings.HasPrefix(string(object), `{"title":"Visits"`), err)
	var file bytes.Buffer
	if err := found.Sections[0].Tables[0].Write(&file, data.NewCSVWriter); err != nil {
		log.Fatal(err)
	}
	for line := range strings.Lines(file.String()) {
		fmt.Println(line[:len("1,0.43")])
	}
	// Output:
	// true true <nil>
	// compon
	// 1,0.42
	// 2,0.57
}

// The methods of a model without curvature are EM alone.
func ExampleMethodsOf() {
	m := struct {
		framework.Model[blocks.Rows, *geometric.Parameters, *geometric.Statistics]
	}{geometric.Model{}}
	for _, method := range fitted.MethodsOf(m) {
		fmt.Println(method.Name, method.Criteria[0].Name)
	}
	// Output: em BIC
}

// Fits of every K, of which one is described.
func ExampleSelected() {
	o := framework.Options{Method: framework.EM}
	sel, err := framework.Select(context.Background(), geometric.Model{}, counts(), []int{1, 2}, o, framework.BIC)
	if err != nil {
		log.Fatal(err)
	}
	type fit = framework.Result[*geometric.Parameters, *geometric.Statistics]
	means := fitted.Selected(sel, func(one *fit) (string, error) { return fmt.Sprintf("p %.2f", one.Parameters.P), nil })
	best, err := means.Open(means.Best(0))
	fmt.Println(best.Parameters, err)
	// Output: p [0.72 0.03] <nil>
}

// Solutions that are known make a selection.
func ExampleSelectionOf() {
	var fits []*framework.Result[string, struct{}]
	for k, value := range []float64{-12, -9} {
		e := framework.Evaluation{Shape: framework.Shape{K: k + 1}, N: 10, LogLikelihood: value}
		fits = append(fits, fitted.Solved(fmt.Sprintf("solution %d", k+1), framework.ELBO, value, e))
	}
	sel := fitted.SelectionOf([]int{1, 2}, []framework.Criterion{framework.ELBO}, fits)
	best, err := sel.Open(sel.Best(0))
	fmt.Println(best.Parameters, best.Status, err)
	// Output: solution 2 closed form <nil>
}

// JSON has no number for what is not finite.
func ExampleNumbers() {
	text, err := json.Marshal(fitted.Numbers([]float64{1.5, math.Inf(-1)}))
	fmt.Println(string(text), err)
	// Output: [1.5,null] <nil>
}

// The default method of a definition, with the criteria that it takes, its own first: of a model without a prior, of one
// that has a proper prior, and of one whose latent variable is a class, which select sweeps by one more.
func ExampleOfClasses() {
	for _, methods := range [][]fitted.Method{
		fitted.Estimating(nil),
		fitted.ByEvidence(),
		fitted.OfClasses(framework.Slope),
	} {
		fmt.Print(methods[0].Name, ":")
		for _, c := range append(methods[0].Criteria, methods[0].Swept...) {
			fmt.Print(" ", c.Name)
		}
		fmt.Println()
	}
	// Output:
	// gfab: gFIC FIC BICEM BIC AIC
	// gfab: evidence gFIC FIC BICEM BIC AIC
	// gfab: evidence gFIC FIC BICEM BIC AIC ICL ELBO Slope
}

// Covariances have the names of the columns.
func ExampleNewMatrix() {
	m := fitted.NewMatrix(mat.NewSymDense(2, []float64{4, 3, 3, 9}), []string{"length", "width"})
	fmt.Println(m.Names, m.Values[0], m.Correlation(0, 1))
	// Output: [length width] [4 3] 0.5
}

// The first two of three components share a third of their rows, and there is no gap between them: one group.
func ExampleGroupsOf() {
	var o grouping.Overlap
	for range 100 {
		o.Add([]float64{1, 0, 0}, 1)
		o.Add([]float64{0.5, 0.5, 0}, 1)
		o.Add([]float64{0, 1, 0}, 1)
		o.Add([]float64{0, 0, 1}, 1)
	}
	pass, none := math.Log(0.9), math.Inf(-1)
	tree, err := grouping.Join(&o, grouping.Terrain{0, pass, none, pass, 0, none, none, none, 0})
	if err != nil {
		log.Fatal(err)
	}
	groups, err := fitted.GroupsOf(tree, nil)
	fmt.Println(groups.Groups, groups.Of(3), err)
	// Output: [[1 2] [3]] 2 <nil>
}

// Covariance structures have the names of mclust.
func ExampleStructures() {
	fmt.Println(len(fitted.Structures()), "structures")
	for _, s := range fitted.StructuresNamed("VVV", "EII") {
		fmt.Println(s.Label(), s.Family, "·", s.About())
	}
	// Output:
	// 14 structures
	// EII gaussian-eii · equal volume, spheres
	// VVV gaussian · varying volume and shape and orientation
}

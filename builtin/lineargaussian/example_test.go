package lineargaussian_test

import (
	"context"
	"fmt"
	"log"
	"strings"

	"github.com/latent-go/latent/builtin/lineargaussian"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// iris are its four columns of numbers.
func iris() *fitted.Table {
	t, err := data.Load("iris")
	if err != nil {
		log.Fatal(err)
	}
	if t, err = t.Drop("Species"); err != nil {
		log.Fatal(err)
	}
	x, n, d, err := t.Matrix()
	if err != nil {
		log.Fatal(err)
	}
	rows, err := blocks.FromSlice(x, n, d)
	if err != nil {
		log.Fatal(err)
	}
	table := &fitted.Table{Rows: rows}
	for _, name := range t.Names {
		table.Columns = append(table.Columns, data.Column{Name: name})
	}
	return table
}

// found begins the first sentence about a fit with up to k dimensions by the default method of a definition.
func found(d fitted.Definition, s fitted.Settings, k int) string {
	ctx, method := context.Background(), d.Methods[0]
	bound, err := s.Bind(ctx, iris(), fitted.Request{Method: method})
	if err != nil {
		log.Fatal(err)
	}
	fit, err := bound.Fit(ctx, framework.Options{K: k, Method: method.Engine, Criterion: method.Criteria[0]})
	if err != nil {
		log.Fatal(err)
	}
	said, err := fit.Parameters.(fitted.Describer).Describe()
	if err != nil {
		log.Fatal(err)
	}
	what, _, _ := strings.Cut(said.Finding.Text, ":")
	return fmt.Sprintf("%s, %s %.3f", what, fit.Criterion, fit.Value)
}

// A definition fits by its settings, as the command does.
func ExampleVBMF() {
	fmt.Println(found(lineargaussian.VBMF(nil), &lineargaussian.VBMFSettings{Center: true}, 4))
	// Output: 3 factors, ELBO -423.727
}

// The settings are those of the command.
func ExampleBPCA() {
	fmt.Println(found(lineargaussian.BPCA(nil), &lineargaussian.PCASettings{}, 2))
	// Output: 2 dimensions, gFIC -439.894
}

// Factors of maximum likelihood, by the evidence.
func ExampleFactor() {
	fmt.Println(found(lineargaussian.Factor(nil), &lineargaussian.FactorSettings{}, 1))
	// Output: 1 factor, evidence -463.940
}

// The closed form of maximum likelihood.
func ExamplePPCA() {
	fmt.Println(found(lineargaussian.PPCA(nil), &lineargaussian.PCASettings{}, 2))
	// Output: 2 dimensions, BIC -435.027
}

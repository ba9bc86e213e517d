package threestep_test

import (
	"context"
	"fmt"
	"log"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/threestep"
)

// irises are the posteriors of three Gaussians for the petals of iris.
func irises(ctx context.Context) (*data.Table, []float64, error) {
	t, err := data.Load("iris")
	if err != nil {
		return nil, nil, err
	}
	petals, err := t.Select("Petal.Length", "Petal.Width")
	if err != nil {
		return nil, nil, err
	}
	x, n, d, err := petals.Matrix()
	if err != nil {
		return nil, nil, err
	}
	src, err := blocks.FromSlice(x, n, d)
	if err != nil {
		return nil, nil, err
	}
	m := mixture.Model{Family: normal.Family{Covariance: normal.Tied}}
	res, err := framework.Fit(ctx, m, src, framework.Options{K: 3, Method: framework.EM, Restarts: 5})
	if err != nil {
		return nil, nil, err
	}
	p, err := m.Canonical(res.Parameters)
	if err != nil {
		return nil, nil, err
	}
	posteriors, err := m.Responsibilities(src.All(), p, nil)
	return t, posteriors, err
}

// The length of the sepals, which had no part in finding the classes, differs between them.
func ExampleClassify() {
	ctx := context.Background()
	t, posteriors, err := irises(ctx)
	if err != nil {
		log.Fatal(err)
	}
	sepals, err := t.Column("Sepal.Length")
	if err != nil {
		log.Fatal(err)
	}
	c, err := threestep.Classify(posteriors, 3, nil, threestep.Modal)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%.2f of the rows of class 1 are assigned to it\n", c.Errors.At(0, 0))
	d, err := c.Outcome(ctx, threestep.Outcome{Values: sepals}, threestep.BCH)
	if err != nil {
		log.Fatal(err)
	}
	for k := range d.K {
		fmt.Printf("class %d: mean %.2f ± %.2f, sd %.2f\n", k+1, d.Values[2*k], d.Errors()[2*k], d.Values[2*k+1])
	}
	fmt.Println("equal:", d.Equal().P > 0.05)
	// Output:
	// 0.96 of the rows of class 1 are assigned to it
	// class 1: mean 5.91 ± 0.07, sd 0.51
	// class 2: mean 5.01 ± 0.05, sd 0.35
	// class 3: mean 6.67 ± 0.09, sd 0.58
	// equal: false
}

// Outcomes and covariates of a table, under all corrections.
func ExampleRead() {
	ctx := context.Background()
	t, posteriors, err := irises(ctx)
	if err != nil {
		log.Fatal(err)
	}
	a, err := threestep.Read(&data.Named{Table: t}, []string{"Sepal.Length"}, []string{"Sepal.Width"}, nil)
	if err != nil {
		log.Fatal(err)
	}
	if err := a.Estimate(ctx, posteriors, 3); err != nil {
		log.Fatal(err)
	}
	fmt.Println(a.Outcomes[0].Kind)
	for i, how := range threestep.Corrections {
		fmt.Printf("%v: slope of class 2 %.1f\n", how, a.Logit[i].Values[1])
	}
	// Output:
	// continuous
	// bch: slope of class 2 7.1
	// ml: slope of class 2 6.9
	// uncorrected: slope of class 2 6.8
}

package drift_test

import (
	"fmt"
	"log"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/fitted/drift"
	"github.com/latent-go/latent/framework/blocks"
)

// A service compares the rows of a day with those of the fit, here of one principal component of two columns.
func ExampleNew() {
	text, err := fitted.Seal([]byte(`{"model":"bpca","family":"gaussian","n":100,"k":1,"d":2,"columns":[{"name":"length"},
		{"name":"width"}],"params":{"k":1,"d":2,"mean":[0,0],"loadings":[1,1],"noise":1}}`))
	if err != nil {
		log.Fatal(err)
	}
	m, err := builtin.Models().Parse(text)
	if err != nil {
		log.Fatal(err)
	}
	d, err := drift.New(m)
	if err != nil {
		log.Fatal(err)
	}
	scorer, err := m.Model.NewScorer()
	if err != nil {
		log.Fatal(err)
	}
	b := blocks.Rows{N: 4, D: 2, Stride: 2, X: []float64{0, 9, 1, 8, 0, 7, 1, 9}}
	scores := make([]float64, b.N*m.Model.Layout().Width())
	if err := scorer.Score(b, scores); err != nil {
		log.Fatal(err)
	}
	d.Add(b, scores, func(i int) int { return i })
	found := d.Find(nil)
	fmt.Println(found.Verdict, found.Drift)
	for _, c := range found.Columns {
		fmt.Printf("%s moved by %.0f standard deviations, clearly: %v\n", c.Name, float64(c.Moved), c.Clear)
	}
	// Output:
	// unlike true
	// width moved by 6 standard deviations, clearly: true
	// length moved by 0 standard deviations, clearly: false
}

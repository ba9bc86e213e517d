package builtin_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/fitted"
)

// A program loads what latent fit --out wrote, here a principal component of three columns.
func Example() {
	dir, err := os.MkdirTemp("", "latent")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing of it is needed
	path := filepath.Join(dir, "model.json")
	if err := fitted.Save(path, []byte(`{"model":"bpca","family":"gaussian","k":1,"d":3,"columns":[{"name":"a"},{"name":"b"},{"name":"c"}],
		"params":{"k":1,"d":3,"mean":[0,0,0],"loadings":[1,2,3],"noise":1}}`)); err != nil {
		log.Fatal(err)
	}

	m, err := builtin.Load(path)
	if err != nil {
		log.Fatal(err)
	}
	row := make([]float64, 3)
	if err := m.Encode(row, []string{"1", "2", "3"}); err != nil {
		log.Fatal(err)
	}
	logProb, err := m.LogProb(row)
	fmt.Printf("%.6f %v\n", logProb, err)
	_, err = m.LogProb(row[:2])
	fmt.Println(err)
	// Output:
	// -4.577507 <nil>
	// fitted: a row of 2 numbers does not match a model of 3 columns
}

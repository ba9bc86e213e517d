package fitted_test

import (
	"encoding/json"
	"fmt"
	"log"
	"math"
	"os"
	"path/filepath"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
)

// An exponential distribution of one column, as a model of one's own.
type exponential struct{ Rate float64 }

func (exponential) Input() fitted.Input                 { return fitted.Input{} }
func (exponential) Layout() fitted.Layout               { return fitted.Layout{Last: []string{"log_likelihood"}} }
func (m exponential) NewScorer() (fitted.Scorer, error) { return m, nil }

func (m exponential) Score(b framework.Rows, dst []float64) error {
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
	// the model "exponential" is unknown to this program, which knows gamma
	// damaged, or changed after it was saved: its checksum is that of another text
}

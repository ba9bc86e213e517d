package classes

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/data"
)

func TestARowCountsByItsProbabilities(t *testing.T) {
	q := []float64{0.9, 0.02, 0.08}
	c := &certainty{edges: []float64{0.3, 0.6, 0.9, 1}, counts: make([]float64, 3), assigned: make([]float64, 3), mean: [][]float64{make([]float64, 3), nil, nil}}
	c.add(q, 2)
	assert.Equal(t, []float64{0, 0, 2}, c.counts)
	assert.Equal(t, []float64{1.8, 0.04, 0.16}, c.mean[0])
	assert.Equal(t, 2.0, c.clear)
}

func TestThePlaceOfTrue(t *testing.T) {
	for _, c := range []struct {
		levels []string
		want   int
	}{{[]string{"FALSE", "TRUE"}, 1}, {[]string{"TRUE", "false"}, 0}, {[]string{"F", "TRUE"}, -1}, {[]string{"a", "false", "true"}, -1}, {[]string{"false", "maybe"}, -1}, {nil, -1}} {
		assert.Equal(t, c.want, Truth(data.Column{Levels: c.levels}), "%v", c.levels)
	}
}

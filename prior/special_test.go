package prior

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed"
)

func TestDigammaRecurs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		x := math.Exp(rapid.Float64Range(-9, 20).Draw(t, "ln x"))
		assert.InDelta(t, digamma(x)+1/x, digamma(x+1), 1e-15*(4/x+20))
	})
}

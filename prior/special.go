package prior

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/internal/special"
)

// digamma is ψ(x), for x > 0.
func digamma(x float64) float64 { return math.Log(x) + special.DigammaExcess(x) }

// randLogGamma draws ln G, where G ~ Gamma(shape, 1). Below 1 the shape is raised by
// one and the logarithm of the factor U^(1/shape) added (Marsaglia and Tsang 2000,
// section 6): G itself would underflow. The result is −Inf only for shapes below
// 10⁻³⁰⁵.
func randLogGamma(rng *rand.Rand, shape float64) float64 {
	boost := 0.0
	if shape < 1 {
		boost = -rng.ExpFloat64() / shape
		shape++
	}
	return boost + math.Log(distuv.Gamma{Alpha: shape, Beta: 1, Src: rng}.Rand())
}

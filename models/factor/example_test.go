package factor_test

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/models/factor"
)

// Six tests, of two abilities that correlate: an oblique rotation has simpler loadings than an orthogonal one.
func Example() {
	loadings := mat.NewDense(6, 2, []float64{.71, -.40, .65, -.42, .60, -.31, .70, .41, .62, .38, .66, .30})
	orthogonal, err := factor.Varimax(loadings)
	if err != nil {
		panic(err)
	}
	oblique, err := factor.Promax(loadings, 0)
	if err != nil {
		panic(err)
	}
	oblimin, err := factor.Oblimin(loadings, 0)
	if err != nil {
		panic(err)
	}
	fmt.Printf("varimax\n%.2f\npromax\n%.2f\n", mat.Formatted(orthogonal.Loadings), mat.Formatted(oblique.Loadings))
	fmt.Printf("correlations %.2f and, by oblimin, %.2f\n", oblique.Correlations.At(0, 1), oblimin.Correlations.At(0, 1))
	// Output:
	// varimax
	// ⎡0.78  0.23⎤
	// ⎢0.76  0.17⎥
	// ⎢0.64  0.21⎥
	// ⎢0.20  0.79⎥
	// ⎢0.16  0.71⎥
	// ⎣0.25  0.68⎦
	// promax
	// ⎡ 0.81   0.01⎤
	// ⎢ 0.79  -0.04⎥
	// ⎢ 0.65   0.04⎥
	// ⎢-0.02   0.82⎥
	// ⎢-0.04   0.74⎥
	// ⎣ 0.07   0.69⎦
	// correlations 0.51 and, by oblimin, 0.50
}

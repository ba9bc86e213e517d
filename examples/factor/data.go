package factor

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework/blocks"
)

// Subjects are the columns of [Marks].
var Subjects = []string{"Gaelic", "English", "History", "Arithmetic", "Algebra", "Geometry"}

// Pupils is the number of boys examined.
const Pupils = 220

// correlations of the marks of 220 boys in six subjects: D. N. Lawley and A. E. Maxwell (1971), Factor Analysis as a
// Statistical Method, 2nd edition, Butterworths, table 4.3 (published data).
var correlations = [...]float64{
	1, 0.439, 0.410, 0.288, 0.329, 0.248,
	0.439, 1, 0.351, 0.354, 0.320, 0.329,
	0.410, 0.351, 1, 0.164, 0.190, 0.181,
	0.288, 0.354, 0.164, 1, 0.595, 0.470,
	0.329, 0.320, 0.190, 0.595, 1, 0.464,
	0.248, 0.329, 0.181, 0.470, 0.464, 1,
}

// Marks returns a table with exactly the published correlations, and variances of 1: the marks of the boys themselves
// were not printed, and a Gaussian model sees no more of them. It is ±√D times the columns of a root of the matrix, 12
// rows that weigh as much as the 220 boys.
func Marks() (*blocks.Table, error) {
	d := len(Subjects)
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(d, correlations[:])) {
		return nil, errors.New("factor: the correlations are not positive definite")
	}
	var root mat.TriDense
	chol.LTo(&root)
	x, weights := make([]float64, 0, 2*d*d), make([]float64, 2*d)
	for i := range weights {
		sign := 1 - 2*float64(i%2)
		for j := range d {
			x = append(x, sign*math.Sqrt(float64(d))*root.At(j, i/2))
		}
		weights[i] = Pupils / float64(2*d)
	}
	table, err := blocks.FromSlice(x, 2*d, d)
	if err != nil {
		return nil, err
	}
	return table.WithWeights(weights)
}

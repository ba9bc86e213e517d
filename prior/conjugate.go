package prior

import (
	"errors"
	"fmt"

	"github.com/latent-go/latent/internal/linalg"
)

// Conjugate is the conjugate prior of any exponential family
// p(x|η) = h(x) g(η) exp(ηᵀT(x)),
//
//	p(η | χ, ν) = f(χ, ν) g(η)^ν exp(ν ηᵀχ)
//
// (K, A.2). It acts as ν rows whose statistics T have the mean χ: after N_k rows with
// the sum ΣT it is the same with ν + N_k and νχ + ΣT.
//
// The density is with respect to the natural parameter η, which brings in a Jacobian
// where another prior is stated in another parameter; see [Beta], [Dirichlet], [Gamma]
// and [NormalInverseGamma] for ν and χ of each. By the same token the mode in η is not
// the mode in, say, a Bernoulli probability: there it has E[T] = χ, the mean of rows and
// pseudo-rows, and exists whenever χ is a possible mean.
type Conjugate struct {
	Chi []float64 `json:"chi"` // χ, the mean of the S statistics
	Nu  float64   `json:"nu"`  // ν, the number of rows it is worth
}

// Check says whether Nu is positive, there are statistics, and all is finite, products
// νχ included. Whether χ is a mean that the statistics can have is for the family to
// say.
func (c Conjugate) Check() error {
	if err := positive("Conjugate.Nu", c.Nu); err != nil {
		return err
	}
	if len(c.Chi) == 0 {
		return errors.New("prior: Conjugate.Chi is empty: give the mean of each statistic")
	}
	for i, chi := range c.Chi {
		if err := first(finite("Conjugate.Chi", chi), finite("Conjugate.Nu times Chi", c.Nu*chi)); err != nil {
			return fmt.Errorf("%w at statistic %d", err, i)
		}
	}
	return nil
}

// Pseudo puts the 1+S numbers (ν, νχ₁,…,νχ_S) into dst and returns it: what to add to
// the statistics (N_k, ΣT) of a component.
func (c Conjugate) Pseudo(dst []float64) []float64 {
	dst = linalg.Resize(dst, 1+len(c.Chi))
	dst[0] = c.Nu
	for i, chi := range c.Chi {
		dst[1+i] = c.Nu * chi
	}
	return dst
}

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
// (K, A.2). It acts as ν rows whose statistics T have the mean χ: after N_k rows with the sum ΣT, ν becomes ν + N_k
// and νχ becomes νχ + ΣT.
//
// The density is with respect to the natural parameter η. Priors stated in another parameter differ by a Jacobian;
// [Beta], [Dirichlet], [Gamma] and [NormalInverseGamma] give their ν and χ. For the same reason the mode in η is not
// the mode in, say, a Bernoulli probability. The mode in η has E[T] = χ, the mean of rows and pseudo-rows, and exists
// if χ is a possible mean.
type Conjugate struct {
	Chi []float64 `json:"chi"` // χ, the mean of the S statistics
	Nu  float64   `json:"nu"`  // ν, the number of rows it is worth
}

// Check returns an error unless Nu is positive, Chi is not empty, and all numbers and the products νχ are finite. The
// family checks whether the statistics can have the mean χ.
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

// Pseudo puts the 1+S numbers (ν, νχ₁,…,νχ_S), which add to the statistics (N_k, ΣT) of a component, into dst and
// returns it.
func (c Conjugate) Pseudo(dst []float64) []float64 {
	dst = linalg.Resize(dst, 1+len(c.Chi))
	dst[0] = c.Nu
	for i, chi := range c.Chi {
		dst[1+i] = c.Nu * chi
	}
	return dst
}

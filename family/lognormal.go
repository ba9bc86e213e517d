package family

import (
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// Lognormal describes positive numbers whose logarithms have a [Gaussian] distribution with a diagonal covariance:
// ln p(x|μ,σ²) = ln N(ln x|μ,σ²) − ln x. The parameters are the mean and the variance of ln x, the coordinates,
// the prior and its default those of a Gaussian column of logarithms, and criteria differ from that column's by
// the Jacobian Σ ln x alone: they compare with those of gamma and of Gaussian columns.
type Lognormal struct{}

// Name is "lognormal".
func (Lognormal) Name() string { return "lognormal" }

// Columns is 1.
func (Lognormal) Columns() int { return 1 }

// On is independent columns.
func (f Lognormal) On(columns int) ([]Factor, error) {
	list, err := Gaussian{Covariance: Diagonal, Floor: NoFloor}.On(columns)
	if err != nil {
		return nil, fmt.Errorf("family: %s takes 1 column or more, and there are %d", f.Name(), columns)
	}
	return []Factor{lognormal{list[0].(isotropic)}}, nil
}

// lognormal is a diagonal Gaussian that observes logarithms: o.X and all sums are of them, and o.Base is −Σ ln x.
type lognormal struct{ isotropic }

func (lognormal) Name() string { return Lognormal{}.Name() }

func (g lognormal) Observe(b framework.Rows, at, first, n int, o *Observed) error {
	base, d := o.Base, g.columns()
	if err := g.isotropic.Observe(b, at, first, n, o); err != nil {
		return err
	}
	o.Base = linalg.Resize(base, n)
	clear(o.Base)
	for j := range d {
		for i, v := range o.X[j*o.Padded():][:n] {
			switch {
			case v <= 0:
				reason := fmt.Errorf("%w of %s: finite positive numbers", ErrSupport, g.Name())
				return &framework.DataError{Row: b.First + first + i, Column: at + j, Value: v, Reason: reason}
			case v == v:
				v = math.Log(v)
				o.X[j*o.Padded()+i] = v
				o.Base[i] -= v
			}
		}
	}
	return nil
}

// Features are the logarithms.
func (g lognormal) Features(o *Observed, _ *Pooled, dst []float64, width, at int) {
	for j := range g.columns() {
		for i, v := range o.X[j*o.Padded():][:o.N] {
			dst[i*width+at+j] = v
		}
	}
}

// Numbers are those of the logarithms.
func (g lognormal) Numbers() []Number {
	list := g.isotropic.Numbers()
	for i := range list {
		list[i].Name = "log " + list[i].Name
	}
	return list
}

// Sample draws positive numbers within the range of float64.
func (g lognormal) Sample(xi []float64, rng *rand.Rand, x []float64) {
	g.isotropic.Sample(xi, rng, x)
	for j := range g.columns() {
		x[j] = min(math.MaxFloat64, max(math.SmallestNonzeroFloat64, math.Exp(x[j])))
	}
}

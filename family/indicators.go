package family

import (
	"fmt"
	"math/rand/v2"

	"gonum.org/v1/gonum/stat/distuv"
)

// Indicators describes groups of L neighbouring columns of 0 and 1, one of which is 1: what [Categorical] describes in
// a column of codes, with the same density, statistics and parameters (dummy variables, one-hot encoding). A row
// without a 1, as encoders write levels that they do not know, and one in which a value is missing and no other is 1,
// have no influence.
type Indicators struct{ Categorical }

// Name is "indicators".
func (Indicators) Name() string { return "indicators" }

// Columns is L.
func (f Indicators) Columns() int { return f.Levels }

// On makes the groups of columns independent.
func (f Indicators) On(columns int) ([]Factor, error) { return Independent(f, columns) }

// Support describes the valid values.
func (f Indicators) Support() string {
	if f.Levels < 2 {
		return f.Categorical.Support()
	}
	return fmt.Sprintf("groups of %d columns of 0 and 1, with one 1 at most", f.Levels)
}

// Observe takes the columns of a group.
func (f Indicators) Observe(x, t []float64) (exposure, base float64, ok bool) {
	clear(t)
	for l, v := range x {
		switch {
		case v == 1:
			t[l] = 1
			exposure++
		case v != 0 && v == v:
			return 0, 0, false
		}
	}
	return exposure, 0, exposure <= 1 && f.Levels >= 2
}

// Sample draws the columns of a group.
func (f Indicators) Sample(xi []float64, rng *rand.Rand, x []float64) {
	var code [1]float64
	f.Categorical.Sample(xi, rng, code[:])
	clear(x)
	x[int(code[0])] = 1
}

// Marginal is a distuv.Bernoulli.
func (Indicators) Marginal(xi []float64, column int, src rand.Source) distuv.RandLogProber {
	return Bernoulli{}.Marginal(xi[column:], 0, src)
}

// Below is that of [Bernoulli].
func (Indicators) Below(xi []float64, column int, x float64) (less, atMost float64) {
	return Bernoulli{}.Below(xi[column:], 0, x)
}

// Exclusive is how many neighbouring columns have one 1 among them ([Indicators]); 0 of other families.
func (l exponentialKernel) Exclusive() int {
	if f, is := l.law.(Indicators); is {
		return f.Levels
	}
	return 0
}

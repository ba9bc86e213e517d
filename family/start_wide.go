package family

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// A Pooler is a factor whose classes begin with one covariance, that within the classes, at their own means. In many
// columns the rows of a sample that are nearest to one seed may be too few for a covariance of their own, and EM that
// begins with such covariances ends at classes of a few rows. The start is then k-means itself, by Lloyd's steps from
// several seeds.
type Pooler interface {
	// Pools reports whether a sample of n rows is too small for k covariances.
	Pools(n, k int) bool
	// PoolWithin gives the sums of all classes the covariance within them.
	PoolWithin(sums Table)
}

// lloydSteps bounds Lloyd's steps, and wideTries is the number of k-means at each kind of distance.
const (
	lloydSteps = 25
	wideTries  = 2
)

// wide is the factor of a plan whose starts of k classes from n rows are wide.
func (p *Plan) wide(n, k int, start Start) (g Pooler, ok bool) {
	if len(p.parts) != 1 || !start.clusters() {
		return nil, false
	}
	g, ok = p.parts[0].Factor.(Pooler)
	return g, ok && g.Pools(n, k)
}

// clusterWide labels rows, which are white when they are whitened, by k-means at their distances, which
// clusters of one direction need, and at those of columns scaled alone, which hides no clear clusters among
// many directions. The best is where N_k rows a class have the highest likelihood with one covariance.
func (p *Plan) clusterWide(white *points, rows framework.Rows, k int, rng *rand.Rand) (best []int, err error) {
	scaled, err := p.points(rows, false)
	if err != nil {
		return nil, err
	}
	total := white.scatter()
	most := math.Inf(-1)
	for range wideTries {
		for _, at := range []*points{white, scaled} {
			label := at.lloyd(at.seeds(k, rng))
			if fit := white.tiedFit(label, k, total); best == nil || fit > most {
				best, most = label, fit
			}
		}
	}
	return best, nil
}

// scatter is Σ w xxᵀ.
func (c *points) scatter() []float64 {
	sum := make([]float64, c.width*c.width)
	var weighed []float64
	for first, x := range c.blocks {
		side := len(x) / c.width
		weighed = append(weighed[:0], x...)
		for a := range c.width {
			floats.Mul(linalg.Row(weighed, a, side), c.weights[first:first+side])
		}
		linalg.MulSerial(false, true, 1, linalg.General(c.width, side, weighed), linalg.General(c.width, side, x), 1,
			linalg.General(c.width, c.width, sum))
	}
	return sum
}

// tiedFit is the log-likelihood of labelled rows with one covariance, up to a constant. total is the scatter.
func (c *points) tiedFit(label []int, k int, total []float64) float64 {
	means, counts := c.means(label, k)
	n, d, fit := floats.Sum(counts), c.width, 0.0
	within, weighed := append([]float64(nil), total...), append([]float64(nil), means...)
	for j, nj := range counts {
		linalg.Scale(nj, linalg.Row(weighed, j, d))
		if nj > 0 {
			fit += nj * math.Log(nj)
		}
	}
	linalg.MulSerial(true, false, -1, linalg.General(k, d, weighed), linalg.General(k, d, means), 1,
		linalg.General(d, d, within))
	for a := range d {
		within[a*d+a] += 1e-9 * n // where the table is singular
	}
	chol, ok := linalg.NewCholesky(d, within)
	if !ok {
		return math.Inf(-1)
	}
	return fit - n/2*chol.LogDet()
}

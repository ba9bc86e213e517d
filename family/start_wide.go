package family

import (
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/clusters"
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

// wideTries is the number of k-means at each kind of distance.
const wideTries = 2

// wide is the factor of a plan whose starts of k classes from n rows are wide.
func (p *Plan) wide(n, k int, start Start) (g Pooler, ok bool) {
	if p.described() != 1 || !start.clusters() {
		return nil, false
	}
	g, ok = p.parts[0].Factor.(Pooler)
	return g, ok && g.Pools(n, k)
}

// clusterWide labels rows, which are white when they are whitened, by k-means at their distances, which
// clusters of one direction need, and at those of columns scaled alone, which hides no clear clusters among
// many directions. The best is where N_k rows a class have the highest likelihood with one covariance.
func (p *Plan) clusterWide(white *clusters.Points, rows blocks.Rows, k int, rng *rand.Rand) (best []int, err error) {
	scaled, err := p.points(rows, false)
	if err != nil {
		return nil, err
	}
	total := white.Scatter()
	most := math.Inf(-1)
	for range wideTries {
		for _, at := range []*clusters.Points{white, scaled} {
			label := at.Lloyd(at.Seeds(k, rng))
			if fit := white.TiedFit(label, k, total); best == nil || fit > most {
				best, most = label, fit
			}
		}
	}
	return best, nil
}

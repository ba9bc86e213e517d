package family

import "math"

// normalDivergence is KL(N(m,v)‖N(m0,v0)).
func normalDivergence(m, v, m0, v0 float64) float64 {
	r, z := v/v0, m-m0
	return max(0, (r-1-math.Log(r)+z*z/v0)/2)
}

func (g gaussian) Contrast(xi, pooled, dst []float64) {
	mean, cov := g.split(xi, 0)
	mean0, cov0 := g.split(pooled, 0)
	for a := range dst {
		dst[a] = normalDivergence(mean[a], cov[a*g.d+a], mean0[a], cov0[a*g.d+a])
	}
}

func (g diagonal) Contrast(xi, pooled, dst []float64) {
	for a := range dst {
		dst[a] = normalDivergence(xi[a], xi[g.d+a], pooled[a], pooled[g.d+a])
	}
}

func (g spherical) Contrast(xi, pooled, dst []float64) {
	for a := range dst {
		dst[a] = normalDivergence(xi[a], xi[g.d], pooled[a], pooled[g.d])
	}
}

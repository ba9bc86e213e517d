package classes

import (
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
)

// covariances are those of the components, a single one where all are the same; nil of a family without.
func (f *Components) covariances() (list []fitted.Matrix, err error) {
	numbers, err := f.Model.Numbers(f.Mixture)
	if err != nil || !slices.ContainsFunc(numbers,
		func(n family.Number) bool { return n.Name == "covariance" || n.Name == numberOfFactors }) {
		return nil, err
	}
	some := wording.UpTo(0, len(f.Columns)-1)
	if f.family == families.Auto {
		some = families.Correlated(f.family, f.Columns)
	}
	var names []string
	for _, j := range some {
		names = append(names, f.Columns[j].Name)
	}
	shared := f.Mixture.K > 1
	for k := range f.Mixture.K {
		_, cov, err := f.normal(k, some)
		if err != nil {
			return nil, err
		}
		list = append(list, fitted.NewMatrix(cov, names))
		list[k].Component = k + 1
		shared = shared && slices.EqualFunc(list[k].Values, list[0].Values, slices.Equal)
	}
	if shared {
		list[0].Component = 0
		return list[:1], nil
	}
	return list, nil
}

// normal is the mean and the covariance of component k in some columns.
func (f *Components) normal(k int, columns []int) (mean []float64, cov *mat.SymDense, err error) {
	numbers, err := f.Model.Numbers(f.Mixture)
	if err != nil {
		return nil, nil, err
	}
	place := map[int]int{}
	for i, j := range columns {
		place[j] = i
	}
	mean, cov = make([]float64, len(columns)), mat.NewSymDense(len(columns), nil)
	loadings := map[string]*mat.VecDense{}
	wider := 1. // a covariance than its scale
	for i, n := range numbers {
		v := f.Mixture.Components[k*len(numbers)+i]
		from, has := place[n.From]
		to, both := place[n.To]
		switch {
		case n.Name == "mean" && has:
			mean[from] = v
		case (n.Name == "covariance" || n.Name == "scale covariance") && has && both:
			cov.SetSym(from, to, v)
		case n.Name == "scale variance" && has:
			cov.SetSym(from, from, v)
		case n.Name == "degrees of freedom":
			nu := max(2, v) // the variance of 2 is infinite
			wider = nu / (nu - 2)
		case strings.HasPrefix(n.Name, loadingPrefix) && has:
			if loadings[n.Name] == nil {
				loadings[n.Name] = mat.NewVecDense(len(columns), nil)
			}
			loadings[n.Name].SetVec(from, v)
		case n.Name == "variance" || n.Name == "noise variance":
			for j := n.From; j <= n.To; j++ {
				if at, ok := place[j]; ok {
					cov.SetSym(at, at, v)
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(loadings)) {
		cov.SymRankOne(cov, 1, loadings[name])
	}
	cov.ScaleSym(wider, cov)
	return mean, cov, nil
}

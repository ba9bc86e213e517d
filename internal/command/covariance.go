package command

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/families"
)

// A namedMatrix is symmetric; its rows and its columns have the same names.
type namedMatrix struct {
	Component int        `json:"component,omitempty"` // from 1; left out of what all components share
	Names     []string   `json:"names"`
	Values    [][]number `json:"values"`
}

func newNamedMatrix(m mat.Symmetric, names []string) namedMatrix {
	named := namedMatrix{Names: names, Values: [][]number{}}
	for i := range names {
		named.Values = append(named.Values, numbers(mat.Row(nil, i, m)))
	}
	return named
}

// covariances are those of the components, a single one where all are the same; nil of a family without.
func (f *components) covariances() (list []namedMatrix, err error) {
	numbers, err := f.model.Numbers(f.params)
	if err != nil || !slices.ContainsFunc(numbers,
		func(n family.Number) bool { return n.Name == "covariance" || n.Name == numberOfFactors }) {
		return nil, err
	}
	some := upTo(0, len(f.columns)-1)
	if f.family == families.Auto {
		some = families.Correlated(f.family, f.columns)
	}
	var names []string
	for _, j := range some {
		names = append(names, f.columns[j].Name)
	}
	shared := f.params.K > 1
	for k := range f.params.K {
		_, cov, err := f.normal(k, some)
		if err != nil {
			return nil, err
		}
		list = append(list, newNamedMatrix(cov, names))
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
func (f *components) normal(k int, columns []int) (mean []float64, cov *mat.SymDense, err error) {
	numbers, err := f.model.Numbers(f.params)
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
		v := f.params.Components[k*len(numbers)+i]
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

// printMatrices shows the covariances of components that hold rows, if there is room for all.
func (p *page) printMatrices(list []namedMatrix, of []component) {
	list = slices.DeleteFunc(slices.Clone(list), func(m namedMatrix) bool {
		return m.Component > 1 && of[m.Component-1].Rows < 0.5
	})
	if len(list) == 0 {
		return
	}
	var grids []*grid
	if d := len(list[0].Names); d*len(list) <= mostRows {
		for _, m := range list {
			grids = append(grids, m.grid())
		}
	}
	if len(grids) == 0 || slices.ContainsFunc(grids, func(g *grid) bool { return !p.fits(g) }) {
		p.prose(0, "Covariances left out (--format json has all).")
		return
	}
	for _, g := range grids {
		p.line("")
		p.grid(g)
	}
}

func (m namedMatrix) grid() *grid {
	heads := []string{"covariance"}
	if m.Component > 0 {
		heads[0] += fmt.Sprint(" ", m.Component)
	}
	for _, name := range m.Names {
		heads = append(heads, short(name))
	}
	g := newGrid(heads...)
	for i, values := range m.Values {
		cells := []string{heads[i+1]}
		for _, v := range values {
			cells = append(cells, readable(float64(v)))
		}
		g.row(cells...)
	}
	return g
}

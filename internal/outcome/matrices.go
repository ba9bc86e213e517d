package outcome

import (
	"fmt"
	"slices"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// printMatrices shows the covariances of components that hold rows, if there is room for all.
func printMatrices(p *text.Page, list []fitted.Matrix, of []*fitted.Class) {
	list = slices.DeleteFunc(slices.Clone(list), func(m fitted.Matrix) bool {
		return m.Component > 1 && of[m.Component-1].Rows < 0.5
	})
	if len(list) == 0 {
		return
	}
	var grids []*report.Grid
	if d := len(list[0].Names); d*len(list) <= wording.MostRows {
		for _, m := range list {
			grids = append(grids, gridOf(m))
		}
	}
	if len(grids) == 0 || slices.ContainsFunc(grids, func(g *report.Grid) bool { return !p.Fits(g) }) {
		p.Prose(0, "Covariances left out (--format json has all).")
		return
	}
	for _, g := range grids {
		p.Line("")
		p.Grid(g)
	}
}

func gridOf(m fitted.Matrix) *report.Grid {
	heads := []string{"covariance"}
	if m.Component > 0 {
		heads[0] += fmt.Sprint(" ", m.Component)
	}
	for _, name := range m.Names {
		heads = append(heads, text.Short(name))
	}
	g := report.NewGrid(heads...)
	for i, values := range m.Values {
		cells := []string{heads[i+1]}
		for _, v := range values {
			cells = append(cells, wording.Readable(float64(v)))
		}
		g.Row(cells...)
	}
	return g
}

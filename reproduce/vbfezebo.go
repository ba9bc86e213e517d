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
	"gonum.org/v1/plot/vg"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/bernmix"
)

var zeboFile = DataFile{"zebo.csv", "who wants what, 1750 users × 82 items of 0 and 1 with the items' names in the " +
	"first line (Segaran 2007, chapter 3)"}

// A zeboCase is one of the tables of paper K, section 6.2.3.
type zeboCase struct {
	table      int
	a, b       float64
	k          int
	about      string
	statements func(c *zeboCategories) []Statement
	remarks    string
}

// zeboStart is what one start ended in.
type zeboStart struct {
	FreeEnergy float64
	Components []vbComponent
}

// zeboCategories are the categories of the best start.
type zeboCategories struct {
	items  []string
	n      float64
	list   []vbComponent // with half a row or more
	starts int
}

var zeboMinorities = zeboCase{table: 1, a: 1e-4, b: 1e-4, k: 13, statements: minorityStatements,
	about: "K = 13, the number of the table's categories, because with so small a b a fit keeps as many categories " +
		"as it is given.",
	remarks: "The smallest categories of the table, 0.00171, 0.00102 and 0.00057 of 1750 users, are of three, two " +
		"and one: which few users make a category of their own depends on the start, and starts end in many local " +
		"solutions. The one shown here has the least free energy of all starts made."}

var zeboTendency = zeboCase{table: 2, a: 1e-4, b: 1, k: 20, statements: tendencyStatements, about: "K = 20.",
	remarks: "The mixing ratios 0.45414 and 0.34500 of table 6.2 are those of table 6.1's first two categories, to " +
		"the last digit: a slip of the print."}

func vbfeTable(c zeboCase) *Experiment {
	return Define(Info{
		Name:   fmt.Sprintf("vbfe-table6.%d", c.table),
		Title:  fmt.Sprintf("Categories of who wants what, a = %g, b = %g", c.a, c.b),
		Source: fmt.Sprintf(kaji+"section 6.2.3, table 6.%d", c.table),
		About: `Users of a web site and what they want, own or love (the thesis counts 83 items, the file has 82), are fitted from many starts, and the solution of least free energy is taken; the thesis gives neither K nor the number of starts. ` +
			c.about + ` Categories are components that hold half a user or more.`,
		Revision: 1, Needs: []DataFile{zeboFile},
	}, c.jobs, c.conclude)
}

// zebo reads the rows, equal ones laid together.
func zebo(s *Settings) (*data.Table, *blocks.SparseTable, error) {
	t, err := s.Table(zeboFile)
	if err != nil {
		return nil, nil, err
	}
	x, n, m, err := t.Matrix()
	if err != nil {
		return nil, nil, err
	}
	ones := make([][]int, n)
	for i, v := range x {
		switch v {
		case 1:
			ones[i/m] = append(ones[i/m], i%m)
		case 0:
		default:
			return nil, nil, fmt.Errorf("%s: row %d, column %s is %v: it should hold 0 and 1",
				zeboFile.Name, i/m+1, t.Names[i%m], v)
		}
	}
	src, err := blocks.FromOnes(ones, m)
	if err != nil {
		return nil, nil, err
	}
	return t, src.Distinct(), nil
}

func (c zeboCase) jobs(s *Settings) ([]Job[zeboStart], error) {
	_, src, err := zebo(s)
	if err != nil {
		return nil, err
	}
	var jobs []Job[zeboStart]
	for start := range s.seeds(200, 16) {
		jobs = append(jobs, Job[zeboStart]{
			Key: fmt.Sprintf("start-%d", start),
			Run: func(ctx context.Context) (zeboStart, error) {
				m := bernmix.VB(c.a, c.b)
				res, err := framework.Fit(ctx, m, src,
					framework.Options{K: c.k, Method: framework.EM, Seed: uint64(start), Tolerance: 1e-7, Workers: 1})
				if err != nil {
					return zeboStart{}, err
				}
				return zeboStart{-res.Value, vbComponents(res.Parameters, c.a, c.b)}, nil
			},
		})
	}
	return jobs, nil
}

func (c zeboCase) conclude(s *Settings, starts []zeboStart) (*Outcome, error) {
	t, _, err := zebo(s)
	if err != nil {
		return nil, err
	}
	best := slices.MinFunc(starts, func(s, t zeboStart) int { return cmp.Compare(s.FreeEnergy, t.FreeEnergy) })
	found := &zeboCategories{items: t.Names, starts: len(starts)}
	for _, v := range best.Components {
		found.n += v.Rows
		if v.Rows >= 0.5 {
			found.list = append(found.list, v)
		}
	}
	top := Table{
		Name:   "categories",
		Shown:  true,
		About:  "categories with their mixing ratios and the items of highest probability",
		Header: []string{"category", "mixing_ratio", "items"},
	}
	all := Table{
		Name:   "probabilities",
		About:  "E[μ] of every item in every category",
		Header: []string{"category", "mixing_ratio", "item", "probability"},
	}
	for k := range found.list {
		var text []string
		for _, j := range found.top(k, 8) {
			text = append(text, fmt.Sprintf("%s %.5f", t.Names[j], found.list[k].Means[j]))
		}
		top.Add(k+1, found.ratio(k), strings.Join(text, ", "))
		for j, name := range t.Names {
			all.Add(k+1, found.ratio(k), name, found.list[k].Means[j])
		}
	}
	free := Table{
		Name:   "starts",
		About:  "free energy of every start, in nats, and its number of categories",
		Header: []string{"start", "free_energy", "categories"},
	}
	for i, v := range starts {
		count := 0
		for _, component := range v.Components {
			if component.Rows >= 0.5 {
				count++
			}
		}
		free.Add(i, v.FreeEnergy, count)
	}
	out := &Outcome{Statements: c.statements(found), Tables: []Table{top, all, free}, Remarks: c.remarks}
	p, rows := found.plot()
	out.Figures = []Figure{{
		Name:   "figure",
		Width:  vg.Length(8+1.4*float64(len(found.list))) * vg.Centimeter,
		Height: vg.Length(3+0.42*float64(rows)) * vg.Centimeter,
		Plots:  [][]*plot.Plot{{p}},
		Caption: "Probabilities of the items that are among the five most likely of a category, by category, over " +
			"the mixing ratios.",
	}}
	return out, nil
}

// ratio is the mixing ratio of a category.
func (c *zeboCategories) ratio(k int) float64 { return c.list[k].Rows / c.n }

// top are the most likely items of a category.
func (c *zeboCategories) top(k, count int) []int {
	order := make([]int, len(c.items))
	for j := range order {
		order[j] = j
	}
	slices.SortStableFunc(order, func(i, j int) int { return cmp.Compare(c.list[k].Means[j], c.list[k].Means[i]) })
	return order[:min(count, len(order))]
}

// among counts how many of the named items are among the top of a category.
func (c *zeboCategories) among(k, count int, names ...string) (hits int) {
	for _, j := range c.top(k, count) {
		if slices.Contains(names, c.items[j]) {
			hits++
		}
	}
	return hits
}

// describe lists the top of a category.
func (c *zeboCategories) describe(k, count int) string {
	var names []string
	for _, j := range c.top(k, count) {
		names = append(names, c.items[j])
	}
	return fmt.Sprintf("%.3f: %s", c.ratio(k), strings.Join(names, ", "))
}

func minorityStatements(c *zeboCategories) []Statement {
	small, entries, edges := 0, 0.0, 0.0
	twins := map[string]bool{}
	for k, v := range c.list {
		if c.ratio(k) >= 0.01 {
			continue
		}
		small++
		for _, p := range v.Means {
			entries++
			if min(p, 1-p) < 0.01 {
				edges++
			}
		}
		for name, items := range map[string][]string{"xbox 360, ps3, psp, ipod": {"xbox 360", "ps3", "psp", "ipod"},
			"plane, boat": {"plane", "boat"},
			"cell phone, dog, laptop, cat, big house, horse, mp3 " +
				"player": {"cell phone", "dog", "laptop", "cat", "big house", "horse", "mp3 player"}} {
			all := true
			for _, item := range items {
				j := slices.Index(c.items, item)
				all = all && j >= 0 && v.Means[j] > 0.99
			}
			twins[name] = twins[name] || all
		}
	}
	var same []string
	for name, yes := range twins {
		if yes {
			same = append(same, name)
		}
	}
	slices.Sort(same)
	if len(same) == 0 {
		same = []string{"none"}
	}
	share := edges / max(entries, 1)
	return []Statement{
		{
			Central:  true,
			Paper:    "With small a and b there are 13 categories, some of them with less than 1 % of the users.",
			Agrees:   len(c.list) == 13 && small >= 3,
			Measured: fmt.Sprintf("%d categories, %d of them with less than 1 %%", len(c.list), small),
		},
		{
			Central:  true,
			Paper:    "In the small categories probabilities are either high or low, like 0.99997.",
			Agrees:   small > 0 && share >= 0.8,
			Measured: fmt.Sprintf("%.0f %% of their probabilities are within 0.01 of 0 or 1", 100*share),
		},
		{
			Paper:    "Category 1 is very large, about 45 %.",
			Agrees:   c.ratio(0) >= 0.4 && c.ratio(0) <= 0.5,
			Measured: fmt.Sprintf("%.1f %%", 100*c.ratio(0)),
		},
		{
			Paper:    "Its members love general items like house, money, job, business.",
			Agrees:   c.among(0, 8, "house", "money", "job", "business") >= 3,
			Measured: c.describe(0, 8),
		},
		{
			Paper: "Categories 11 to 13 are certain of xbox 360, ps3, psp and ipod; of plane and boat; of cell " +
				"phone, dog, laptop, cat, big house, horse and mp3 player.",
			Agrees:   len(same) == 3,
			Measured: "small categories that are certain of the same: " + strings.Join(same, "; "),
		},
	}
}

// zeboPrinted is table 6.2.
var zeboPrinted = [2]map[string]float64{
	{
		"house":     0.39667,
		"money":     0.24632,
		"love":      0.07036,
		"friends":   0.06517,
		"job":       0.06448,
		"business":  0.03925,
		"mansion":   0.03796,
		"big house": 0.03671,
	},
	{
		"laptop":    0.26457,
		"ipod":      0.18966,
		"house":     0.17169,
		"shoes":     0.14718,
		"clothes":   0.11781,
		"computer":  0.08738,
		"money":     0.08401,
		"cellphone": 0.06589,
	},
}

func tendencyStatements(c *zeboCategories) []Statement {
	large := 0
	for k := range c.list {
		if c.ratio(k) >= 0.1 {
			large++
		}
	}
	// The category that is nearer to the first of the table, and the other of the two largest.
	order := [2]int{0, 0}
	if len(c.list) > 1 {
		order = [2]int{0, 1}
		if c.among(1, 8, "money", "love", "friends") > c.among(0, 8, "money", "love", "friends") {
			order = [2]int{1, 0}
		}
	}
	worst, sum, count := 0.0, 0.0, 0.0
	for i, printed := range zeboPrinted {
		for j, name := range c.items {
			if want, ok := printed[name]; ok {
				d := math.Abs(c.list[order[i]].Means[j] - want)
				worst, sum, count = max(worst, d), sum+d, count+1
			}
		}
	}
	ratios := [2]float64{c.ratio(order[0]), c.ratio(order[1])}
	return []Statement{
		{
			Central:  true,
			Paper:    "With small a and large b two large categories are extracted.",
			Agrees:   len(c.list) == 2 && large == 2,
			Measured: fmt.Sprintf("%d categories, %d of them with more than 10 %% of the users", len(c.list), large),
		},
		{
			Paper:    "Members of category 1 love conceptual items like money, love, friends.",
			Agrees:   c.among(order[0], 8, "money", "love", "friends") == 3,
			Measured: c.describe(order[0], 8),
		},
		{
			Paper:    "Members of category 2 love concrete items like laptop, ipod, shoes, clothes.",
			Agrees:   c.among(order[1], 8, "laptop", "ipod", "shoes", "clothes") == 4,
			Measured: c.describe(order[1], 8),
		},
		{
			Central: true,
			Paper:   "Probabilities of table 6.2, for example 0.39667 of house and 0.26457 of laptop.",
			Agrees:  worst <= 0.01,
			Measured: fmt.Sprintf("the %.0f printed ones differ by %.5f on average, %.5f at most", count,
				sum/max(count, 1), worst),
		},
		{
			Paper:    "Mixing ratios of table 6.2, 0.45414 and 0.34500.",
			Agrees:   math.Abs(ratios[0]-0.45414) <= 0.02 && math.Abs(ratios[1]-0.345) <= 0.02,
			Measured: fmt.Sprintf("%.5f and %.5f", ratios[0], ratios[1]),
		},
	}
}

// plot is a heat map of the likely items.
func (c *zeboCategories) plot() (*plot.Plot, int) {
	var items []int
	for k := range c.list {
		for _, j := range c.top(k, 5) {
			if !slices.Contains(items, j) {
				items = append(items, j)
			}
		}
	}
	p := chart("probability of wanting", "mixing ratio of the category", "")
	var g grid
	var columns, rows plot.ConstantTicks
	for r, j := range items {
		y := float64(len(items) - r)
		g.Y = append(g.Y, y)
		rows = append(rows, plot.Tick{Value: y, Label: c.items[j]})
	}
	for k, v := range c.list {
		g.X = append(g.X, float64(k+1))
		columns = append(columns, plot.Tick{Value: float64(k + 1), Label: fmt.Sprintf("%.3f", c.ratio(k))})
		var column []float64
		for _, j := range items {
			column = append(column, v.Means[j])
		}
		g.Values = append(g.Values, column)
	}
	_, high := g.bounds()
	scale := colours(0, high)
	g.heat(p, scale, color.White)
	p.Add(colourBar{scale, "E[μ]"})
	p.X.Tick.Marker, p.Y.Tick.Marker = columns, rows
	p.X.Tick.Length, p.Y.Tick.Length = 0, 0
	p.X.LineStyle.Width, p.Y.LineStyle.Width = 0, 0
	return p, len(items)
}

package command

import (
	"math"
	"math/rand/v2"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/assert"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// A kind of column draws the cells of two classes.
type kindOfColumn struct {
	family string
	draw   func(class int, rng *rand.Rand) string
}

func kindsOfColumns() []kindOfColumn {
	cell := func(v float64) string { return strconv.FormatFloat(v, 'f', 3, 64) }
	return []kindOfColumn{
		{families.Gaussian, func(k int, rng *rand.Rand) string { return cell(30 + 30*float64(k) + 4*rng.NormFloat64()) }},
		{families.Lognormal, func(k int, rng *rand.Rand) string { return cell(math.Exp(2 + 2*float64(k) + 0.3*rng.NormFloat64())) }},
		{families.Gamma, func(k int, rng *rand.Rand) string {
			return cell(distuv.Gamma{Alpha: 9 + 40*float64(k), Beta: 2, Src: rng}.Rand())
		}},
		{families.Exponential, func(k int, rng *rand.Rand) string { return cell((0.1 + 9*float64(k)) * rng.ExpFloat64()) }},
		{families.Poisson, func(k int, rng *rand.Rand) string {
			return strconv.Itoa(int(distuv.Poisson{Lambda: 2 + 28*float64(k), Src: rng}.Rand()))
		}},
		{families.Bernoulli, func(k int, rng *rand.Rand) string { return strconv.Itoa((k + rng.IntN(20)/19) % 2) }},
		{families.Categorical, func(k int, rng *rand.Rand) string { return []string{"red", "red", "blue", "green"}[k+rng.IntN(3)] }},
		{families.Ordinal, func(k int, rng *rand.Rand) string { return strconv.Itoa(1 + 2*k + rng.IntN(3)) }},
	}
}

// TestColumnsOfEveryPairOfKindsShowTheirMoments: whatever stands beside a column, and at night on which side, the text, the page and JSON
// have the mean and the standard deviation, or the rate, of rows drawn from the component.
func TestColumnsOfEveryPairOfKindsShowTheirMoments(t *testing.T) {
	kinds := kindsOfColumns()
	for i, left := range kinds {
		for _, right := range kinds[tier.Of(i, i, 0):] {
			rng, text := rand.New(rand.NewPCG(5, 7)), "l,r\n"
			for i := range 200 {
				text += left.draw(i%2, rng) + "," + right.draw(i%2, rng) + "\n"
			}
			pair, model := left.family+" "+right.family, filepath.Join(t.TempDir(), "m.json")
			args := []string{"--data", file(t, "pair.csv", text), "--columns", "l=" + left.family + ",r=" + right.family, "--k", "2", "--method", "em", "--restarts", "1"}
			shown, _ := done(t, append([]string{"fit", "--out", model}, args...)...)
			p, r := pageOf(t, args...), fitJSON(t, args...)
			drawn, _ := done(t, "sample", model, "-n", "4000", "--labels", "--seed", "3")
			rows := records(t, drawn)[1:]
			for j, family := range []string{left.family, right.family} {
				if families.Named(family).Moments == nil || family == families.Ordinal {
					continue // has levels
				}
				for k, c := range r.Components {
					var x []float64
					for _, row := range rows {
						if row[2] == strconv.Itoa(k+1) {
							x = append(x, number64(t, row[j]))
						}
					}
					mean, sd := stat.MeanStdDev(x, nil)
					m, s, _ := classes.ColumnSummary{Values: c.Columns[j].Values}.Moments(family)
					assert.InDelta(t, mean, float64(m), 0.1*sd, pair)
					assert.InEpsilon(t, sd, float64(s), 0.15, pair)
					both := wording.Readable(float64(c.Columns[j].Values["rate"]))
					if len(c.Columns[j].Values) > 1 { // that of a rate the page's sentences have where it sets the components apart
						both = wording.ASCII(report.Spread(m, s).String())
						assert.Contains(t, wording.ASCII(p.text), "("+both+", in all rows", pair)
					}
					assert.Contains(t, shown, both, pair)
				}
			}
		}
	}
}

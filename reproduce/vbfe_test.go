package reproduce

import (
	"context"
	"encoding/csv"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// quickly runs an experiment with --quick and holds each statement to what is known of it.
func quickly(t *testing.T, e *Experiment, agrees ...bool) *Outcome {
	t.Helper()
	if testing.Short() {
		t.Skip("a run of a few seconds")
	}
	reports, err := Run(context.Background(), []*Experiment{e}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	out := reports[0].Outcome
	require.Len(t, out.Statements, len(agrees))
	for i, s := range out.Statements {
		assert.Equal(t, agrees[i], s.Agrees, "%s: %s", s.Paper, s.Measured)
	}
	return out
}

// TestPhaseDiagram: the theorem's phases are measured, the printed border of the corollary
// is not.
func TestPhaseDiagram(t *testing.T) { quickly(t, vbfeFig51(), true, true, true, false) }

// TestCoefficientSurface: the theorem's coefficient is measured for b < ½, not for b > ½,
// nor the corollary's as printed.
func TestCoefficientSurface(t *testing.T) { quickly(t, vbfeFig52(), true, false, false) }

// TestRedundantComponentsOfManyStarts: the switches at b = ½ and below it.
func TestRedundantComponentsOfManyStarts(t *testing.T) { quickly(t, vbfeFig53(), true, true, true) }

// TestFreeEnergyPeaksAtTheCorner where the three phases meet, in the quick run.
func TestFreeEnergyPeaksAtTheCorner(t *testing.T) { quickly(t, vbfeFig61(), true, true) }

func TestRanks(t *testing.T) {
	assert.Equal(t, []float64{2, 0.5, 3, 0.5}, ranks([]float64{5, 1, 7, 1}))
}

// TestErrorAgainstFreeEnergy: where the free energy rises with the generalisation error,
// all statements of figure 6.2 hold; where it falls, those about the two do not.
func TestErrorAgainstFreeEnergy(t *testing.T) {
	s := &Settings{Quick: true}
	as, bs := fig61Grid(s)
	for _, sign := range []float64{1, -1} {
		var trial fig61Trial
		for _, a := range as {
			var loss, free []float64
			for _, b := range bs {
				v := math.Pow(math.Log(b), 2) + a/10
				loss, free = append(loss, v), append(free, 100+sign*v*v)
			}
			trial.Error, trial.Free, trial.Kept = append(trial.Error, loss), append(trial.Free, free), append(trial.Kept, free)
		}
		out, err := fig62Conclude(s, []fig61Trial{trial, trial})
		require.NoError(t, err)
		for i, statement := range out.Statements {
			assert.Equal(t, sign > 0 || i > 1, statement.Agrees, "%s: %s", statement.Paper, statement.Measured)
		}
	}
}

// TestPeakIsInside: a peak is above all its neighbours.
func TestPeakIsInside(t *testing.T) {
	i, j := grid{X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Values: [][]float64{{9, 1, 1}, {1, 2, 1}, {1, 1, 1}}}.peak()
	assert.Equal(t, []int{-1, -1}, []int{i, j})
	i, j = grid{X: []float64{1, 2, 3}, Y: []float64{1, 2, 3}, Values: [][]float64{{9, 1, 1}, {1, 10, 1}, {1, 1, 1}}}.peak()
	assert.Equal(t, []int{1, 1}, []int{i, j})
}

// TestMinorityCluster: small a and b find it, large ones do not.
func TestMinorityCluster(t *testing.T) { quickly(t, vbfeFig63(), true, true, true, true, true) }

// TestMaximumLikelihoodDoesNotDecide: section 3.3, but for the range of t.
func TestMaximumLikelihoodDoesNotDecide(t *testing.T) {
	quickly(t, vbfe33(), true, true, false, true, true)
}

// TestTendencyOfMadeUpUsers of two kinds: two categories are found, with the ratios and
// items that they were made from.
func TestTendencyOfMadeUpUsers(t *testing.T) {
	names := slices.Sorted(maps.Keys(zeboPrinted[0]))
	for _, name := range slices.Sorted(maps.Keys(zeboPrinted[1])) {
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	rng := rand.New(rand.NewPCG(1, 2))
	records := [][]string{names}
	for i := range 1750 {
		kind := zeboPrinted[min(i%5/3, 1)] // 0.6 of them the first
		row := make([]string, len(names))
		for j, name := range names {
			row[j] = "0"
			if rng.Float64() < 2*kind[name] { // farther apart than the table's
				row[j] = "1"
			}
		}
		records = append(records, row)
	}
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, zeboFile.Name)) //nolint:gosec // of the test
	require.NoError(t, err)
	require.NoError(t, csv.NewWriter(f).WriteAll(records))
	require.NoError(t, f.Close())
	reports, err := Run(context.Background(), []*Experiment{vbfeTable(zeboTendency)}, Options{Out: t.TempDir(), Data: dir, Quick: true})
	require.NoError(t, err)
	list := reports[0].Outcome.Statements
	assert.True(t, list[0].Agrees, list[0].Measured)
	assert.True(t, list[1].Agrees, list[1].Measured)
	assert.True(t, list[2].Agrees, list[2].Measured)
	assert.False(t, list[3].Agrees, list[3].Measured) // twice as likely
	assert.False(t, list[4].Agrees, list[4].Measured)

	require.NoError(t, os.WriteFile(filepath.Join(dir, zeboFile.Name), []byte("a,b\n0,1\n2,0\n"), 0o600))
	_, err = Run(context.Background(), []*Experiment{vbfeTable(zeboTendency)}, Options{Out: t.TempDir(), Data: dir, Quick: true})
	require.ErrorContains(t, err, "zebo.csv: row 2, column a is 2: it should hold 0 and 1")
}

// TestJudgementOfMinorities on categories of table 6.1's kind, and on one large category.
func TestJudgementOfMinorities(t *testing.T) {
	items := []string{"house", "money", "job", "business", "xbox 360", "ps3", "psp", "ipod", "plane", "boat", "cell phone", "dog", "laptop", "cat", "big house", "horse", "mp3 player"}
	c := &zeboCategories{items: items, n: 1750}
	certain := func(rows float64, from, to int) vbComponent {
		v := vbComponent{Rows: rows}
		for j := range items {
			p := 1e-4
			if j >= from && j < to {
				p = 1 - p
			}
			v.Means = append(v.Means, p)
		}
		return v
	}
	c.list = []vbComponent{certain(795, 0, 4)}
	for range 9 {
		c.list = append(c.list, certain(105, 2, 9))
	}
	c.list = append(c.list, certain(3, 4, 8), certain(2, 8, 10), certain(1, 10, 17))
	for _, s := range minorityStatements(c) {
		assert.True(t, s.Agrees, "%s: %s", s.Paper, s.Measured)
	}
	c.list = []vbComponent{certain(1750, 4, 12)}
	for _, s := range minorityStatements(c) {
		assert.False(t, s.Agrees, "%s: %s", s.Paper, s.Measured)
	}
}

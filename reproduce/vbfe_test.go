package reproduce

import (
	"context"
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

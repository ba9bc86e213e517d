package special

import (
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
)

// Values of ψ(x) − ln x, and of what Stirling's formula leaves of ln Γ(x), by mpmath
// 1.3 with 60 digits.
func TestSpecialFunctionsAgreeWithLongArithmetic(t *testing.T) {
	for _, c := range []struct{ x, excess, remainder float64 }{
		{1e-305, -1.0e+305, 350.22528814838729},
		{0.0001, -9991.3667108115377, 3.6871949734783957},
		{0.3, -2.2985514178741971, 0.23606490074821559},
		{0.5, -1.2703628454614782, 0.15342640972002735},
		{1, -0.57721566490153286, 0.081061466795327258},
		{1.4616, -0.37956283233289026, 0.056217468959305763},
		{2, -0.27036284546147817, 0.041340695955409294},
		{7, -0.073125813956846166, 0.01189670994589177},
		{9.99, -0.05088421982926105, 0.0083388967977343301},
		{10, -0.050832503927324576, 0.0083305634333628713},
		{10.5, -0.048374222865791312, 0.0079341145643140205},
		{100, -0.0050083332500039678, 0.00083333055563491468},
		{1e9, -5.0000000008333333e-10, 8.3333333333333333e-11},
	} {
		// The series leave out 4e-17; below their range both values are differences of
		// numbers of up to 25.
		slack := 5e-17 * math.Pow(min(1, Asymptotic/c.x), 15)
		if c.x < Asymptotic {
			slack = 8e-15
		}
		assert.InDelta(t, c.excess, DigammaExcess(c.x), 4e-16*math.Abs(c.excess)+slack, "excess at %v", c.x)
		assert.InDelta(t, c.remainder, StirlingGap(c.x), 4e-16*c.remainder+slack, "remainder at %v", c.x)
	}
	assert.InEpsilon(t, -1e308, DigammaExcess(1e-308), 1e-12)
}

// Two unit vectors in space: 8π² in all, three angles.
func TestAngleShare(t *testing.T) {
	assert.InDelta(t, (math.Log(2*math.Pi)*1.5-math.Log(8*math.Pi*math.Pi)+2*math.Ln2)/3, AngleShare(3, 2), 1e-14)
	assert.Zero(t, AngleShare(1, 1))
	assert.Zero(t, AngleShare(4, 0))
}

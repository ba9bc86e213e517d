package fitted_test

import (
	"context"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
)

// peaked are solutions whose criterion is the highest at one K.
type peaked struct {
	max, at int
	solved  []int // up to which K, one after the other
}

func (p *peaked) Max() int { return min(p.max, p.solved[len(p.solved)-1]) }

func (p *peaked) Extend(kmax int) error {
	p.solved = append(p.solved, kmax)
	return nil
}

func (p *peaked) Value(k int, _ framework.Criterion) (float64, error) {
	return -math.Abs(float64(k - p.at)), nil
}

func (p *peaked) Evaluation(int, framework.Criterion) (framework.Evaluation, error) {
	return framework.Evaluation{}, nil
}

func (p *peaked) Found(k int, _ framework.Criterion, _ bool) (int, error) { return k, nil }

// A closed form is solved for more K until the criterion has fallen for good, as far as it may go and there are
// solutions.
func TestClosedFormGoesOnUntilTheCriterionFalls(t *testing.T) {
	for _, c := range []struct{ at, doubleTo, max, largest int }{
		{at: 5, doubleTo: 60, max: 60, largest: 10},
		{at: 7, doubleTo: 60, max: 60, largest: 10},
		{at: 8, doubleTo: 60, max: 60, largest: 11},
		{at: 12, doubleTo: 60, max: 60, largest: 15},
		{at: 40, doubleTo: 60, max: 60, largest: 50},
		{at: 11, doubleTo: 0, max: 60, largest: 10},
		{at: 60, doubleTo: 33, max: 60, largest: 33},
		{at: 60, doubleTo: 60, max: 12, largest: 13},
	} {
		p := &peaked{max: c.max, at: c.at}
		s, err := fitted.ClosedForm[int](func(kmax int) (fitted.Solutions[int], error) { return p, p.Extend(kmax) }).Select(context.Background(), []int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, framework.Options{DoubleTo: c.doubleTo}, framework.BIC)
		require.NoError(t, err)
		require.Len(t, s.K, c.largest)
		assert.Equal(t, 10, p.solved[0])
		assert.Equal(t, c.largest, p.solved[len(p.solved)-1])
		assert.Equal(t, c.largest, s.K[c.largest-1])
		best, err := s.Open(s.Best(0))
		require.NoError(t, err)
		assert.Equal(t, min(c.at, c.max, c.largest), best.Parameters)
	}
}

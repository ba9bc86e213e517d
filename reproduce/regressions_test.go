package reproduce

import (
	"context"
	"fmt"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Three parallel lines of 200 rows are three by every way, and a cell draws the same table each time.
func TestParallelLinesAreFound(t *testing.T) {
	c := linesCell{linesParallel, 3, 200}
	of, src, err := c.draw(1)
	require.NoError(t, err)
	run, err := chooseLines(context.Background(), of, src, 1)
	require.NoError(t, err)
	assert.Equal(t, []int{3, 3, 3}, run.K)
	_, again, err := c.draw(1)
	require.NoError(t, err)
	assert.Equal(t, src.All().X, again.All().X)
}

// What the page counts are the tables in which K is the cell's.
func TestLinesAreCounted(t *testing.T) {
	s := &Settings{Quick: true}
	results := []linesRun{{K: []int{2, 2, 3}}}
	for i, c := range linesCells(true) {
		results = append(results, linesRun{K: []int{c.k, c.k, c.k + i%2}, Short: float64(i % 2)})
	}
	o, err := linesConclude(s, results, 1)
	require.NoError(t, err)
	n := len(results) - 1
	assert.Equal(t, fmt.Sprintf("%d, %d and %d of %d", n, n, (n+1)/2, n), o.Statements[0].Measured)
	assert.True(t, o.Statements[0].Agrees && o.Statements[1].Agrees && !o.Statements[2].Agrees)
	all := o.Tables[0].Rows[len(o.Tables[0].Rows)-1]
	assert.Equal(t, []string{"all", fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint(n), fmt.Sprint((n + 1) / 2), fmt.Sprint(n / 2)}, all)
}

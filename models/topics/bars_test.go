package topics

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/categorical"
)

// side is that of the grid of the data set bars.
const side = 5

// bars draws the data set: words are the cells of a grid, and topics its rows and columns (after Griffiths & Steyvers
// 2004).
func bars() string {
	rng := rand.New(rand.NewPCG(2004, 5))
	var text strings.Builder
	text.WriteString("document,word,count\n")
	for d := range 300 {
		theta := dirichlet(2*side, 0.3, rng)
		counts := make([]int, side*side)
		for range 60 {
			bar, place := categorical.Draw(theta, rng), rng.IntN(side)
			if bar < side {
				counts[bar*side+place]++
			} else {
				counts[place*side+bar-side]++
			}
		}
		for cell, n := range counts {
			if n > 0 {
				fmt.Fprintf(&text, "d%03d,r%dc%d,%d\n", d+1, cell/side+1, cell%side+1, n)
			}
		}
	}
	return text.String()
}

// The embedded data set is what the seed gives, and its ten bars are found.
func TestBarsAreFound(t *testing.T) {
	table, err := data.Load("bars")
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(bars()), "\n")[1:]
	require.Equal(t, len(lines), table.Rows())
	counts, err := table.Column("count")
	require.NoError(t, err)
	var rows entries
	var tokens []int
	last := int32(0)
	for i, line := range lines {
		d, w := table.Codes("document")[i], table.Codes("word")[i]
		word := table.Levels("word")[w]
		require.Equal(t, line, table.Levels("document")[d]+","+word+","+strconv.Itoa(int(counts[i])))
		if d != last {
			rows.add(tokens)
			tokens, last = tokens[:0], d
		}
		cell := int(word[1]-'1')*side + int(word[3]-'1')
		tokens = append(tokens, slices.Repeat([]int{cell}, int(counts[i]))...)
	}
	rows.add(tokens)
	x, err := rows.table(side*side, nil)
	require.NoError(t, err)
	res := fitted(t, Model{Estimate: true}, x, framework.Options{K: 20, Method: framework.PrunedEM, NoMoves: true})
	require.Equal(t, 2*side, res.Shape.K)
	phi := make([][]float64, 2*side)
	for k := range phi {
		phi[k] = make([]float64, side*side)
		for place := range side {
			if k < side {
				phi[k][k*side+place] = 1. / side
			} else {
				phi[k][place*side+k-side] = 1. / side
			}
		}
	}
	for k, d := range distances(phi, res.Parameters) {
		assert.Less(t, d, 0.1, "bar %d", k+1)
	}
	t.Logf("α %.3f, β %.4f, largest distance %.3f", res.Parameters.Alpha, res.Parameters.Beta, slices.Max(distances(phi, res.Parameters)))
	assert.False(t, math.IsNaN(res.Value))
}

package command

import (
	"fmt"
	"maps"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// onTheWay are the fields of JSON that say how a fit went, and not where it ended, and what it met of other K.
var onTheWay = []string{"seconds", "iterations", "trace", "objective_trace", "k_trace", "pruned", "split", "restarts", "warnings", "columns", "compared",
	"by_k", "size_posterior", "credible"}

// leaves are the numbers of a value of JSON by their paths; NaN stands for null.
func leaves(at string, v any, into map[string]float64) {
	switch v := v.(type) {
	case map[string]any:
		for key, one := range v {
			leaves(at+"/"+key, one, into)
		}
	case []any:
		for i, one := range v {
			leaves(fmt.Sprint(at, "/", i), one, into)
		}
	case float64:
		into[at] = v
	case nil:
		into[at] = math.NaN()
	}
}

// numbersOf are the numbers that a fit to a table found.
func numbersOf(t *testing.T, table [][]string, line string) map[string]float64 {
	t.Helper()
	var text strings.Builder
	for _, row := range table {
		fmt.Fprintln(&text, strings.Join(row, ","))
	}
	out, _ := done(t, append(strings.Fields("fit --format json "+line), "--data", file(t, "t.csv", text.String()))...)
	all := decode(t, out)
	for _, key := range onTheWay {
		delete(all, key)
	}
	found := map[string]float64{}
	leaves("", all, found)
	return found
}

// moved has every number of a table times a power of ten, and more by an offset, to the last digit.
func moved(table [][]string, power int, offset int64) [][]string {
	scale := new(big.Rat).SetInt(new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(max(power, -power))), nil))
	if power < 0 {
		scale.Inv(scale)
	}
	next := [][]string{table[0]}
	for _, row := range table[1:] {
		var cells []string
		for _, cell := range row {
			v, _ := new(big.Rat).SetString(cell)
			cells = append(cells, v.Mul(v, scale).Add(v, new(big.Rat).SetInt64(offset)).FloatString(14))
		}
		next = append(next, cells)
	}
	return next
}

// twoGroups are two groups in two columns and a third that depends on one of them, to two decimals.
func twoGroups() [][]string {
	rng := rand.New(rand.NewPCG(5, 1))
	table := [][]string{{"a", "b", "c"}}
	for i := range 60 {
		x := rng.NormFloat64() + float64(6*(i%2))
		y := rng.NormFloat64() - float64(4*(i%2))
		table = append(table, []string{fmt.Sprintf("%.2f", x), fmt.Sprintf("%.2f", y), fmt.Sprintf("%.2f", (x+y)/2+0.3*rng.NormFloat64())})
	}
	return table
}

// TestOrderUnitsAndOffsetsChangeNothing: in another order of rows or columns every number is the same; in other units each is what its
// own unit makes of it, criteria are less by N·D·ln s, and K and what is no number stay; likewise far from 0.
func TestOrderUnitsAndOffsetsChangeNothing(t *testing.T) {
	for _, line := range []string{
		"--kmax 3 --restarts 2", "--kmax 3 --cov full --restarts 2", "--kmax 3 --cov diag --restarts 2", "--kmax 3 --method em --criterion bic --restarts 4",
		"--kmax 3 --family student-t --restarts 2", "--model factor", "--model bpca --method gfab", "--model bpca", "--model ppca",
		"--model features --kmax 4 --restarts 2", "--model vbmf --center", "--gate c --k 2 --restarts 2",
		"--model regression --response a --regress b,c --kmax 2 --restarts 3", "--model hmm --kmax 3 --restarts 2",
	} {
		t.Run(line, func(t *testing.T) {
			t.Parallel()
			table, rng := twoGroups(), rand.New(rand.NewPCG(2, 8))
			here := numbersOf(t, table, line)
			if !strings.Contains(line, "hmm") {
				other := slices.Clone(table)
				rng.Shuffle(len(other)-1, func(i, j int) { other[1+i], other[1+j] = other[1+j], other[1+i] })
				there := numbersOf(t, other, line)
				for at, v := range here {
					assert.True(t, alike(v, there[at], 1e-5), "%s is %v, and %v in another order of the rows", at, v, there[at])
				}
			}
			var turned [][]string
			for _, row := range table {
				turned = append(turned, []string{row[2], row[0], row[1]})
			}
			sizes := func(found map[string]float64) []float64 {
				list := slices.Collect(maps.Values(found))
				for i, v := range list {
					list[i] = math.Abs(v)
				}
				slices.Sort(list)
				return list
			}
			for i, v := range sizes(numbersOf(t, turned, line)) {
				require.True(t, alike(v, sizes(here)[i], 1e-5), "of all numbers %v is %v in another order of the columns", sizes(here)[i], v)
			}
			for _, power := range []int{10, -10} {
				inUnits(t, here, numbersOf(t, moved(table, power, 0), line), math.Pow(10, float64(power)))
			}
			far := numbersOf(t, moved(table, 0, 1e9), line)
			assert.Equal(t, here["/k"], far["/k"])
			assert.InDelta(t, here["/value"], far["/value"], 1e-3)
			for at, v := range here {
				if overflows := strings.Contains(at, "odds_ratios"); !overflows {
					assert.Equal(t, math.IsNaN(v), math.IsNaN(far[at]), "%s is %v, and %v far from 0", at, v, far[at])
				}
			}
		})
	}
}

// alike reports whether two numbers are equal to so many digits, or both none.
func alike(a, b, digits float64) bool {
	return math.IsNaN(a) && math.IsNaN(b) || math.Abs(a-b) <= digits*(math.Abs(a)+1e-6)
}

// inUnits compares the numbers of a table with those of one in units that make its numbers scale times as large.
func inUnits(t *testing.T, here, there map[string]float64, scale float64) {
	t.Helper()
	require.Equal(t, here["/k"], there["/k"])
	shift := there["/value"] - here["/value"] // of all log densities
	perNumber := shift / -math.Log(scale)
	assert.InDelta(t, math.Round(perNumber), perNumber, 1e-3, "the criterion moves by whole numbers' worth of units")
	for at, v := range here {
		if strings.Contains(at, "odds_ratios") || strings.Contains(at, "/pooled/sums") { // exp of what has a unit; about the means
			continue
		}
		w := there[at]
		power := math.Round(2*math.Log(math.Abs(w/v))/math.Log(scale)) / 2 // of factors of a product, a half
		switch {
		case alike(w, v, 1e-5), math.Abs(w-v-shift) < 1e-5*math.Abs(shift):
		case math.Abs(power) <= 2 && alike(w/math.Pow(scale, power), v, 1e-5):
		default:
			t.Errorf("%s is %v, and %v where numbers are %v times as large", at, v, w, scale)
		}
	}
}

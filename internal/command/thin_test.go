package command

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A component of hardly any rows is named with its rows and the cells that made it, and an ordinary fit has no such note.
func TestThinFitsSayWhatWouldHelp(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 1))
	cloud := func(n int, at float64) string {
		var text strings.Builder
		for range n {
			fmt.Fprintf(&text, "%.4f,%.4f,%.4f,1\n", at+rng.NormFloat64(), at+rng.NormFloat64(), at+rng.NormFloat64())
		}
		return text.String()
	}
	const head = "x,y,z,w\n"
	plenty := head + cloud(400, 0)
	for _, c := range []struct {
		name, table string
		flags       []string
		want        string // of the warnings, regular; empty: there are none
	}{
		{"ordinary", plenty, nil, ""},
		{"cell", plenty + "0.1,2500,0.3,1\n", nil, `component 2 has 1 row \(401\): "y" of row 401 is 2500, where other rows have -\S+ to \S+; ` +
			`correct or mark what is wrong \(--na\), or have outliers in a component of their own: --noise`},
		{"weights", plenty + "0.1,99999,0.3,0\n0.1,2500,0.3,1\n", nil, `component 2 has 1 row \(402\): "y" of row 402 is 2500`},
		{"shared volume", plenty + "0.1,99999,0.3,1\n0.1,-99999,0.3,0\n", []string{"--cov", "EII"},
			`^\S+: "y" of row 401 is 99999, where other rows have -\S+ to \S+; correct or mark what is wrong \(--na\)$`},
		{"both ends", plenty + "7e5,0.1,0.3,1\n-8e5,0.1,0.3,1\n", []string{"--k", "1"},
			`"x" of row 401 is 700000, where other rows have -\S+ to \S+, "x" of row 402 is -800000, where`},
		{"code of what is missing", plenty + "-30,0.1,0.3,1\n", []string{"--k", "1"}, `"x" of row 401 is -30, where other rows have`},
		{"few rows", plenty + cloud(3, 40), []string{"--k", "2"}, `component 2 has 3 rows \(401, 402, 403\)`},
		{"no more than columns", head + cloud(400, 0) + cloud(3, 7), []string{"--k", "2", "--cov", "full"},
			`component 2 has 3 rows \(401, 402, 403\), no more than columns: its covariance is hardly determined`},
		{"a covariance of all", head + cloud(400, 0) + cloud(3, 7), []string{"--k", "2", "--cov", "EEE"}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := fitJSON(t, append([]string{"--data", file(t, "t.csv", c.table), "--weights", "w", "--restarts", "2"}, c.flags...)...)
			if c.want == "" {
				require.Empty(t, r.Warnings)
				return
			}
			require.Regexp(t, c.want, strings.Join(r.Warnings, "\n"))
		})
	}
}

func TestFitsOfManyParametersSaySo(t *testing.T) {
	text, _ := done(t, "fit", "--data", "crabs", "--drop", "class", "--cov", "full")
	require.Regexp(t, `83, more than one for each 10 of 200 rows: other K may be as\s+good; --cov all compares covariances with fewer`, text)
	text, _ = done(t, "fit", "--data", "faithful")
	require.NotContains(t, text, "more than one for each")
}

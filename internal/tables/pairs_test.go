package tables

import (
	"context"
	"io"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/progress"
)

// readTriples reads a list from standard input.
func readTriples(text, numbers string, flags Options) (*fitted.Pairs, []string, error) {
	if flags.Header == "" {
		flags.Header = "auto"
	}
	s := &Session{Context: context.Background(), Stdin: strings.NewReader(text),
		Line: func() *progress.Line { return progress.On(io.Discard) }}
	in, err := flags.OpenPairs(s, "-", numbers)
	if err != nil {
		return nil, s.Notes, err
	}
	return in.Pairs, s.Notes, nil
}

func TestTriplesAreNamesInOrder(t *testing.T) {
	got, notes, err := readTriples("from,to,weight\nbo, 01,2\n 01,1,0.5\nbo,1.0,0\n", "", Options{})
	require.NoError(t, err)
	assert.Empty(t, notes)
	assert.Equal(t, [2][]string{{"01", "bo"}, {"01", "1", "1.0"}}, got.Names)
	assert.Equal(t, [2][]int{{1, 0, 1}, {0, 1, 2}}, got.Index)
	assert.Equal(t, []float64{2, 0.5, 0}, got.Numbers)

	got, _, err = readTriples("1,2\n2,3\n", "", Options{})
	require.NoError(t, err)
	assert.Equal(t, [2][]string{{"1", "2"}, {"2", "3"}}, got.Names)
	assert.Nil(t, got.Numbers)
	assert.Equal(t, 1.0, got.Number(1))

	for _, flags := range []Options{{Select: []string{"doc", "word", "n"}}, {Drop: []string{"year"}}} {
		got, _, err = readTriples("n,doc,year,word\n3,a,1999,x\n4,,2001,x\n5,b,2000,y\n", "n", Options{Select: flags.Select, Drop: flags.Drop, Missing: new("drop")})
		require.NoError(t, err)
		assert.Equal(t, [2][]string{{"a", "b"}, {"x", "y"}}, got.Names)
		assert.Equal(t, []float64{3, 5}, got.Numbers)
	}
}

func TestAHeaderThatLooksLikeAPairIsRemarked(t *testing.T) {
	const text = "ann,bob\nbob,cy\ncy,ann\n"
	got, notes, err := readTriples(text, "", Options{})
	require.NoError(t, err)
	require.Len(t, notes, 1)
	assert.Contains(t, notes[0], `"ann", "bob"; "ann" is also a name in other rows: --header no`)
	assert.Len(t, got.Index[0], 2)
	got, notes, err = readTriples(text, "", Options{Header: "no"})
	require.NoError(t, err)
	assert.Empty(t, notes)
	assert.Len(t, got.Index[0], 3)
}

func TestBadTriplesNameTheRow(t *testing.T) {
	for _, c := range []struct{ text, numbers, problem string }{
		{"from,to\na,b\n,c\n", "", `row 2 of column "from" is missing: must be a name (--missing drop leaves such rows out)`},
		{"from,to\na,\" \"\n", "", `row 1 of column "to" is missing: must be a name`},
		{"from,to,w\na,b,1\nb,c,-2\n", "", `row 2 of column "w" is -2: must be a non-negative finite number`},
		{"from,to,w\na,b,NaN\n", "", `row 1 of column "w" is missing: a number is needed`},
		{"from,to,w\na,b,Inf\n", "", `row 1 of column "w" is +Inf: must be a non-negative finite number`},
		{"from,to,w\na,b,1\na,c,1e999\n", "", `row 2 of column "w" is +Inf: must be a non-negative finite number`},
		{"from,to,w\na,b,1\na,b,many\n", "", `row 2 of column "w" is "many"; must be a non-negative number`},
		{"from\na\n", "", `has two columns of names, and this one has "from" alone`},
		{"from,w\na,1\n", "w", `has two columns of names, and this one has "from", "w" alone`},
		{"a,b,c,d\nu,v,1,2\n", "", `perhaps one of numbers, and this one has "a", "b", "c", "d": --select chooses them`},
		{"from,to\na,b\n", "w", `--weights: no column "w"`},
		{"from,to\n", "", "no rows"},
		{"", "", "empty"},
	} {
		_, _, err := readTriples(c.text, c.numbers, Options{})
		require.Error(t, err, c.text)
		assert.Contains(t, faults.OneLine(err), c.problem)
		assert.NotContains(t, faults.OneLine(err), "\n")
	}
	_, _, err := readTriples("from,to\na,b\n", "", Options{Select: []string{"from", "too"}})
	assert.ErrorContains(t, err, `"too"`)
}

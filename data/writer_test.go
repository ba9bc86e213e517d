package data

import (
	"bytes"
	"errors"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAWriterOfCSVMixesTextsAndNumbers(t *testing.T) {
	var b bytes.Buffer
	w, err := NewCSVWriter(&b, []Head{{"id", Texts}, {"row", Integers}, {"x, y", Floats}, {"note", Texts}})
	require.NoError(t, err)
	require.NoError(t, w.Write([]string{"a,b", "", "c", "say \"x\""}, []float64{1234567, 1234567, 2, math.NaN()}))
	require.NoError(t, w.Write(nil, nil))
	require.NoError(t, w.Write([]string{"d", "e"}, []float64{1 << 60, math.Inf(-1)}))
	require.NoError(t, w.Close())
	require.Equal(t, "id,row,\"x, y\",note\n\"a,b\",1234567,1.234567e+06,\nc,2,NaN,\"say \"\"x\"\"\"\nd,1.152921504606847e+18,-Inf,e\n", b.String())
	require.EqualError(t, w.Write([]string{"d"}, []float64{1, 2}), "1 texts and 2 numbers do not make rows of 2 and 2")

	b.Reset()
	w, err = NewCSVWriter(&b, []Head{{"a", Texts}})
	require.NoError(t, err)
	require.NoError(t, w.Write([]string{"x", "y"}, nil))
	require.Equal(t, "a\nx\ny\n", b.String(), "rows are there when Write returns")
}

func TestAWriterOfCSVReportsTheFilesErrors(t *testing.T) {
	for _, heads := range [][]Head{{{"a", Floats}}, {{"a", Texts}}} {
		w, err := NewCSVWriter(full{}, heads)
		require.NoError(t, err)
		if heads[0].Cells == Texts {
			require.ErrorIs(t, w.Write([]string{"x"}, nil), errFull)
		} else {
			require.ErrorIs(t, w.Write(nil, []float64{1}), errFull)
		}
	}
}

var errFull = errors.New("full")

type full struct{}

func (full) Write([]byte) (int, error) { return 0, errFull }

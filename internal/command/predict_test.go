package command

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/tables"
)

func TestPlacesMatchOnlyAsManyColumns(t *testing.T) {
	const four, five = "1,2,3,1\n4,5,6,2\n7,8,1,0\n2,2,2,5\n9,1,1,1\n3,1,4,2\n", "9,1,5,3,0\n9,4,4,0,1\n"
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--model", "bpca", "--data", file(t, "four.csv", four), "--k", "1", "--out", model)
	rows := file(t, "five.csv", five)
	fails(t, 1, "the data have 5 columns and the model 4", "", "predict", model, "--data", rows)
	fails(t, 1, "the data have 5 columns and the model 4", "9,"+strings.ReplaceAll(five, "\n9", "\n9,9"), "predict", model, "--data", "-", "--drop", "V5")
	fails(t, 1, "the data have 3 columns and the model 4", "", "predict", model, "--data", rows, "--select", "V1,V2,V3")

	want, _ := done(t, "predict", model, "--data", file(t, "rest.csv", "1,5,3,0\n4,4,0,1\n"))
	got, _ := done(t, "predict", model, "--data", rows, "--drop", "V1")
	assert.Equal(t, want, got)
	got, _ = done(t, "predict", model, "--data", rows, "--select", "V2,V3,V4,V5")
	assert.Equal(t, want, got)
	// Names that a file gives are no accident: the fifth column is left out.
	got, _ = done(t, "predict", model, "--data", file(t, "named.csv", "V4,V3,V2,V1,id\n0,3,5,1,7\n1,0,4,4,8\n"))
	assert.Equal(t, want, got)
}

// ones makes a prediction of n rows of 3 columns, with every column of the model in another
// place.
func ones(n int) *prediction {
	text, err := fitted.Seal([]byte(`{"model":"bpca","family":"gaussian","k":1,"d":3,"columns":[{"name":"a"},{"name":"b"},{"name":"c"}],
		"params":{"k":1,"d":3,"mean":[0,0,0],"loadings":[1,2,3],"noise":1}}`))
	if err != nil {
		panic(err)
	}
	m, err := known.parse(text)
	if err != nil {
		panic(err)
	}
	p := &prediction{score: m.score, layout: m.layout, in: &tables.Input{},
		x: make([]float64, 3*n), rows: n, order: []int{2, 0, 1}, columns: []string{"a", "b", "c"}}
	for i := range p.x {
		p.x[i] = float64(i)
	}
	return p
}

func TestPredictCopiesOneBlockAtMost(t *testing.T) {
	p := ones(3 * blockRows)
	first := p.block(0, blockRows).X
	assert.Equal(t, []float64{2, 0, 1, 5, 3, 4}, first[:6])
	second := p.block(blockRows, 2).X
	assert.Same(t, &first[0], &second[0])
	assert.Equal(t, []float64{3*blockRows + 2, 3 * blockRows, 3*blockRows + 1}, second[:3])
	p.order = nil
	assert.Same(t, &p.x[3*blockRows], &p.block(blockRows, 2).X[0])
}

// pieces counts what it is given.
type pieces struct{ number, largest, total int }

func (p *pieces) Write(b []byte) (int, error) {
	p.number, p.largest, p.total = p.number+1, max(p.largest, len(b)), p.total+len(b)
	return len(b), nil
}

func TestPredictWritesJSONAsItComes(t *testing.T) {
	p := ones(2*blockRows + 1)
	s := &session{Session: &tables.Session{Context: context.Background()}}
	var w pieces
	require.NoError(t, p.writeJSON(s, &w))
	assert.Greater(t, w.total, 100_000)
	assert.Less(t, w.largest, 10_000)

	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	s.Context = ctx
	assert.ErrorContains(t, p.writeJSON(s, io.Discard), "interrupted after 0 of "+fmt.Sprint(p.rows))
}

func TestNothingThatIsNoNumberIsPredicted(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	far := file(t, "far.csv", "Sepal.Length,Sepal.Width,Petal.Length,Petal.Width\n1,2,3,1\n1,2,3,1e300\n")
	for _, args := range [][]string{{"--model", "bpca"}, {"--model", "vbmf"}, {"--model", "features"}, {}, {"--family", "gaussian-tied"}, {"--family", "student-t"}} {
		done(t, append([]string{"fit", "--data", "iris", "--kmax", "2", "--out", model}, args...)...)
		for _, format := range []string{"csv", "json"} {
			fails(t, 1, "far.csv: row 2 ", "", "predict", model, "--data", far, "--format", format)
		}
	}
	_, stderr := done(t, "fit", "--model", "vbmf", "--data", file(t, "zeros.csv", "a,b\n0,0\n0,0\n0,0\n"))
	require.Contains(t, stderr, "no noise is left over: the ELBO is infinite")
}

// TestPredictWritesParquetByTheName: the cells are those of the CSV, and integers are integers.
func TestPredictWritesParquetByTheName(t *testing.T) {
	dir := t.TempDir()
	model, text, columns := filepath.Join(dir, "m.json"), filepath.Join(dir, "p.csv"), filepath.Join(dir, "p.parquet")
	done(t, "fit", "--data", "iris", "--k", "2", "--out", model)
	for _, out := range []string{text, columns} {
		done(t, "predict", model, "--data", "iris", "--id", "Species", "--out", out)
	}
	want, err := data.Open(text)
	require.NoError(t, err)
	got, err := columnar.Read([]string{columns}, columnar.Options{})
	require.NoError(t, err)
	require.Equal(t, want.Names, got.Names)
	require.Equal(t, want.Levels("Species"), got.Levels("Species"))
	for i := range want.Rows() {
		for j := range want.Cols() {
			require.Equal(t, want.Number(i, j), got.Number(i, j), "row %d, %s", i, want.Names[j])
		}
	}
	fails(t, 2, "is Parquet", "", "predict", model, "--data", "iris", "--out", columns, "--format", "json")
}

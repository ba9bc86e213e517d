package command

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/apache/arrow-go/v18/parquet/pqarrow"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin/lineargaussian"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
)

// TestFloat32FilesFitAsFloat64: what a command says of a file of float32, and the model that it saves, are those of the file of the widened
// numbers, whether the model reads them block by block or not.
func TestFloat32FilesFitAsFloat64(t *testing.T) {
	const rows, cols = 9000, 4 // two blocks
	rng := rand.New(rand.NewPCG(1, 34))
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	files := map[string][2][]byte{}
	write := func(name string, gaps bool) {
		narrow, wide := make([]float32, rows*cols), make([]float64, rows*cols)
		for i := range narrow {
			narrow[i] = float32(rng.NormFloat64()) + float32(i/cols%3*(i%cols-1))
			if gaps && rng.IntN(200) == 0 {
				narrow[i] = float32(math.NaN())
			}
			wide[i] = float64(narrow[i])
		}
		files[name] = [2][]byte{npyOf(t, "<f4", rows, cols, narrow), npyOf(t, "<f8", rows, cols, wide)}
	}
	write("whole", false)
	write("gaps", true)
	for _, line := range []string{
		"fit whole --kmax 3 --restarts 2 --cov full",
		"fit whole --k 2 --restarts 1 --cov tied --sample 1000",
		"fit whole --k 2 --restarts 1 --cov diagonal --online 500",
		"fit whole --k 2 --restarts 1 --gate V4",
		"fit gaps --k 2 --restarts 1 --cov diagonal",
		"fit gaps --k 2 --restarts 1 --missing drop --cov spherical",
		"fit whole --model factor --kmax 1",
		"fit gaps --model factor --k 1",
		"fit whole --model bpca",
		"fit whole --model ppca",
		"fit whole --model hmm --k 2 --restarts 1 --max-iter 3",
	} {
		t.Run(line, func(t *testing.T) {
			args := strings.Fields(line)
			source := args[1]
			args[1] = "--format=json"
			var outputs [2]map[string]any
			var notes, models [2]string
			for i, text := range files[source] {
				require.NoError(t, os.WriteFile(in("t.npy"), text, 0o600))
				output, note := done(t, append(args, "--data", in("t.npy"), "--out", in("m.json"))...)
				saved, err := os.ReadFile(in("m.json"))
				require.NoError(t, err)
				outputs[i], notes[i], models[i] = timeless(t, output), note, string(saved)
			}
			assert.Equal(t, outputs[1], outputs[0])
			assert.Equal(t, notes[1], notes[0])
			assert.Equal(t, models[1], models[0])
		})
	}
	var refused [2]string
	for i, text := range files["gaps"] {
		require.NoError(t, os.WriteFile(in("t.npy"), text, 0o600))
		var status int
		status, _, refused[i] = latent("", "fit", "--model", "bpca", "--data", in("t.npy"))
		assert.Equal(t, statusFailed, status)
	}
	assert.Equal(t, refused[1], refused[0])
}

// bound is settings that note the table to which they are bound.
type bound struct {
	lineargaussian.PCASettings
	rows **blocks.Table
}

func (b *bound) Bind(ctx context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	*b.rows = t.Rows
	return b.PCASettings.Bind(ctx, t, r)
}

// TestFloat32StaysWhereTheModelReadsBlocks: in NPY and Parquet files, as far as the model says so and nothing else than numbers of float32
// is left of the table.
func TestFloat32StaysWhereTheModelReadsBlocks(t *testing.T) {
	dir := t.TempDir()
	numbers, columns := filepath.Join(dir, "t.npy"), filepath.Join(dir, "t.parquet")
	x := make([]float32, 600)
	rng := rand.New(rand.NewPCG(1, 35))
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	require.NoError(t, os.WriteFile(numbers, npyOf(t, "<f4", 200, 3, x), 0o600))
	toFloats(t, columns, x, "label")
	var rows *blocks.Table
	for _, one := range []struct {
		line         string
		reads, stays bool
	}{
		{"--data " + numbers, true, true},
		{"--data " + numbers, false, false},
		{"--data " + columns + " --drop label", true, true},
		{"--data " + columns + " --drop label", false, false},
		{"--data " + columns + " --select x0,x1,x2", true, true},
		{"--data " + columns + " --select x2,x0", true, false}, // of columns in another order there is a copy
		{"--data satellite", true, false},
	} {
		models := slices.Clone(host.Models)
		i := slices.IndexFunc(models, func(d fitted.Definition) bool { return d.Name == "bpca" })
		require.True(t, models[i].Float32)
		models[i].Float32, models[i].New = one.reads, func() fitted.Settings { return &bound{rows: &rows} }
		var out, errs bytes.Buffer
		status := Run(t.Context(), Host{Models: models}, strings.Fields("fit --model bpca "+one.line), nil, &out, &errs)
		require.Zero(t, status, errs.String())
		assert.Equal(t, one.stays, rows.IsFloat32(), one.line)
	}
}

// npyOf is an array as NumPy saves it.
func npyOf[F float32 | float64](t *testing.T, kind string, rows, cols int, x []F) []byte {
	head := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%d, %d), }", kind, rows, cols)
	head += strings.Repeat(" ", 117-len(head)) + "\n"
	text := append(binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(head))), head...)
	text, err := binary.Append(text, binary.LittleEndian, x)
	require.NoError(t, err)
	return text
}

// toFloats writes rows of three columns of float32, and a column of texts.
func toFloats(t *testing.T, path string, x []float32, texts string) {
	fields := []arrow.Field{{Name: texts, Type: arrow.BinaryTypes.String}}
	for j := range 3 {
		fields = append(fields, arrow.Field{Name: fmt.Sprint("x", j), Type: arrow.PrimitiveTypes.Float32})
	}
	schema := arrow.NewSchema(fields, nil)
	b := array.NewRecordBuilder(memory.DefaultAllocator, schema)
	for i := 0; i < len(x); i += 3 {
		b.Field(0).(*array.StringBuilder).Append(string(rune('a' + i%2)))
		for j := range 3 {
			b.Field(1 + j).(*array.Float32Builder).Append(x[i+j])
		}
	}
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := pqarrow.NewFileWriter(schema, file, nil, pqarrow.NewArrowWriterProperties())
	require.NoError(t, err)
	require.NoError(t, w.Write(b.NewRecordBatch()))
	require.NoError(t, w.Close())
}

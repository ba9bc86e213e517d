package command

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/apache/arrow-go/v18/arrow"
	"github.com/apache/arrow-go/v18/arrow/array"
	"github.com/apache/arrow-go/v18/arrow/ipc"
	arrowmemory "github.com/apache/arrow-go/v18/arrow/memory"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/memory"
)

// blobs are rows about two centres, from one on.
func blobs(from, n int) (x, y []float64, kinds []string) {
	for i := from; i < from+n; i++ {
		x = append(x, math.Sin(float64(i))+float64(i%2*9))
		y = append(y, math.Cos(1.3*float64(i))-float64(i%2*9))
		kinds = append(kinds, []string{"low", "high"}[i%2])
	}
	return x, y, kinds
}

func writeBlobs(t *testing.T, path string, from, n int) {
	x, y, kinds := blobs(from, n)
	if strings.HasSuffix(path, ".csv") {
		text := "x,y,kind\n"
		for i := range x {
			text += fmt.Sprintf("%v,%v,%s\n", x[i], y[i], kinds[i])
		}
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		return
	}
	schema := arrow.NewSchema([]arrow.Field{{Name: "x", Type: arrow.PrimitiveTypes.Float64}, {Name: "y", Type: arrow.PrimitiveTypes.Float64},
		{Name: "kind", Type: arrow.BinaryTypes.String}, {Name: "tags", Type: arrow.ListOf(arrow.BinaryTypes.String), Nullable: true}}, nil)
	b := array.NewRecordBuilder(arrowmemory.DefaultAllocator, schema)
	b.Field(0).(*array.Float64Builder).AppendValues(x, nil)
	b.Field(1).(*array.Float64Builder).AppendValues(y, nil)
	b.Field(2).(*array.StringBuilder).AppendValues(kinds, nil)
	b.Field(3).AppendNulls(n)
	file, err := os.Create(path)
	require.NoError(t, err)
	w, err := ipc.NewFileWriter(file, ipc.WithSchema(schema))
	require.NoError(t, err)
	require.NoError(t, w.Write(b.NewRecordBatch()))
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
}

// TestArrowOnAPipe: standard input may have a columnar format, from a pipe or a file, and gives what the file of that name
// does, whole and in blocks; nothing is left in the folder of temporary files.
func TestArrowOnAPipe(t *testing.T) {
	dir, temporary := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", temporary)
	path, model := filepath.Join(dir, "blobs.arrow"), filepath.Join(dir, "model.json")
	writeBlobs(t, path, 0, 300)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	fit := []string{"fit", "--drop", "kind,tags", "--format", "json", "--k", "2", "--out", model, "--data"}
	predict := []string{"predict", model, "--data"}
	for _, args := range [][]string{fit, predict} {
		seconds := regexp.MustCompile(`"seconds":[^,}]*`)
		want, _ := done(t, append(args, path)...)
		status, piped, stderr := latent(string(text), append(args, "-")...)
		require.Zero(t, status, stderr)
		require.Equal(t, seconds.ReplaceAllString(want, ""), seconds.ReplaceAllString(piped, ""))

		file, err := os.Open(path)
		require.NoError(t, err)
		defer file.Close() //nolint:errcheck // nothing was written
		var out, errs bytes.Buffer
		require.Zero(t, run(informed(t.Context()), append(args, "-"), file, &out, &errs), &errs)
		require.Equal(t, seconds.ReplaceAllString(want, ""), seconds.ReplaceAllString(out.String(), ""))

		fails(t, statusFailed, "standard input: incomplete or damaged Arrow file", string(text[:len(text)/2]), append(args, "-")...)
	}
	fails(t, statusFailed, `standard input: column "tags" is of type list<`, string(text), "fit", "--data", "-")
	fails(t, statusFailed, "standard input: it has none of the columns", string(text), "predict", model, "--data", "-", "--drop", "x,y")
	left, err := os.ReadDir(temporary)
	require.NoError(t, err)
	require.Empty(t, left)

	t.Setenv("TMPDIR", filepath.Join(dir, "nowhere"))
	fails(t, statusFailed, "cannot create a temporary file", string(text), "fit", "--data", "-")
}

// TestTablesOfSeveralFiles: files of a pattern, of any format, are the table that one CSV file is, and give the same fit and predictions.
func TestTablesOfSeveralFiles(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	writeBlobs(t, in("all.csv"), 0, 300)
	writeBlobs(t, in("part-1.csv"), 0, 100)
	writeBlobs(t, in("part-2.csv"), 100, 200)
	writeBlobs(t, in("part-1.arrow"), 0, 250)
	writeBlobs(t, in("part-2.arrow"), 250, 50)
	fit := func(source string, more ...string) reported {
		r := fitJSON(t, append([]string{"--data", in(source), "--drop", "kind", "--out", in("model.json")}, more...)...)
		r.Seconds = 0
		return r
	}
	want := fit("all.csv")
	assert.Equal(t, want, fit("part-*.csv"))
	defer memory.SetLimit(0)
	assert.Equal(t, want, fit("all.csv", "--memory", "1MB"), "the numbers lie in a file")
	memory.SetLimit(0)
	assert.Equal(t, want, fit("part-?.arrow", "--drop", "tags"))

	classes, _ := done(t, "predict", in("model.json"), "--data", in("all.csv"))
	again, _ := done(t, "predict", in("model.json"), "--data", in("part-*.csv"))
	assert.Equal(t, classes, again)

	for source, message := range map[string]string{
		"part-*":       "some of the files are Parquet or Arrow and others are not",
		"none-*.csv":   "no file matches this pattern",
		"part-[.csv":   "the pattern has a [ without its ]",
		"part-*.arrow": `column "tags" is of type list<`,
	} {
		status := statusFailed
		if strings.Contains(source, "[") {
			status = statusUsage
		}
		fails(t, status, message, "", "fit", "--data", in(source))
	}
	fails(t, statusUsage, "--out is the input", "", "fit", "--data", in("part-*.csv"), "--out", in("part-2.csv"))
	whole, err := os.ReadFile(in("part-1.arrow"))
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(in("part-1.arrow"), whole[:len(whole)/2], 0o600))
	fails(t, statusFailed, "part-1.arrow: incomplete or damaged Arrow file", "", "fit", "--data", in("part-?.arrow"), "--drop", "tags")
}

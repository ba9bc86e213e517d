package command

import (
	"bytes"
	"context"
	"errors"
	"io"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/tables"
)

// brokenReader fails after some text.
type brokenReader struct{ err error }

func (r brokenReader) Read([]byte) (int, error) { return 0, r.err }

// from runs a command with objects, by the scheme mem, and queries, by the scheme query.
func from(t *testing.T, objects map[string]string, table func(o data.RowsOptions) (*data.Table, error), args ...string) said {
	t.Helper()
	lost := errors.New("the connection was lost")
	object := tables.Source{
		List: func(_ context.Context, name string) (names []string, _ error) {
			if !strings.ContainsAny(name, "*") {
				return []string{name}, nil
			}
			for one := range objects {
				if ok, _ := path.Match(name, one); ok {
					names = append(names, one)
				}
			}
			slices.Sort(names)
			return names, nil
		},
		Open: func(_ context.Context, name string) (io.ReadCloser, error) {
			text, ok := objects[name]
			if !ok {
				return nil, errors.New("no such object")
			}
			if rest, broken := strings.CutSuffix(text, "LOST"); broken {
				return io.NopCloser(io.MultiReader(strings.NewReader(rest), brokenReader{lost})), nil
			}
			return io.NopCloser(strings.NewReader(text)), nil
		},
	}
	query := tables.Source{Table: func(_ context.Context, _ string, o data.RowsOptions) (*data.Table, error) { return table(o) }}
	var out, errs bytes.Buffer
	status := Run(t.Context(), Host{Models: host.Models, Sources: map[string]tables.Source{"mem": object, "query": query}}, args, strings.NewReader(""), &out, &errs)
	return said{status, out.String(), errs.String()}
}

// TestDataThatAreNoFiles have the fit of the same rows in a file: one object, several, some in a columnar format, and a
// query; by fit, and by predict, which reads blocks.
func TestDataThatAreNoFiles(t *testing.T) {
	set, err := data.Load("faithful")
	require.NoError(t, err)
	x, n, d, err := set.Matrix()
	require.NoError(t, err)
	csv := func(first, last int) string {
		var text bytes.Buffer
		require.NoError(t, data.WriteCSV(&text, set.Names, x[first*d:last*d], last-first, d))
		return text.String()
	}
	objects := map[string]string{"mem://b/all.csv": csv(0, n), "mem://b/part-1": csv(0, 100), "mem://b/part-2": csv(100, n)}
	query := func(o data.RowsOptions) (*data.Table, error) {
		require.NotNil(t, o.Store)
		require.True(t, o.Text != nil && !o.Text("waiting"))
		return data.Load("faithful")
	}
	plain := file(t, "all.csv", objects["mem://b/all.csv"])
	saved := filepath.Join(t.TempDir(), "model.json")
	fit := func(name string) string {
		s := from(t, objects, query, "fit", "--data", name, "--k", "2", "--method", "em", "--format", "json", "--out", saved)
		require.Zero(t, s.status, s.errors)
		return strings.ReplaceAll(s.out, name, "NAME")
	}
	predict := func(name string) string {
		s := from(t, objects, query, "predict", saved, "--data", name)
		require.Zero(t, s.status, s.errors)
		return s.out
	}
	want := timeless(t, fit(plain))
	predicted := predict(plain)
	for _, name := range []string{"mem://b/all.csv", "mem://b/part-*", "query:SELECT * FROM faithful"} {
		require.Equal(t, want, timeless(t, fit(name)), name)
		require.Equal(t, predicted, predict(name), name)
	}
}

func TestWhatIsWrongWithDataThatAreNoFiles(t *testing.T) {
	objects := map[string]string{
		"mem://b/x": "a,b\n1,2\n", "mem://b/y.parquet": "PAR1", "mem://b/lost": "a,b\n1,2\nLOST", "mem://b/damaged": "PAR1 and no more",
	}
	failing := func(data.RowsOptions) (*data.Table, error) {
		return nil, errors.New("the query failed after 2 rows: deadlock")
	}
	for name, want := range map[string]string{
		"mem://b/none":    "latent: mem://b/none: no such object\n",
		"mem://b/none*":   "latent: mem://b/none*: nothing matches this pattern\n",
		"mem://b/*":       "some of the files are Parquet or Arrow and others are not: a table has one format\n",
		"mem://b/lost":    "mem://b/lost: cannot be read to the end: ",
		"mem://b/damaged": "mem://b/damaged: incomplete or damaged Parquet file",
		"query:x":         "latent: query:x: the query failed after 2 rows: deadlock\n",
		"ftp://b/x":       "latent: --data ftp://b/x: no such file, and no scheme ftp: this program has mem, query\n",
	} {
		s := from(t, objects, failing, "fit", "--data", name)
		require.NotZero(t, s.status, name)
		require.Contains(t, s.errors, want)
		require.Equal(t, 1, strings.Count(s.errors, "\n"), s.errors)
	}
	var out, errs bytes.Buffer
	require.NotZero(t, Run(t.Context(), host, []string{"fit", "--data", "s3://bucket/x.csv"}, nil, &out, &errs))
	require.Equal(t, "latent: --data s3://bucket/x.csv: no such file, and this program opens files alone: latent-remote, of module remote, "+
		"opens objects of S3, Google Cloud Storage and Azure, and queries of SQLite and PostgreSQL\n", errs.String())
}

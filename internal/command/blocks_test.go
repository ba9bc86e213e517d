package command

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/tables"
)

// TestPredictStreams: a table that is read in parts has the predictions, notes and errors of one that is read as a whole, as --label
// has it, from CSV and Parquet, one file or several.
func TestEmptyLinesOfOneColumnAreNoted(t *testing.T) {
	path := file(t, "x.csv", "x\n1\n\n2\n3.5\n\n\n7\n5\n\n")
	out := filepath.Join(t.TempDir(), "m.json")
	const note = "skipped 3 empty lines of PATH, which are not rows: write NA where a value is missing"
	_, stderr := done(t, "fit", "--data", path, "--k", "1", "--out", out)
	assert.Contains(t, notes(stderr, path), "latent: "+note)
	_, stderr = done(t, "predict", out, "--data", path)
	assert.Equal(t, []string{"latent: " + note}, notes(stderr, path))
	two := file(t, "xy.csv", "x,y\n1,2\n\n2,3\n5,1\n4,4\n6,2\n")
	_, stderr = done(t, "fit", "--data", two, "--k", "1")
	assert.NotContains(t, stderr, "skipped")
}

func TestPredictStreams(t *testing.T) {
	const n = 20_000 // three parts
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	words := strings.Repeat("words that nobody reads, not even with quotes, ", 10)
	rows := func(from, to int) string {
		var b strings.Builder
		b.WriteString("id,unused,y,x,class\n")
		for i := from; i < to; i++ {
			x := fmt.Sprintf("%.12f", float64(i%1000)/1000+float64(i%2)*5)
			switch i % 997 {
			case 5:
				x = ""
			case 6:
				x = "-999"
			}
			fmt.Fprintf(&b, "%d,\"%s\",%d.5,%s,%c\n", 1_000_000+i, words, i%7, x, 'a'+i%2)
		}
		return b.String()
	}
	require.NoError(t, os.WriteFile(in("all.csv"), []byte(rows(0, n)), 0o600))
	require.NoError(t, os.WriteFile(in("part-1.csv"), []byte(rows(0, 11_000)), 0o600))
	require.NoError(t, os.WriteFile(in("part-2.csv"), []byte(rows(11_000, n)), 0o600))
	toParquet(t, in("all.csv"), in("all.parquet"))
	model := in("m.json")
	done(t, "fit", "--data", file(t, "few.csv", rows(0, 1000)), "--select", "x,y", "--k", "2", "--na=-999", "--out", model)

	for _, flags := range [][]string{nil, {"--missing", "drop"}, {"--id", "id"}} {
		args := append([]string{"predict", model, "--na=-999"}, flags...)
		want, wantNotes := done(t, append(args, "--data", in("all.csv"), "--label", "class")...)
		head, agreement, _ := strings.Cut(wantNotes, "latent: ")
		require.NotEmpty(t, head) // the agreement
		for _, source := range []string{"all.csv", "part-*.csv", "all.parquet"} {
			got, notes := done(t, append(args, "--data", in(source))...)
			require.True(t, want == got, "%s %v", source, flags)
			notes = strings.NewReplacer(in(source), in("all.csv"), `, "class"`, "", "2 columns", "1 column", "3 columns", "2 columns").Replace(notes)
			assert.Equal(t, "latent: "+agreement, notes, "%s %v", source, flags)
		}
	}

	for row, c := range map[string][2]string{
		`1015000,oops`: {`row 15001 is "oops"`, "none.csv"}, `1015000,"more",1`: {"line 15002 has 6 fields", "none.parquet"}, "1015000,1e300": {"row 15001 ", "none.csv"}} {
		id, cells, _ := strings.Cut(row, ",")
		text := strings.Replace(rows(0, n), fmt.Sprintf("%s,%q,6.5", id, words), fmt.Sprintf("%s,%q,%s", id, words, cells), 1)
		require.NoError(t, os.WriteFile(in("bad.csv"), []byte(text), 0o600))
		fails(t, 1, "bad.csv: ", "", "predict", model, "--data", in("bad.csv"), "--na=-999", "--out", in(c[1]))
		fails(t, 1, c[0], "", "predict", model, "--data", in("bad.csv"), "--na=-999", "--out", in(c[1]))
	}
	left, err := filepath.Glob(in("*none*"))
	require.NoError(t, err)
	require.Empty(t, left)
	hidden, err := filepath.Glob(in(".latent*"))
	require.NoError(t, err)
	require.Empty(t, hidden)
	fails(t, 1, "every row has a missing value", "x,y\n,1\n2,\n", "predict", model, "--data", "-", "--missing", "drop")
}

// TestAFileThatChangesWhilePredictReadsIt: nothing is written, and the error names the file.
func TestAFileThatChangesWhilePredictReadsIt(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	done(t, "fit", "--data", "faithful", "--k", "2", "--out", in("m.json"))
	m, err := known.read(in("m.json"))
	require.NoError(t, err)
	text := "waiting,eruptions\n" + strings.Repeat("50.25,2.125\n80.5,4.0625\n", 300_000) // two pieces
	require.NoError(t, os.WriteFile(in("t.csv"), []byte(text), 0o600))
	toParquet(t, in("t.csv"), in("t.parquet"))
	parquet, err := os.ReadFile(in("t.parquet"))
	require.NoError(t, err)
	contents := map[string][]byte{"csv": []byte(text), "parquet": parquet}
	changes := map[string]func(path string) error{
		"not at all": func(string) error { return nil },
		"appended": func(path string) error {
			file, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
			require.NoError(t, err)
			_, err = file.WriteString("1,2\n")
			return errors.Join(err, file.Close())
		},
		"touched":  func(path string) error { return os.Chtimes(path, time.Unix(1, 0), time.Unix(1, 0)) },
		"cut":      func(path string) error { return os.Truncate(path, 1000) },
		"replaced": func(path string) error { return os.Rename(in("t.csv"), path) },
		"removed":  os.Remove,
	}
	for name, change := range changes {
		for format, content := range contents {
			require.NoError(t, os.WriteFile(in("t.csv"), []byte(text), 0o600))
			path, out := in("read."+format), in(name+"."+format)
			require.NoError(t, os.WriteFile(path, content, 0o600))
			s := sessionOf(t.Context(), nil, io.Discard, io.Discard)
			s.Store = data.NewStore(1 << 30)
			c := &predictCommand{Data: path, Saved: in("m.json"), Out: out, Format: "csv"}
			c.Header, c.Unseen = "auto", "error"
			next, stop := c.inputs(s.Session, m)
			p, err := c.next(s.Session, m, tables.MissingKeep, next)
			require.NoError(t, err)
			p.following = func() (*prediction, error) { return c.next(s.Session, m, tables.MissingKeep, next) }
			require.NoError(t, change(path))
			err = c.emit(s, p)
			stop()
			require.NoError(t, s.Store.Close())
			if name == "not at all" {
				require.NoError(t, err)
				require.FileExists(t, out)
				continue
			}
			require.ErrorContains(t, err, path+": the input changed while it was read; read it again", "%s %s", name, format)
			require.NoFileExists(t, out, "%s %s", name, format)
		}
	}
}

// TestPredictReadsTheModelsColumnsAlone: those that it has no use for may be of any type in a Parquet file, and are noted as others are.
func TestPredictReadsTheModelsColumnsAlone(t *testing.T) {
	dir := t.TempDir()
	path, model := filepath.Join(dir, "t.parquet"), filepath.Join(dir, "m.json")
	done(t, "fit", "--data", "faithful", "--k", "2", "--out", model)
	toParquet(t, file(t, "t.csv", "z,waiting,eruptions,w\na,50,2,7\nb,80,4,7\n"), path)
	want, _ := done(t, "predict", model, "--data", file(t, "two.csv", "eruptions,waiting\n2,50\n4,80\n"))
	got, notes := done(t, "predict", model, "--data", path)
	assert.Equal(t, want, got)
	assert.Contains(t, notes, `2 columns of `+path+` left out, as not in the model (--id passes columns through): "z", "w"`)
	toParquet(t, file(t, "u.csv", "z\na\n"), path)
	fails(t, 1, `it has none of the columns in use: the data have "z"`, "", "predict", model, "--data", path)
	toParquet(t, file(t, "v.csv", "z,waiting\na,1\n"), path)
	fails(t, 1, `columns of the model are missing in the data: "eruptions"; the data have "waiting", "z"`, "", "predict", model, "--data", path)
}

// toParquet writes a table of CSV as Parquet.
func toParquet(t *testing.T, from, to string) {
	table, err := data.Open(from)
	require.NoError(t, err)
	var heads []data.Head
	for _, name := range table.Names {
		head := data.Head{Name: name}
		switch {
		case table.Levels(name) != nil:
			head.Cells = data.Texts
		case name == "id":
			head.Cells = data.Integers
		}
		heads = append(heads, head)
	}
	out, err := os.Create(to)
	require.NoError(t, err)
	w, err := columnar.NewParquetWriter(out, heads)
	require.NoError(t, err)
	for i := range table.Rows() {
		var texts []string
		var numbers []float64
		for j, head := range heads {
			if head.Cells != data.Texts {
				numbers = append(numbers, table.Number(i, j))
			} else if code := table.Codes(head.Name)[i]; code >= 0 {
				texts = append(texts, table.Levels(head.Name)[code])
			} else {
				texts = append(texts, "")
			}
		}
		require.NoError(t, w.Write(texts, numbers))
	}
	require.NoError(t, w.Close())
	require.NoError(t, out.Close())
}

package command

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	parquetfile "github.com/apache/arrow-go/v18/parquet/file"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestSelectedColumnsAloneAreRead: what no flag names may be destroyed in a Parquet file, and a list in one of Arrow.
func TestSelectedColumnsAloneAreRead(t *testing.T) {
	dir := t.TempDir()
	in := func(name string) string { return filepath.Join(dir, name) }
	text := "id,x,unread,y,w,kind,day,words\n"
	x, y, kinds := blobs(0, 200)
	for i := range x {
		text += fmt.Sprintf("%d,%v,%d,%v,%d,%s,2024-01-%02d,word%d\n", 1000+i, x[i], i%3, y[i], 1+i%2, kinds[i], 1+i/10, i%5)
	}
	require.NoError(t, os.WriteFile(in("t.csv"), []byte(text), 0o600))
	for _, line := range []string{
		"fit --select y,x --k 2",
		"fit --select y,x,w --drop w --k 2",
		"fit --select x,y --k 2 --weights w --label kind --id id",
		"fit --select x,day --k 2 --dates day",
		"fit --select x --k 2 --dates day",
		"fit --select y --k 2 --gate x,kind",
		"fit --model regression --select x,w,id --response w --exposure id --family poisson --k 1",
		"fit --model regression --response y --regress x --k 1",
		"fit --model regression --response w --regress x,kind --exposure id --family poisson --k 2 --gate y",
		"select --model regression --response y --regress x,day --dates day --weights w --id id --power x=2 --kmax 2",
		"fit --model hmm --select x,y --k 2 --sequence day",
		"fit --model topics --select kind,words --k 2",
		"select --select x,y --kmax 3",
	} {
		t.Run(line, func(t *testing.T) {
			read := func(name string) bool {
				return slices.ContainsFunc(strings.Fields(line), func(flag string) bool { return slices.Contains(strings.Split(flag, ","), name) })
			}
			toParquet(t, in("t.csv"), in("t.parquet"))
			destroy(t, in("t.parquet"), read)
			args := append(strings.Fields(line), "--format", "json")
			same := strings.NewReplacer(in("t.parquet"), in("t.csv"))
			want, wantNotes := done(t, append(args, "--data", in("t.csv"))...)
			got, notes := done(t, append(args, "--data", in("t.parquet"))...)
			assert.Equal(t, timeless(t, want), timeless(t, same.Replace(got)))
			assert.Equal(t, wantNotes, same.Replace(notes))
			fails(t, statusFailed, "t.parquet: column ", "", "fit", "--data", in("t.parquet"))
		})
	}
	fails(t, statusFailed, `no column "z"; the columns are "x", "id", "unread"`, "", "fit", "--data", in("t.parquet"), "--select", "x,z")
	fails(t, statusFailed, `no column "z"; the columns are "id", "x"`, "", "fit", "--data", in("t.parquet"), "--select", "z")
	fails(t, statusFailed, `no column "z"; the columns are "x", "y", "id", "unread"`, "", "fit", "--data", in("t.parquet"), "--model", "regression", "--response", "y", "--regress", "x,z")
	fails(t, statusFailed, `no column "z"; the columns are "x", "id"`, "", "fit", "--data", in("t.parquet"), "--select", "x", "--label", "z")

	writeBlobs(t, in("t.arrow"), 0, 200)
	want, _ := done(t, "fit", "--data", in("t.csv"), "--select", "x,y", "--k", "2", "--format", "json")
	got, _ := done(t, "fit", "--data", in("t.arrow"), "--select", "x,y", "--k", "2", "--format", "json")
	assert.Equal(t, timeless(t, want), timeless(t, strings.ReplaceAll(got, in("t.arrow"), in("t.csv"))))
}

// destroy overwrites the columns of a Parquet file that are not to be read.
func destroy(t *testing.T, path string, read func(name string) bool) {
	r, err := parquetfile.OpenParquetFile(path, false)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for g := range r.NumRowGroups() {
		for j := range r.MetaData().Schema.NumColumns() {
			chunk, err := r.MetaData().RowGroup(g).ColumnChunk(j)
			require.NoError(t, err)
			if read(chunk.PathInSchema().String()) {
				continue
			}
			from := chunk.DataPageOffset()
			if chunk.HasDictionaryPage() {
				from = min(from, chunk.DictionaryPageOffset())
			}
			for i := range chunk.TotalCompressedSize() {
				text[from+i] = 0xff
			}
		}
	}
	require.NoError(t, r.Close())
	require.NoError(t, os.WriteFile(path, text, 0o600))
}

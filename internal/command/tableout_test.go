package command

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/internal/outcome"
)

// TestSamplesAreTheSameInEveryFormat: JSON and Parquet have the rows of CSV, of tables and of pairs.
func TestSamplesAreTheSameInEveryFormat(t *testing.T) {
	for _, c := range []struct{ fit, sample []string }{
		{[]string{"--data", file(t, "d.csv", customers(40)), "--family", "auto", "--columns", "Kunde=categorical", "--k", "2"}, []string{"-n", "30", "--labels"}},
		{[]string{"--model", "hmm", "--k", "2", "--restarts", "1"}, []string{"-n", "9"}},
		{[]string{"--model", "topics", "--kmax", "3", "--max-iter", "20"}, []string{"-n", "2"}},
		{[]string{"--model", "blockmodel", "--k", "2"}, []string{"-n", "20", "--labels"}},
	} {
		dir := t.TempDir()
		model := filepath.Join(dir, "m.json")
		_, _ = done(t, append([]string{"fit", "--out", model}, c.fit...)...)
		text, _ := done(t, append([]string{"sample", model}, c.sample...)...)
		object, _ := done(t, append([]string{"sample", model, "--format", "json"}, c.sample...)...)
		var got struct {
			Columns  []string
			Rows     [][]any
			Warnings []string
		}
		require.NoError(t, json.Unmarshal([]byte(object), &got))
		assert.NotNil(t, got.Warnings)
		lines := strings.Split(strings.TrimSpace(text), "\n")
		assert.Equal(t, lines[0], strings.Join(got.Columns, ","))
		require.Len(t, got.Rows, len(lines)-1)
		for i, row := range got.Rows {
			for j, cell := range strings.Split(lines[i+1], ",") {
				if v, ok := row[j].(float64); ok {
					want, err := strconv.ParseFloat(cell, 64)
					require.NoError(t, err)
					assert.Equal(t, want, v)
				} else {
					assert.Equal(t, cell, row[j])
				}
			}
		}
		parquet := filepath.Join(dir, "s.parquet")
		_, _ = done(t, append([]string{"sample", model, "--out", parquet}, c.sample...)...)
		table, err := columnar.Read([]string{parquet}, columnar.Options{})
		require.NoError(t, err)
		assert.Equal(t, got.Columns, table.Names)
		assert.Equal(t, len(got.Rows), table.Rows())
	}
	fails(t, 2, "is Parquet, and --format json is not", "", "sample", savedModelFile(t), "-n", "2", "--format", "json", "--out", "a.parquet")
}

func savedModelFile(t *testing.T) string {
	model := filepath.Join(t.TempDir(), "m.json")
	_, _ = done(t, "fit", "--k", "1", "--out", model)
	return model
}

// TestTablesOfSelectAreSaved with the numbers of JSON.
func TestTablesOfSelectAreSaved(t *testing.T) {
	out := filepath.Join(t.TempDir(), "s.csv")
	object, _ := done(t, "select", "--kmax", "3", "--format", "json", "--out", out)
	var got outcome.Selection
	require.NoError(t, json.Unmarshal([]byte(object), &got))
	lines := strings.Split(strings.TrimSpace(contents(t, out)), "\n")
	assert.Equal(t, "k,bicem,evidence,gfic,fic,bic,aic,icl,loglik,df,entropy,converged,status", lines[0])
	require.Len(t, lines, 4)
	for i, row := range got.Table {
		cells := strings.Split(lines[i+1], ",")
		assert.Equal(t, strconv.Itoa(row.K), cells[0])
		for j, name := range []string{"bicem", "evidence", "gfic", "fic", "bic", "aic", "icl"} {
			assert.Equal(t, strconv.FormatFloat(float64(row.Values[name]), 'g', -1, 64), cells[j+1])
		}
		assert.Equal(t, "true", cells[11])
	}
	_, _ = done(t, "select", "--cov", "all", "--kmax", "1", "--restarts", "1", "--out", out)
	assert.Equal(t, "family,k,bic,loglik,df,converged,error", strings.Split(contents(t, out), "\n")[0])
	assert.Equal(t, 15, strings.Count(contents(t, out), "\n"))
	parquet := strings.TrimSuffix(out, "csv") + "parquet"
	_, _ = done(t, "select", "--kmax", "2", "--out", parquet)
	_, _ = done(t, "fit", "--data", parquet, "--select", "bic", "--k", "1")
	fails(t, 2, "--out is -, but standard output has the report", "", "select", "--out", "-")
	fails(t, 2, "--out is the input", "", "select", "--data", out, "--out", out)
}

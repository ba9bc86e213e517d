package builtin_test

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/fitted"
)

// Each file of testdata/v3 was written by the last version that wrote version 3, and the table beside it has rows and
// what that version predicted of them. They load, predict those numbers, and the bits of the same file of today's
// version.
func TestFilesOfVersion3PredictWhatTheyDid(t *testing.T) {
	files, err := filepath.Glob("testdata/v3/*.json")
	require.NoError(t, err)
	require.Len(t, files, len(builtin.Models())+7, "a file of each model but lds, which is younger, and of kinds of fits")
	for _, path := range files {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".json"), func(t *testing.T) {
			was, err := builtin.Load(path)
			require.NoError(t, err)
			now := renewed(t, path)
			require.Equal(t, was.File, now.File)
			cells, said := kept(t, path, was)
			width := was.Model.Layout().Width()
			step := len(was.Columns()) // of the numbers that are scored at a time: a row, or a sequence
			if was.Model.Input().Sequence {
				step = len(cells)
			}
			for first := 0; first < len(cells); first += step {
				from := first / len(was.Columns()) * width
				row, want := cells[first:first+step], said[from:from+step/len(was.Columns())*width]
				before, after := scored(t, was, row), scored(t, now, row)
				for i, v := range before {
					require.InDelta(t, want[i], v, 1e-12*max(1, math.Abs(want[i])), "row %d, number %d", from/width, i)
					require.Equal(t, math.Float64bits(v), math.Float64bits(after[i]))
				}
			}
		})
	}
}

// Goroutines score rows, or sequences, of one model at the same time, and have the bits of one goroutine.
func TestRowsAreScoredAtTheSameTime(t *testing.T) {
	files, err := filepath.Glob("testdata/v3/*.json")
	require.NoError(t, err)
	for _, path := range files {
		m, err := builtin.Load(path)
		require.NoError(t, err)
		cells, _ := kept(t, path, m)
		step := len(m.Columns())
		if m.Model.Input().Sequence {
			step = len(cells)
		}
		var want [][]float64
		for row := range slices.Chunk(cells, step) {
			want = append(want, scored(t, m, row))
		}
		var wait sync.WaitGroup
		for worker := range 64 {
			wait.Go(func() {
				row, dst := make([]float64, step), make([]float64, len(want[0]))
				for n := range want {
					i := (n + worker) % len(want)
					if err := errors.Join(m.Encode(row, cells[i*step:(i+1)*step]), m.Score(row, dst)); err != nil {
						t.Errorf("%s, row %d: %v", path, i+1, err)
					}
					if !slices.EqualFunc(dst, want[i], func(a, b float64) bool {
						return math.Float64bits(a) == math.Float64bits(b)
					}) {
						t.Errorf("%s, row %d: %v, and %v by one goroutine", path, i+1, dst, want[i])
					}
				}
			})
		}
		wait.Wait()
	}
}

// kept are the cells of the table beside a model file, as the model has its columns, and what was predicted of them.
func kept(t *testing.T, path string, m *fitted.Fitted) (cells []string, said []float64) {
	t.Helper()
	table, err := os.ReadFile(strings.TrimSuffix(path, "json") + "csv")
	require.NoError(t, err)
	lines, err := csv.NewReader(strings.NewReader(string(table))).ReadAll()
	require.NoError(t, err)
	head := lines[0]
	own := len(head) - m.Model.Layout().Width()
	require.Equal(t, m.Model.Layout().Names(), head[own:])
	places := map[string]int{}
	for j, name := range head[:own] {
		places[name] = j
	}
	for _, row := range lines[1:] {
		for _, c := range m.Columns() {
			require.Contains(t, places, c.Name)
			cells = append(cells, row[places[c.Name]])
		}
		for _, cell := range row[own:] {
			v, err := strconv.ParseFloat(cell, 64)
			require.NoError(t, err)
			said = append(said, v)
		}
	}
	return cells, said
}

// scored is what a model says of the texts of a row.
func scored(t *testing.T, m *fitted.Fitted, cells []string) []float64 {
	t.Helper()
	row := make([]float64, len(cells))
	dst := make([]float64, len(cells)/len(m.Columns())*m.Model.Layout().Width())
	require.NoError(t, m.Encode(row, cells))
	require.NoError(t, m.Score(row, dst))
	return dst
}

// renewed is a model file as today's version has it.
func renewed(t *testing.T, path string) *fitted.Fitted {
	t.Helper()
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	var fields map[string]json.RawMessage
	require.NoError(t, json.Unmarshal(text, &fields))
	require.Equal(t, "3", string(fields["version"]))
	require.Contains(t, fields, "seconds")
	for _, name := range []string{"format", "version", "checksum", "seconds"} {
		delete(fields, name)
	}
	object, err := json.Marshal(fields)
	require.NoError(t, err)
	to := filepath.Join(t.TempDir(), "m.json")
	require.NoError(t, fitted.Save(to, object))
	text, err = os.ReadFile(to)
	require.NoError(t, err)
	require.Contains(t, string(text), `"version":4,`)
	m, err := builtin.Load(to)
	require.NoError(t, err)
	return m
}

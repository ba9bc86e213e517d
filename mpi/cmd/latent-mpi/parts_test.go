package main

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
	"github.com/latent-go/latent/mpi/internal/job"
)

// groups writes tables in Parquet files, of a block each if 16 columns are read: one with numbers of two classes, codes and texts, one with
// rows that repeat, and one with sequences.
func groups(t *testing.T, dir string, files int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(3, 4))
	mixed := []data.Head{{Name: "word", Cells: data.Texts}, {Name: "code", Cells: data.Integers}}
	codes, chain := []data.Head(nil), []data.Head{{Name: "run", Cells: data.Integers}}
	for j := range 16 {
		mixed = append(mixed, data.Head{Name: fmt.Sprint("x", j)})
		chain = append(chain, data.Head{Name: fmt.Sprint("x", j)})
		codes = append(codes, data.Head{Name: fmt.Sprint("c", j), Cells: data.Integers})
	}
	for i := range files {
		for name, heads := range map[string][]data.Head{"part": mixed, "codes": codes, "chain": chain} {
			file, err := os.Create(filepath.Join(dir, fmt.Sprintf("%s-%02d", name, i)))
			require.NoError(t, err)
			w, err := columnar.NewParquetWriter(file, heads)
			require.NoError(t, err)
			k := 0
			for at := range 2048 {
				if name != "chain" || rng.IntN(9) == 0 {
					k = rng.IntN(2)
				}
				var texts []string
				var row []float64
				if name == "chain" {
					row = append(row, float64(4*i+at/512))
				}
				for j := range 16 {
					if name == "codes" {
						row = append(row, float64(1+(k+rng.IntN(1+4*(j/15)))%3))
						continue
					}
					row = append(row, rng.NormFloat64()+float64(4*k*(j%2)))
				}
				if name == "part" {
					texts, row = []string{[...]string{"red", "green", "?"}[k+rng.IntN(2)]}, append([]float64{float64(1 + (k+rng.IntN(5))%3)}, row...)
				}
				require.NoError(t, w.Write(texts, row))
			}
			require.NoError(t, w.Close())
			require.NoError(t, file.Close())
		}
	}
}

// TestAProcessReadsTheRowGroupsOfItsPart: the second of two has no pages of the files that are the first one's, but for the first block,
// and the model files have the bytes of one process.
func TestAProcessReadsTheRowGroupsOfItsPart(t *testing.T) {
	const files = 16
	whole, half := t.TempDir(), t.TempDir()
	groups(t, whole, files)
	for i := range files {
		for _, name := range []string{"part", "codes", "chain"} {
			name = fmt.Sprintf("%s-%02d", name, i)
			text, err := os.ReadFile(filepath.Join(whole, name))
			require.NoError(t, err)
			if 0 < i && i < files/2 {
				clear(text[4 : len(text)/2])
			}
			require.NoError(t, os.WriteFile(filepath.Join(half, name), text, 0o600))
		}
	}
	lines := []string{
		"fit --kmax 2 --restarts 1 --data part-* --drop x14,x15 --out OUT0",
		"fit --kmax 3 --restarts 1 --data part-* --family gaussian --cov VVI --drop word,code --out OUT1",
		"fit --method em --k 2 --sample 12000 --max-iter 5 --data part-* --drop word,code --out OUT2",
		"fit --kmax 2 --method gfab --max-iter 5 --data codes-* --out OUT3",
		"fit --model hmm --sequence run --kmax 3 --restarts 1 --max-iter 8 --data chain-* --out OUT4",
		"fit --model lds --sequence run --k 1 --method em --restarts 1 --max-iter 2 --data chain-* --out OUT5",
		"select --cov all --kmax 1 --restarts 1 --max-iter 2 --data part-* --drop word,code --out OUT6",
		"fit --k 2 --cov VVV --noise --restarts 1 --max-iter 5 --data part-* --drop word,code --out OUT7",
		"fit --model regression --response x0 --k 2 --restarts 1 --max-iter 5 --data part-* --drop word,code --out OUT8",
		"fit --model bpca --kmax 2 --max-iter 5 --data part-* --drop word,code --out OUT9",
		"fit --model ppca --kmax 3 --method closed-form --data part-* --drop word,code --out OUT10",
		"fit --model factor --kmax 2 --method em --max-iter 5 --data part-* --drop word,code --out OUT11",
	}
	file := filepath.Join(whole, "lines")
	require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
	j := job.Run(t, "lines", job.Part{Processes: 1, Options: []string{"--wdir", whole}, Arguments: []string{file}},
		job.Part{Processes: 1, Options: []string{"--wdir", half}, Arguments: []string{file}})
	require.Zero(t, j.Status, j.Errors)
	t.Chdir(whole)
	for i, line := range lines {
		name := fmt.Sprint("OUT", i)
		got, err := os.ReadFile(name)
		require.NoError(t, err, j.Out)
		written(command.Host{}, strings.ReplaceAll(line, name, "alone"))
		want, err := os.ReadFile("alone")
		require.NoError(t, err)
		require.Equal(t, string(want), string(got), line)
	}
}

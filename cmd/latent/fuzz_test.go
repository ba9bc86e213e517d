package main

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// modelFiles are files of every kind of model.
func modelFiles(t testing.TB) (list [][]byte) {
	for _, line := range []string{
		"--k 2", "--data iris --family gaussian-tied --k 2 --method vb", "--model bpca --data iris --k 2 --method vb", "--model vbmf --data iris",
		"--model hmm --data geyser --k 2", "--model regression --data iris --response Petal.Width --regress Petal.Length --gate Petal.Length,Species --k 2", "--model regression --data iris --response Petal.Width --regress Species,Petal.Length --power Petal.Length=2 --k 2",
		"--data zoo --family auto --k 2", "--data iris --gate Petal.Width,Species --k 2", "--data ruspini --cov EII --noise --k 2", "--model features --data ruspini --k 2",
	} {
		path := filepath.Join(t.TempDir(), "m.json")
		var out bytes.Buffer
		if run(t.Context(), append([]string{"fit", "--out", path}, strings.Fields(line)...), strings.NewReader(""), &out, &out) != 0 {
			t.Fatalf("%s: %s", line, &out)
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		list = append(list, text)
	}
	return list
}

// readsModel reads a file, whose checksum is put right so that what is behind it is reached: nothing may panic, an error is one line, and what is
// no error is a model.
func readsModel(t *testing.T, text []byte) (model bool) {
	m, err := parseModel([]byte(resealed(string(text))))
	switch {
	case err != nil && strings.Contains(oneLine(err), "\n"):
		t.Errorf("more than a line: %v", err)
	case err == nil && m.saved == nil:
		t.Error("neither an error nor a model")
	}
	return err == nil
}

// TestChangedModelFiles changes a few bytes, and lengths of lists, 4000 times.
func TestChangedModelFiles(t *testing.T) {
	seeds := modelFiles(t)
	rng := rand.New(rand.NewPCG(18, 1))
	taken := 0
	for range 4000 {
		text := slices.Clone(seeds[rng.IntN(len(seeds))])
		for range 1 + rng.IntN(3) {
			at := rng.IntN(len(text))
			switch rng.IntN(4) {
			case 0:
				text = slices.Insert(text, at, []byte("99999999")...)
			case 1:
				text = slices.Delete(text, at, min(len(text), at+1+rng.IntN(20)))
			default:
				text[at] = "0123456789-,.[]{}e\"xyz"[rng.IntN(22)]
			}
		}
		if readsModel(t, text) {
			taken++
		}
	}
	if taken == 0 || taken == 4000 {
		t.Errorf("%d of 4000 changed files are models: the changes test nothing", taken)
	}
}

func FuzzModelFile(f *testing.F) {
	for _, text := range modelFiles(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text []byte) { readsModel(t, text) })
}

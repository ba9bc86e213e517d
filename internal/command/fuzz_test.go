package command

import (
	"bytes"
	"crypto/sha256"
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
		"--data zoo --family auto --k 2", "--data iris --gate Petal.Width,Species --k 2", "--data ruspini --cov EII --noise --k 2", "--model features --data ruspini --k 2", "--model blockmodel --bipartite --k 4",
	} {
		path := filepath.Join(t.TempDir(), "m.json")
		var out bytes.Buffer
		if run(informed(t.Context()), append([]string{"fit", "--out", path}, strings.Fields(line)...), strings.NewReader(""), &out, &out) != 0 {
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
	m, err := known.parse([]byte(resealed(string(text))))
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

// FuzzCheckpoint opens changed files of --checkpoint, with the checksum put right or not: they are refused in one line, or are of this
// command. What the engine's part holds, which has a checksum of its own, is not decoded here.
func FuzzCheckpoint(f *testing.F) {
	path := filepath.Join(f.TempDir(), "checkpoint")
	var out bytes.Buffer
	args := []string{"fit", "--k", "1", "--max-iter", "2", "--checkpoint", path, "--keep-checkpoint"}
	if run(informed(f.Context()), args, strings.NewReader(""), &out, &out) != statusDone {
		f.Fatal(out.String())
	}
	text, err := os.ReadFile(path)
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range [][]byte{text, text[:len(text)-1], []byte(checkpointHeader + "\n"), nil, []byte("junk\n\n")} {
		f.Add(seed, true)
		f.Add(seed, false)
	}
	plan := map[string]string{"--k": "1"}
	f.Fuzz(func(t *testing.T, text []byte, resealed bool) {
		if at := len(text) - sha256.Size; resealed && at >= 0 {
			sum := sha256.Sum256(text[:at])
			text = append(slices.Clone(text[:at]), sum[:]...)
		}
		path := filepath.Join(t.TempDir(), "checkpoint")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		k := &keeper{path: path, state: kept{Version: version(), Plan: plan}}
		if err := k.open(); err != nil && (strings.Contains(oneLine(err), "\n") || !strings.Contains(err.Error(), "name another file, or remove it")) {
			t.Error(err)
		}
	})
}

// FuzzFlags runs commands on a file that there is not: whatever the flags are, that is said, or what is wrong with them, in one line.
func FuzzFlags(f *testing.F) {
	for _, line := range []string{
		"fit --k 2", "fit --model hmm --start kmeans,free --left-right 1", "fit --columns a=poisson,b=bernoulli --prior weights=1 --method vb", "select --criteria bic,sbic --kmin 2 --kmax 3",
		"fit --model factor --blocks a,b;c,d --rotate promax --noise diagonal", "predict m.json --id a --unseen missing --fill --forecast 3", "fit --limit row=1GiB,ratio=3 --memory 4GB --na ? --missing keep",
		"fit --model bpca --method vb --temper 0.5 --prior alpha=1,unit=2", "select --cov all --size-prior geometric", "sample", "fit --k -1", "--help", "fit --drop \\,a --floor 1e3 --weights w --bootstrap 7", "",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for _, word := range []string{"out", "rep", "che", "dat"} { // what writes, and what there is
			if strings.Contains(strings.ToLower(line), word) {
				return
			}
		}
		var out, errs bytes.Buffer
		status := run(informed(t.Context()), append(strings.Split(line, " "), "--data", "no-such-file"), strings.NewReader(""), &out, &errs)
		switch {
		case status == statusDone && !strings.Contains(line, "-"):
			t.Errorf("%q is done: %s", line, &out)
		case status != statusDone && (strings.Count(errs.String(), "\n") != 1 || out.Len() > 0 || strings.Contains(errs.String(), "internal error")):
			t.Errorf("%q: %s%s", line, &errs, &out)
		}
	})
}

package command

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAModelFileIsRefusedUnlessItIsWhole(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--model", "bpca", "--data", "iris", "--method", "vb", "--k", "2", "--out", path)
	raw, err := os.ReadFile(path)
	require.NoError(t, err)
	_, err = known.parse(raw)
	require.NoError(t, err)
	for n := range raw {
		_, err := known.parse(raw[:n])
		require.ErrorContains(t, err, "truncated or damaged", "%d bytes", n)
		require.NotContains(t, err.Error(), "\n")
	}
	text := string(raw)
	for _, c := range []struct{ text, part string }{
		{"a,b\n1,2\n", "not a model file"},
		{"\x93NUMPY", "not a model file"},
		{"[1,2]", "not a model file"},
		{"{}", "not a model file"},
		{`{"format":7}`, "not a model file"},
		{text + "x", "after top-level value"},
		{text + text, "after top-level value"},
		{strings.Replace(text, `"latent-model"`, `"other"`, 1), "not a model file"},
		{strings.Replace(text, `"version":4`, `"version":5`, 1), "version is 5, and this version of latent reads 3 to 4: read it with the latent that wrote it"},
		{strings.Replace(text, `"version":4`, `"version":2`, 1), "version is 2, and"},
		{strings.Replace(text, `"version":4`, `"version":1.5`, 1), "version is 1.5, and"},
		{strings.Replace(text, `"version":4`, `"version":"1"`, 1), `version is "1", and`},
		{strings.Replace(text, `"version":4,`, ``, 1), "version is missing"},
		{strings.Replace(text, `"family":"gaussian"`, `"family":"poisson"`, 1), `unknown family "poisson": this program knows gaussian`},
		{strings.Replace(text, `"family":"gaussian",`, ``, 1), "it has no family"},
		{strings.Replace(text, `"family":"gaussian"`, `"family":7`, 1), "unknown family 7"},
		{strings.Replace(text, `"model":"bpca"`, `"model":"kmeans"`, 1), "knows " + strings.Join(slices.Sorted(maps.Keys(known.models)), ", ")},
		{strings.Replace(text, `"model":"bpca"`, `"model":"bernmix"`, 1), "knows bernoulli"},
		{strings.Replace(text, `"model":"bpca"`, `"model":"mixture"`, 1), `the family of column "Sepal.Length" is ""`},

		{strings.Replace(text, `"noise":`, `"noise":-`, 1), "not positive"},
		{strings.Replace(text, `"noise":`, `"nose":`, 1), "not positive"},
		{strings.Replace(text, `"params":`, `"other":`, 1), "no parameters"},
		{strings.Replace(text, `"params":{"k":2`, `"params":{"k":3`, 1), "do not match"},
		{strings.Replace(text, `"params":{"k":2`, `"params":{"k":"2"`, 1), "damaged"},
		{strings.Replace(text, `{"name":"Sepal.Length"},`, ``, 1), "column names"},
		{strings.Replace(text, `"Sepal.Length"`, `"Sepal.Width"`, 1), "two columns"},
	} {
		broken := file(t, "broken.json", resealed(c.text))
		fails(t, 1, c.part, "", "predict", broken, "--data", "iris")
		fails(t, 1, c.part, "", "sample", broken, "-n", "2")
	}
	for i := range 28 {
		flipped := []byte(text)
		flipped[i*len(text)/28+7] ^= 1 << (i % 8)
		fails(t, 1, "", "", "predict", file(t, "flipped.json", string(flipped)), "--data", "iris")
	}
	fails(t, 1, "no such file", "", "sample", filepath.Join(t.TempDir(), "none.json"), "-n", "2")
}

// resealed is a model file with the right checksum for its text.
func resealed(text string) string {
	at := strings.LastIndex(text, checksumField)
	if at < 0 || !strings.HasSuffix(text, `"}`) {
		return text
	}
	return fmt.Sprintf(`%s%s%x"}`, text[:at], checksumField, sha256.Sum256([]byte(text[:at])))
}

const checksumField = `,"checksum":"`

// whole says whether a model file is as it was written.
func whole(text []byte) bool {
	return bytes.Contains(text, []byte(checksumField)) && resealed(string(text)) == string(text)
}

// One command and seed write the same bytes, by as many goroutines as there are, too.
func TestOneCommandWritesOneModelFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	for _, line := range []string{
		"", "--method em --k 2 --bootstrap 5", "--data iris --method vb --kmax 3", "--data zoo --family categorical --method cvb0 --kmax 3",
		"--model hmm --kmax 2", "--model regression --response yn --regress x --kmax 2", "--model factor --data iris --rotate promax", "--model features --kmax 2",
		"--model vbmf --data iris", "--model topics --max-iter 9", "--model blockmodel",
	} {
		args := append(strings.Fields("fit --restarts 2 --out "+path), strings.Fields(line)...)
		if strings.Contains(line, "vbmf") || strings.Contains(line, "factor") {
			args = append(strings.Fields("fit --out "+path), strings.Fields(line)...)
		}
		var texts []string
		for _, workers := range []string{"1", "2"} {
			done(t, append(args, "--workers", workers)...)
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			texts = append(texts, string(text))
		}
		require.Equal(t, texts[0], texts[1], line)
		require.NotContains(t, texts[0], `"seconds"`)
	}
}

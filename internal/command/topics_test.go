package command

import (
	"encoding/csv"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The ten bars of the simulated documents are found, each with its five words, and what is saved says the same of the
// documents.
func TestTopicsOfBars(t *testing.T) {
	model, dir := filepath.Join(t.TempDir(), "m.json"), t.TempDir()
	stdout, _ := done(t, "fit", "--format", "json", "--model", "topics", "--out", model, "--report", dir)
	r := reportOf(t, stdout, "--model", "topics")
	type word struct {
		Word string
		Lift float64
	}
	var found struct {
		Topics []struct {
			Share     float64
			Documents int
			Typical   []word `json:"typical_words"`
		}
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &found))
	require.Equal(t, 10, r.K)
	assert.Equal(t, "collapsed", r.Criterion)
	assert.True(t, r.Converged)
	assert.InDelta(t, 18000, float64(r.N), 0)
	documents, share := 0, 0.0
	var bars []string
	for _, topic := range found.Topics {
		documents, share = documents+topic.Documents, share+topic.Share
		cells := map[byte]int{}
		for _, w := range topic.Typical[:5] {
			cells[w.Word[1]] |= 1 // rows
			cells[w.Word[3]+10] |= 1
			assert.Greater(t, w.Lift, 1.)
		}
		assert.Len(t, cells, 6, "five cells of one row or column: %v", topic.Typical[:5])
		names := []string{}
		for _, w := range topic.Typical[:5] {
			names = append(names, w.Word)
		}
		slices.Sort(names)
		bars = append(bars, strings.Join(names, " "))
	}
	slices.Sort(bars)
	assert.Len(t, slices.Compact(bars), 10)
	assert.Equal(t, 300, documents)
	assert.InDelta(t, 1, share, 1e-9)
	page := contents(t, filepath.Join(dir, "index.html"))
	assert.Contains(t, page, "Sizes of the topics")
	assert.Contains(t, page, "Topic 10")

	stdout, stderr := done(t, "predict", model, "--data", "bars")
	assert.Contains(t, stderr, "perplexity: 16.56")
	records, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	require.NoError(t, err)
	require.Len(t, records, 301)
	assert.Equal(t, []string{"document", "topic", "probability", "topic 1"}, records[0][:4])
	assert.Equal(t, []string{"60", "0"}, records[1][13:])

	drawn, stderr := done(t, "sample", model, "-n", "30")
	assert.Contains(t, stderr, "Poisson distribution with the mean of the fit, 60")
	again := fitJSON(t, "--model", "topics", "--data", file(t, "drawn.csv", drawn), "--k", "2", "--prior", "alpha=0.5,beta=0.1")
	assert.Equal(t, 2, again.K)
	assert.Equal(t, "alpha=0.5,beta=0.1", again.Settings.Prior)
}

// Words that the fit has not seen are counted and left out; names are texts, and a count that is missing is 1.
func TestTopicsOfOtherDocuments(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	list := file(t, "list.csv", "text,term\n1,01\n1,01\n1,1\n2,b\n2,c\n2,c\n")
	_, stderr := done(t, "fit", "--model", "topics", "--data", list, "--k", "2", "--prior", "alpha=0.1", "--out", model)
	assert.Contains(t, stderr, list+": 2 rows repeat a document and a word")
	stdout, _ := done(t, "predict", model, "--data", file(t, "new.csv", "text,term\nx,01\nx,1\nx,zebra\ny,zebra\nz,b\n"), "--format", "json")
	var said struct {
		Documents   []string
		Topic       []int
		Tokens      []number
		Unknown     []number `json:"unknown_tokens"`
		Proportions [][]number
		Perplexity  number
		Warnings    []string
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &said))
	assert.Equal(t, []string{"x", "y", "z"}, said.Documents)
	assert.Equal(t, []number{2, 0, 1}, said.Tokens)
	assert.Equal(t, []number{1, 1, 0}, said.Unknown)
	assert.Equal(t, []number{0.5, 0.5}, said.Proportions[1])
	assert.NotEqual(t, said.Topic[0], said.Topic[2])
	assert.Greater(t, float64(said.Perplexity), 1.)
	require.Len(t, said.Warnings, 1)
	assert.Contains(t, said.Warnings[0], `left out 1 word `)
	assert.Contains(t, said.Warnings[0], `2 tokens: "zebra"`)
}

func TestTopicsNeedCounts(t *testing.T) {
	list := func(text string) string { return file(t, "list.csv", "d,w,n\n"+text) }
	fit := []string{"fit", "--model", "topics", "--data"}
	for text, part := range map[string]string{
		"a,x,1\na,y,1.5\n": "row 2 has the count 1.5: counts are whole numbers",
		"a,x,-1\n":         `row 1 of column "n" is -1`,
		"a,x,0\nb,y,0\n":   "no word has a count above 0",
		"a,x,\n":           `row 1 of column "n" is missing`,
		"a,,1\n":           `row 1 of column "w" is missing`,
	} {
		fails(t, 1, part, "", append(fit, list(text))...)
	}
	fails(t, 1, "5 topics for 1 token", "", append(fit, list("a,x,1\n"), "--k", "5")...)
	for part, flag := range map[string]string{"climbs nothing": "--accelerate", "the keys are alpha and beta": "--prior=a=1", "its only one is cvb0": "--method=em", "a topics model has no components": "--label=d"} {
		fails(t, 2, part, "", "fit", "--model", "topics", flag)
	}
	stdout, stderr := done(t, append(fit, list("a,x,2\na,z,0\nb,z,0\nc,y,3\n"))...)
	assert.Contains(t, stdout, "3 documents of 2 different")
	assert.Contains(t, stderr, `left out 1 word that never occurs: "z"`)
	assert.Contains(t, stderr, "has no words")
	for _, text := range []string{"a,x,3\n", "a,x,1\na,y,2\n"} { // one word, one document
		one := fitJSON(t, append(fit[1:], list(text))...)
		assert.True(t, one.Converged)
	}
}

package command

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/outcome"
)

// A graphReport is the report of a block model, with its graph.
type graphReport struct {
	reported
	Graph struct {
		Nodes  []int
		Edges  int
		Blocks []struct {
			Size  int
			Label string
		}
		Criteria map[string]number
	}
}

func graphJSON(t *testing.T, args ...string) (r graphReport) {
	t.Helper()
	args = append([]string{"--model", "blockmodel"}, args...)
	stdout, _ := done(t, append([]string{"fit", "--format", "json"}, args...)...)
	var own struct{ Graph *json.RawMessage }
	require.NoError(t, json.Unmarshal([]byte(stdout), &own))
	require.NoError(t, json.Unmarshal(*own.Graph, &r.Graph))
	r.reported = reportOf(t, stdout, args...)
	return r
}

// market is a bipartite list with counts: buyers of two kinds, goods of three.
func market() string {
	rng := rand.New(rand.NewPCG(5, 1))
	text := strings.Builder{}
	text.WriteString("buyer,good,bought\n")
	for i := range 40 {
		for j := range 45 {
			mean := [][]float64{{3, 0.3, 1}, {0.3, 3, 1}}[i%2][j%3]
			count := 0
			for x := rng.ExpFloat64(); x < mean; x += rng.ExpFloat64() {
				count++
			}
			if count > 0 || j == 0 {
				fmt.Fprintf(&text, "b%d,g%d,%d\n", i, j, count)
			}
		}
	}
	return text.String()
}

func TestKarateHasFiveBlocks(t *testing.T) {
	r := graphJSON(t)
	assert.Equal(t, "greedy", r.Method)
	assert.Equal(t, "exacticl", r.Criterion)
	assert.Equal(t, 5, r.K)
	assert.InDelta(t, -197.6162, float64(r.Value), 1e-4)
	assert.EqualValues(t, 34, r.N)
	assert.Equal(t, []int{34}, r.Graph.Nodes)
	assert.Equal(t, 78, r.Graph.Edges)
	assert.Equal(t, r.Value, r.Graph.Criteria["exacticl"])
	assert.Less(t, float64(r.Graph.Criteria["gfic"]), float64(r.Value))
	assert.InDelta(t, -198.6772, float64(r.ByK[3].Value), 1e-4)
	assert.Equal(t, r.Value, graphJSON(t, "--workers", "1").Value)

	gfab := graphJSON(t, "--method", "gfab")
	assert.Equal(t, 4, gfab.K)
	assert.InDelta(t, -198.895, float64(gfab.Value), 1e-3)
	paper := graphJSON(t, "--method", "gfab", "--criterion", "gfic")
	assert.Equal(t, 2, paper.K)
	assert.Equal(t, paper.Value, paper.Graph.Criteria["gfic"])
	assert.Contains(t, gfab.Graph.Criteria, "exacticl")
	assert.Equal(t, 4, graphJSON(t, "--k", "4").K)
	assert.InDelta(t, -199.765, float64(graphJSON(t, "--prior", "weights=1,a=1,b=1").Value), 1e-3)

	stdout, _ := done(t, "fit", "--model", "blockmodel")
	for _, part := range []string{"5 of at most 10", "34 nodes, which 78 edges", "Probability of an edge", "33, 34"} {
		assert.Contains(t, stdout, part)
	}
	stdout, _ = done(t, "select", "--model", "blockmodel", "--kmax", "6")
	assert.Contains(t, stdout, "exacticl chooses K = 5")
	stdout, _ = done(t, "select", "--model", "blockmodel", "--kmax", "3", "--method", "gfab")
	assert.Contains(t, stdout, "gfic   chooses K = 2")
	assert.Contains(t, stdout, "evidence chooses K = 2")
}

// Both sets of nodes have their own number of blocks, and rows of weight 0 name nodes without edges.
func TestBipartiteCounts(t *testing.T) {
	text := market() + "b40,g0,0\n"
	path, dir := file(t, "market.csv", text), t.TempDir()
	model := filepath.Join(dir, "m.json")
	r := graphJSON(t, "--bipartite", "--family", "poisson", "--data", path, "--out", model, "--report", filepath.Join(dir, "page"))
	assert.Equal(t, 5, r.K-lone(r), "%v", r.Graph.Blocks)
	assert.Equal(t, []int{41, 45}, r.Graph.Nodes)
	page, err := os.ReadFile(filepath.Join(dir, "page", pageName))
	require.NoError(t, err)
	assert.Contains(t, string(page), "The graph, sorted by blocks")

	stdout, _ := done(t, "predict", model, "--data", file(t, "pairs.csv", "from,to\nb0,g0\nb1,g0\nb39,g44\n"))
	records, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	require.NoError(t, err)
	assert.Equal(t, []string{"from", "to", "block_from", "block_to", "expected"}, records[0])
	for i, mean := range []float64{3, 0.3, 1} {
		got, err := strconv.ParseFloat(records[i+1][4], 64)
		require.NoError(t, err)
		assert.InDelta(t, mean, got, 0.3)
	}
	var p struct {
		Expected  []float64
		BlockFrom []int `json:"block_from"`
		IDs       map[string][]string
	}
	stdout, _ = done(t, "predict", model, "--data", path, "--format", "json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &p))
	assert.Len(t, p.Expected, strings.Count(text, "\n")-1)
	assert.Equal(t, "b0", p.IDs["from"][0])
	fails(t, 1, `row 1 has the node "nobody", which is not in the graph`, "from,to\nnobody,g1\n", "predict", model, "--data", "-")
	fails(t, 2, "--id and --label cannot be used", "", "predict", model, "--data", path, "--id", "buyer")
}

// lone counts blocks of a single node, such as one without edges.
func lone(r graphReport) (n int) {
	for _, b := range r.Graph.Blocks {
		if b.Size == 1 {
			n++
		}
	}
	return n
}

// A graph drawn from a model has the model's blocks, and a fit to it finds them.
func TestSampledGraphHasTheBlocks(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	graphJSON(t, "--k", "2", "--out", model)
	stdout, _ := done(t, "sample", model, "-n", "150", "--seed", "3")
	r := graphJSON(t, "--data", file(t, "drawn.csv", stdout))
	assert.EqualValues(t, 150, r.N)
	assert.Equal(t, 2, r.K)
	labelled, _ := done(t, "sample", model, "-n", "150", "--seed", "3", "--labels")
	assert.Contains(t, labelled, "from,to,weight,block_from,block_to\n")
	again, _ := done(t, "sample", model, "-n", "150", "--seed", "3")
	assert.Equal(t, stdout, again)
	fails(t, 1, "must be at least 2", "", "sample", model, "-n", "1")

	graphJSON(t, "--bipartite", "--k", "4", "--out", model)
	stdout, _ = done(t, "sample", model, "-n", "20")
	r = graphJSON(t, "--bipartite", "--data", file(t, "drawn.csv", stdout))
	assert.Equal(t, []int{10, 10}, r.Graph.Nodes)
}

// The names of nodes and the order of the rows do not matter.
func TestNamesAndOrderOfEdgesDoNotMatter(t *testing.T) {
	stdout, _ := done(t, "fit", "--model", "blockmodel", "--format", "json")
	var plain outcome.Report
	require.NoError(t, json.Unmarshal([]byte(stdout), &plain))
	rows := strings.Split(strings.TrimSpace(csvOf(t, "karate", same)), "\n")
	text, err := os.ReadFile(rows[0])
	require.NoError(t, err)
	lines := strings.Split(strings.TrimSpace(string(text)), "\n")[1:]
	rng := rand.New(rand.NewPCG(1, 1))
	rng.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	named := "from;to\n"
	for _, line := range lines {
		from, to, _ := strings.Cut(line, ",")
		named += fmt.Sprintf("member %s;member %s\n", to, from)
	}
	r := graphJSON(t, "--data", file(t, "named.csv", named))
	assert.InDelta(t, float64(plain.Value), float64(r.Value), 1e-9)
	assert.Equal(t, plain.K, r.K)
}

func TestBadGraphsAreOneLine(t *testing.T) {
	fit := func(args ...string) []string { return append([]string{"fit", "--model", "blockmodel"}, args...) }
	for _, c := range []struct {
		status        int
		problem, data string
		args          []string
	}{
		{1, "row 2 is a loop", "from,to\na,b\nb,b\n", nil},
		{1, "counts need the family Poisson (--family poisson; --drop", "from,to,w\na,b,2\n", nil},
		{1, "row 2 has an edge of weight 0.5: the weight must be a whole number", "from,to,w\na,b,2\na,c,0.5\n", []string{"--family", "poisson"}},
		{1, `row 1 of column "w" is -1`, "from,to,w\na,b,-1\n", []string{"--family", "poisson"}},
		{1, `row 2 of column "to" is missing`, "from,to\na,b\na,\n", nil},
		{1, "the number of nodes is 1", "from,to\na,a\n", []string{"--loops", "drop"}},
		{1, "there are names but no rows", "from,to\n", nil},
		{1, "the input is empty", "", nil},
		{1, "3 blocks for 2 nodes", "from,to\na,b\n", []string{"--k", "3"}},
		{1, "1 block for a bipartite graph", "from,to\na,b\n", []string{"--k", "1", "--bipartite"}},
		{2, "--directed and --bipartite exclude each other", "", []string{"--directed", "--bipartite"}},
		{2, "--loops cannot be used with --bipartite", "", []string{"--loops", "drop", "--bipartite"}},
		{2, "--tol cannot be used with --method greedy, which has no iterations: leave it out, or take --method gfab or fab or em", "", []string{"--method", "greedy", "--tol", "1"}},
		{2, "--tol cannot be used with --method greedy (the default of --model blockmodel)", "", []string{"--tol", "1e-7"}},
		{2, "--max-iter cannot be used with --method greedy (the default of --model blockmodel)", "", []string{"--max-iter", "9"}},
		{2, "and --method greedy (the default of --model blockmodel); choose exacticl, or --method gfab or fab or em", "", []string{"--criterion", "gfic"}},
		{2, "choose exacticl, or --method gfab or fab or em", "", []string{"--criterion", "bic"}},
		{2, "--accelerate cannot be used with --model blockmodel", "", []string{"--accelerate"}},
		{2, "--prior has one of a and b: give both", "", []string{"--prior", "a=1"}},
		{2, "choose one of greedy, gfab, fab, em", "", []string{"--method", "vb"}},
		{2, "choose one of bernoulli, poisson", "", []string{"--family", "gaussian"}},
	} {
		fails(t, c.status, c.problem, c.data, fit(append([]string{"--data", "-"}, c.args...)...)...)
	}
	fails(t, 2, "--directed is a flag of --model blockmodel, and the model is mixture", "", "fit", "--directed")

	_, stderr := done(t, fit("--data", file(t, "d.csv", "from,to\na,b\nb,a\nb,c\n"))...)
	assert.Contains(t, stderr, "edges are listed again in 1 row")
	_, stderr = done(t, fit("--data", file(t, "l.csv", "from,to\na,b\nb,b\n"), "--loops", "drop")...)
	assert.Contains(t, stderr, "left out 1 loop")
}

// The picture of a large graph is no larger than that of a small one by much.
func TestPageOfALargeGraphStaysLight(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	text := strings.Builder{}
	text.WriteString("from,to\n")
	for range 20_000 {
		i, j := rng.IntN(3000), rng.IntN(3000)
		if i != j {
			fmt.Fprintf(&text, "%d,%d\n", i, j)
		}
	}
	dir := t.TempDir()
	done(t, "fit", "--model", "blockmodel", "--data", file(t, "large.csv", text.String()), "--restarts", "1", "--kmax", "2", "--report", dir)
	info, err := os.Stat(filepath.Join(dir, pageName))
	require.NoError(t, err)
	assert.Less(t, info.Size(), int64(600_000))
	assert.Greater(t, info.Size(), int64(10_000))
}

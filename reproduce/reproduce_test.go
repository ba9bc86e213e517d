package reproduce

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"image/png"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/plot"
	"gonum.org/v1/plot/vg"

	"github.com/latent-go/latent/framework"
)

// counting is an experiment of ten jobs that counts those that were computed; a job of
// stop, when not negative, cancels instead.
func counting(computed *atomic.Int32, stop int, cancel func()) *Experiment {
	return Define(Info{Name: "counting", Title: "Counting", Revision: 1}, func(s *Settings) ([]Job[float64], error) {
		var jobs []Job[float64]
		for i := range 10 {
			jobs = append(jobs, Job[float64]{Key: fmt.Sprintf("job-%d", i), Run: func(ctx context.Context) (float64, error) {
				if i == stop {
					cancel()
					return 0, ctx.Err()
				}
				computed.Add(1)
				return rand.New(rand.NewPCG(uint64(i), 0)).Float64(), nil
			}})
		}
		return jobs, nil
	}, func(_ *Settings, results []float64) (*Outcome, error) {
		t := Table{Name: "numbers", About: "a | b", Header: []string{"i", "x"}, Shown: true}
		for i, v := range results {
			t.Add(i, v)
		}
		p := chart("t", "x", "y")
		series{Name: "s", X: []float64{0, 1}, Y: []float64{1, 2}, Spread: []float64{0.1, 0.2}, Points: true}.draw(p, 0)
		return &Outcome{Statements: []Statement{{Paper: "yes", Measured: "1|2", Agrees: true}}, Tables: []Table{t},
			Figures: []Figure{{Name: "figure", Caption: "A line.", Width: 8 * vg.Centimeter, Height: 6 * vg.Centimeter, Plots: [][]*plot.Plot{{p}}}}}, nil
	})
}

// TestResultsDoNotDependOnWorkers and are written as figure, numbers and page.
func TestResultsDoNotDependOnWorkers(t *testing.T) {
	var texts []string
	for _, workers := range []int{1, 3, 0} {
		dir := t.TempDir()
		reports, err := Run(context.Background(), []*Experiment{counting(new(atomic.Int32), -1, nil)}, Options{Out: dir, Workers: workers})
		require.NoError(t, err)
		assert.Equal(t, Agrees, reports[0].Verdict)
		text, err := os.ReadFile(filepath.Join(dir, "counting", "numbers.csv"))
		require.NoError(t, err)
		texts = append(texts, string(text))
		records, err := csv.NewReader(strings.NewReader(string(text))).ReadAll()
		require.NoError(t, err)
		assert.Len(t, records, 11)

		f, err := os.Open(filepath.Join(dir, "counting", "figure.png"))
		require.NoError(t, err)
		defer f.Close() //nolint:errcheck // nothing was written
		picture, err := png.Decode(f)
		require.NoError(t, err)
		assert.Greater(t, picture.Bounds().Dx(), 400)
		svg, err := os.ReadFile(filepath.Join(dir, "counting", "figure.svg"))
		require.NoError(t, err)
		assert.Contains(t, string(svg), "</svg>")
		page, err := os.ReadFile(reports[0].Page)
		require.NoError(t, err)
		assert.Contains(t, string(page), "**Verdict: agrees.**")
		assert.Contains(t, string(page), `1\|2`)
	}
	assert.Equal(t, texts[0], texts[1])
	assert.Equal(t, texts[0], texts[2])
}

// TestInterruptedRunGoesOn: what was finished is not computed again, and the end is that
// of a run without interruption.
func TestInterruptedRunGoesOn(t *testing.T) {
	dir := t.TempDir()
	var computed atomic.Int32
	ctx, cancel := context.WithCancel(context.Background())
	_, err := Run(ctx, []*Experiment{counting(&computed, 6, cancel)}, Options{Out: dir, Workers: 1})
	require.ErrorIs(t, err, context.Canceled)
	assert.EqualValues(t, 6, computed.Load())
	assert.NoFileExists(t, filepath.Join(dir, "counting", "README.md"))

	var progress []Progress
	reports, err := Run(context.Background(), []*Experiment{counting(&computed, -1, nil)}, Options{Out: dir, Progress: func(p Progress) { progress = append(progress, p) }})
	require.NoError(t, err)
	assert.EqualValues(t, 10, computed.Load())
	assert.Equal(t, 10, progress[len(progress)-1].Done)
	assert.Zero(t, progress[len(progress)-1].Left)
	assert.FileExists(t, reports[0].Page)

	// Another size, another revision: other jobs.
	_, err = Run(context.Background(), []*Experiment{counting(&computed, -1, nil)}, Options{Out: dir, Quick: true})
	require.NoError(t, err)
	assert.EqualValues(t, 20, computed.Load())
	// A damaged file is computed again.
	require.NoError(t, os.WriteFile(filepath.Join(dir, "counting", "jobs", "full-1", "job-3.gob"), []byte("x"), 0o600))
	_, err = Run(context.Background(), []*Experiment{counting(&computed, -1, nil)}, Options{Out: dir})
	require.NoError(t, err)
	assert.EqualValues(t, 21, computed.Load())
}

func TestErrorsOfRuns(t *testing.T) {
	_, err := Find("gfic-fig2", "nothing")
	require.ErrorContains(t, err, `there is no experiment "nothing": there are all, `)
	all, err := Find("all")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, e := range all {
		assert.False(t, names[e.Name], e.Name)
		names[e.Name] = true
		assert.NotEmpty(t, e.Title)
		assert.NotEmpty(t, e.Source)
		assert.NotEmpty(t, e.About)
		assert.Positive(t, e.Revision)
	}

	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	_, err = Run(context.Background(), all[:1], Options{Out: filepath.Join(file, "below")})
	require.ErrorContains(t, err, "cannot be made")

	reports, err := Run(context.Background(), []*Experiment{vbmfFigure(spectf)}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	var missing *MissingData
	require.True(t, errors.As(reports[0].Err, &missing))
	assert.Contains(t, missing.Error(), "spectf.csv is missing (give its folder with --data): the SPECTF heart data")

	fails := Define(Info{Name: "fails"}, func(*Settings) ([]Job[int], error) {
		return []Job[int]{{Key: "a", Run: func(context.Context) (int, error) { return 0, errors.New("no luck") }}}, nil
	}, func(*Settings, []int) (*Outcome, error) { return &Outcome{}, nil })
	_, err = Run(context.Background(), []*Experiment{fails}, Options{Out: t.TempDir()})
	require.ErrorContains(t, err, "fails: a: no luck")
}

// TestVerdicts: computed from statements.
func TestVerdicts(t *testing.T) {
	yes, no := Statement{Agrees: true}, Statement{}
	central := Statement{Central: true}
	for want, list := range map[Verdict][][]Statement{
		Agrees: {{yes}, {yes, yes}}, InPart: {{yes, no}}, Disagrees: {{no}, {no, no}, {yes, central}},
	} {
		for _, s := range list {
			assert.Equal(t, want, (&Outcome{Statements: s}).Verdict(), "%v", s)
			tuned := want
			if want == Agrees {
				tuned = InPart
			}
			assert.Equal(t, tuned, (&Outcome{Statements: s, Tuned: true}).Verdict(), "%v, tuned", s)
		}
	}
}

// TestWrongCriterionIsFoundOut: gfic-fig2 with the sign of the penalty flipped disagrees
// with the paper, with gFIC it does not.
func TestWrongCriterionIsFoundOut(t *testing.T) {
	if testing.Short() {
		t.Skip("fits a few thousand models")
	}
	flipped := framework.GFIC
	flipped.Value = func(e *framework.Evaluation) float64 { return 2*e.Bound() - framework.GFIC.Value(e) }
	reports, err := Run(context.Background(), []*Experiment{gficFig2(flipped)}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	assert.Equal(t, Disagrees, reports[0].Verdict)
	for _, s := range reports[0].Outcome.Statements {
		t.Logf("%v: %s: %s", s.Agrees, s.Paper, s.Measured)
	}
}

// TestFactorisationExperiments: the quick runs agree, but for seconds, which are the machine's.
func TestFactorisationExperiments(t *testing.T) {
	reports, err := Run(context.Background(), []*Experiment{vbmfFigure(artificial1), vbmfFigure(artificial2)}, Options{Out: t.TempDir(), Quick: true})
	require.NoError(t, err)
	for _, r := range reports {
		for _, s := range r.Outcome.Statements {
			assert.True(t, s.Agrees || s.Paper == "The analytic solution is much faster.", "%+v", s)
		}
	}
}

// TestCommittedPages: docs/reproductions holds full runs of experiments that there are, its
// index says their verdicts, and no link goes nowhere.
func TestCommittedPages(t *testing.T) {
	root := filepath.Join("..", "docs", "reproductions")
	index, err := os.ReadFile(filepath.Join(root, "README.md"))
	require.NoError(t, err)
	pages, err := filepath.Glob(filepath.Join(root, "*", "README.md"))
	require.NoError(t, err)
	assert.NotEmpty(t, pages)
	link, verdict := regexp.MustCompile(`\]\(([^)]+)\)`), regexp.MustCompile(`\*\*Verdict: ([a-z ]+)\.\*\*`)
	for _, path := range append(pages, filepath.Join(root, "README.md")) {
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		for _, m := range link.FindAllSubmatch(text, -1) {
			if target := string(m[1]); !strings.Contains(target, "://") {
				_, err := os.Stat(filepath.Join(filepath.Dir(path), target))
				assert.NoError(t, err, path)
			}
		}
	}
	for _, path := range pages {
		name := filepath.Base(filepath.Dir(path))
		_, err := Find(name)
		require.NoError(t, err)
		text, err := os.ReadFile(path)
		require.NoError(t, err)
		found := verdict.FindSubmatch(text)
		require.NotNil(t, found, path)
		assert.Contains(t, string(text), "Size of the run: full.", path)
		assert.Regexp(t, `\[`+name+`\]\(`+name+`/README\.md\).*\| `+string(found[1])+` \|`, string(index))
	}
}

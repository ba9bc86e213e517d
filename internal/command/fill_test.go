package command

import (
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// gaps is a table of two groups with dates, decimals and words, of which some are missing.
func tableWithGaps(t *testing.T) string {
	var b strings.Builder
	b.WriteString("name,when,size,width,kind\n")
	for i := range 120 {
		cells := []string{"n" + strconv.Itoa(i), "2024-0" + strconv.Itoa(1+i%9) + "-1" + strconv.Itoa(i%7),
			strconv.Itoa(10+i*7%11) + ".50", strconv.Itoa(i*5%13) + "e1", "small"}
		if i%2 == 0 {
			cells[2], cells[4] = strconv.Itoa(400+i*3%17)+".00", "large, round"
		}
		if i%5 == 1 {
			cells[1+i/5%4] = ""
		}
		b.WriteString("\"" + strings.Join(cells, "\",\"") + "\"\n")
	}
	return file(t, "gaps.csv", b.String())
}

// TestFilledTableIsTheTable: cells that are there stay as they are to the byte, and others have the column's kind.
func TestFilledTableIsTheTable(t *testing.T) {
	gaps, dir := tableWithGaps(t), t.TempDir()
	for _, args := range [][]string{{}, {"--model", "hmm"}} {
		model := filepath.Join(dir, "m.json")
		done(t, append([]string{"fit", "--data", gaps, "--k", "2", "--id", "name", "--dates", "when", "--out", model}, args...)...)
		filled, _ := done(t, "predict", model, "--data", gaps, "--fill")
		before, after := records(t, contents(t, gaps)), records(t, filled)
		require.Equal(t, len(before), len(after))
		for i, row := range before {
			for j, cell := range row {
				switch {
				case cell != "":
					assert.Equal(t, cell, after[i][j])
				case j == 1:
					assert.Regexp(t, `^2024-0\d-\d\d$`, after[i][j])
				case j == 4:
					assert.Equal(t, map[bool]string{false: "large, round", true: "small"}[i%2 == 0], after[i][j], "row %d", i)
				default:
					_, err := strconv.ParseFloat(after[i][j], 64)
					assert.NoError(t, err)
				}
			}
		}
		draws, _ := done(t, "predict", model, "--data", gaps, "--fill", "--draws", "3", "--seed", "7")
		again, _ := done(t, "predict", model, "--data", gaps, "--fill", "--draws", "3", "--seed", "7")
		other, _ := done(t, "predict", model, "--data", gaps, "--fill", "--draws", "3", "--seed", "8")
		assert.Equal(t, draws, again)
		assert.NotEqual(t, draws, other)
		drawn := records(t, draws)
		assert.Equal(t, []string{"name", "draw", "when", "size", "width", "kind"}, drawn[0])
		assert.Len(t, drawn, 1+3*120)
		assert.Equal(t, []string{"n0", "2"}, drawn[2][:2])
		assert.Equal(t, before[1][1:], drawn[2][2:])
	}
	json, _ := done(t, "predict", filepath.Join(dir, "m.json"), "--data", gaps, "--fill", "--format", "json")
	assert.Contains(t, json, `"large, round"`)
}

// TestFillKeepsDecimalCommas: in a table with decimal commas all numbers have them, also those that had a unit.
func TestFillKeepsDecimalCommas(t *testing.T) {
	var b strings.Builder
	b.WriteString("size;weight\n")
	for i := range 60 {
		size, weight := strconv.Itoa(10+i*7%11+i%2*80)+",5", strconv.Itoa(20+i*5%13+i%2*90)+",25 kg"
		if i%10 == 3 {
			weight = ""
		}
		b.WriteString(size + ";" + weight + "\n")
	}
	table, model := file(t, "commas.csv", b.String()), filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", table, "--k", "2", "--out", model)
	filled, _ := done(t, "predict", model, "--data", table, "--fill")
	rows := records(t, filled)
	require.Len(t, rows, 61)
	for _, row := range rows[1:] {
		for _, cell := range row {
			assert.Regexp(t, `^\d+(,\d+)?$`, cell)
		}
	}
}

func TestFillRefuses(t *testing.T) {
	gaps, model := tableWithGaps(t), filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", gaps, "--k", "2", "--drop", "name", "--dates", "when", "--out", model)
	for _, c := range []struct {
		says string
		args []string
	}{
		{"--draws requires --fill", []string{"--draws", "2"}},
		{"--draws writes a table", []string{"--fill", "--draws", "2", "--format", "json"}},
		{"--fill cannot be used with --forecast or --label", []string{"--fill", "--label", "kind"}},
		{"leave --missing drop out", []string{"--fill", "--missing", "drop"}},
		{"--id names columns of the model", []string{"--fill", "--id", "kind"}},
	} {
		fails(t, statusUsage, c.says, "", append([]string{"predict", model, "--data", gaps}, c.args...)...)
	}
}

package command

import (
	"encoding/json"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// pageBeside runs a command once, with --report and --format json.
func pageBeside(t *testing.T, args ...string) readPage {
	t.Helper()
	dir := t.TempDir()
	stdout, _ := done(t, append(args, "--format", "json", "--report", dir)...)
	p := readPage{text: contents(t, filepath.Join(dir, pageName))}
	d := json.NewDecoder(strings.NewReader(stdout))
	d.UseNumber()
	require.NoError(t, d.Decode(&p.report))
	p.read(t)
	return p
}

func TestReportOfASelectionHasTheNumbersOfItsJSON(t *testing.T) {
	p := pageBeside(t, "select", "--kmax", "4", "--restarts", "2", "--start", "random", "--criteria", "bic,icl,aic", "--bootstrap", "19")
	assert.Contains(t, p.text, "K = 2 by BIC and ICL")
	assert.Contains(t, p.text, "Which to trust: BIC for the number of groups, ICL for clusters that are apart and AIC for prediction.")
	assert.Contains(t, p.text, "K = 4, the choice of AIC, is the largest that was compared (--kmax).")
	assert.Contains(t, pageBeside(t, "select", "--kmax", "3", "--restarts", "2", "--criteria", "bic").text, "nats below the best, cut at −")
	for i, row := range p.tables["criteria"][1:] {
		assert.Equal(t, []string{p.at(t, "table", i, "k"), p.at(t, "table", i, "values", "bic"), p.at(t, "table", i, "values", "icl"), p.at(t, "table", i, "values", "aic")}, row)
	}
	for i, row := range p.tables["fits"][1:] {
		assert.Equal(t, []string{p.at(t, "table", i, "loglik"), p.at(t, "table", i, "df"), p.at(t, "table", i, "entropy")}, row[1:4])
	}
	for _, row := range p.tables["choices"][1:] {
		value := func(k string) float64 {
			i, err := strconv.Atoi(k)
			require.NoError(t, err)
			return number64(t, p.at(t, "table", i-1, "values", row[0]))
		}
		assert.Equal(t, p.at(t, "chosen", row[0]), row[1])
		assert.InDelta(t, value(row[1])-value(row[2]), number64(t, row[3]), 1e-9)
	}
	assert.Len(t, p.tables["likelihood ratio tests by bootstrap, up to the first p-value above 0.05"], 1+p.length(t, "tests"))
	assert.Len(t, p.titles, 2)

	p = pageBeside(t, "select", "--family", "all", "--kmax", "2", "--restarts", "1")
	assert.Contains(t, p.text, "each at K from 1 to 2, fitted by")
	for i, row := range p.tables["families"][1:] {
		assert.Equal(t, []string{p.at(t, "table", i, "family"), p.at(t, "table", i, "k"), p.at(t, "table", i, "value"), p.at(t, "table", i, "behind"), p.at(t, "table", i, "loglik")}, row[:5])
	}
	fails(t, 2, "--report is -: name a folder", "", "select", "--report", "-")
	one := pageBeside(t, "select", "--kmax", "1")
	assert.Contains(t, one.text, "the only K")
}

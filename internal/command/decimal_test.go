package command

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// customers is a table of two groups as spreadsheets in Europe save it: semicolons, decimal commas, ids and dates.
func customers(rows int) string {
	text := "Kunde;Datum;Umsatz;Abstand\n"
	for i := range rows {
		sales := float64(20+60*(i%2)) + 4*math.Sin(float64(i*i))
		text += fmt.Sprintf("K%d;%02d.%02d.2024;%s;%s\n", 1000+7*i%97, 1+i%28, 1+i%12, strings.Replace(fmt.Sprintf("%.2f", sales), ".", ",", 1), strings.Replace(fmt.Sprintf("%.1f", math.Cos(float64(3*i))), ".", ",", 1))
	}
	return text
}

// TestDecimalCommasAreThoseOfPoints: the fit is the same, as is what predict and sample make of it, whatever the locale.
func TestDecimalCommasAreThoseOfPoints(t *testing.T) {
	for _, name := range []string{"LANG", "LC_ALL", "LC_NUMERIC"} {
		t.Setenv(name, "de_DE.UTF-8")
	}
	commas := file(t, "d.csv", customers(60))
	points := file(t, "d.csv", strings.NewReplacer(",", ".", ";", ",").Replace(customers(60)))
	model, other := filepath.Join(t.TempDir(), "m.json"), filepath.Join(t.TempDir(), "m.json")
	_, stderr := done(t, "fit", "--data", commas, "--drop", "Kunde,Datum", "--out", model)
	assert.Contains(t, stderr, "decimals have commas (--decimal . reads them as texts)")
	said, stderr := done(t, "fit", "--data", commas, "--drop", "Kunde,Datum", "--out", other, "--decimal", ",")
	assert.Empty(t, stderr)
	assert.Contains(t, said, "mean ± sd")
	assert.NotRegexp(t, `\d,\d`, strings.ReplaceAll(said, `\n`, ""))
	want, _ := done(t, "fit", "--data", points, "--drop", "Kunde,Datum", "--out", other)
	assert.Equal(t, strings.Split(want, "time")[0][len(points):], strings.Split(said, "time")[0][len(commas):])

	want, _ = done(t, "predict", other, "--data", points)
	got, _ := done(t, "predict", model, "--data", commas)
	assert.Equal(t, want, got)
}

// TestPredictReadsAsTheFitDid: texts for missing values and decimals are the model's, unless flags are given.
func TestPredictReadsAsTheFitDid(t *testing.T) {
	model := filepath.Join(t.TempDir(), "m.json")
	fitted := file(t, "d.csv", strings.Replace(customers(60), "K1000;01.01.2024;20,00", "K1000;01.01.2024;k.A.", 1))
	_, stderr := done(t, "fit", "--data", fitted, "--drop", "Kunde,Datum", "--na", "k.A.", "--decimal", ",", "--out", model)
	require.Contains(t, stderr, "--na k.A. makes 1 cell of")
	few := file(t, "d.csv", "Umsatz;Abstand\nk.A.;0,125\n80,000;1\n") // where nothing shows that these are no thousands
	got, stderr := done(t, "predict", model, "--data", few)
	assert.NotContains(t, stderr, "--na")
	assert.NotContains(t, stderr, "decimals")
	assert.Len(t, strings.Split(strings.TrimSpace(got), "\n"), 3)
	points := file(t, "d.csv", "Umsatz,Abstand\n,0.125\n80.00,1\n")
	fails(t, 1, `decimals have a comma here, as 1,5, and not a point`, "", "predict", model, "--data", points)
	same, _ := done(t, "predict", model, "--data", points, "--decimal", ".")
	assert.Equal(t, got, same)
}

func TestDecimalsOfPairs(t *testing.T) {
	commas, _ := done(t, "fit", "--model", "topics", "--data", file(t, "p.csv", "doc;word;n\na;x;1,0\nb;y;2,0\nb;z;1\n"), "--kmax", "2")
	points, _ := done(t, "fit", "--model", "topics", "--data", file(t, "p.csv", "doc,word,n\na,x,1.0\nb,y,2.0\nb,z,1\n"), "--kmax", "2")
	_, commas, _ = strings.Cut(commas, "model")
	_, points, _ = strings.Cut(points, "model")
	assert.Equal(t, strings.Split(points, "time")[0], strings.Split(commas, "time")[0])
}

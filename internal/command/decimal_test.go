package command

import (
	"fmt"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin"
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
	fails(t, 1, `the table is read with decimal commas, as in 1,5`, "", "predict", model, "--data", points)
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

// TestNumbersAsPeopleWriteThemAreFitted: the fit is that of the digits alone, and predict reads a table that shows
// nothing as the fit did.
func TestNumbersAsPeopleWriteThemAreFitted(t *testing.T) {
	thousands, digits := "Einwohner;Anteil;Preis\n", "Einwohner;Anteil;Preis\n"
	for i := range 40 {
		people, share, price := 600*(1+i%3)+17*i, 5+i*i%83, 2000+60*(i%2)+i%7
		digits += fmt.Sprintf("%d;%d;%d\n", people, share, price)
		text := fmt.Sprint(people)
		if people > 999 {
			text = fmt.Sprintf("%d.%03d", people/1000, people%1000)
		}
		thousands += fmt.Sprintf("%s;%d %%;€ %d.%03d\n", text, share, price/1000, price%1000)
	}
	path, plain := file(t, "d.csv", thousands), file(t, "plain.csv", digits)
	model, other := filepath.Join(t.TempDir(), "m.json"), filepath.Join(t.TempDir(), "m.json")
	_, stderr := done(t, "fit", "--data", path, "--out", model)
	assert.Equal(t, []string{
		"latent: PATH: decimals have commas (--decimal . reads them as texts)",
		`latent: PATH: read as numbers: "Einwohner" (thousands separated by points), "Anteil" (in percent), "Preis" (in €, thousands separated by points)`,
	}, notes(stderr, path)[:2])
	done(t, "fit", "--data", plain, "--out", other)
	want, _ := done(t, "predict", other, "--data", file(t, "few.csv", "Einwohner;Anteil;Preis\n1234;7;2001\n"))
	got, _ := done(t, "predict", model, "--data", file(t, "few.csv", "Einwohner;Anteil;Preis\n1.234;7 %;€ 2.001\n"))
	assert.Equal(t, want, got)

	_, stderr = done(t, "fit", "--k", "1", "--data", file(t, "d.csv", "a;b\n1.234;1\n5.678;2\n4.567;4\n"))
	assert.Contains(t, stderr, `every point of "a" precedes three digits and is read as a decimal point: --decimal , if it separates thousands`)
	fails(t, 1, `(--decimal . or --decimal ,)`, "", "fit", "--data", file(t, "d.csv", "a;b\n1,234;1\n5,678;2\n4,567;4\n"))
}

// Numbers whose units differ are called so.
func TestUnitsThatDiffer(t *testing.T) {
	text := "a,b,c,x\n"
	for i := range 30 {
		text += fmt.Sprintf("(%d),%s%d,%s,%d\n", i*i%19, []string{"$", "€"}[i%2], i, []string{fmt.Sprintf("%dk", i), "call"}[i/29], i*i%23)
	}
	path := file(t, "d.csv", text)
	_, stderr := done(t, "fit", "--data", path, "--k", "1")
	assert.Subset(t, notes(stderr, path), []string{
		`latent: PATH: read as numbers: "a" (negative in parentheses)`,
		`latent: PATH: left out, numbers in several units: "b" ("$", "€"): write them in one unit, or in separate columns`,
		`latent: PATH: left out, numbers with units beside other texts: "c" ("call"): --na=call reads such cells as missing`,
	})
	_, stderr = done(t, "fit", "--data", path, "--k", "1", "--na", "call")
	assert.Contains(t, stderr, `"c" (k for thousands`)
	fails(t, 1, `column "b" is categorical: row 1 is "$0"; its numbers have several units, "$", "€": write all numbers in one unit`, "",
		"fit", "--data", path, "--select", "b,x", "--family", "gaussian")
}

// A later table that writes numbers in another way than the fit's table did is noted, and fitted.Encode reads the same.
func TestPredictNotesOtherSpellings(t *testing.T) {
	text := "price,share\n"
	for i := range 40 {
		text += fmt.Sprintf("\"%d,%03d\",%d.5%%\n", 1+4*(i%2), 100+17*i, 5+i*i%83)
	}
	model := filepath.Join(t.TempDir(), "m.json")
	done(t, "fit", "--data", file(t, "d.csv", text), "--out", model)
	for table, note := range map[string]string{
		"price,share\n1.234,5%\n5.410,4.5%\n": `every "." of "price" precedes three digits and is read as a decimal mark, ` +
			`but in the fit's table it separates thousands: --decimal , if it does so here, too`,
		"price,share\n1234,0.5\n": `units differ from those of the fit's table, and are not converted: "share" (% there, none here)`,
		"price,share\n$12,5%\n":   `are not converted: "price" (none there, $ here)`,
	} {
		_, stderr := done(t, "predict", model, "--data", file(t, "new.csv", table))
		assert.Contains(t, stderr, note)
	}
	_, stderr := done(t, "predict", model, "--decimal", ".", "--data", file(t, "new.csv", "price,share\n1.234,5%\n5.410,4.5%\n"))
	assert.NotContains(t, stderr, "every")

	m, err := builtin.Load(model)
	require.NoError(t, err)
	row := make([]float64, 2)
	require.NoError(t, m.Encode(row, []string{"5,410", " 7%"}))
	assert.Equal(t, []float64{5410, 7}, row)
	require.ErrorContains(t, m.Encode(row, []string{"5 410", "7%"}), `"5 410" is not a number`)
}

// What is read in another way than as UTF-8 with a header of names is noted, or asked about, with the flag.
func TestEncodingsAndHeadersAreNoted(t *testing.T) {
	western := "Gr\xf6\xdfe,b\n" + strings.Repeat("1,x\n2,\xe9\n4,x\n", 5)
	model := filepath.Join(t.TempDir(), "m.json")
	path := file(t, "d.csv", western)
	stdout, stderr := done(t, "fit", "--data", path, "--k", "1", "--out", model)
	assert.Equal(t, "latent: PATH: read as windows-1252, as it is not UTF-8 (--encoding)", notes(stderr, path)[0])
	assert.Contains(t, stdout, "Größe")
	_, stderr = done(t, "fit", "--data", path, "--k", "1", "--encoding", "latin1")
	assert.NotContains(t, stderr, "windows")
	_, stderr = done(t, "predict", model, "--data", path)
	assert.Equal(t, "latent: PATH: read as windows-1252, as it is not UTF-8 (--encoding)", notes(stderr, path)[0])
	fails(t, 1, `no encoding is called "klingon"`, "", "fit", "--data", path, "--encoding", "klingon")
	fails(t, 1, `(--encoding NAME)`, "", "fit", "--data", file(t, "d.csv", "a\x8f\n1\n"))

	rows := strings.Repeat("x,1.5,2\ny,2.5,7\nz,3,9\n", 4)
	_, stderr = done(t, "fit", "--data", file(t, "d.csv", "Country,2019,2020\n"+rows), "--k", "1")
	assert.Contains(t, stderr, "the first row names the columns, though some names are years (--header no)")
	fails(t, 1, `the first row, "2019", "2020", may be data or names of columns; say whether there is a header (--header yes or --header no)`,
		"", "fit", "--data", file(t, "d.csv", "2019,2020\n1.5,2\n7,8.5\n"))
	fails(t, 1, `column "a": inf is not a level among numbers: correct it, or --na=inf`, "", "fit", "--data",
		file(t, "d.csv", "a,b\n1,1\n2,3\ninf,4\n2,2\n"), "--columns", "a=categorical")
}

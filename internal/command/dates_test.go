package command

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
)

// trips are journeys of two seasons, with their days and hours as a table has them.
func trips() string {
	text := "trip,day,at,km\n"
	for i := range 60 {
		day := time.Date(2024, 3, 1+i%7+150*(i%2), 0, 0, 0, 0, time.UTC)
		text += fmt.Sprintf("t%d,%s,%02d:30,%v\n", i, day.Format("02.01.2006"), 8+i%5, float64(20-15*(i%2))+float64(i%8)/8)
	}
	return text
}

// TestMeansOfDatesAreDates in the text and on pages; JSON and --components have numbers and their unit.
func TestMeansOfDatesAreDates(t *testing.T) {
	table, model, list, dir := file(t, "trips.csv", trips()), filepath.Join(t.TempDir(), "m.json"), filepath.Join(t.TempDir(), "c.csv"), t.TempDir()
	args := []string{"--data", table, "--id", "trip", "--dates", "day,at", "--family", "auto", "--k", "2", "--criterion", "gfic"}
	stdout, _ := done(t, append([]string{"fit", "--out", model, "--components", list, "--report", dir}, args...)...)
	assert.Contains(t, stdout, "2024-03-03 ± 2.0 days")
	assert.Contains(t, stdout, "2024-07-31 ± 1.97 days")
	page := contents(t, filepath.Join(dir, pageName))
	for _, said := range []string{"lower day (2024-03-03 ± 2.0 days, in all rows 2024-05-17 ± 75 days)", "day, days since 1970-01-01"} {
		assert.True(t, strings.Contains(page, said), said)
	}
	assert.Contains(t, contents(t, list), ",day,mean (days since 1970-01-01),19785.8666666")

	r := fitJSON(t, args...)
	units := map[string]string{}
	for _, c := range r.Columns {
		units[c.Name] = c.Unit
	}
	assert.Equal(t, map[string]string{"day": "days since 1970-01-01", "at": "days since midnight", "km": ""}, units)
	assert.InDelta(t, 19785.8667, float64(r.Components[0].Columns[0].Values["mean"]), 1e-3)

	done(t, "predict", model, "--data", table, "--report", dir, "--out", filepath.Join(t.TempDir(), "p.csv"))
	assert.Contains(t, contents(t, filepath.Join(dir, pageName)), "2024-05-17 ± 75 days")
}

// TestDatesThatNameRowsStayAsTheyAre in what latent predict and latent fit --assignments pass through.
func TestDatesThatNameRowsStayAsTheyAre(t *testing.T) {
	table, model, rows := file(t, "trips.csv", trips()), filepath.Join(t.TempDir(), "m.json"), filepath.Join(t.TempDir(), "r.csv")
	done(t, "fit", "--data", table, "--drop", "at,trip", "--dates", "day", "--k", "2", "--out", model)
	for _, format := range []string{"csv", "json"} {
		stdout, _ := done(t, "predict", model, "--data", table, "--id", "trip,day", "--format", format)
		assert.Contains(t, stdout, "02.03.2024")
	}
	done(t, "fit", "--data", table, "--drop", "at", "--dates", "day", "--id", "day,trip", "--k", "1", "--assignments", rows)
	assert.Equal(t, []string{"01.03.2024", "t0", "1"}, records(t, contents(t, rows))[1][:3])

	digits := file(t, "digits.csv", "day,x\n20240131,1\n20240201,2\n20240203,4\n20240207,3\n")
	done(t, "fit", "--data", digits, "--dates", "day", "--family", "gaussian-diagonal", "--k", "1", "--out", model)
	stdout, _ := done(t, "predict", model, "--data", digits, "--id", "day")
	assert.Contains(t, stdout, "\n20240131,1,")
}

// TestLimitsAndSignsOfAFitAreSo in each later table, and in each row alone, where they could be levels.
func TestLimitsAndSignsOfAFitAreSo(t *testing.T) {
	text := "lead,balance,depth\n"
	for i := range 60 {
		lead := fmt.Sprintf("%.2f", 0.1*float64(i%21))
		if i%9 == 0 {
			lead = []string{"<0.05", "< 0.1", ">2"}[i/9%3]
		}
		text += fmt.Sprintf("%s,%d.50%s,%d.5\n", lead, 17*i%53, []string{"", "-"}[i%2], i%23)
	}
	model := t.TempDir() + "/m.json"
	path := file(t, "d.csv", text)
	_, stderr := done(t, "fit", "--data", path, "--k", "1", "--out", model)
	assert.Contains(t, stderr, `"lead" (cells such as <1 as missing), "balance" (minus signs behind numbers)`)
	got, stderr := done(t, "predict", model, "--data", file(t, "e.csv", "lead,balance,depth\n<0.07,3-,2\n"))
	want, _ := done(t, "predict", model, "--data", file(t, "f.csv", "lead,balance,depth\n,-3,2\n"))
	assert.Equal(t, want, got)
	assert.Contains(t, stderr, `"lead" (cells such as <1 as missing), "balance" (minus signs behind numbers)`)
}

// TestDurationsOfAFitAreSo in each later table, and in each row alone, where they could be times of day.
func TestDurationsOfAFitAreSo(t *testing.T) {
	text := "lasted,km\n"
	for i := range 60 {
		text += fmt.Sprintf("%d:%02d,%v\n", 10+20*(i%2)+i%5, i, float64(i%2)+float64(i%7)/8)
	}
	model := filepath.Join(t.TempDir(), "m.json")
	_, stderr := done(t, "fit", "--data", file(t, "runs.csv", text), "--k", "2", "--out", model)
	assert.Contains(t, stderr, `"lasted" (durations in minutes)`)
	stdout, _ := done(t, "predict", model, "--data", file(t, "one.csv", "lasted,km\n12:30,0.5\n"))
	other, _ := done(t, "predict", model, "--data", file(t, "two.csv", "lasted,km\n12:30,0.5\n99:30,0.5\n"))
	assert.Equal(t, records(t, stdout)[1], records(t, other)[1])
	fails(t, 1, `column "lasted" is categorical: row 2 is "13:00"`, "", "predict", model,
		"--data", file(t, "bad.csv", "lasted,km\n12.5,0.5\n13:00,1\n"))
}

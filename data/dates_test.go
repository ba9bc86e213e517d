package data

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// TestDatesAreTheDaysSince1970: every form reads back what it wrote, as the clock counts it, and beside other columns.
func TestDatesAreTheDaysSince1970(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		layout := rapid.SampledFrom(layouts).Draw(rt, "layout")
		rows := rapid.IntRange(1, 20).Draw(rt, "rows")
		text, want := "x;when;y\n", []float64(nil)
		for i := range rows {
			at := time.Unix(rapid.Int64Range(-1000, 2000).Draw(rt, "day")*86400+rapid.Int64Range(0, 86399).Draw(rt, "second"), 0).UTC()
			if rapid.IntRange(0, 9).Draw(rt, "gap") == 0 {
				text, want = text+"1;NA;a\n", append(want, math.NaN())
				continue
			}
			cell := at.Format(layout)
			back, err := time.Parse(layout, cell)
			require.NoError(rt, err)
			days := float64(back.Unix()) / 86400
			if !strings.Contains(layout, "06") {
				days = float64(back.Hour()*3600+back.Minute()*60+back.Second()) / 86400
			}
			text, want = text+strings.Join([]string{"0." + strings.Repeat("1", i+1), cell, "b"}, ";")+"\n", append(want, days)
		}
		table := csvTable(rt, text)
		if table.Empty("when") {
			return
		}
		before, _ := table.Column("x")
		dated, found, err := table.Dates([]string{"when"}, []string{forms.Replace(layout)})
		require.NoError(rt, err)
		require.Equal(rt, []string{forms.Replace(layout)}, found)
		got, err := dated.Column("when")
		require.NoError(rt, err)
		for i, v := range want {
			if math.IsNaN(v) {
				require.True(rt, math.IsNaN(got[i]))
			} else {
				require.InDelta(rt, v, got[i], 1e-9)
			}
		}
		after, _ := dated.Column("x")
		require.Equal(rt, before, after)
		require.Equal(rt, table.Codes("y"), dated.Codes("y"))
		again, _, err := table.Dates([]string{"when"}, nil)
		if err == nil { // no other form reads it differently
			other, _ := again.Column("when")
			require.Equal(rt, bitsOf(got), bitsOf(other))
		} else {
			require.ErrorIs(rt, err, ErrDate)
		}
	})
}

func TestFormsOfDates(t *testing.T) {
	seen := map[string]bool{}
	for _, layout := range layouts {
		form := forms.Replace(layout)
		assert.NotRegexp(t, "[0-9]", form)
		assert.False(t, seen[form], form)
		seen[form] = true
	}
	for text, want := range map[string]string{
		"2024-01-31\n2023-11-02\n": "YYYY-M-D", "31.01.2024\n2.11.2023\n": "D.M.YYYY", "01/31/2024\n11/02/2023\n": "M/D/YYYY",
		"31/01/2024\n02/11/2023\n": "D/M/YYYY", "20240131\n20231102\n": "YYYYMMDD", "2024-01-31T10:30:00Z\n2024-01-31T12:30:00+02:00\n": "YYYY-MM-DDTh:m:sZONE",
		"01/01/2024\n02/02/2023\n":                                 "D/M/YYYY", // either way round
		"2024-01-31 10:30:00+01:00\n2024-07-31 10:30:00.5+02:00\n": "YYYY-M-D h:m:sZONE", "2024-01-31 10:30:00+01\n2024-07-31 10:30:00+02\n": "YYYY-M-D h:m:s+hh",
		"2024-01-31T10:30:00+0100\n": "YYYY-M-DTh:m:s+hhmm", "2024-01-31 10:30:00 UTC\n": "YYYY-M-D h:m:s UTC",
	} {
		table, err := ReadCSV(strings.NewReader("when\n"+text), CSVOptions{Comma: ';'})
		require.NoError(t, err)
		_, found, err := table.Dates([]string{"when"}, nil)
		require.NoError(t, err, text)
		assert.Equal(t, []string{want}, found)
	}
}

// TestFormsMayBeWrittenAsOthersDo: by one letter or two, of either case, and by those of Java and of strftime.
func TestFormsMayBeWrittenAsOthersDo(t *testing.T) {
	keys := map[string]string{}
	for _, layout := range layouts {
		form := forms.Replace(layout)
		key := formKey(form)
		assert.Empty(t, keys[key], "%s is another form, too", form)
		keys[key] = form
	}
	for asked, cell := range map[string]string{
		"YYYY-MM-DD": "2024-03-01", "yyyy-mm-dd": "2024-03-01", "%Y-%m-%d": "2024-03-01", "YYYY-M-D": "2024-3-1", "DD/MM/YYYY": "01/03/2024", "%m/%d/%y": "03/01/24",
		"dd-MMM-yyyy": "01-Mar-2024", "%d %B %Y": "1 March 2024", "yyyymmdd": "20240301", "%d.%m.%Y": "1.3.2024", "mm/dd/yyyy": "03/01/2024",
	} {
		table, err := ReadCSV(strings.NewReader("when\n"+cell+"\n"), CSVOptions{Comma: ';'})
		require.NoError(t, err)
		dated, _, err := table.Dates([]string{"when"}, []string{asked})
		require.NoError(t, err, asked)
		days, err := dated.Column("when")
		require.NoError(t, err)
		assert.Equal(t, []float64{19783}, days, asked)
	}
	table, err := ReadCSV(strings.NewReader("when\n2024-03-01 13:30:00+01:30\n"), CSVOptions{})
	require.NoError(t, err)
	for _, asked := range []string{"YYYY-MM-DD HH:mm:ssZONE", "yyyy-MM-dd HH:mm:ssXXX", "%Y-%m-%d %H:%M:%SZONE"} {
		dated, _, err := table.Dates([]string{"when"}, []string{asked})
		require.NoError(t, err, asked)
		days, _ := dated.Column("when")
		assert.Equal(t, []float64{19783.5}, days, "by UTC")
	}
	assert.True(t, Zoned("YYYY-M-D h:m:sZONE") && Zoned("YYYY-M-DTh:m:s+hhmm") && !Zoned("YYYY-M-D h:m:s"))
}

func TestWhatIsNoDateIsSaid(t *testing.T) {
	for text, part := range map[string]string{
		"01/02/2024\n03/04/2024\n":           `column "when": "01/02/2024" can be D/M/YYYY and M/D/YYYY: choose a form of dates`,
		"2024-01-31\n2024-02-01\nsoon\n":     `column "when": row 3 is "soon", which does not have a form of dates like the others, YYYY-M-D; correct it, or take it for a missing value`,
		"a\nb\n":                             `column "when": it does not have a form of dates, such as 2024-01-31 or 31.1.2024`,
		"2024-01-31\n31.02.2024\n2024-1-2\n": `row 2 is "31.02.2024"`,
		"1.5\n2.5\n":                         `it does not have a form of dates`,
	} {
		table, err := ReadCSV(strings.NewReader("when\n"+text), CSVOptions{Comma: ';'})
		require.NoError(t, err)
		_, _, err = table.Dates([]string{"when"}, nil)
		assert.ErrorIs(t, err, ErrDate, text)
		assert.ErrorContains(t, err, part)
	}
	table := csvTable(t, "when\n2024-01-31\n")
	_, _, err := table.Dates([]string{"then"}, nil)
	assert.ErrorContains(t, err, `no column "then"`)
	_, _, err = table.Dates([]string{"when"}, []string{"DDD"})
	assert.ErrorContains(t, err, `"DDD" is not a form of dates: those are YYYY-M-D, `)
}

// TestDatesAreSeenAmongOthers: neither a few odd cells nor marks of missing values make 5,000 categories of days.
func TestDatesAreSeenAmongOthers(t *testing.T) {
	for _, odd := range []string{"", "?", "31.12.24 or later"} {
		text := "when;x\n"
		for i := range 400 {
			cell := time.Unix(int64(i/2)*86400, 0).UTC().Format("02.01.2006")
			if odd != "" && i%100 == 0 {
				cell = odd
			}
			text += cell + ";1\n"
		}
		assert.Equal(t, Dates, csvTable(t, text).Suggest("when", nil).Cause, odd)
	}
}

// Columns of dates are the same after being written and read, whatever is in their names.
func TestDateColumnsAreReadAsTheyAreWritten(t *testing.T) {
	d := DateColumns{Names: []string{"a,b", "when", `back\slash`, "by,"}, Forms: []string{"DD.MM.YYYY", "", "YYYYMMDD", "D Mon, YYYY"}}
	text, err := d.MarshalText()
	require.NoError(t, err)
	var again DateColumns
	require.NoError(t, again.UnmarshalText(text))
	assert.Equal(t, d, again)
	require.NoError(t, again.UnmarshalText(nil))
	assert.Empty(t, again)
	assert.ErrorContains(t, again.UnmarshalText([]byte("when,when=YYYY")), "each column once")
	assert.ErrorContains(t, again.UnmarshalText([]byte("when,,where")), "write COL")
}

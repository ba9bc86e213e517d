package data

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// layouts of days and times, as tables have them.
var layouts = []string{"2006-1-2", "2006/1/2", "2006.1.2", "2.1.2006", "2/1/2006", "1/2/2006", "2-1-2006", "1-2-2006",
	"2.1.06", "1/2/06", "2/1/06", "2-Jan-2006", "2-Jan-06", "2 Jan 2006", "2 January 2006",
	"Jan 2, 2006", "January 2, 2006", "2006-01", "20060102", "2006-1-2 15:4", "2006-1-2 15:4:5", "2006-1-2T15:4",
	"2006-1-2T15:4:5", time.RFC3339, "2006-1-2 15:4:5Z07:00",
	"2006-1-2 15:4:5 Z07:00", "2006-1-2 15:4:5Z07", "2006-1-2T15:4:5Z0700", "2006-1-2 15:4:5 -0700",
	"2006-1-2 15:4:5 UTC", "2006/1/2 15:4", "2006/1/2 15:4:5",
	"1/2/2006 15:4", "1/2/2006 15:4:5", "2/1/2006 15:4", "2/1/2006 15:4:5", "2.1.2006 15:4",
	"2.1.2006 15:4:5", "15:4", "15:4:5"}

// forms are layouts as people write them.
var forms = strings.NewReplacer("2006", "YYYY", "January", "MONTH", "Jan", "MON", "Z07:00", zone, "Z0700", "+hhmm",
	"-0700", "+hhmm", "Z07", "+hh", "01", "MM", "02", "DD", "06", "YY", "15", "h", "04", "m", "05", "s", "1", "M", "2",
	"D", "4", "m", "5", "s")

// zone stands for an offset from UTC, such as +01:00, or Z.
const zone = "ZONE"

// written are forms as others write them: by the letters of Java and of strftime.
var written = strings.NewReplacer("MMMM", "MONTH", "MMM", "MON", "%Y", "YYYY", "%y", "YY", "%m", "M", "%d", "D", "%H",
	"h", "%M", "m", "%S", "s", "%b", "MON", "%B", "MONTH", "%z", "+hhmm", "XXX", zone)

// repeated are letters of which one says that digits follow, one or two.
var repeated = regexp.MustCompile(`(?i)(M)M|(D)D|(h)h|(s)s`)

// Zoned reports whether times of this form have an offset from UTC. Such times are converted to UTC.
func Zoned(form string) bool { return strings.Contains(form, zone) || strings.Contains(form, "+hh") }

// formKey is the same for forms that mean the same: YYYY-MM-DD, yyyy-mm-dd, %Y-%m-%d and YYYY-M-D.
func formKey(form string) string {
	return strings.ToLower(repeated.ReplaceAllString(written.Replace(form), "$1$2$3$4"))
}

// readAs says whether a layout reads a text.
func readAs(layout, text string) bool {
	_, err := time.Parse(layout, text)
	return err == nil
}

// areDates says whether one layout reads all texts but a twentieth, of the first, the last and some between.
func areDates(texts []string) bool {
	const looked = 100
	step := max(1, len(texts)/looked)
	return slices.ContainsFunc(layouts, func(layout string) bool {
		misread, n := 0, (len(texts)+step-1)/step
		for i := 0; i < len(texts) && 20*misread <= n; i += step {
			if !readAs(layout, strings.TrimSpace(texts[i])) {
				misread++
			}
		}
		return 20*misread <= n
	})
}

// ErrDate is part of the error about cells that are not dates, or about dates whose form the caller has to
// choose: see [Table.Dates].
var ErrDate = errors.New("a form of dates")

// ErrEitherWay is part of the error about dates that two forms read differently, such as 03/04/2024. It is an
// [ErrDate], too.
var ErrEitherWay = fmt.Errorf("choose %w", ErrDate)

// Dates converts columns of dates to numbers: days since 1 January 1970, with times as fractions of a day. Times with
// a time zone are converted to UTC; times without a day become the part of the day that has passed. A missing cell
// stays missing. The columns are texts such as 2024-01-31, 31.1.2024, 1/31/24 or 31 Jan 2024, or whole numbers such
// as 20240131, each column in one form. asked gives the form of each column of names; Dates finds a form that is
// empty. It returns the forms, written as YYYY-M-D and so on; a given form may also be written YYYY-MM-DD or
// %Y-%m-%d. It returns an error if there is no such column or form, if the form does not read a cell, or if the order
// of day and month is ambiguous.
func (t *Table) Dates(names, asked []string) (dated *Table, found []string, err error) {
	places, err := t.places(names)
	if err != nil {
		return nil, nil, err
	}
	days := make([][]float64, len(names))
	for i, j := range places {
		form := ""
		if i < len(asked) {
			form = asked[i]
		}
		if days[i], form, err = t.daysOf(j, form); err != nil {
			return nil, nil, fmt.Errorf("column %q: %w", t.Names[j], err)
		}
		found = append(found, form)
	}
	dated, err = t.withNumbers(places, days)
	return dated, found, err
}

// daysOf are the dates of column j.
func (t *Table) daysOf(j int, asked string) (days []float64, form string, err error) {
	f := t.columns[j].factor
	if f == nil {
		f = dayFactor(t.column(j))
	}
	texts := make([]string, len(f.levels))
	for code, level := range f.levels {
		texts[code] = strings.TrimSpace(level)
	}
	layout, err := layoutOf(texts, asked)
	if err != nil {
		return nil, "", err
	}
	form = forms.Replace(layout)
	values := make([]float64, len(texts))
	for code, text := range texts {
		at, err := daysAt(layout, text)
		if row := slices.Index(f.codes, int32(code)); err != nil && row >= 0 {
			return nil, "", fmt.Errorf("row %d is %.60q, which does not have %w like the others, %s; correct it, or "+
				"take it for a missing value", t.Origin(row)+1, text, ErrDate, form)
		}
		values[code] = at
	}
	days = make([]float64, t.rows)
	for row, code := range f.codes {
		days[row] = math.NaN()
		if code != missingCode {
			days[row] = values[code]
		}
	}
	return days, form, nil
}

// daysAt are those of one text.
func daysAt(layout, text string) (float64, error) {
	at, err := time.Parse(layout, text)
	if at.Year() == 0 {
		return at.Sub(time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)).Hours() / 24, err
	}
	return (float64(at.Unix()) + float64(at.Nanosecond())/1e9) / (24 * 60 * 60), err
}

// DateOfDigits is the form of dates that could be numbers.
const DateOfDigits = "YYYYMMDD"

// DateColumns lists columns of dates. Its text is COL[=FORM],… with a backslash before each comma in a name.
type DateColumns struct {
	Names, Forms []string // each column's form; empty if it is to be found
}

// MarshalText returns the columns as COL=FORM,….
func (d DateColumns) MarshalText() ([]byte, error) {
	var items []string
	for i, name := range d.Names {
		item := strings.ReplaceAll(name, ",", `\,`)
		if d.Forms[i] != "" {
			item += "=" + strings.ReplaceAll(d.Forms[i], ",", `\,`)
		}
		items = append(items, item)
	}
	return []byte(strings.Join(items, ",")), nil
}

// UnmarshalText reads what MarshalText writes. It returns an error if names are equal or empty.
func (d *DateColumns) UnmarshalText(text []byte) error {
	*d = DateColumns{}
	const comma = "\x00" // in a name, while items are told apart
	list := strings.TrimSuffix(strings.ReplaceAll(string(text), `\,`, comma), ",")
	if list == "" {
		return nil
	}
	for item := range strings.SplitSeq(list, ",") {
		name, form, _ := strings.Cut(strings.ReplaceAll(item, comma, ","), "=")
		if name = strings.TrimSpace(name); name == "" || slices.Contains(d.Names, name) {
			return fmt.Errorf("%q: write COL,… or COL=FORM,…, each column once", text)
		}
		d.Names, d.Forms = append(d.Names, name), append(d.Forms, strings.TrimSpace(form))
	}
	return nil
}

// Days returns a function that converts the text of a date in this form to its number, as [Table.Dates] does. It
// returns an error if there is no such form.
func Days(form string) (func(text string) (float64, error), error) {
	layout, err := layoutOf(nil, form)
	if err != nil {
		return nil, err
	}
	return func(text string) (float64, error) {
		at, err := daysAt(layout, strings.TrimSpace(text))
		if err != nil {
			return 0, fmt.Errorf("%.60q does not have %w %s", text, ErrDate, form)
		}
		return at, nil
	}, nil
}

// padded is a layout with two digits for each part of a date, which it reads as well.
var padded = strings.NewReplacer("2006", "2006", "Z07:00", "Z07:00", "Z0700", "Z0700", "-0700", "-0700", "Z07", "Z07",
	"15", "15", "01", "01", "02", "02", "04", "04", "05", "05", "06", "06", "1", "01", "2", "02", "4", "04", "5", "05")

// DateText returns a function that writes a number of days as a date in this form, to the nearest day, minute or second
// that the form shows, with two digits for days and months: the inverse of [Days]. It returns an error if there is no
// such form.
func DateText(form string) (func(days float64) string, error) {
	layout, err := layoutOf(nil, form)
	if err != nil {
		return nil, err
	}
	unit := 24 * time.Hour
	switch {
	case strings.Contains(layout, ":5"), strings.Contains(layout, ":05"):
		unit = time.Second
	case strings.Contains(layout, "15"):
		unit = time.Minute
	}
	layout = padded.Replace(layout)
	return func(days float64) string {
		steps := math.Round(days * float64(24*time.Hour/unit))
		return time.Unix(int64(steps)*int64(unit/time.Second), 0).UTC().Format(layout)
	}, nil
}

// dayFactor is [numberFactor] with all digits of whole numbers.
func dayFactor(x []float64) *factor {
	f := numberFactor(x)
	for i, level := range f.levels {
		if v, err := strconv.ParseFloat(level, 64); err == nil {
			f.levels[i] = strconv.FormatFloat(v, 'f', -1, 64)
		}
	}
	return f
}

// layoutOf finds the layout that reads most texts, or that of a form.
func layoutOf(texts []string, asked string) (string, error) {
	if asked != "" {
		i := slices.IndexFunc(layouts, func(layout string) bool { return formKey(forms.Replace(layout)) == formKey(asked) })
		if i < 0 {
			var names []string
			for _, layout := range layouts {
				names = append(names, forms.Replace(layout))
			}
			return "", fmt.Errorf("%.60q is not %w: those are %s; MM means M, DD means D, and so on", asked, ErrDate,
				strings.Join(names, ", "))
		}
		return layouts[i], nil
	}
	reads := make([]int, len(layouts))
	for i, layout := range layouts {
		for _, text := range texts {
			if readAs(layout, text) {
				reads[i]++
			}
		}
	}
	best := 0
	for i, n := range reads {
		if n > reads[best] {
			best = i
		}
	}
	if reads[best] == 0 {
		return "", fmt.Errorf("it does not have %w, such as 2024-01-31 or 31.1.2024", ErrDate)
	}
	for i, layout := range layouts {
		if text := differ(texts, layout, layouts[best]); i != best && reads[i] == reads[best] && text != "" {
			return "", fmt.Errorf("%.60q can be %s and %s: %w", text, forms.Replace(layouts[best]),
				forms.Replace(layout), ErrEitherWay)
		}
	}
	return layouts[best], nil
}

// differ is the first text that two layouts read differently; empty where there is none.
func differ(texts []string, one, other string) string {
	for _, text := range texts {
		a, errA := time.Parse(one, text)
		b, errB := time.Parse(other, text)
		if errA == nil && errB == nil && !a.Equal(b) {
			return text
		}
	}
	return ""
}

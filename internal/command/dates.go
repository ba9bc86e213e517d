package command

import (
	"fmt"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/report"
)

// dateColumns are the value of --dates.
type dateColumns struct {
	names, forms []string // of each column its form, empty where it is to be found
}

// MarshalText is COL=FORM,….
func (d dateColumns) MarshalText() ([]byte, error) {
	var items []string
	for i, name := range d.names {
		item := strings.ReplaceAll(name, ",", `\,`)
		if d.forms[i] != "" {
			item += "=" + strings.ReplaceAll(d.forms[i], ",", `\,`)
		}
		items = append(items, item)
	}
	return []byte(strings.Join(items, ",")), nil
}

// UnmarshalText reads COL[=FORM],…; a comma in a name has a backslash before it.
func (d *dateColumns) UnmarshalText(text []byte) error {
	*d = dateColumns{}
	for _, item := range kong.SplitEscaped(string(text), ',') {
		name, form, _ := strings.Cut(item, "=")
		if name = strings.TrimSpace(name); name == "" || slices.Contains(d.names, name) {
			return fmt.Errorf("%q: write COL,… or COL=FORM,…, each column once", text)
		}
		d.names, d.forms = append(d.names, name), append(d.forms, strings.TrimSpace(form))
	}
	return nil
}

// Units of columns that were dates, or times of a day without a date.
const (
	unitOfDates = "days since 1970-01-01"
	unitOfTimes = "days since midnight"
)

// unit is that of a column; empty where it was no date.
func (d dateColumns) unit(name string) string {
	i := slices.Index(d.names, name)
	switch {
	case i < 0:
		return ""
	case strings.Contains(d.forms[i], "Y"):
		return unitOfDates
	}
	return unitOfTimes
}

// spread is mean and standard deviation of the column for readers: of dates, the mean is a date.
func spread[F ~float64](c data.Column, mean, sd F) report.Cell {
	cell := report.Spread(mean, sd)
	if c.Unit == unitOfDates {
		cell.As = report.Dates
	}
	return cell
}

// axis names the column and its unit.
func axis(c data.Column) string {
	if c.Unit == "" {
		return report.Printable(c.Name)
	}
	return report.Printable(c.Name) + ", " + c.Unit
}

// formOfDigits is the form of dates that are read as numbers.
const formOfDigits = "YYYYMMDD"

// takeDates has columns of dates become numbers: those of --dates, and those of the fit of a saved model where the table has them as
// dates and not as numbers already.
func (f *inputFlags) takeDates(s *session, in *input) error {
	asked := f.Dates
	for i, name := range f.fittedDates.names {
		form := f.fittedDates.forms[i]
		isDate := in.Levels(name) != nil || form == formOfDigits && slices.Contains(in.Names, name)
		if isDate && !slices.Contains(f.Dates.names, name) {
			asked.names, asked.forms = append(slices.Clone(asked.names), name), append(slices.Clone(asked.forms), form)
		}
	}
	if len(asked.names) == 0 {
		return nil
	}
	table, found, err := in.Table.Dates(asked.names, asked.forms)
	if err != nil {
		return in.wrap(fmt.Errorf("--dates: %w", err))
	}
	if in.written, err = in.Table.Select(asked.names...); err != nil {
		return in.wrap(err)
	}
	in.Table, in.dates = table, dateColumns{asked.names, found}
	if n := len(f.Dates.names); n > 0 {
		var list []string
		for i, name := range f.Dates.names {
			utc := ""
			if data.Zoned(found[i]) {
				utc = ", by UTC"
			}
			list = append(list, fmt.Sprintf("%.60q (%s%s)", name, found[i], utc))
		}
		s.note("%s: dates are numbers, days since 1 January 1970: %s", in.name, listed(list, 20))
	}
	return nil
}

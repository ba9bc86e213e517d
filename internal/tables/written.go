package tables

import (
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
)

// AsWritten has columns read as texts, which can be written as they were, but for dates, and numbers with units or
// separated thousands, which are read as before.
func (f *Options) AsWritten(reading func(name string) data.Reading) func(name string) data.Reading {
	spelt, dates := spelledBy(f.spellings), slices.Concat(f.Dates.Names, f.fittedDates.Names)
	return func(name string) data.Reading {
		if _, is := spelt[name]; is || slices.Contains(dates, name) {
			return reading(name)
		}
		return data.ReadAsText
	}
}

// Text returns a function that writes the numbers of a column as the table has them: dates in their form, other numbers
// with its decimal mark. It returns an error if the form of the dates is none.
func (f *Options) Text(in *Input, name string) (func(v float64) string, error) {
	if at := slices.Index(in.dates.Names, name); at >= 0 {
		return data.DateText(in.dates.Forms[at])
	}
	comma := f.Decimal == ',' || f.Decimal == 0 && in.DecimalComma()
	return func(v float64) string {
		text := strconv.FormatFloat(v, 'g', -1, 64)
		if comma {
			text = strings.Replace(text, ".", ",", 1)
		}
		return text
	}, nil
}

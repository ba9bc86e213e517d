package command

import (
	"fmt"
	"slices"

	"github.com/latent-go/latent/data"
)

// A decimalFlag is what decimals follow in CSV files: a point, a comma, or 0 where the file shows it.
type decimalFlag byte

// UnmarshalText reads . or ,.
func (f *decimalFlag) UnmarshalText(text []byte) error {
	if len(text) != 1 || text[0] != '.' && text[0] != ',' {
		return fmt.Errorf("%q: decimals follow a point or a comma: write . or ,", text)
	}
	*f = decimalFlag(text[0])
	return nil
}

// MarshalText is the text as it was given.
func (f decimalFlag) MarshalText() ([]byte, error) { return []byte(f.String()), nil }

func (f decimalFlag) String() string {
	if f == 0 {
		return ""
	}
	return string(rune(f))
}

// noteNumbers says what encoding was found, and how numbers are read that are written in more than one way.
func (f *inputFlags) noteNumbers(s *session, in *input) {
	if in.Encoding() != "" && f.Encoding == "" {
		s.note("%s: read as %s, as it is not UTF-8 (--encoding)", in.name, in.Encoding())
	}
	if in.HeaderOfYears() {
		s.note("%s: the first row names the columns, though some names are years (--header no)", in.name)
	}
	if f.Decimal == 0 && in.DecimalComma() {
		s.note("%s: decimals have commas (--decimal . reads them as texts)", in.name)
	}
	if list := in.Spellings(); len(list) > 0 {
		s.note("%s: read as numbers: %s", in.name, abridged(list, ", ",
			func(one data.Spelling) string { return fmt.Sprintf("%.60q (%s)", one.Column, one) }))
	}
	if list := in.UnsureDecimals(); len(list) > 0 {
		s.note("%s: every point of %s has three digits behind it, and is read as that of decimals: --decimal , where it "+
			"separates thousands, --decimal . where not", in.name, abridged(list, ", ", quotedCell))
	}
}

// spelt returns what decimals follow if a flag or separators of thousands show it, which numbers of a later table may
// not show.
func (f *inputFlags) spelt(in *input) decimalFlag {
	if f.Decimal == 0 && slices.ContainsFunc(in.Spellings(),
		func(one data.Spelling) bool { return one.Thousands == "." || one.Thousands == "," }) {
		if in.DecimalComma() {
			return ','
		}
		return '.'
	}
	return f.Decimal
}

// asFitted has a table read as that of a fit was: with its texts for missing values and its dates, and its decimals
// unless others are given.
func (f *inputFlags) asFitted(m *modelFile) {
	f.fitted = m.Settings.NA
	_ = f.fittedDates.UnmarshalText([]byte(m.Settings.Dates)) // which MarshalText wrote
	if f.Decimal == 0 && m.Settings.Decimal != "" {
		f.Decimal = decimalFlag(m.Settings.Decimal[0])
	}
}

// settings are what a model file keeps of the flags.
func (f *fittingFlags) settings(in *input) settings {
	kept := f.modelFlags.settings()
	dates, _ := in.dates.MarshalText()
	kept.NA, kept.Decimal, kept.Dates, kept.ID = slices.Concat(f.NA, in.marks), f.spelt(in).String(), string(dates), f.ID
	return kept
}

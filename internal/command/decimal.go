package command

import (
	"fmt"
	"slices"
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

// noteDecimal says that decimal commas were seen without a flag.
func (f *inputFlags) noteDecimal(s *session, in *input) {
	if f.Decimal == 0 && in.DecimalComma() {
		s.note("%s: decimals have commas (--decimal . reads them as texts)", in.name)
	}
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
	kept.NA, kept.Decimal, kept.Dates, kept.ID = slices.Concat(f.NA, in.marks), f.Decimal.String(), string(dates), f.ID
	return kept
}

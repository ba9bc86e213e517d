package command

import (
	"cmp"
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
	if list := in.UnsureDecimals(); f.Decimal == 0 && len(list) > 0 {
		s.note("%s: every point of %s precedes three digits and is read as a decimal point: --decimal , if it "+
			"separates thousands, otherwise --decimal .", in.name, abridged(list, ", ", quotedCell))
	}
	f.noteOthers(s, in)
}

// noteOthers says which columns a table seems to spell in another way than that of the fit of a saved model did.
func (f *inputFlags) noteOthers(s *session, in *input) {
	here := spelledBy(in.Spellings())
	then := spelledBy(f.spellings)
	var thousands, units []string
	for _, name := range in.Names {
		a, b := then[name], here[name]
		switch {
		case len(f.spellings) == 0:
		case f.spelled && isMark(a.Thousands) && b.Thousands == "" && slices.Contains(in.UnsureDecimals(), name):
			thousands = append(thousands, name)
		case a.Unit != b.Unit && (a.Column != "" || b.Unit != ""):
			units = append(units, fmt.Sprintf("%.60q (%s there, %s here)", name, cmp.Or(a.Unit, "none"), cmp.Or(b.Unit, "none")))
		}
	}
	if len(thousands) > 0 {
		s.note("%s: every %q of %s precedes three digits and is read as a decimal mark, but in the fit's table it separates "+
			"thousands: --decimal %s if it does so here, too, or write the digits alone", in.name, f.Decimal,
			abridged(thousands, ", ", quotedCell), map[decimalFlag]string{'.': ",", ',': "."}[f.Decimal])
	}
	if len(units) > 0 {
		s.note("%s: units differ from those of the fit's table, and are not converted: %s", in.name,
			abridged(units, ", ", func(text string) string { return text }))
	}
}

func spelledBy(list []data.Spelling) map[string]data.Spelling {
	by := map[string]data.Spelling{}
	for _, one := range list {
		by[one.Column] = one
	}
	return by
}

// isMark reports whether a separator of thousands may also be that of decimals.
func isMark(separator string) bool { return separator == "." || separator == "," }

// spelt returns what decimals follow if a flag or separators of thousands show it, which numbers of a later table may
// not show.
func (f *inputFlags) spelt(in *input) decimalFlag {
	if f.Decimal == 0 &&
		slices.ContainsFunc(in.Spellings(), func(one data.Spelling) bool { return isMark(one.Thousands) }) {
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
	f.spellings = m.Settings.Spellings
	if f.Decimal == 0 && m.Settings.Decimal != "" {
		f.Decimal, f.spelled = decimalFlag(m.Settings.Decimal[0]), true
	}
}

// settings are what a model file keeps of the flags.
func (f *fittingFlags) settings(in *input) settings {
	kept := f.modelFlags.settings()
	dates, _ := in.dates.MarshalText()
	kept.NA, kept.Decimal, kept.Dates, kept.ID = slices.Concat(f.NA, in.marks), f.spelt(in).String(), string(dates), f.ID
	kept.Spellings = slices.DeleteFunc(slices.Clone(in.Spellings()),
		func(one data.Spelling) bool { return !slices.Contains(in.Names, one.Column) })
	return kept
}

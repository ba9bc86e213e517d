package tables

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/wording"
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
func (f *Options) noteNumbers(s *Session, in *Input) {
	if in.Encoding() != "" && f.Encoding == "" {
		s.Note("%s: read as %s, as it is not UTF-8 (--encoding)", in.Name, in.Encoding())
	}
	if in.HeaderOfYears() {
		s.Note("%s: the first row names the columns, though some names are years (--header no)", in.Name)
	}
	if f.Decimal == 0 && in.DecimalComma() {
		s.Note("%s: decimals have commas (--decimal . reads them as texts)", in.Name)
	}
	if list := in.Spellings(); len(list) > 0 {
		s.Note("%s: read as numbers: %s", in.Name, wording.Abridged(list, ", ",
			func(one data.Spelling) string { return fmt.Sprintf("%.60q (%s)", one.Column, one) }))
	}
	if list := in.UnsureDecimals(); f.Decimal == 0 && len(list) > 0 {
		s.Note("%s: every point of %s precedes three digits and is read as a decimal point: --decimal , if it "+
			"separates thousands, otherwise --decimal .", in.Name, wording.Abridged(list, ", ", wording.QuotedCell))
	}
	f.noteOthers(s, in)
}

// noteOthers says which columns a table seems to spell in another way than that of the fit of a saved model did.
func (f *Options) noteOthers(s *Session, in *Input) {
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
		s.Note("%s: every %q of %s precedes three digits and is read as a decimal mark, but in the fit's table it separates "+
			"thousands: --decimal %s if it does so here, too, or write the digits alone", in.Name, f.Decimal,
			wording.Abridged(thousands, ", ", wording.QuotedCell), map[decimalFlag]string{'.': ",", ',': "."}[f.Decimal])
	}
	if len(units) > 0 {
		s.Note("%s: units differ from those of the fit's table, and are not converted: %s", in.Name,
			wording.Abridged(units, ", ", func(text string) string { return text }))
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

// decimalOf returns what decimals follow if a flag or separators of thousands show it, which numbers of a later table
// may not show.
func (f *Options) decimalOf(in *Input) decimalFlag {
	if f.Decimal == 0 &&
		slices.ContainsFunc(in.Spellings(), func(one data.Spelling) bool { return isMark(one.Thousands) }) {
		if in.DecimalComma() {
			return ','
		}
		return '.'
	}
	return f.Decimal
}

// AsFitted has a table read as that of a fit was: with its texts for missing values and its dates, and its decimals
// unless others are given.
func (f *Options) AsFitted(as Spelt) {
	f.fitted = as.NA
	_ = f.fittedDates.UnmarshalText([]byte(as.Dates)) // which MarshalText wrote
	f.spellings = as.Spellings
	if f.Decimal == 0 && as.Decimal != "" {
		f.Decimal, f.spelled = decimalFlag(as.Decimal[0]), true
	}
}

// Spelt says how a table was read: what a model file keeps for later tables.
type Spelt struct {
	NA      []string `json:"na,omitempty"`
	Decimal string   `json:"decimal,omitempty"`
	Dates   string   `json:"dates,omitempty"` // columns with their forms
	ID      []string `json:"id,omitempty"`    // columns that name the rows

	Spellings []data.Spelling `json:"spellings,omitempty"` // of numbers with units or separated thousands
}

// Spelt says how a table was read whose rows are named by some columns.
func (f *Options) Spelt(in *Input, ids []string) Spelt {
	dates, _ := in.dates.MarshalText()
	return Spelt{NA: slices.Concat(f.NA, in.marks), Decimal: f.decimalOf(in).String(), Dates: string(dates), ID: ids,
		Spellings: slices.DeleteFunc(slices.Clone(in.Spellings()),
			func(one data.Spelling) bool { return !slices.Contains(in.Names, one.Column) })}
}

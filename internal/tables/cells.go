package tables

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/memory"
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
	if in.Blanks() {
		s.Note("%s: fields are separated by blanks", in.Name)
	}
	if above := in.Preamble(); above != "" {
		s.Note("%s: left out above the table: %.60q", in.Name, above)
	}
	for _, row := range in.Titles() {
		filled := slices.DeleteFunc(slices.Clone(row), func(cell string) bool { return cell == "" })
		s.Note("%s: left out below the header, units or titles: %s", in.Name,
			wording.Abridged(filled, ", ", wording.QuotedCell))
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
	na := slices.Concat(f.NA, in.marks)
	return Spelt{NA: append(na, Without(f.fitted, SetOf(na))...), Decimal: f.decimalOf(in).String(),
		Dates: string(dates), ID: ids, Spellings: slices.DeleteFunc(slices.Clone(in.Spellings()),
			func(one data.Spelling) bool { return !slices.Contains(in.Names, one.Column) })}
}

// Dates are the value of --dates.
type Dates struct{ data.DateColumns }

// unitOfTimes is that of columns that were times of a day without a date.
const unitOfTimes = "days since midnight"

// unit is that of a column; empty where it was no date.
func (d Dates) unit(name string) string {
	i := slices.Index(d.Names, name)
	switch {
	case i < 0:
		return ""
	case strings.Contains(d.Forms[i], "Y"):
		return classes.UnitOfDates
	}
	return unitOfTimes
}

// Unit is that of the numbers of a column that was read as dates; empty of others.
func (in *Input) Unit(name string) string { return in.dates.unit(name) }

// DateNames are the columns that were read as dates.
func (in *Input) DateNames() []string { return in.dates.Names }

// takeDates has columns of dates become numbers: those of --dates, and those of the fit of a saved model where the
// table has them as dates and not as numbers already.
func (f *Options) takeDates(s *Session, in *Input) error {
	asked := f.Dates
	for i, name := range f.fittedDates.Names {
		form := f.fittedDates.Forms[i]
		isDate := in.Levels(name) != nil || form == data.DateOfDigits && slices.Contains(in.Names, name)
		if isDate && !slices.Contains(f.Dates.Names, name) {
			asked.Names, asked.Forms = append(slices.Clone(asked.Names), name), append(slices.Clone(asked.Forms), form)
		}
	}
	if len(asked.Names) == 0 {
		return nil
	}
	table, found, err := in.Table.Dates(asked.Names, asked.Forms)
	if err != nil {
		return in.Wrap(fmt.Errorf("--dates: %w", err))
	}
	if in.written, err = in.Table.Select(asked.Names...); err != nil {
		return in.Wrap(err)
	}
	in.Table, in.dates = table, Dates{data.DateColumns{Names: asked.Names, Forms: found}}
	if n := len(f.Dates.Names); n > 0 {
		var list []string
		for i, name := range f.Dates.Names {
			utc := ""
			if data.Zoned(found[i]) {
				utc = ", by UTC"
			}
			list = append(list, fmt.Sprintf("%.60q (%s%s)", name, found[i], utc))
		}
		s.Note("%s: dates are numbers, days since 1 January 1970: %s", in.Name, wording.Listed(list, 20))
	}
	return nil
}

// limitsFlag are the values of --limit.
type limitsFlag struct {
	data.Limits
	text string
}

// MarshalText is the text as it was given.
func (f limitsFlag) MarshalText() ([]byte, error) { return []byte(f.text), nil }

// UnmarshalText reads KEY=VALUE,….
func (f *limitsFlag) UnmarshalText(text []byte) error {
	*f = limitsFlag{text: string(text)}
	for item := range strings.SplitSeq(f.text, ",") {
		key, value, _ := strings.Cut(item, "=")
		bytes, err := memory.ParseSize(value)
		switch strings.TrimSpace(key) {
		case "cell":
			f.Cell = int64(bytes)
		case "row":
			f.Row = int64(bytes)
		case "ratio":
			f.Ratio = bytes
		default:
			return fmt.Errorf("no limit %q: write cell=SIZE, row=SIZE or ratio=NUMBER", item)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

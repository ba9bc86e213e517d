package fitted

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/fastcsv"
)

// A coder makes numbers of the cells of a column.
type coder struct {
	levels *data.Coder                   // nil of numbers
	days   func(string) (float64, error) // of dates; nil of others
	digits bool                          // dates are digits, which might be numbers
	as     data.Spelling                 // of numbers
}

// readings are the settings that say how a table was read.
type readings struct {
	NA        []string
	Decimal   string
	Dates     data.DateColumns
	Spellings []data.Spelling
}

func (f *Fitted) readCoders() error {
	var how readings
	if f.File.Settings != nil {
		if err := json.Unmarshal(f.File.Settings, &how); err != nil {
			return err
		}
	}
	f.missing = how.NA
	if how.Decimal != "" {
		f.decimal = how.Decimal[0]
	}
	for _, c := range f.File.Columns {
		var one coder
		switch at := slices.Index(how.Dates.Names, c.Name); {
		case len(c.Levels) > 0:
			one.levels = data.NewCoder(c.Levels)
		case at >= 0:
			var err error
			form := how.Dates.Forms[at]
			if form == "" {
				return fmt.Errorf("column %q of dates has no form", c.Name)
			}
			one.digits = form == data.DateOfDigits
			if one.days, err = data.Days(form); err != nil {
				return fmt.Errorf("column %q: %w", c.Name, err)
			}
		}
		if at := slices.IndexFunc(how.Spellings, func(s data.Spelling) bool { return s.Column == c.Name }); at >= 0 {
			one.as = how.Spellings[at]
		}
		f.coders = append(f.coders, one)
	}
	return nil
}

// Encode converts the cells of a row, texts in the order of Columns, to the numbers that Score takes, in dst:
// numbers, codes of levels, days of dates, and NaN for missing values. It reads the texts as latent predict does,
// with the fit's missing-value texts, decimal mark and forms of dates. For a model of sequences, the cells of each
// step follow those of the step before.
func (f *Fitted) Encode(dst []float64, cells []string) error {
	d := len(f.coders)
	if n := len(cells); n != len(dst) || n == 0 || n%d != 0 || n > d && !f.input.Sequence {
		return fmt.Errorf("fitted: %d cells do not match a model of %d columns and dst of length %d", n, d, len(dst))
	}
	for i, cell := range cells {
		v, err := f.encode(i%d, cell)
		if err != nil {
			return fmt.Errorf("fitted: column %q: %w", f.File.Columns[i%d].Name, err)
		}
		dst[i] = v
	}
	return nil
}

func (f *Fitted) encode(j int, cell string) (float64, error) {
	trimmed := strings.TrimSpace(cell)
	c := &f.coders[j]
	switch {
	case fastcsv.IsMissing(trimmed) ||
		slices.ContainsFunc(f.missing, func(text string) bool { return fastcsv.Marks(text, trimmed) }):
		return math.NaN(), nil
	case c.levels != nil:
		code := c.levels.Code(cell, f.decimal)
		if code < 0 {
			code = c.levels.Code(trimmed, f.decimal)
		}
		if code < 0 {
			return 0, fmt.Errorf("%.60q is none of its levels: %s", cell, shortened(f.File.Columns[j].Levels))
		}
		return float64(code), nil
	}
	v, kind := fastcsv.ParseDecimal(cell, f.decimal)
	switch {
	case c.days != nil && (kind == fastcsv.Text || c.digits): // else it is a number of days already
		return c.days(cell)
	case kind == fastcsv.Text:
		if v, is := c.as.Number(trimmed, f.decimal); is && c.as.Column != "" {
			return v, nil
		}
		return 0, fmt.Errorf("%.60q is not a number", cell)
	case kind == fastcsv.OutOfRange || math.IsInf(v, 0):
		return 0, fmt.Errorf("%.60q is out of the range of numbers", cell)
	}
	return v, nil
}

// shortened are the first of some names.
func shortened(names []string) string {
	const most = 20
	list := make([]string, 0, most+1)
	for _, name := range names[:min(most, len(names))] {
		list = append(list, fmt.Sprintf("%.60q", name))
	}
	if len(names) > most {
		list = append(list, fmt.Sprintf("… (%d in all)", len(names)))
	}
	return strings.Join(list, ", ")
}

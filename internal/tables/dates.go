package tables

import (
	"fmt"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/wording"
)

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

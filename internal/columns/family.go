package columns

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// checkDescribed refuses to describe columns that the table does not have.
func (in Columns) checkDescribed(given *classes.ColumnFamilies) error {
	known := tables.SetOf(in.Names)
	for _, name := range given.Names {
		if !known[name] {
			return fmt.Errorf("--columns: no column %q to describe; the columns are %s", name, wording.Quoted(in.Names))
		}
	}
	return nil
}

// described are the columns of a table with their families: those that --columns names,
// those that --family gives to all, or those that their values look like.
func described(s *tables.Session, in Columns, family string, given *classes.ColumnFamilies) ([]data.Column, error) {
	if err := in.checkDescribed(given); err != nil {
		return nil, err
	}
	var found []suspect
	switch {
	case family == families.Auto:
		var err error
		if found, err = in.auto(s, given); err != nil {
			return nil, err
		}
	case families.Named(family).Normal:
		in.suggestAuto(s, given)
		in.suggestCodes(s, given)
	}
	columns := make([]data.Column, len(in.Names))
	for j, name := range in.Names {
		c := data.Column{Name: name, Family: family}
		switch {
		case given.Family[name] != "":
			c.Family = given.Family[name]
		case family == families.Diagonal:
			c.Family = families.Gaussian
		case family == families.Auto:
			c.Family, c.Reason = in.choose(found[j])
		}
		var err error
		if c.Levels, err = levels(in, j, c, given); err != nil {
			return nil, err
		}
		if c.Levels == nil {
			c.Unit = in.Unit(name)
		}
		columns[j] = c
	}
	if family == families.Categorical {
		in.noteLevels(s, columns, given)
	}
	if family == families.Auto {
		in.takeIndicators(s, columns, given)
	}
	return columns, refuseSingle(columns)
}

// noteLevels notes columns that --family takes for categorical with too few rows a level for classes to differ.
func (in Columns) noteLevels(s *tables.Session, columns []data.Column, given *classes.ColumnFamilies) {
	const many, fewRows = 10, 5
	var numbers, texts []suspect
	for _, c := range columns {
		if n := len(c.Levels); given.Family[c.Name] != "" || n <= many || in.Rows() >= fewRows*n {
			continue
		}
		detail := fmt.Sprintf("(%s in %s)", wording.Counted(len(c.Levels), "level"), wording.Counted(in.Rows(), "row"))
		one := suspect{c.Name, data.Suggestion{Cause: data.ManyLevels, Detail: detail}}
		if _, cells, _ := in.Texts(c.Name); cells == 0 {
			numbers = append(numbers, one)
		} else {
			texts = append(texts, one)
		}
	}
	if len(numbers) > 0 {
		s.Note("%s: numbers treated as categorical, with too few rows for each level to tell classes apart: %s: %s "+
			"describes measurements", in.Name, detailed(numbers), as(families.Gaussian, numbers, given))
	}
	if len(texts) > 0 {
		s.Note("%s: texts with too few rows for each level to tell classes apart: %s: %s", in.Name, detailed(texts),
			dropThem(texts, given))
	}
}

// levels are those of column j that is described by codes, sorted; nil for one that is
// described by its numbers.
func levels(in Columns, j int, c data.Column, given *classes.ColumnFamilies) ([]string, error) {
	text := in.Levels(c.Name) != nil
	if text && c.Family != families.Known {
		if _, err := in.Column(c.Name); errors.Is(err, data.ErrHeader) ||
			isMisspelt(err) && c.Family != families.Categorical {
			return nil, err
		}
	}
	switch {
	case c.Family == families.Categorical, c.Family == families.Gate && text:
		return in.occurring(c.Name)
	case c.Family == families.Known:
		return in.Levels(c.Name), nil
	case c.Family == families.Ordinal && text:
		list, err := in.occurring(c.Name)
		inOrder, ok := data.Ordered(list)
		if err == nil && !ok {
			err = fmt.Errorf("column %.60q holds texts, whose order is unknown: number the levels in their order, as in 1 low "+
				"and 2 high, or take the column as categorical", c.Name)
		}
		return inOrder, err
	case c.Family == families.Ordinal:
		list, err := in.occurring(c.Name)
		if err == nil && len(list) < families.Named(families.Ordinal).Levels {
			err = fmt.Errorf("column %.60q has %s, and ordinal needs three or more: take the column as bernoulli", c.Name,
				wording.Counted(len(list), "level"))
		}
		return list, err
	case c.Family == families.Bernoulli && (text || in.hasTwoCodes(j)):
		list, err := in.occurring(c.Name)
		if err == nil && len(list) > 2 {
			err = fmt.Errorf("column %.60q has %d levels (%s): bernoulli takes columns of 0 and 1, or texts with two "+
				"levels: %s, or --model mixture %s",
				c.Name, len(list), wording.Abridged(list, ", ", wording.QuotedCell), tables.Dropping([]string{c.Name}),
				columnsFlag(given, []string{c.Name}, families.Categorical))
		}
		return list, err
	case text:
		if _, err := in.Column(c.Name); err != nil {
			return nil, fmt.Errorf("%w (%s)", err, numbersNeeded(in, c, given))
		}
	}
	return nil, nil
}

// occurring are the levels of a column, of which infinity is none among numbers.
func (in Columns) occurring(name string) ([]string, error) {
	list, err := in.Occurring(name)
	infinite := ""
	for _, level := range list {
		v, err := strconv.ParseFloat(strings.Replace(strings.TrimSpace(level), ",", ".", 1), 64)
		if err != nil {
			return list, nil
		}
		if math.IsInf(v, 0) {
			infinite = level
		}
	}
	if infinite != "" {
		return nil, fmt.Errorf("column %.60q: %s is not a level among numbers: correct it, or --na=%s if it stands for a "+
			"missing value", name, infinite, wording.Word(infinite))
	}
	return list, err
}

// isMisspelt says whether an error is about numbers that were taken for texts by the way they are written.
func isMisspelt(err error) bool {
	return errors.Is(err, data.ErrDecimalComma) || errors.Is(err, data.ErrDecimalPoint) || errors.Is(err, data.ErrGrouped)
}

// refuseSingle refuses columns of texts that are all the same, all at once.
func refuseSingle(columns []data.Column) error {
	var single []string
	level := ""
	for _, c := range columns {
		if len(c.Levels) == 1 && c.Family != families.Known {
			single, level = append(single, c.Name), c.Levels[0]
		}
	}
	return tables.Refusal(single, len(columns), "every column has a single level",
		fmt.Sprintf("has 1 level (%.60q); must have at least two", level), "have 1 level each; must have at least two")
}

// numbersNeeded says what to do with a text where a family describes numbers.
func numbersNeeded(in Columns, c data.Column, given *classes.ColumnFamilies) string {
	if given.Family[c.Name] != "" {
		return fmt.Sprintf("--columns %s=%s describes numbers: say categorical, or --na TEXT if the text stands for "+
			"a missing value", wording.Item(c.Name), c.Family)
	}
	if in.Cols() == 1 {
		return separators + "; --family auto describes a single column of texts"
	}
	texts := slices.DeleteFunc(in.TextColumns(), func(name string) bool { return given.Family[name] != "" })
	described := "--family auto"
	if given.Text != "" {
		described = columnsFlag(given, texts[:min(len(texts), wording.MostNoted)], families.Categorical)
	}
	if len(texts) == in.Cols() {
		return described
	}
	return in.Marking(texts) + tables.Dropping(texts) + ", or " + described
}

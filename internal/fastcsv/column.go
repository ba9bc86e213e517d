package fastcsv

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// A Column keeps the content of its cells, except numbers, which are in [Table].Numbers.
type Column struct {
	Categorical bool // the cells are texts; else numbers

	// Levels are the different texts of a categorical column, in order of first appearance; Codes has one of their
	// indices a row, or MissingCode.
	Levels []string
	Codes  []int32
	index  map[string]int32 // level → code

	// MarkedMissing counts the cells that are missing by each of [Table].Missing, and last those that are by N/A, NULL
	// and the like; nil: none.
	MarkedMissing []int

	// DigitsOnly is true as long as all numbers of the column are digits alone, where the caller has set it;
	// LeadingZero if one of them begins with a zero that it does not need.
	DigitsOnly, LeadingZero bool
}

// MissingCode is the code of a missing cell.
const MissingCode = -1

// AddText adds a cell to a categorical column. It returns false, and adds nothing, if the cell is not UTF-8.
func (c *Column) AddText(cell string, missing []string) bool {
	code, ok := c.index[cell]
	if !ok {
		switch {
		case c.MarksMissing(cell, missing): // which no level is
			code = MissingCode
		case IsMissing(strings.TrimSpace(cell)):
			c.NoteMissing(cell, missing)
			code = MissingCode
		case !utf8.ValidString(cell):
			return false
		default:
			code = c.newLevel(strings.Clone(cell)) // else it would keep its row in memory
		}
	}
	c.Codes = append(c.Codes, code)
	return true
}

func (c *Column) newLevel(level string) int32 {
	if c.index == nil {
		c.index = make(map[string]int32)
	}
	code := int32(len(c.Levels))
	c.index[level] = code
	c.Levels = append(c.Levels, level)
	return code
}

// Marks reports whether a cell without blanks around it is a text that stands for a missing value, or the same number
// with zeros behind its decimal mark: -999.0 is -999.
func Marks(text, cell string) bool {
	more, is := strings.CutPrefix(cell, strings.TrimSpace(text))
	if !is || more == "" {
		return is
	}
	return (more[0] == '.' || more[0] == ',') && strings.Trim(more[1:], "0") == "" && cell[len(cell)-1] == '0' &&
		IsDigits(strings.TrimPrefix(strings.TrimSpace(text), "-"))
}

// MarksMissing reports whether a cell is one of the texts that stand for a missing value, and counts it.
func (c *Column) MarksMissing(cell string, missing []string) bool {
	if len(missing) == 0 {
		return false
	}
	cell = strings.TrimSpace(cell)
	i := slices.IndexFunc(missing, func(text string) bool { return Marks(text, cell) })
	if i < 0 {
		return false
	}
	c.CountMissing(i, len(missing))
	return true
}

// NoteMissing counts a cell that is missing, if it is by its text.
func (c *Column) NoteMissing(cell string, missing []string) {
	if namesMissing(cell) {
		c.CountMissing(len(missing), len(missing))
	}
}

// CountMissing counts a cell that is missing by text i of n.
func (c *Column) CountMissing(i, n int) {
	if c.MarkedMissing == nil {
		c.MarkedMissing = make([]int, n+1)
	}
	c.MarkedMissing[i]++
}

// NoteDigits updates DigitsOnly and LeadingZero by a number without blanks around it.
func (c *Column) NoteDigits(number string) {
	c.DigitsOnly = IsDigits(number)
	c.LeadingZero = c.LeadingZero || len(number) > 1 && number[0] == '0'
}

// Forget drops the levels and codes.
func (c *Column) Forget() { c.Levels, c.Codes, c.index = nil, nil, nil }

// Join adds what was found in later rows.
func (c *Column) Join(later *Column) {
	if c.DigitsOnly = c.DigitsOnly && later.DigitsOnly; c.DigitsOnly {
		c.LeadingZero = c.LeadingZero || later.LeadingZero
	}
	if later.MarkedMissing != nil {
		if c.MarkedMissing == nil {
			c.MarkedMissing = make([]int, len(later.MarkedMissing))
		}
		for i, n := range later.MarkedMissing {
			c.MarkedMissing[i] += n
		}
	}
	if c.index == nil && len(later.Levels) > 0 { // those that there are were given
		c.index = make(map[string]int32, len(c.Levels))
		for code, level := range c.Levels {
			c.index[level] = int32(code)
		}
	}
	codes := make([]int32, len(later.Levels))
	for i, level := range later.Levels {
		code, ok := c.index[level]
		if !ok {
			code = c.newLevel(level)
		}
		codes[i] = code
	}
	for _, code := range later.Codes {
		if code != MissingCode {
			code = codes[code]
		}
		c.Codes = append(c.Codes, code)
	}
}

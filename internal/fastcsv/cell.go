package fastcsv

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// A Kind is what the text of one cell can be.
type Kind uint8

const (
	Number     Kind = iota // a float64
	Missing                // empty, NA, NaN, or another text that stands for a missing value
	OutOfRange             // a number, but not a float64
	Text                   // anything else
)

// minus is U+2212.
const minus = "\u2212"

// ParseDecimal is [ParseCell] of numbers whose decimals follow a comma, where decimal is one: 1,5 is a number then, and
// 1.5 a text.
func ParseDecimal(cell string, decimal byte) (float64, Kind) {
	if decimal != ',' {
		return ParseCell(cell)
	}
	if strings.Contains(cell, ".") {
		if IsMissing(strings.TrimSpace(cell)) { // k.A.
			return math.NaN(), Missing
		}
		return math.NaN(), Text
	}
	return ParseCell(strings.Replace(cell, ",", ".", 1))
}

// ParseCell returns the number in a cell, and NaN if it is missing or text. Blanks around it do not matter. Numbers
// are decimal, or Inf; their minus may be that of Unicode, as people and programs that set type write it.
func ParseCell(cell string) (float64, Kind) {
	cell = strings.TrimSpace(cell)
	if IsMissing(cell) {
		return math.NaN(), Missing
	}
	v, err := strconv.ParseFloat(cell, 64)
	if err != nil && strings.Contains(cell, minus) {
		cell = strings.ReplaceAll(cell, minus, "-")
		v, err = strconv.ParseFloat(cell, 64)
	}
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return math.NaN(), Text
	case isGoLiteral(cell): // a number in Go, not in a table
		return math.NaN(), Text
	case err != nil:
		return v, OutOfRange
	}
	return v, Number
}

// IsMissing reports whether a cell without blanks around it stands for a missing value.
func IsMissing(trimmed string) bool {
	return trimmed == "" || trimmed == "NA" || len(trimmed) == 3 && strings.EqualFold(trimmed, "nan") ||
		isNamedMissing(trimmed)
}

// namesMissing is isNamedMissing of a cell with blanks around it; most missing cells are shorter than its texts.
func namesMissing(cell string) bool {
	return len(cell) > len("NA") && isNamedMissing(strings.TrimSpace(cell))
}

// isNamedMissing reports the further texts that pandas reads as missing, but None, which is a level of many tables;
// k.A.; and the errors of spreadsheets.
func isNamedMissing(trimmed string) bool {
	switch trimmed {
	case "N/A", "n/a", "NULL", "null", "<NA>", "#N/A", "#NA", "#N/A N/A", "-NaN", "-nan",
		"1.#IND", "1.#QNAN", "-1.#IND", "-1.#QNAN", "k.A.", "k. A.", "k.\u00a0A.",
		"#DIV/0!", "#VALUE!", "#REF!", "#NAME?", "#NUM!", "#NULL!", "#NV", "#WERT!", "#BEZUG!", "#ZAHL!":
		return true
	}
	return false
}

// IsDigits reports whether a cell is digits alone, one at least.
func IsDigits(cell string) bool {
	for i := range len(cell) {
		if cell[i] < '0' || cell[i] > '9' {
			return false
		}
	}
	return cell != ""
}

// isGoLiteral finds 0x1p-2 and 1_000, which Go reads as numbers, among plain decimals. It runs for every
// number of a file, several times faster than strings.ContainsAny.
func isGoLiteral(cell string) bool {
	for i := range len(cell) {
		if c := cell[i]; c == '_' || c == 'x' || c == 'X' {
			return true
		}
	}
	return false
}

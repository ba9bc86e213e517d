package data

import (
	"errors"
	"math"
	"strconv"
	"strings"
)

// cellKind is what the text of one cell can be.
type cellKind uint8

const (
	number cellKind = iota
	missing
	outOfRange // a number, but not a float64
	text
)

// parse reads a cell; its value is NaN if it is missing or text.
func parse(cell string) (float64, cellKind) {
	cell = strings.TrimSpace(cell)
	if isMissing(cell) {
		return math.NaN(), missing
	}
	v, err := strconv.ParseFloat(cell, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange):
		return math.NaN(), text
	case isGoLiteral(cell): // a number in Go, not in a table
		return math.NaN(), text
	case err != nil:
		return v, outOfRange
	}
	return v, number
}

// isGoLiteral tells 0x1p-2 and 1_000, which Go reads as numbers, from plain decimals. It runs for every
// number of a file, several times faster than strings.ContainsAny.
func isGoLiteral(cell string) bool {
	for i := range len(cell) {
		if c := cell[i]; c == '_' || c == 'x' || c == 'X' {
			return true
		}
	}
	return false
}

func isDigits(cell string) bool {
	for i := range len(cell) {
		if cell[i] < '0' || cell[i] > '9' {
			return false
		}
	}
	return cell != ""
}

// hasDigits tells the numbers that no header has: Inf is a name that a column may have, and so is NaN,
// which is missing.
func hasDigits(cell string) bool {
	v, kind := parse(cell)
	return kind == number && !math.IsInf(v, 0) || kind == outOfRange
}

func isMissing(trimmed string) bool {
	return trimmed == "" || trimmed == "NA" || len(trimmed) == 3 && strings.EqualFold(trimmed, "nan")
}

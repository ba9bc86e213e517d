package data

import (
	"bytes"
	"encoding/csv"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/latent-go/latent/internal/fastcsv"
)

const preambleLines = 50 // among which the first row of a table is looked for

// preamble is how many bytes and lines of a text stand above its table: remarks that begin with #, and titles, which
// are lines of one field above rows of several, or of one that is not empty, as spreadsheets write them, above names.
// Above rows of two fields a title has to be parted by an empty line: it may be a header that leaves out the name of
// the rows' names.
func preamble(head []byte, comma rune, decimal byte) (size, lines int) {
	remarks := bytes.HasPrefix(bytes.TrimSpace(head), []byte{'#'})
	for parted := remarks; lines < preambleLines; lines++ {
		rest := head[size:]
		end := bytes.IndexByte(rest, '\n') + 1
		if end == 0 {
			break
		}
		line, separated := bytes.TrimSpace(rest[:end]), comma
		if separated == 0 {
			separated = separator(rest, decimal)
		}
		blank := len(line) == 0 || lines > 0 && len(bytes.Trim(line, string(separated)+`" `)) == 0
		parted = parted || blank
		switch fields := widthOf(rest, separated); {
		case blank, fields > 2 && titled(rest, separated):
		case fields > 2, fields == 2 && (parted || lines == 0):
			return size, lines
		case line[0] != '#' && bytes.ContainsRune(line, separated): // a row of the table
			return 0, 0
		}
		size += end
	}
	return 0, 0
}

// titled says whether a text begins with a row of which the first field alone is not empty, and the next row with more
// than one, names of columns, has no number.
func titled(text []byte, comma rune) bool {
	rows := csv.NewReader(bytes.NewReader(text))
	rows.Comma, rows.FieldsPerRecord = comma, -1
	for n := range preambleLines {
		row, err := rows.Read()
		if err != nil {
			return false
		}
		filled := slices.DeleteFunc(slices.Clone(row), func(cell string) bool { return strings.TrimSpace(cell) == "" })
		switch {
		case n == 0 && (len(filled) != 1 || row[0] != filled[0]):
			return false
		case len(filled) > 1:
			return !slices.ContainsFunc(filled, func(cell string) bool {
				_, err := strconv.ParseFloat(strings.TrimSpace(cell), 64)
				return err == nil
			})
		}
	}
	return false
}

// widthOf is how many fields each of the first two rows of a text has; 0 where they differ or have one.
func widthOf(text []byte, comma rune) int {
	rows := csv.NewReader(bytes.NewReader(text))
	rows.Comma = comma
	first, _ := rows.Read()
	if _, err := rows.Read(); err != nil || len(first) < 2 {
		return 0
	}
	return len(first)
}

// Rows below the header that are no data are at most mostTitles, above leastBelow rows that are.
const mostTitles, leastBelow = 3, 3

// titlesBelow is how many rows below the first, the header, are units or further titles: in each column of numbers they
// have texts, or nothing, and texts in two columns at least. A text that is the same in all of them may stand for a
// missing value, unless it is a measure.
func titlesBelow(rows [][]string, decimal byte, na []string) int {
	for n := min(mostTitles, len(rows)-1-leastBelow); n > 0; n-- {
		measured := measuredColumns(rows[1+n:], decimal, na)
		if !slices.ContainsFunc(rows[1:1+n], func(row []string) bool { return !areTitles(row, measured, decimal, na) }) {
			return n
		}
	}
	return 0
}

// measuredColumns are those of at least leastBelow numbers, and of no texts but marks such as --.
func measuredColumns(rows [][]string, decimal byte, na []string) (list []int) {
	for j := range rows[0] {
		numbers := 0
		if !slices.ContainsFunc(rows, func(row []string) bool {
			number, title := titleOf(row[j], decimal, na)
			if number {
				numbers++
			}
			return title
		}) && numbers >= leastBelow {
			list = append(list, j)
		}
	}
	return list
}

func areTitles(row []string, measured []int, decimal byte, na []string) bool {
	var texts []string
	for _, j := range measured {
		switch number, title := titleOf(row[j], decimal, na); {
		case number:
			return false
		case title:
			texts = append(texts, strings.TrimSpace(row[j]))
		}
	}
	same := !slices.ContainsFunc(texts, func(text string) bool { return text != texts[0] })
	return len(texts) > 1 && (!same || slices.Contains(measures, strings.Trim(texts[0], "()[]")))
}

// titleOf says whether a cell is a number, and whether it may be a title or a unit; a missing one is neither.
func titleOf(cell string, decimal byte, na []string) (number, title bool) {
	cell = strings.TrimSpace(cell)
	if fastcsv.IsMissing(cell) || slices.ContainsFunc(na, func(text string) bool { return fastcsv.Marks(text, cell) }) {
		return false, false
	}
	cell, _ = limit(cell)
	_, kind := fastcsv.ParseDecimal(cell, decimal)
	if _, number = parseNumeral(cell, decimal); number || kind != fastcsv.Text {
		return true, false
	}
	return false, strings.ContainsFunc(cell, func(r rune) bool {
		return unicode.IsLetter(r) || unicode.Is(unicode.Sc, r) || r == '%' || r == '°'
	})
}

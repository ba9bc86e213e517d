package data

import (
	"bytes"
	"encoding/csv"
	"regexp"
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

// Rows below the header that are no data are at most mostTitles, above leastBelow rows that are, or above fewer if they
// have nothing but measures.
const mostTitles, leastBelow = 3, 3

// titlesBelow is how many rows below the first, the header, are units or further titles: in each column of numbers they
// have texts, or nothing, and texts in two columns at least. A text that is the same in all of them may stand for a
// missing value, unless it is a measure. In other columns nothing that they have is like what is below them, as dates
// and names of samples are.
func titlesBelow(rows [][]string, decimal byte, na []string) int {
	for n := min(mostTitles, len(rows)-2); n > 0; n-- {
		below := rows[1+n:]
		measured := measuredColumns(below, decimal, na)
		if !slices.ContainsFunc(rows[1:1+n], func(row []string) bool {
			return !areTitles(row, measured, len(below) < leastBelow, decimal, na) || isLike(row, below, measured)
		}) {
			return n
		}
	}
	return 0
}

// isLike says whether a cell of a row, in a column that is not measured, has the form of one below it.
func isLike(row []string, below [][]string, measured []int) bool {
	for j, cell := range row {
		form := formOf(cell)
		if strings.ContainsFunc(form, isLetterOrDigit) && !fastcsv.IsMissing(cell) && !slices.Contains(measured, j) &&
			slices.ContainsFunc(below, func(row []string) bool { return formOf(row[j]) == form }) {
			return true
		}
	}
	return false
}

// formOf is a cell without blanks around it, all of its numbers of digits as one of them.
func formOf(cell string) string { return digits.ReplaceAllString(strings.TrimSpace(cell), "0") }

var digits = regexp.MustCompile(`[0-9]+`)

func isLetterOrDigit(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// measuredColumns are those of at least leastBelow numbers, or of all where there are fewer rows, and of no texts but
// marks such as --.
func measuredColumns(rows [][]string, decimal byte, na []string) (list []int) {
	for j := range rows[0] {
		numbers := 0
		if !slices.ContainsFunc(rows, func(row []string) bool {
			number, title := titleOf(row[j], decimal, na)
			if number {
				numbers++
			}
			return title
		}) && numbers >= min(leastBelow, len(rows)) {
			list = append(list, j)
		}
	}
	return list
}

func areTitles(row []string, measured []int, few bool, decimal byte, na []string) bool {
	var texts []string
	for _, j := range measured {
		switch number, title := titleOf(row[j], decimal, na); {
		case number:
			return false
		case title:
			texts = append(texts, strings.Trim(strings.TrimSpace(row[j]), "()[]"))
		}
	}
	noMeasure := func(text string) bool { return !slices.Contains(measures, text) }
	same := !slices.ContainsFunc(texts, func(text string) bool { return text != texts[0] })
	return len(texts) > 1 && (!few && !same || !slices.ContainsFunc(texts, noMeasure))
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

package columns

import (
	"fmt"
	"maps"
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

// How many rows are looked at for remarks, the share of zeros that is one, and the numbers that codes have at most.
const (
	mostRemarked = 10_000
	fewestZeros  = 0.25
	mostCodes    = 12
)

// Remark notes columns of numbers that hardly any family describes, with the flag that says what they are, if nobody
// chose a family.
func (in Columns) Remark(s *tables.Session) {
	in.noteCodes(s)
	in.noteSpellings(s)
	if !in.asked.AnyFamily && *in.asked.Family != families.Auto || in.asked.Kind.Families == nil ||
		in.asked.Explained() != nil ||
		len(in.asked.Described().Names) > 0 {
		return
	}
	in.noteDependent(s)
	var zeros []string
	for j, name := range in.Names {
		switch {
		case in.Levels(name) != nil || slices.Contains(in.asked.Aside(), name):
		case in.asked.Weighting == "" && data.CountsRows(name) && in.everyRowAnother(j):
			s.Note("%s: %.60q may say how often a row occurs, as no two rows are equal in the other columns: --weights %s",
				in.Name, name, wording.Item(name))
		default:
			if share, heavy := in.zeros(j); heavy {
				zeros = append(zeros, fmt.Sprintf("%.60q (%.0f %% of the rows)", name, 100*share))
			}
		}
	}
	if len(zeros) > 0 {
		s.Note("%s: many zeros, and other numbers far from them, a gap that alone may decide the components: %s: --drop, "+
			"--na 0 if 0 stands for a missing value, or a column that says whether the number is 0", in.Name,
			wording.Abridged(zeros, ", ", func(text string) string { return text }))
	}
}

// noteCodes notes numbers that probably stand for missing values.
func (in Columns) noteCodes(s *tables.Session) {
	var found, flags []string
	for _, code := range in.missingCodes(min(in.Rows(), mostRemarked)) {
		found = append(found, code.String())
		if flag := "--na=" + code.text(); !slices.Contains(flags, flag) {
			flags = append(flags, flag)
		}
	}
	if len(found) > 0 {
		s.Note("%s: far from all other numbers of the column, like codes for missing values: %s: %s if they are codes",
			in.Name, wording.Abridged(found, ", ", func(text string) string { return text }), strings.Join(flags, " "))
	}
}

// noteSpellings notes texts that differ in case, or in blanks around them, alone.
func (in Columns) noteSpellings(s *tables.Session) {
	var alike []string
	for _, name := range in.Names {
		if slices.Contains(in.asked.Aside(), name) {
			continue
		}
		first := map[string]string{}
		for _, level := range in.Levels(name) {
			key := strings.ToLower(strings.TrimSpace(level))
			if other, seen := first[key]; seen {
				alike = append(alike, fmt.Sprintf("%.60q and %.60q of %.60q", other, level, name))
				continue
			}
			first[key] = level
		}
	}
	if len(alike) > 0 {
		s.Note("%s: levels of their own, though they differ in case or blanks alone: %s: write them alike if they mean "+
			"the same", in.Name, wording.Abridged(alike, ", ", func(text string) string { return text }))
	}
}

// TakeCodes reads numbers as missing values that are sure to be codes for them, if nobody chose a family or described
// the column: negative ones such as -9999 that are further from the others than these are from each other. A number
// that another column has for itself stays one.
func (in Columns) TakeCodes(s *tables.Session) error {
	if !in.asked.AnyFamily && *in.asked.Family != families.Auto || in.asked.Kind.Families == nil ||
		in.asked.Explained() != nil {
		return nil
	}
	of := map[float64][]string{} // columns
	var sure []missingCode
	for _, code := range in.missingCodes(in.Rows()) {
		if code.sure && code.column != in.asked.Weighting &&
			!slices.Contains(slices.Concat(in.asked.Aside(), in.asked.Described().Names), code.column) {
			of[code.value] = append(of[code.value], code.column)
			sure = append(sure, code)
		}
	}
	for j, name := range in.Names {
		if len(of) == 0 || in.Levels(name) != nil {
			continue
		}
		for row := range in.Rows() {
			if v := in.Number(row, j); of[v] != nil && !slices.Contains(of[v], name) {
				delete(of, v)
			}
		}
	}
	sure = slices.DeleteFunc(sure, func(code missingCode) bool { return of[code.value] == nil })
	if len(sure) == 0 {
		return nil
	}
	var marks, names []string
	for _, code := range sure {
		marks, names = append(marks, code.text()), append(names, code.column)
	}
	slices.Sort(names)
	names = slices.Compact(names)
	in.Mark(marks)
	s.Note("%s: read as missing values, far from all other numbers of the column: %s: --columns %s=%s takes it as a "+
		"number", in.Name, wording.Abridged(sure, ", ", missingCode.String), wording.Item(names[0]), families.Gaussian)
	return in.Wrap(in.TakeNumbers(names))
}

// A missingCode is a number that may stand for missing values, in so many cells of its column.
type missingCode struct {
	column string
	value  float64
	cells  int
	sure   bool
}

func (c missingCode) text() string { return strconv.FormatFloat(c.value, 'f', -1, 64) }

func (c missingCode) String() string {
	return fmt.Sprintf("%s in %s of %.60q", c.text(), wording.Counted(c.cells, "cell"), c.column)
}

// missingCodes are the numbers such as -99 and 9999 at the ends of columns, in these first rows, each in several cells,
// that are further from the others than these are from each other, or negative where they are not. It reads the rows
// once, and the columns that end in such a number once more.
func (in Columns) missingCodes(rows int) (list []missingCode) {
	least, most := slices.Repeat([]float64{math.Inf(1)}, in.Cols()), slices.Repeat([]float64{math.Inf(-1)}, in.Cols())
	for row := range rows {
		for j := range least {
			if v := in.Number(row, j); v == v {
				least[j], most[j] = min(least[j], v), max(most[j], v)
			}
		}
	}
	for j, name := range in.Names {
		if in.Levels(name) == nil && (isCode(least[j]) || isCode(most[j])) {
			list = append(list, in.codesOf(j, rows)...)
		}
	}
	return list
}

func (in Columns) codesOf(j, rows int) (list []missingCode) {
	counts := map[float64]int{}
	for row := range rows {
		if v := in.Number(row, j); v == v {
			counts[v]++
		}
	}
	rest := slices.Sorted(maps.Keys(counts))
	for len(rest) > 2 {
		low, high, last := rest[0], rest[len(rest)-1], len(rest)-1
		switch far := rest[1]-low > high-rest[1]; {
		case isCode(low) && counts[low] > 1 && (far || low < 0 && rest[1] >= 0):
			list = append(list, missingCode{in.Names[j], low, counts[low], far && low < 0})
			rest = rest[1:]
		case isCode(high) && counts[high] > 1 && high-rest[last-1] > rest[last-1]-low:
			list = append(list, missingCode{in.Names[j], high, counts[high], false})
			rest = rest[:last]
		default:
			return list
		}
	}
	return list
}

// isCode says whether a number has only the digit 9, or only 8 or 7, from two on before the point.
func isCode(v float64) bool {
	text := strings.Replace(strconv.FormatFloat(math.Abs(v), 'f', -1, 64), ".", "", 1)
	return math.Abs(v) >= 77 && strings.IndexByte("789", text[0]) >= 0 && strings.Trim(text, text[:1]) == ""
}

// everyRowAnother reports whether column j has whole numbers, from 0 on, and the others whole numbers or texts that
// differ in every row.
func (in Columns) everyRowAnother(j int) bool {
	rows := min(in.Rows(), mostRemarked)
	seen := make(map[string]bool, rows)
	var key []byte
	for row := range rows {
		if v := in.Number(row, j); v != math.Trunc(v) || v < 0 {
			return false
		}
		key = key[:0]
		for other := range in.Names {
			if v := in.Number(row, other); other != j {
				if v != math.Trunc(v) && v == v {
					return false
				}
				key = append(strconv.AppendFloat(key, v, 'g', -1, 64), ',')
			}
		}
		if seen[string(key)] {
			return false
		}
		seen[string(key)] = true
	}
	return in.Cols() > 1
}

// zeros are the share of zeros of column j, and whether there are many beside positive numbers that no count has: with
// decimals, or 10 and more, and more of them than codes.
func (in Columns) zeros(j int) (share float64, heavy bool) {
	zeros, values, decimals, least := 0, 0, false, math.Inf(1)
	for row := range min(in.Rows(), mostRemarked) {
		switch v := in.Number(row, j); {
		case v < 0:
			return 0, false
		case v == 0:
			zeros++
			values++
		case v > 0:
			values++
			decimals, least = decimals || v != math.Trunc(v), min(least, v)
		}
	}
	share = float64(zeros) / float64(max(values, 1))
	return share, share >= fewestZeros && (decimals || least >= 10) && len(in.different(j, mostCodes+1)) > mostCodes
}

// noteSeries says that a single series is left beside dates, or another column in order.
func (in Columns) noteSeries(s *tables.Session, out []suspect, left int) {
	at := slices.IndexFunc(out, func(c suspect) bool { return c.Cause == data.Dates || c.Cause == data.InOrder })
	if at >= 0 && left == 1 && in.For != nil && !in.For.Kind().Sequences && in.For.Kind().Families != nil {
		s.Note("%s: one series is left: --model hmm describes its rows as steps, if they are in the order of %.60q",
			in.Name, out[at].name)
	}
}

// suggestCodes notes columns that a Gaussian is to describe though they have few different numbers.
func (in Columns) suggestCodes(s *tables.Session, given *classes.ColumnFamilies) {
	var few []suspect
	for j, name := range in.Names {
		if given.Family[name] != "" || in.Levels(name) != nil {
			continue
		}
		if n := len(in.different(j, mostCodes+1)); n < 3 || n > mostCodes {
			continue
		}
		if found := in.Suggest(name, in.Weights); found.Cause == data.FewValues {
			few = append(few, suspect{name, found})
		}
	}
	if len(few) > 0 {
		s.Note("%s: few different numbers, as codes have: %s: --family auto would treat %s as %s", in.Name, detailed(few),
			them(few), families.Categorical)
	}
}

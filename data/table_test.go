package data

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	_ "github.com/latent-go/latent/internal/fixedseed"
)

// requireConsistent checks everything that a table's methods promise of one another.
func requireConsistent(t require.TestingT, table *Table) {
	require.Len(t, table.Names, table.Cols())
	require.Len(t, table.flat, table.Rows()*table.stride)
	numeric := 0
	for j, name := range table.Names {
		require.Equal(t, j, slices.Index(table.Names, name), "names differ")
		x, err := table.Column(name)
		levels, codes := table.Levels(name), table.Codes(name)
		if levels == nil {
			require.NoError(t, err)
			require.Nil(t, codes)
			require.Len(t, x, table.Rows())
			numeric++
			continue
		}
		require.Error(t, err)
		require.Len(t, codes, table.Rows())
		for _, code := range codes {
			require.True(t, code == missingCode || 0 <= code && int(code) < len(levels))
		}
	}
	require.Len(t, table.Kinds(), table.Cols())
	requireValues(t, table)
	x, rows, cols, err := table.Matrix()
	if err != nil {
		require.Nil(t, x)
		require.NotContains(t, err.Error(), "\n")
		return
	}
	require.Equal(t, numeric, table.Cols())
	require.Equal(t, []int{table.Rows(), table.Cols()}, []int{rows, cols})
	require.Len(t, x, rows*cols)
	for _, v := range x {
		require.False(t, math.IsNaN(v) || math.IsInf(v, 0))
	}
}

// requireValues compares Values with Column and Codes, cell by cell: it fails only for an infinite number or
// an empty table.
func requireValues(t require.TestingT, table *Table) {
	want := make([]float64, table.Rows()*table.Cols())
	refused := len(want) == 0
	for j, name := range table.Names {
		x, _ := table.Column(name)
		for row := range table.Rows() {
			v := math.NaN()
			if codes := table.Codes(name); codes == nil {
				v = x[row]
			} else if codes[row] != missingCode {
				v = float64(codes[row])
			}
			want[row*table.Cols()+j] = v
			refused = refused || math.IsInf(v, 0)
		}
	}
	x, rows, cols, err := table.Values()
	if refused {
		require.Error(t, err)
		require.NotContains(t, err.Error(), "\n")
		require.Nil(t, x)
		return
	}
	require.NoError(t, err)
	require.Equal(t, []int{table.Rows(), table.Cols()}, []int{rows, cols})
	require.Equal(t, bitsOf(want), bitsOf(x))
}

func csvTable(t require.TestingT, text string) *Table {
	table, err := ReadCSV(strings.NewReader(text), CSVOptions{})
	require.NoError(t, err)
	return table
}

// drawTable draws a table of both kinds of columns, with gaps.
func drawTable(t *rapid.T) *Table {
	return csvTable(t, strings.Join(drawLines(t), "\n")+"\n")
}

// drawLines draws the CSV lines of such a table, the header first.
func drawLines(t *rapid.T) []string {
	cols := rapid.IntRange(1, 5).Draw(t, "cols")
	lines := []string{strings.Join([]string{"a", "b", "c", "d", "e"}[:cols], ",")}
	pools := rapid.SliceOfN(rapid.SampledFrom([][]string{
		{"1", "2.5", "-3", "4", "5", "NA", "Inf"},
		{"x", "y", "01", "1", "NA"},
		{"0", "1", "-0", "NA"},
		{"0", "3", "10", "1e6", "NA"},
	}), cols, cols).Draw(t, "pools")
	for range rapid.IntRange(1, 10).Draw(t, "rows") {
		cells := make([]string, cols)
		for j := range cells {
			cells[j] = rapid.SampledFrom(pools[j]).Draw(t, "cell")
		}
		lines = append(lines, strings.Join(cells, ","))
	}
	return lines
}

// drawOrder draws an order of the rows, and the table that has them in it.
func drawOrder(t *rapid.T, lines []string) (order []int, table *Table) {
	order = make([]int, len(lines)-1)
	for i := range order {
		order[i] = i
	}
	order = rapid.Permutation(order).Draw(t, "order")
	moved := []string{lines[0]}
	for _, i := range order {
		moved = append(moved, lines[i+1])
	}
	return order, csvTable(t, strings.Join(moved, "\n")+"\n")
}

// TestSelectKeepsColumnsInTheOrderGiven, and Drop is Select of the rest.
func dropMissing(t require.TestingT, table *Table) (*Table, int) {
	complete, left, err := table.DropMissing()
	require.NoError(t, err)
	return complete, left
}

func TestSelectKeepsColumnsInTheOrderGiven(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := drawTable(rt)
		order := rapid.Permutation(table.Names).Draw(rt, "order")
		kept := order[:rapid.IntRange(1, len(order)).Draw(rt, "kept")]
		selected, err := table.Select(kept...)
		require.NoError(rt, err)
		require.Equal(rt, kept, selected.Names)
		requireConsistent(rt, &Table{Names: table.Names, rows: table.rows, flat: table.flat, stride: table.stride, columns: table.columns})
		for _, name := range kept {
			require.Equal(rt, table.Levels(name), selected.Levels(name))
			require.Equal(rt, table.Codes(name), selected.Codes(name))
			if table.Levels(name) == nil {
				require.Equal(rt, columnBits(rt, table, name), columnBits(rt, selected, name))
			}
		}
		dropped, err := table.Drop(order[len(kept):]...)
		require.NoError(rt, err)
		inOrder := slices.DeleteFunc(slices.Clone(table.Names), func(n string) bool { return !slices.Contains(kept, n) })
		reference, err := table.Select(inOrder...)
		require.NoError(rt, err)
		requireSame(rt, reference, dropped)
	})
}

// TestDropMissingKeepsExactlyTheCompleteRows, of any selection of columns.
func TestDropMissingKeepsExactlyTheCompleteRows(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		table := drawTable(rt)
		order := rapid.Permutation(table.Names).Draw(rt, "order")
		table, err := table.Select(order[:rapid.IntRange(1, len(order)).Draw(rt, "kept")]...)
		require.NoError(rt, err)
		complete, left := dropMissing(t, table)
		requireConsistent(rt, complete)
		var rows []int
		for i := range table.Rows() {
			whole := true
			for _, name := range table.Names {
				if codes := table.Codes(name); codes != nil {
					whole = whole && codes[i] >= 0
				} else {
					x, _ := table.Column(name)
					whole = whole && x[i] == x[i]
				}
			}
			if whole {
				rows = append(rows, i)
			}
		}
		require.Equal(rt, table.Rows()-len(rows), left)
		require.Equal(rt, len(rows), complete.Rows())
		for _, name := range table.Names {
			require.Equal(rt, table.Levels(name), complete.Levels(name))
			for i, row := range rows {
				require.Equal(rt, row, complete.Origin(i))
				if codes := table.Codes(name); codes != nil {
					require.Equal(rt, codes[row], complete.Codes(name)[i])
					continue
				}
				x, _ := table.Column(name)
				y, _ := complete.Column(name)
				require.Equal(rt, x[row], y[i])
			}
		}
		again, none := dropMissing(t, complete)
		require.Zero(rt, none)
		require.Same(rt, complete, again)
	})
}

func TestMatrixDoesNotCopyAllNumericColumns(t *testing.T) {
	table := csvTable(t, "a,label,b\n1,x,2\n3,y,4\n")
	numeric, err := table.Drop("label")
	require.NoError(t, err)
	x, rows, cols, err := numeric.Matrix()
	require.NoError(t, err)
	require.Equal(t, []int{2, 2}, []int{rows, cols})
	require.Equal(t, []float64{1, 2, 3, 4}, x)
	require.Same(t, &table.flat[0], &x[0])

	swapped, err := table.Select("b", "a")
	require.NoError(t, err)
	x, _, _, err = swapped.Matrix()
	require.NoError(t, err)
	require.Equal(t, []float64{2, 1, 4, 3}, x)
	require.Equal(t, []float64{1, 2, 3, 4}, table.flat)
}

// TestValuesIsMatrixWhereNothingIsMissing, in the same storage if that is the table's own.
func TestValuesIsMatrixWhereNothingIsMissing(t *testing.T) {
	compared := 0
	rapid.Check(t, func(rt *rapid.T) {
		table := drawTable(rt)
		requireConsistent(rt, table) // also of tables with gaps and levels
		numeric := slices.DeleteFunc(slices.Clone(table.Names), func(name string) bool { return table.Levels(name) != nil })
		if len(numeric) == 0 {
			return
		}
		selected, err := table.Select(numeric...)
		require.NoError(rt, err)
		complete, _ := dropMissing(t, selected)
		want, rows, cols, wantErr := complete.Matrix()
		x, r, c, err := complete.Values()
		require.Equal(rt, wantErr, err)
		require.Equal(rt, []int{rows, cols}, []int{r, c})
		require.Equal(rt, bitsOf(want), bitsOf(x))
		if err == nil {
			require.Same(rt, &want[0], &x[0])
			compared++
		}
	})
	require.Positive(t, compared)
}

func TestValuesDoesNotCopyAllNumericColumns(t *testing.T) {
	table := csvTable(t, "a,label,b\n1,x,\n3,NA,4\n")
	x, rows, cols, err := table.Values()
	require.NoError(t, err)
	require.Equal(t, []int{2, 3}, []int{rows, cols})
	require.Equal(t, bitsOf([]float64{1, 0, math.NaN(), 3, math.NaN(), 4}), bitsOf(x))

	numeric, err := table.Drop("label")
	require.NoError(t, err)
	x, _, _, err = numeric.Values()
	require.NoError(t, err)
	require.Same(t, &table.flat[0], &x[0])
}

func TestValuesRefusesWithThePlace(t *testing.T) {
	for text, want := range map[string]string{
		"a,b\n1,\n-Inf,3\n":    `row 2 of column "a" is infinite; correct it, or leave the row out`,
		"a,b\nx,NA\ny,Inf\n":   `row 2 of column "b" is infinite; correct it, or leave the row out`,
		"b,a\nInf,x\nInf,NA\n": `row 1 of column "b" is infinite; correct it, or leave the row out`,
	} {
		x, _, _, err := csvTable(t, text).Values()
		require.Nil(t, x)
		require.EqualError(t, err, want)
	}
	_, _, _, err := (&Table{}).Values()
	require.EqualError(t, err, "the table has no columns at all")
	empty, _ := dropMissing(t, csvTable(t, "a,b\nx,\n"))
	_, _, _, err = empty.Values()
	require.EqualError(t, err, "the table has no rows left; drop the columns with missing values instead of the rows")
}

func TestMatrixRefusesWithThePlace(t *testing.T) {
	for _, c := range []struct{ name, text, want string }{
		{"text", "a,b\n1,2\n2,off\n3,4\n", `column "b" is categorical: row 2 is "off"; drop it`},
		{"text alone", "a\n1\nx\n", `column "a" is categorical: row 2 is "x"; and the table has no numeric column`},
		{"text after a gap", "a,b\n1,NA\n1,5\n2,yes\n", `column "b" is categorical: row 3 is "yes"; drop it`},
		{"missing", "a,b\n1,2\n3,\n", `row 2 of column "b" is missing; fill it in, or leave the row out`},
		{"infinite", "a,b\n1,2\n-Inf,3\n", `row 2 of column "a" is infinite; correct it, or leave the row out`},
	} {
		t.Run(c.name, func(t *testing.T) {
			x, _, _, err := csvTable(t, c.text).Matrix()
			require.Nil(t, x)
			require.EqualError(t, err, c.want)
		})
	}
	_, _, _, err := (&Table{}).Matrix()
	require.EqualError(t, err, "no numeric column: the table has no columns at all")
	table, left := dropMissing(t, csvTable(t, "a,b\n1,\n,2\n"))
	require.Equal(t, 2, left)
	_, _, _, err = table.Matrix()
	require.EqualError(t, err, "the table has no rows left; drop the columns with missing values instead of the rows")
	table, _ = dropMissing(t, csvTable(t, "a,b\n1,5\nx,NA\n"))
	_, _, _, err = table.Matrix()
	require.EqualError(t, err, `column "a" is categorical; drop it`)
}

// TestAFirstRowThatLooksLikeAHeaderIsSaidToBeOne: where its one text is all that makes a column categorical.
func TestAFirstRowThatLooksLikeAHeaderIsSaidToBeOne(t *testing.T) {
	read := func(text string, mode HeaderMode) *Table {
		table, err := ReadCSV(strings.NewReader(text), CSVOptions{Header: mode})
		require.NoError(t, err)
		return table
	}
	const want = `column "V2" is categorical: row 1 is "b"; the first row looks like a header: read it with a header`
	for _, text := range []string{"2001,b\n1,2\n3,4\n", "2001,b\n1,NA\n3,4\n"} {
		_, _, _, err := read(text, HeaderAuto).Matrix()
		require.EqualError(t, err, want)
		require.ErrorIs(t, err, ErrHeader)
	}
	_, err := read("a,b\n1,2\n3,4\n", HeaderNo).Column("V2")
	require.EqualError(t, err, want)
	dropped, left := dropMissing(t, read("2001,b\n1,\n3,4\n", HeaderAuto))
	require.Equal(t, 1, left)
	_, _, _, err = dropped.Matrix()
	require.EqualError(t, err, want)

	headless, left := dropMissing(t, read(",b\n1,2\n3,4\n", HeaderNo))
	require.Equal(t, 1, left)
	for name, table := range map[string]*Table{
		"with a header":       read("a,b\n1,x\n2,3\n", HeaderAuto),
		"more text":           read("1,b\n2,x\n3,4\n", HeaderAuto),
		"text further down":   read("1,2\n2,x\n3,4\n", HeaderAuto),
		"one row":             read("1,b\n", HeaderAuto),
		"first row left out":  headless,
		"only levels of text": read("1,b\n1,c\n", HeaderAuto),
	} {
		_, _, _, err := table.Matrix()
		require.Error(t, err, name)
		require.NotErrorIs(t, err, ErrHeader, name)
	}
}

func TestDecimalCommasAreSaidToBeThem(t *testing.T) {
	const want = `column "a" is categorical: row 2 is "2,5"; the table is read with decimal points, as in 1.5: read it with decimal commas`
	table, err := ReadCSV(strings.NewReader("a;b\n1;1\n2,5;1,5 m\n;1,000,5\n"), CSVOptions{Decimal: '.'})
	require.NoError(t, err)
	_, err = table.Column("a")
	require.EqualError(t, err, want)
	require.ErrorIs(t, err, ErrDecimalComma)
	_, _, _, err = table.Matrix()
	require.EqualError(t, err, want)
	_, err = table.Column("b")
	require.NotErrorIs(t, err, ErrDecimalComma, "nor would these be numbers with points")
}

func TestColumnsByNameRefuseInOneLine(t *testing.T) {
	table := csvTable(t, "a,b,c\n1,2,x\n")
	_, err := table.Select("a", "z")
	require.EqualError(t, err, `no column "z"; the columns are "a", "b", "c"`)
	_, err = table.Drop("z")
	require.EqualError(t, err, `no column "z"; the columns are "a", "b", "c"`)
	_, err = table.Select("a", "b", "a")
	require.EqualError(t, err, `column "a" is named twice; name each column once`)
	_, err = table.Drop("a", "a")
	require.EqualError(t, err, `column "a" is named twice; name each column once`)
	_, err = table.Select()
	require.EqualError(t, err, `no column is left of "a", "b", "c"; keep at least one`)
	_, err = table.Drop("b", "c", "a")
	require.EqualError(t, err, `no column is left of "a", "b", "c"; keep at least one`)
	_, err = table.Column("z")
	require.EqualError(t, err, `no column "z"; the columns are "a", "b", "c"`)
	_, err = table.Column("c")
	require.EqualError(t, err, `column "c" is categorical: row 1 is "x"; a numeric column is needed here`)

	priced, err := ReadCSV(strings.NewReader("a\n$1\n5:30/km\nnone\n$2\n"), CSVOptions{})
	require.NoError(t, err)
	_, err = priced.Column("a")
	require.ErrorContains(t, err, `column "a" is categorical: row 3 is "none"`)
	require.Nil(t, table.Levels("z"))
	require.Nil(t, table.Codes("a"))

	wide := numericTable(make([]float64, 100), 1, 100)
	_, err = wide.Select("z")
	require.ErrorContains(t, err, `"V39", "V40", … (100 in all)`)
}

func TestEmptyColumns(t *testing.T) {
	table := csvTable(t, "a,b,c,d,e\n,NA,x,1,\n,NaN,,,2\n")
	for name, want := range map[string]bool{"a": true, "b": true, "c": false, "d": false, "e": false, "none": true} {
		require.Equal(t, want, table.Empty(name), name)
	}
	table, err := table.Factor("c", []string{"y"}, true)
	require.NoError(t, err)
	require.True(t, table.Empty("c"))
}

// TestNumbersAreCheckedToTheLast, in whatever parts.
func TestNumbersAreCheckedToTheLast(t *testing.T) {
	x := make([]float64, 600001)
	require.True(t, allFinite(x))
	require.True(t, allFinite(nil))
	for _, at := range []int{0, 1<<18 - 1, 1 << 18, 500000, len(x) - 1} {
		for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
			x[at] = bad
			require.False(t, allFinite(x), at)
			_, _, _, err := numericTable(x, len(x), 1).Matrix()
			require.ErrorContains(t, err, fmt.Sprintf("row %d of", at+1))
		}
		x[at] = 0
	}
}

func TestNumberIsTheCellOfValues(t *testing.T) {
	table, err := ReadCSV(strings.NewReader("a,b,c\n1,x,3\n,y,4\n2,,5\n"), CSVOptions{})
	require.NoError(t, err)
	x, rows, cols, err := table.Values()
	require.NoError(t, err)
	for i := range rows {
		for j := range cols {
			if want := x[i*cols+j]; math.IsNaN(want) {
				require.True(t, math.IsNaN(table.Number(i, j)))
			} else {
				require.Equal(t, want, table.Number(i, j))
			}
		}
	}
}

package data

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// cellsOf are the cells of tables of texts, row by row, and what the rows are called in errors.
func cellsOf(t require.TestingT, tables ...*Table) (cells []string, rows []int) {
	for _, table := range tables {
		for i := range table.Rows() {
			rows = append(rows, table.Origin(i))
			for _, name := range table.Names {
				cell := "missing"
				if code := table.Codes(name)[i]; code >= 0 {
					cell = fmt.Sprintf("%q", table.Levels(name)[code])
				}
				cells = append(cells, cell)
			}
		}
	}
	return cells, rows
}

// TestBlocksAreTheTable: cut anywhere, a text has the same cells, and the same errors.
func TestBlocksAreTheTable(t *testing.T) {
	tables, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.ReplaceAll(hostileText(rt), "\x00", "") // which is looked for in the beginning alone
		o := CSVOptions{Encoding: "utf-8", Header: rapid.SampledFrom([]HeaderMode{HeaderAuto, HeaderYes, HeaderNo}).Draw(rt, "mode"), NA: []string{"?", "-999"},
			Comma: separator([]byte(text), 0), Reading: func(string) Reading { return ReadAsText }}
		want, wantErr := ReadCSV(strings.NewReader(text), o)
		for _, size := range []int{1, 7, 30, 200} {
			p := &pieces{r: strings.NewReader(text), most: o.Limits.row(), size: size}
			var got []*Table
			var err error
			marked, skipped := 0, 0
			for table, e := range p.tables(o) {
				if err = e; err == nil {
					got = append(got, table)
					skipped += table.EmptyLines()
					for _, n := range table.MarkedMissing(table.Names[0]) {
						marked += n
					}
				}
			}
			if wantErr != nil {
				refused++
				require.EqualError(rt, err, wantErr.Error(), "%q %d", text, size)
				continue
			}
			require.NoError(rt, err, "%q %d", text, size)
			tables++
			cells, rows := cellsOf(rt, want)
			gotCells, gotRows := cellsOf(rt, got...)
			require.Equal(rt, cells, gotCells, "%q %d", text, size)
			require.Equal(rt, rows, gotRows)
			require.Equal(rt, want.EmptyLines(), skipped, "%q %d", text, size)
			for _, n := range want.MarkedMissing(want.Names[0]) {
				marked -= n
			}
			require.Zero(rt, marked)
		}
	})
	require.Greater(t, tables, 20)
	require.Greater(t, refused, 10)
}

func TestBlocksOfParts(t *testing.T) {
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, err := z.Write([]byte("y,x\n5,6\n7,8\n"))
	require.NoError(t, err)
	require.NoError(t, z.Close())
	var x []float64
	var rows []int
	for table, err := range Blocks(parts("x,y\n1,2\n3,4\n", packed.String()), CSVOptions{}) {
		require.NoError(t, err)
		require.Equal(t, []string{"x", "y"}, table.Names)
		for i := range table.Rows() {
			rows = append(rows, table.Origin(i))
			x = append(x, table.Number(i, 0), table.Number(i, 1))
		}
	}
	require.Equal(t, []float64{1, 2, 3, 4, 6, 5, 8, 7}, x)
	require.Equal(t, []int{0, 1, 2, 3}, rows)

	var array bytes.Buffer
	require.NoError(t, WriteNPY(&array, []float64{1, 2, 3, 4}, 2, 2))
	for text, message := range map[string]string{
		"x\n1\n":       "b: 1 columns, and earlier parts have 2",
		"x,z\n1,2\n":   `b: no column "y", which earlier parts have; the columns are "x", "z"`,
		"x,y\n1\n":     "b: line 2 has 1 field",
		"":             "b: the input is empty",
		"\x1f\x8bzzzz": "b: ",
		array.String(): `b: no column "x"`,
	} {
		var last error
		for _, err := range Blocks(parts("x,y\n1,2\n", text), CSVOptions{}) {
			last = err
		}
		require.ErrorContains(t, last, message)
	}
	for range Blocks(parts("x\n1\n", "x\n2\n"), CSVOptions{}) {
		break // which is no error
	}
}

// TestALongHeaderIsNoTableWithoutRows: a piece may end behind the names.
func TestALongHeaderIsNoTableWithoutRows(t *testing.T) {
	p := &pieces{r: strings.NewReader("first,second\n1,2\n"), most: 1 << 20, size: 4}
	for table, err := range p.tables(CSVOptions{}) {
		require.NoError(t, err)
		require.Equal(t, 1, table.Rows())
	}
}

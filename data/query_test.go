package data_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/data"
)

// A result is what a database in memory returns for any query.
type result struct {
	names, types []string
	rows         [][]driver.Value
	n            int   // of rows, if they repeat
	err          error // at the end
	at           int
	closed       *bool
}

func (r *result) Connect(context.Context) (driver.Conn, error) { return r, nil }
func (r *result) Driver() driver.Driver                        { return nil }
func (r *result) Prepare(string) (driver.Stmt, error)          { return r, nil }
func (r *result) Begin() (driver.Tx, error)                    { return nil, errors.New("no transactions") }
func (r *result) NumInput() int                                { return 0 }
func (r *result) Exec([]driver.Value) (driver.Result, error)   { return nil, errors.New("read only") }
func (r *result) Query([]driver.Value) (driver.Rows, error)    { return r, nil }
func (r *result) Columns() []string                            { return r.names }

func (r *result) ColumnTypeDatabaseTypeName(i int) string {
	if r.types == nil {
		return ""
	}
	return r.types[i]
}

func (r *result) Close() error {
	if r.closed != nil && r.at > 0 {
		*r.closed = true
	}
	return nil
}

func (r *result) Next(to []driver.Value) error {
	if r.at == max(r.n, len(r.rows)) {
		if r.err != nil {
			return r.err
		}
		return io.EOF
	}
	copy(to, r.rows[r.at%len(r.rows)])
	r.at++
	return nil
}

func queried(t *testing.T, r *result, o data.RowsOptions) (*data.Table, error) {
	db := sql.OpenDB(r)
	defer db.Close()
	rows, err := db.Query("SELECT")
	require.NoError(t, err)
	return data.FromRows(rows, o)
}

func TestFromRows(t *testing.T) {
	day := time.Date(2024, 2, 29, 0, 0, 0, 0, time.UTC)
	closed := false
	r := &result{
		names: []string{"id", "x", "name", "price", "day", "true", "none"},
		types: []string{"BIGINT", "FLOAT8", "TEXT", "NUMERIC", "TIMESTAMP", "BOOL", ""},
		rows: [][]driver.Value{
			{int64(9007199254740993), 1.5, "a", "10.25", day, true, nil},
			{int64(2), nil, "", []byte("-1"), day.Add(90 * time.Minute), false, nil},
			{int64(3), -9., "b", nil, nil, nil, nil},
			{int64(4), math.Inf(-1), "a", "7", day, true, nil},
		},
		closed: &closed,
	}
	table, err := queried(t, r, data.RowsOptions{NA: []string{"-9", "b"}, Text: func(name string) bool { return name == "id" }})
	require.NoError(t, err)
	require.True(t, closed)
	require.Equal(t, r.names, table.Names)
	require.Equal(t, []string{"9007199254740993", "2", "3", "4"}, table.Levels("id"))
	require.Equal(t, []string{"a"}, table.Levels("name"))
	require.Equal(t, []int32{0, -1, -1, 0}, table.Codes("name"))
	require.Equal(t, []string{"2024-02-29", "2024-02-29T01:30:00"}, table.Levels("day"))
	for j, want := range map[int][]float64{
		1: {1.5, math.NaN(), math.NaN(), math.Inf(-1)}, 3: {10.25, -1, math.NaN(), 7}, 5: {1, 0, math.NaN(), 1},
	} {
		for i, v := range want {
			require.Equal(t, fmt.Sprint(v), fmt.Sprint(table.Number(i, j)), "column %d, row %d", j, i)
		}
	}
	require.True(t, table.Empty("none"))
	require.Equal(t, []int{1, 0, 0}, table.MarkedMissing("x"))
	require.Equal(t, []int{0, 1, 0}, table.MarkedMissing("name"))
}

// TestQueriesLargerThanMemory: the numbers are in a file, and those of a table that is read from text.
func TestQueriesLargerThanMemory(t *testing.T) {
	store := data.NewStore(1000)
	defer store.Close()
	r := &result{names: []string{"t", "x"}, rows: [][]driver.Value{{"a", 1.}, {"b", 2.}, {"a", 3.}}, n: 20_000}
	table, err := queried(t, r, data.RowsOptions{Store: store})
	require.NoError(t, err)
	require.Positive(t, store.Mapped())
	require.Equal(t, r.n, table.Rows())
	require.Equal(t, []string{"a", "b"}, table.Levels("t"))
	x, err := table.Column("x")
	require.NoError(t, err)
	for i := range r.n {
		require.Equal(t, float64(i%3+1), x[i])
		require.Equal(t, int32(i%3%2), table.Codes("t")[i])
	}
}

func TestWhatIsWrongWithAQuery(t *testing.T) {
	lost := errors.New("the server closed the connection")
	for want, r := range map[string]*result{
		"the query failed after 2 rows: the server closed the connection": {
			names: []string{"x"}, rows: [][]driver.Value{{1.}, {2.}}, err: lost,
		},
		"the query has no rows":    {names: []string{"x"}},
		"the query has no columns": {rows: [][]driver.Value{{}}},
		`row 2 of the query: column "x" has texts, and numbers before: CAST it in the query`: {
			names: []string{"x"}, rows: [][]driver.Value{{1.}, {"a"}},
		},
		`row 1 of the query: column "x" is "12a", which is not a number`: {
			names: []string{"x"}, types: []string{"DECIMAL"}, rows: [][]driver.Value{{"12a"}},
		},
		`row 1 of the query: column "x" is "\xff", which is not UTF-8`: {
			names: []string{"x"}, rows: [][]driver.Value{{"\xff"}},
		},
		`row 1 of the query: column "x" has values of type []int, which are neither numbers nor texts: CAST it in the query`: {
			names: []string{"x"}, rows: [][]driver.Value{{[]int{1}}},
		},
	} {
		_, err := queried(t, r, data.RowsOptions{})
		require.EqualError(t, err, want)
		require.Equal(t, r.err != nil, errors.Is(err, lost))
	}
	_, err := queried(t, &result{names: []string{"x", "x"}, rows: [][]driver.Value{{1., 2.}}}, data.RowsOptions{})
	require.ErrorContains(t, err, `"x"`)
}

// A query of any database/sql driver becomes a table: numbers, categories and missing values.
func ExampleFromRows() {
	db := sql.OpenDB(&result{
		names: []string{"species", "mass"},
		rows:  [][]driver.Value{{"adelie", 3750.}, {"gentoo", 5076.}, {"adelie", nil}},
	})
	defer db.Close()
	rows, err := db.Query("SELECT species, mass FROM penguins")
	if err != nil {
		fmt.Println(err)
		return
	}
	table, err := data.FromRows(rows, data.RowsOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(table.Names, table.Levels("species"), table.Codes("species"))
	fmt.Println(table.Number(1, 1), table.Number(2, 1))
	// Output:
	// [species mass] [adelie gentoo] [0 1 0]
	// 5076 NaN
}

package remote

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"strings"

	_ "github.com/jackc/pgx/v5/stdlib" // pgx
	_ "modernc.org/sqlite"             // sqlite

	"github.com/latent-go/latent/data"
)

var errNoQuery = errors.New("no query: the name of a table in a database ends with ?query=SELECT …")

// cut takes the query from the end of a name, as it is.
func cut(name string) (database, query string, err error) {
	for _, mark := range []string{"?query=", "&query="} {
		if at := strings.Index(name, mark); at >= 0 && strings.TrimSpace(name[at+len(mark):]) != "" {
			return name[:at], name[at+len(mark):], nil
		}
	}
	return "", "", errNoQuery
}

func ofSQLite(ctx context.Context, name string, o data.RowsOptions) (*data.Table, error) {
	file, query, err := cut(strings.TrimPrefix(name, "sqlite:"))
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(file); err != nil {
		return nil, err
	}
	file = strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(file)
	return ask(ctx, "sqlite", "file:"+file+"?mode=ro&_pragma=query_only(1)", query, o)
}

var errPassword = errors.New("a password in the name of a table is seen by others: use PGPASSWORD or ~/.pgpass")

func ofPostgres(ctx context.Context, name string, o data.RowsOptions) (*data.Table, error) {
	database, query, err := cut(name)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(database)
	if err != nil {
		return nil, errors.New("not an address such as postgres://USER@HOST/DATABASE?query=SELECT …")
	}
	if _, has := at.User.Password(); has || at.Query().Has("password") {
		return nil, errPassword
	}
	return ask(ctx, "pgx", database, query, o)
}

// ask reads the result of a query, which may change nothing.
func ask(ctx context.Context, driver, database, query string, o data.RowsOptions) (*data.Table, error) {
	db, err := sql.Open(driver, database)
	if err != nil {
		return nil, err
	}
	defer db.Close() //nolint:errcheck // nothing was written
	tx, err := db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		return nil, err
	}
	defer tx.Rollback() //nolint:errcheck // nothing was written
	rows, err := tx.QueryContext(ctx, query)
	if err != nil {
		return nil, fmt.Errorf("the query: %w", err)
	}
	return data.FromRows(rows, o)
}

package remote_test

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"
	"github.com/stretchr/testify/require"
	"gocloud.dev/blob"

	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/remote"
)

// run runs the command with the sources.
func run(t *testing.T, args ...string) (status int, stdout, stderr string) {
	t.Helper()
	var out, errs bytes.Buffer
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	host := command.Host{Name: "latent-remote", Sources: remote.Sources()}
	status = command.Run(ctx, host, args, strings.NewReader(""), &out, &errs)
	return status, out.String(), errs.String()
}

// fit is what a fit of two classes found, without its seconds and the name of the data.
func fit(t *testing.T, name string) map[string]any {
	t.Helper()
	status, out, errs := run(t, "fit", "--data", name, "--k", "2", "--method", "em", "--restarts", "1", "--format", "json")
	require.Zero(t, status, errs)
	var found map[string]any
	require.NoError(t, json.Unmarshal([]byte(out), &found))
	for key, value := range found {
		if key == "seconds" || value == any(name) {
			delete(found, key)
		}
	}
	require.NotEmpty(t, found)
	return found
}

// refused is the one line that a command ends with.
func refused(t *testing.T, name, want string) {
	t.Helper()
	status, _, errs := run(t, "fit", "--data", name)
	require.NotZero(t, status, name)
	require.Equal(t, 1, strings.Count(errs, "\n"), errs)
	require.Contains(t, errs, want)
	require.NotContains(t, errs, "secret")
}

// A table of two classes, in two parts.
func parts() (both, first, second string) {
	const head = "height,weight\n"
	text := ""
	for i := range 60 {
		text += fmt.Sprintf("%.3f,%.3f\n", float64(i%7)/7+5*float64(i%2), float64(i*i%11)/11-4*float64(i%2))
		if i == 24 {
			first = head + text
			text = ""
		}
	}
	return first + text, first, head + text
}

// TestFilesAreObjects: of the scheme file, the simplest one.
func TestFilesAreObjects(t *testing.T) {
	both, first, second := parts()
	dir := t.TempDir()
	for name, text := range map[string]string{"both.csv": both, "part-1.csv": first, "part-2.csv": second} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o666))
	}
	want := fit(t, filepath.Join(dir, "both.csv"))
	require.Equal(t, want, fit(t, "file://"+dir+"/both.csv"))
	require.Equal(t, want, fit(t, "file://"+dir+"/part-*.csv"))
	refused(t, "file://"+dir+"/none.csv", "no such object, or no such bucket")
	refused(t, "file://"+dir+"/none-*.csv", "nothing matches this pattern")
	refused(t, "file://"+dir+"/part-*[.csv", "the pattern has a [ without its ]")
	refused(t, "file://"+dir+"/", "no key: an object is named by scheme://bucket/key")
	refused(t, "ftp://host/x.csv", "no scheme ftp: this program has azblob, file, gs, postgres, postgresql, s3, sqlite")
}

// TestObjectsOfS3, of a fake server in this process, gofakes3, which looks at no credentials.
func TestObjectsOfS3(t *testing.T) {
	fake := gofakes3.New(s3mem.New(), gofakes3.WithAutoBucket(false)).Server()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet && r.URL.Path == "/tables/cut" {
			w = &cutShort{w, 200}
		}
		if strings.HasPrefix(r.URL.Path, "/closed") {
			w.WriteHeader(http.StatusForbidden)
			_, _ = io.WriteString(w, "<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>")
			return
		}
		fake.ServeHTTP(w, r)
	}))
	defer server.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "id")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "true")
	options := "?region=us-east-1&use_path_style=true&endpoint=" + server.URL
	request, err := http.NewRequest(http.MethodPut, server.URL+"/tables", nil)
	require.NoError(t, err)
	made, err := http.DefaultClient.Do(request)
	require.NoError(t, err)
	require.NoError(t, made.Body.Close())
	bucket, err := blob.OpenBucket(t.Context(), "s3://tables"+options)
	require.NoError(t, err)
	defer bucket.Close()
	both, first, second := parts()
	for key, text := range map[string]string{
		"both": both, "day/part-1.csv": first, "day/part-2.csv": second, "day/other": "x", "cut": both,
	} {
		require.NoError(t, bucket.WriteAll(t.Context(), key, []byte(text), nil))
	}
	file := filepath.Join(t.TempDir(), "both.csv")
	require.NoError(t, os.WriteFile(file, []byte(both), 0o666))
	want := fit(t, file)
	require.Equal(t, want, fit(t, "s3://tables/both"+options))
	require.Equal(t, want, fit(t, "s3://tables/day/part-*.csv"+options))
	refused(t, "s3://tables/none"+options, "no such object, or no such bucket")
	refused(t, "s3://nowhere/none"+options, "no such object, or no such bucket")
	refused(t, "s3://nowhere/part-*"+options, "no such object, or no such bucket")
	refused(t, "s3://tables/day/none-*"+options, "nothing matches this pattern")
	refused(t, "s3://closed/both"+options, "access is denied: see to the credentials")
	refused(t, "s3://closed/part-*"+options, "access is denied: see to the credentials")
	exchanges(t, "s3://tables/run"+options)
	_, err = bucket.ReadAll(t.Context(), "both")
	require.NoError(t, err, "it is of no run")
	nowhere, err := remote.OpenFolder(t.Context(), "s3://nowhere/run"+options)
	require.NoError(t, err)
	defer nowhere.Close()
	require.ErrorContains(t, nowhere.Put(t.Context(), "board", nil), "no such object, or no such bucket")
	refused(t, "s3://tables/cut"+options, "cannot be read to the end: blob (key \"cut\") (code=Unknown): unexpected EOF\n")
	server.Close()
	refused(t, "s3://tables/both"+options, "connection refused")
}

// exchanges holds a folder to what module beam asks of one.
func exchanges(t *testing.T, name string) {
	t.Helper()
	f, err := remote.OpenFolder(t.Context(), name)
	require.NoError(t, err)
	ctx := t.Context()
	_, err = f.Get(ctx, "board")
	require.ErrorIs(t, err, fs.ErrNotExist)
	for _, text := range []string{"", "longer", "new"} {
		require.NoError(t, f.Put(ctx, "board", []byte(text)))
		other, err := remote.OpenFolder(ctx, name) // of another process
		require.NoError(t, err)
		got, err := other.Get(ctx, "board")
		require.NoError(t, err)
		require.Equal(t, text, string(got))
		require.NoError(t, other.Close())
	}
	require.NoError(t, f.Put(ctx, "pass-1-sums-0", []byte("sums")))
	require.NoError(t, f.Put(ctx, "pass-1-sums-1", []byte("sums")))
	names, err := f.List(ctx, "pass-1-")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"pass-1-sums-0", "pass-1-sums-1"}, names)
	require.NoError(t, f.Remove(ctx, []string{"pass-1-sums-1", "none"}))
	names, err = f.List(ctx, "")
	require.NoError(t, err)
	require.ElementsMatch(t, []string{"board", "pass-1-sums-0"}, names)
	require.NoError(t, f.Remove(ctx, nil))
	names, err = f.List(ctx, "")
	require.NoError(t, err)
	require.Empty(t, names)
	require.NoError(t, f.Close())
}

// A cutShort response breaks off the connection after so many bytes.
type cutShort struct {
	http.ResponseWriter
	left int
}

func (c *cutShort) Write(p []byte) (int, error) {
	n, err := c.ResponseWriter.Write(p[:min(len(p), c.left)])
	if c.left -= n; c.left == 0 {
		_ = http.NewResponseController(c.ResponseWriter).Flush()
		panic(http.ErrAbortHandler)
	}
	return n, err
}

// fill fills a database.
func fill(t *testing.T, db *sql.DB) {
	both, _, _ := parts()
	_, err := db.Exec("CREATE TABLE people (place INTEGER, height DOUBLE PRECISION, weight NUMERIC, name TEXT)")
	require.NoError(t, err)
	for i, line := range strings.Split(strings.TrimSpace(both), "\n")[1:] {
		height, weight, _ := strings.Cut(line, ",")
		_, err := db.Exec(fmt.Sprintf("INSERT INTO people VALUES (%d, %s, %s, 'a')", i, height, weight))
		require.NoError(t, err)
	}
}

// left holds that all people are still there.
func left(t *testing.T, db *sql.DB) {
	t.Helper()
	var n int
	require.NoError(t, db.QueryRow("SELECT count(*) FROM people").Scan(&n))
	require.Equal(t, 60, n)
}

const people = "SELECT height, weight FROM people WHERE place >= 0 AND '&' <> '%' ORDER BY place"

func TestQueriesOfSQLite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "shop.db")
	db, err := sql.Open("sqlite", path)
	require.NoError(t, err)
	fill(t, db)
	defer db.Close()
	both, _, _ := parts()
	file := filepath.Join(dir, "both.csv")
	require.NoError(t, os.WriteFile(file, []byte(both), 0o666))
	require.Equal(t, fit(t, file), fit(t, "sqlite:"+path+"?query="+people))
	refused(t, "sqlite:"+path, "no query: the name of a table in a database ends with ?query=SELECT …")
	refused(t, "sqlite:"+path+"?query=SELECT age FROM people", "no such column: age")
	refused(t, "sqlite:"+path+"?query=SELECT * FROM people WHERE place < 0", "the query has no rows")
	for _, query := range []string{"DROP TABLE people", "DELETE FROM people RETURNING 1", "SELECT 1; DELETE FROM people"} {
		refused(t, "sqlite:"+path+"?query="+query, "readonly")
		left(t, db)
	}
	elsewhere := "ATTACH '" + dir + "/new.db' AS n; CREATE TABLE n.t AS SELECT 1 AS x; COMMIT; SELECT x FROM n.t"
	refused(t, "sqlite:"+path+"?query="+elsewhere, "readonly")
	refused(t, "sqlite:"+path+"?query=SELECT CASE WHEN place < 9 THEN height ELSE name END AS x FROM people",
		`row 10 of the query: column "x" has texts, and numbers before: CAST it in the query`)
	refused(t, "sqlite:"+path+"?query=SELECT abs(CASE place WHEN 9 THEN -9223372036854775808 ELSE 1 END) AS x FROM people",
		"the query failed after 9 rows: SQL logic error: integer overflow")
	refused(t, "sqlite:"+file+"?query=SELECT 1", "file is not a database")
	refused(t, "sqlite:"+dir+"/none.db?query=SELECT 1", "no such file or directory")
}

// TestNoServerOfPostgreSQL: what is refused without one.
func TestNoServerOfPostgreSQL(t *testing.T) {
	refused(t, "postgres://me@localhost/db", "no query: the name of a table in a database ends with ?query=SELECT …")
	for _, name := range []string{"postgres://me:secret@localhost/db?", "postgresql://me@localhost/db?password=secret&"} {
		refused(t, name+"query=SELECT 1", "a password in the name of a table is seen by others")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	refused(t, fmt.Sprintf("postgres://me@%v/db?query=SELECT 1", listener.Addr()), "connection refused")
}

// TestQueriesOfPostgreSQL, of a server of this test where its programs are installed.
func TestQueriesOfPostgreSQL(t *testing.T) {
	address := postgres(t)
	db, err := sql.Open("pgx", address)
	require.NoError(t, err)
	defer db.Close()
	fill(t, db)
	both, _, _ := parts()
	file := filepath.Join(t.TempDir(), "both.csv")
	require.NoError(t, os.WriteFile(file, []byte(both), 0o666))
	require.Equal(t, fit(t, file), fit(t, address+"&query="+people))
	refused(t, address+"&query=SELECT age FROM people", `column "age" does not exist`)
	for _, query := range []string{"DROP TABLE people", "DELETE FROM people RETURNING 1"} {
		refused(t, address+"&query="+query, "read-only transaction")
	}
	refused(t, address+"&query=COMMIT; DELETE FROM people", "cannot insert multiple commands")
	left(t, db)
	refused(t, address+"&query=SELECT 1 / (30 - place) AS x FROM people",
		"the query failed after 30 rows: ERROR: division by zero")
	refused(t, address+"&query=SELECT CASE place WHEN 30 THEN pg_terminate_backend(pg_backend_pid()) END AS x FROM people",
		"rows: FATAL: terminating connection due to administrator command")
	refused(t, strings.Replace(address, "postgres@", "nobody@", 1)+"&query=SELECT 1", `role "nobody" does not exist`)
}

// postgres starts a server, which ends with the test, and returns an address.
func postgres(t *testing.T) string {
	list, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	t.Setenv("PATH", os.Getenv("PATH")+":"+strings.Join(list, ":"))
	if _, err := exec.LookPath("initdb"); err != nil {
		t.Skip("PostgreSQL is not installed")
	}
	dir, err := os.MkdirTemp("", "latent-postgres")
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	as := &syscall.SysProcAttr{}
	if os.Getuid() == 0 { // as whom the server does not run
		const nobody = 65534
		require.NoError(t, os.Chown(dir, nobody, nobody))
		as.Credential = &syscall.Credential{Uid: nobody, Gid: nobody}
	}
	start := func(name string, args ...string) *exec.Cmd {
		cmd := exec.Command(name, args...)
		cmd.Dir, cmd.SysProcAttr = dir, as
		return cmd
	}
	files := filepath.Join(dir, "data")
	text, err := start("initdb", "-D", files, "-U", "postgres", "-A", "trust", "--no-sync").CombinedOutput()
	require.NoError(t, err, string(text))
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	port := listener.Addr().(*net.TCPAddr).Port
	require.NoError(t, listener.Close())
	server := start("postgres", "-D", files, "-h", "127.0.0.1", "-p", fmt.Sprint(port), "-k", dir, "-F")
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = server.Process.Signal(os.Interrupt)
		_ = server.Wait()
	})
	address := fmt.Sprintf("postgres://postgres@127.0.0.1:%d/postgres?sslmode=disable", port)
	db, err := sql.Open("pgx", address)
	require.NoError(t, err)
	defer db.Close()
	require.Eventually(t, func() bool { return db.Ping() == nil }, time.Minute, 50*time.Millisecond)
	return address
}

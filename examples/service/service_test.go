package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin"
)

const mainEnv = "LATENT_SERVICE"

// TestMain is the service itself in processes that tests start.
func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// Two models of columns x, n, kind and day.
var files = []string{"../../builtin/testdata/v3/mixed.json", "../../builtin/testdata/v3/gate.json"}

// replace puts another file at a path, in one step.
func replace(t *testing.T, path, by string) {
	t.Helper()
	text, err := os.ReadFile(by)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path+".new", text, 0o600))
	require.NoError(t, os.Rename(path+".new", path))
}

// A lines is what a service noted, which says where it listens.
type lines struct {
	sync.Mutex
	text bytes.Buffer
}

func (l *lines) Write(text []byte) (int, error) {
	l.Lock()
	defer l.Unlock()
	return l.text.Write(text)
}

func (l *lines) String() string {
	l.Lock()
	defer l.Unlock()
	return l.text.String()
}

// until waits for what comes.
func until(t testing.TB, come func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !come(); time.Sleep(time.Millisecond) {
		require.True(t, time.Now().Before(end), "it does not come")
	}
}

var listening = regexp.MustCompile(`listening on (\S+) `)

// address waits for the address that a service notes.
func address(t testing.TB, noted *lines) string {
	t.Helper()
	until(t, func() bool { return listening.MatchString(noted.String()) })
	return "http://" + listening.FindStringSubmatch(noted.String())[1]
}

// started is a service on loopback, and what ends it and has its error.
func started(t testing.TB, args ...string) (url string, noted *lines, end func() error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	noted, ended := new(lines), make(chan error, 1)
	go func() { ended <- run(ctx, append([]string{"-address", "localhost:0"}, args...), noted) }()
	end = func() error {
		cancel()
		return <-ended
	}
	return address(t, noted), noted, end
}

// asked is the status and the JSON that a service answers to a body.
func asked(url, body string) (status int, said map[string]any, err error) {
	r, err := http.Post(url+"/score", "application/json", strings.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	defer r.Body.Close() //nolint:errcheck // read to its end
	return r.StatusCode, said, json.NewDecoder(r.Body).Decode(&said)
}

func got(t *testing.T, url string) string {
	t.Helper()
	r, err := http.Get(url)
	require.NoError(t, err)
	defer r.Body.Close() //nolint:errcheck // read to its end
	text, err := io.ReadAll(r.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, r.StatusCode, string(text))
	return string(text)
}

// rowsOf are questions, and what each of the models says of them, by its checksum.
func rowsOf(t *testing.T) (bodies []string, want []map[string][]float64) {
	t.Helper()
	for i := range 40 {
		kind, day := []string{"red", "blue", "green"}[i%3], fmt.Sprintf("2024-%02d-%02d", 1+i%12, 1+i%28)
		cells := fmt.Sprintf("[%q,%q,%d.5,%q]", day, kind, i-20, fmt.Sprint(1+i%3))
		bodies = append(bodies, `{"columns":["day","kind","x","n"],"rows":[`+cells+`]}`)
		said := map[string][]float64{}
		for _, file := range files {
			store := &models{path: file, metrics: newMetrics()}
			require.NoError(t, store.load())
			m := store.now()
			row, dst, texts := make([]float64, 4), make([]float64, len(m.names)), make([]string, 4)
			texts[m.places["x"]], texts[m.places["n"]] = fmt.Sprintf("%d.5", i-20), fmt.Sprint(1+i%3)
			texts[m.places["kind"]], texts[m.places["day"]] = kind, day
			require.NoError(t, m.Encode(row, texts))
			require.NoError(t, m.Score(row, dst))
			said[m.checksum] = dst
		}
		want = append(want, said)
	}
	return bodies, want
}

// Clients ask at the same time, while the file of the model is replaced by another, by a broken one and by none. Each
// answer is of the model that it names, no question goes without one, and the counters have all of them.
func TestServiceUnderLoadWhileItsModelChanges(t *testing.T) {
	path := filepath.Join(t.TempDir(), "m.json")
	replace(t, path, files[0])
	url, noted, end := started(t, "-model", path, "-reload", "2ms")
	bodies, want := rowsOf(t)

	var clients sync.WaitGroup
	var done atomic.Int64
	const n, each = 32, 60
	for client := range n {
		clients.Go(func() {
			for i := range each {
				at := (client*7 + i) % len(bodies)
				status, said, err := asked(url, bodies[at])
				if err != nil || status != http.StatusOK {
					t.Errorf("%s: %d %v %v", bodies[at], status, said, err)
					return
				}
				numbers := said["rows"].([]any)[0].([]any)
				for j, v := range want[at][said["model"].(string)] {
					if math.Abs(numbers[j].(float64)-v) > 1e-12*max(1, math.Abs(v)) {
						t.Errorf("%s by %s: number %d is %v and not %v", bodies[at], said["model"], j, numbers[j], v)
					}
				}
				done.Add(1)
			}
		})
	}
	broken := filepath.Join(t.TempDir(), "broken.json")
	require.NoError(t, os.WriteFile(broken, []byte(`{"format":"latent-model"`), 0o600))
	loads := func() uint64 { return counter(t, url, "latent_model_loads_total") }
	for range 3 {
		for _, file := range []string{files[1], broken, files[0]} {
			before, failures := loads(), counter(t, url, "latent_model_load_failures_total")
			replace(t, path, file)
			until(t, func() bool {
				return loads() > before ||
					file == broken && counter(t, url, "latent_model_load_failures_total") > failures
			})
		}
	}
	clients.Wait()
	require.EqualValues(t, n*each, done.Load())
	require.EqualValues(t, 7, loads())
	require.EqualValues(t, 3, counter(t, url, "latent_model_load_failures_total"))
	require.EqualValues(t, n*each, counter(t, url, `latent_requests_total{handler="POST /score",code="200"}`))
	require.EqualValues(t, n*each, counter(t, url, `latent_request_seconds_count{handler="POST /score"}`))
	require.EqualValues(t, n*each, counter(t, url, "latent_rows_total"))

	require.NoError(t, os.Remove(path))
	until(t, func() bool { return strings.Contains(got(t, url+"/health"), "no such file") })
	status, _, err := asked(url, bodies[0])
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, "the model stays")
	require.NoError(t, end())
	require.Contains(t, noted.String(), "the model stays")
	_, _, err = asked(url, bodies[0])
	require.Error(t, err)
}

var sample = regexp.MustCompile(`^([a-z_]+)(\{[a-z0-9]+="[^"]*"(,[a-z0-9]+="[^"]*")*\})? (\d+(\.\d+)?(e-\d+)?)$`)

// counter is a number of /metrics, each line of which is checked against the text format: a sample comes after the type
// of its family.
func counter(t *testing.T, url, name string) (value uint64) {
	t.Helper()
	family, buckets := "", uint64(0)
	for line := range strings.Lines(got(t, url+"/metrics")) {
		line = strings.TrimSuffix(line, "\n")
		if rest, is := strings.CutPrefix(line, "# TYPE "); is {
			family, _, _ = strings.Cut(rest, " ")
		}
		if strings.HasPrefix(line, "# ") {
			continue
		}
		parts := sample.FindStringSubmatch(line)
		require.NotNil(t, parts, line)
		require.True(t, strings.HasPrefix(parts[1], family), line)
		v := uint64(0)
		_, _ = fmt.Sscan(parts[4], &v)
		if strings.HasSuffix(parts[1], "_bucket") {
			require.True(t, v >= buckets || strings.Contains(line, `le="0.0001"`), "buckets are of all below: %s", line)
			buckets = v
		}
		if strings.HasSuffix(parts[1], "_count") {
			require.Equal(t, buckets, v)
		}
		if parts[1]+parts[2] == name {
			value = v
		}
	}
	return value
}

func TestQuestionsThatCannotBeAnswered(t *testing.T) {
	url, _, end := started(t, "-model", files[0], "-body", "4000", "-rows", "30")
	for body, c := range map[string]struct {
		status int
		part   string
	}{
		``:                                       {400, "no JSON of a question: EOF"},
		`{"rows":[[1]`:                           {400, "unexpected EOF"},
		`[]`:                                     {400, "cannot unmarshal array"},
		`{"row":[]}`:                             {400, "unknown field"},
		`{}`:                                     {400, "no rows"},
		`{"rows":[[1,2,"red","2024-01-12"]]} {}`: {400, "more than one value"},
		`{"rows":[[true,2,"red","2024-01-12"]]}`: {400, "true is no cell"},
		`{"rows":[[1e999,2,"red","2024-01-12"]]}`:          {400, "1e999 is no cell"},
		`{"rows":[[1,2,"red"]]}`:                           {422, "row 1: it has 3 cells, and the model 4 columns"},
		`{"rows":[[1,2,"violet","2024-01-12"]]}`:           {422, `column "kind": "violet" is none of its levels`},
		`{"rows":[[1,2,"red","yesterday"]]}`:               {422, `column "day": "yesterday"`},
		`{"rows":[["one",2,"red",null]]}`:                  {422, `column "x": "one" is not a number`},
		`{"columns":["x"],"rows":[[1]]}`:                   {422, "of the model is missing"},
		`{"columns":["x","x"],"rows":[[1,1]]}`:             {422, `"x" comes twice`},
		`{"columns":["y"],"rows":[[1]]}`:                   {422, `no column "y"`},
		`{"rows":[` + strings.Repeat(`[1],`, 30) + `[1]]}`: {413, "31 rows, and 30 may be asked"},
		`{"rows":[["` + strings.Repeat("x", 4000) + `"]]}`: {413, "more than 4000 bytes"},
	} {
		status, said, err := asked(url, body)
		require.NoError(t, err)
		require.Equal(t, c.status, status, body)
		require.Contains(t, said["error"], c.part, body)
	}
	status, said, err := asked(url, `{"rows":[[null,null,null,null],[1,2,"red","2024-01-12"]]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, said)
	require.Len(t, said["rows"], 2)
	for path, want := range map[string]int{"/score": http.StatusMethodNotAllowed, "/nothing": http.StatusNotFound} {
		r, err := http.Get(url + path)
		require.NoError(t, err)
		require.NoError(t, r.Body.Close())
		require.Equal(t, want, r.StatusCode)
	}
	for _, code := range []string{"404", "405"} {
		require.EqualValues(t, 1, counter(t, url, `latent_requests_total{handler="none",code="`+code+`"}`))
	}
	require.Contains(t, got(t, url+"/model"), `"kind":"mixture"`)
	require.NoError(t, end())
}

// Of a hidden Markov model the rows of a question are the steps of a sequence.
func TestASequenceIsAQuestion(t *testing.T) {
	const path = "../../builtin/testdata/v3/hmm.json"
	m, err := builtin.Load(path)
	require.NoError(t, err)
	x := []float64{0, -1, 2, 1, 1, 1, 2, 1, 0, -1}
	want := make([]float64, 2*m.Model.Layout().Width())
	require.NoError(t, m.Score(x, want))
	url, _, end := started(t, "-model", path)
	status, said, err := asked(url, `{"rows":[[0,-1,2,1,1],[1,2,1,0,-1]]}`)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, status, said)
	var numbers []float64
	for _, row := range said["rows"].([]any) {
		for _, v := range row.([]any) {
			numbers = append(numbers, v.(float64))
		}
	}
	require.Equal(t, want, numbers)
	require.NoError(t, end())
}

// A service that is told to end answers the request that it has the head of, takes no other, and ends without an error.
func TestSIGTERMEndsTheServiceGracefully(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("no signals there")
	}
	noted := new(lines)
	service := exec.Command(os.Args[0], "-model", files[0], "-address", "localhost:0", "-grace", "1m")
	service.Env, service.Stderr = append(os.Environ(), mainEnv+"=1"), noted
	require.NoError(t, service.Start())
	url := address(t, noted)

	const body = `{"rows":[[1,2,"red","2024-01-12"]]}`
	conn, err := net.Dial("tcp", strings.TrimPrefix(url, "http://"))
	require.NoError(t, err)
	_, err = fmt.Fprintf(conn, "POST /score HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s", len(body), body[:9])
	require.NoError(t, err)
	until(t, func() bool { return counter(t, url, "latent_requests_running") == 2 })
	require.NoError(t, service.Process.Signal(syscall.SIGTERM))
	until(t, func() bool { return strings.Contains(noted.String(), "ending") })
	_, err = io.WriteString(conn, body[9:])
	require.NoError(t, err)
	answer, err := io.ReadAll(conn)
	require.NoError(t, err)
	require.Contains(t, string(answer), "HTTP/1.1 200 OK")
	require.NoError(t, service.Wait(), noted)
}

func TestServicesThatCannotStart(t *testing.T) {
	broken := filepath.Join(t.TempDir(), "m.json")
	require.NoError(t, os.WriteFile(broken, []byte("{}"), 0o600))
	for part, args := range map[string][]string{
		"give the file":     nil,
		"must be positive":  {"-model", files[0], "-rows", "0"},
		"no such file":      {"-model", broken + ".not"},
		"not a model file":  {"-model", broken},
		"nothing but flags": {"-model", files[0], "more"},
		"not defined":       {"-modle", files[0]},
	} {
		err := run(t.Context(), args, io.Discard)
		require.ErrorContains(t, err, part)
	}
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer l.Close() //nolint:errcheck // nothing was sent
	err = run(t.Context(), []string{"-model", files[0], "-address", l.Addr().String()}, io.Discard)
	require.ErrorContains(t, err, l.Addr().String())
}

package remote_test

import (
	"crypto/md5"
	"encoding/base64"
	"encoding/json"
	"encoding/xml"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// objects are those of a bucket named tables, in this process.
type objects struct {
	sync.Mutex
	at map[string]string
}

// keys are those with a prefix, in order.
func (o *objects) keys(prefix string) (list []string) {
	for key := range o.at {
		if strings.HasPrefix(key, prefix) {
			list = append(list, key)
		}
	}
	slices.Sort(list)
	return list
}

// serve answers in the words of one of the services; put is what a request would write.
func (o *objects) serve(w http.ResponseWriter, method, key, put string, absent func(http.ResponseWriter)) {
	text, ok := o.at[key]
	switch {
	case method == http.MethodPut:
		o.at[key] = put
		w.WriteHeader(http.StatusCreated)
	case !ok:
		absent(w)
	case method == http.MethodDelete:
		delete(o.at, key)
		w.WriteHeader(http.StatusAccepted)
	default:
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		w.Header().Set("Last-Modified", "Sat, 28 Nov 2026 06:00:00 GMT")
		_, _ = io.WriteString(w, text)
	}
}

// google answers as Google Cloud Storage does: lists, puts and removals in JSON, and objects by their paths. It looks
// at no credentials but refuses the bucket "closed".
func (o *objects) google(w http.ResponseWriter, r *http.Request) {
	o.Lock()
	defer o.Unlock()
	path := strings.TrimPrefix(strings.TrimPrefix(r.URL.EscapedPath(), "/upload"), "/storage/v1/b")
	bucket, key, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	key, _ = url.PathUnescape(strings.TrimPrefix(strings.TrimPrefix(key, "o"), "/"))
	problem := func(code int) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.WriteHeader(code)
			fmt.Fprintf(w, `{"error":{"code":%d,"message":"%s"}}`, code, http.StatusText(code))
		}
	}
	resource := func(key string) map[string]any {
		sum := md5.Sum([]byte(o.at[key]))
		return map[string]any{"kind": "storage#object", "bucket": bucket, "name": key, "generation": "1",
			"size": fmt.Sprint(len(o.at[key])), "md5Hash": base64.StdEncoding.EncodeToString(sum[:])}
	}
	switch {
	case bucket == "closed":
		problem(http.StatusForbidden)(w)
	case bucket != "tables":
		problem(http.StatusNotFound)(w)
	case r.Method == http.MethodPost: // a part that describes it, and then the object
		_, of, _ := mime.ParseMediaType(r.Header.Get("Content-Type"))
		var parts []string
		for list := multipart.NewReader(r.Body, of["boundary"]); ; {
			part, err := list.NextPart()
			if err != nil {
				break
			}
			text, _ := io.ReadAll(part)
			parts = append(parts, string(text))
		}
		var described struct{ Name string }
		_ = json.Unmarshal([]byte(parts[0]), &described)
		o.at[described.Name] = parts[1]
		_ = json.NewEncoder(w).Encode(resource(described.Name))
	case key == "":
		items := []any{}
		for _, key := range o.keys(r.URL.Query().Get("prefix")) {
			items = append(items, resource(key))
		}
		_ = json.NewEncoder(w).Encode(map[string]any{"kind": "storage#objects", "items": items})
	default:
		o.serve(w, r.Method, key, "", problem(http.StatusNotFound))
	}
}

// azure answers as Azure Blob Storage does, to a client that was given an emulator; the container "closed" is refused.
func (o *objects) azure(w http.ResponseWriter, r *http.Request) {
	o.Lock()
	defer o.Unlock()
	_, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/") // the account
	container, key, _ := strings.Cut(path, "/")
	problem := func(status int, code string) func(http.ResponseWriter) {
		return func(w http.ResponseWriter) {
			w.Header().Set("X-Ms-Error-Code", code)
			w.WriteHeader(status)
			fmt.Fprintf(w, "<Error><Code>%s</Code><Message>%s</Message></Error>", code, code)
		}
	}
	switch {
	case container == "closed":
		problem(http.StatusForbidden, "AuthorizationFailure")(w)
	case container != "tables":
		problem(http.StatusNotFound, "ContainerNotFound")(w)
	case r.URL.Query().Get("comp") == "list":
		type properties struct {
			ContentLength int    `xml:"Content-Length"`
			LastModified  string `xml:"Last-Modified"`
		}
		type listed struct {
			Name       string
			Properties properties
		}
		var list struct {
			XMLName xml.Name `xml:"EnumerationResults"`
			Blobs   struct{ Blob []listed }
		}
		for _, key := range o.keys(r.URL.Query().Get("prefix")) {
			list.Blobs.Blob = append(list.Blobs.Blob, listed{key, properties{len(o.at[key]), "Sat, 28 Nov 2026 06:00:00 GMT"}})
		}
		_ = xml.NewEncoder(w).Encode(list)
	default:
		put, _ := io.ReadAll(r.Body)
		o.serve(w, r.Method, key, string(put), problem(http.StatusNotFound, "BlobNotFound"))
	}
}

// TestObjectsOfOtherClouds, Google's and Azure's, of servers in this process that answer as these do to what a fit and
// an exchange folder ask.
func TestObjectsOfOtherClouds(t *testing.T) {
	both, first, second := parts()
	file := filepath.Join(t.TempDir(), "both.csv")
	require.NoError(t, os.WriteFile(file, []byte(both), 0o666))
	want := fit(t, file)
	for scheme, answer := range map[string]func(*objects, http.ResponseWriter, *http.Request){
		"gs": (*objects).google, "azblob": (*objects).azure,
	} {
		t.Run(scheme, func(t *testing.T) {
			o := &objects{at: map[string]string{"both": both, "day/part-1.csv": first, "day/part-2.csv": second, "day/other": "x"}}
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { answer(o, w, r) }))
			defer server.Close()
			host := strings.TrimPrefix(server.URL, "http://")
			options := "?anonymous=true"
			t.Setenv("STORAGE_EMULATOR_HOST", host)
			if scheme == "azblob" {
				options = "?localemu=true&protocol=http&domain=" + host
				t.Setenv("AZURE_STORAGE_ACCOUNT", "account")
				t.Setenv("AZURE_STORAGE_KEY", base64.StdEncoding.EncodeToString([]byte("secret")))
			}
			require.Equal(t, want, fit(t, scheme+"://tables/both"+options))
			require.Equal(t, want, fit(t, scheme+"://tables/day/part-*.csv"+options))
			refused(t, scheme+"://tables/none"+options, "no such object, or no such bucket")
			refused(t, scheme+"://nowhere/none"+options, "no such object, or no such bucket")
			refused(t, scheme+"://nowhere/part-*"+options, "no such object, or no such bucket")
			refused(t, scheme+"://tables/day/none-*"+options, "nothing matches this pattern")
			refused(t, scheme+"://closed/both"+options, "access is denied: see to the credentials")
			exchanges(t, scheme+"://tables/run"+options)
			require.Len(t, o.at, 4, "an exchange leaves what is of no run")
		})
	}
}

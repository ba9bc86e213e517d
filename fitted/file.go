package fitted

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/atomicfile"
)

// A model file is one JSON object and nothing after it, not even an end of line: so
// every file that was cut short is invalid. Its last field is the checksum of all before it.
const (
	format        = "latent-model"
	version       = 4 // without the seconds that the fit took, so that one command and seed write the same bytes
	oldest        = 3 // that is read
	checksumField = `,"checksum":"`
)

// A File holds the contents of a model file for the loader of the model; docs/schema/model.json describes all its
// fields.
type File struct {
	Model      string
	Method     string
	Criterion  string
	Family     string // the components' family, if the model has a choice
	K          int
	D          int
	N          Number          // sum of the weights of the rows
	LogLik     Number          // ln p(X|Π), nats; 0 if the method has none
	Groups     [][]int         // groups of components, from 1; nil without groups, and in files before version 4
	Columns    []data.Column   // the columns of a row, in their order
	Components []Class         // components or states, in their order; nil for models without
	Settings   json.RawMessage // an object
	Params     json.RawMessage
	Posterior  json.RawMessage // nil if parameters are estimated
}

// Matches returns an error unless the file's K, D and number of columns match parameters of k dimensions and d
// columns.
func (f *File) Matches(k, d int) error {
	if len(f.Columns) != d || f.D != d || f.K != k {
		return fmt.Errorf("its K = %d, D = %d and %d column names do not match parameters for K = %d and D = %d", f.K,
			f.D, len(f.Columns), k, d)
	}
	return nil
}

// An UnknownError reports a model or family in a file that the program does not know.
type UnknownError struct {
	What  string   // "model" or "family"
	Name  string   // the name in the file
	Known []string // the names that the program knows
}

func (e *UnknownError) Error() string {
	return fmt.Sprintf("unknown %s %.40s: this program knows %s", e.What, e.Name,
		strings.Join(e.Known, ", "))
}

// ErrNothing is wrapped by Load's error if the fit found nothing: the file is undamaged, but useless.
var ErrNothing = errors.New("there is nothing to predict or to sample")

// Seal returns the text of a model file with the fields of a JSON object.
func Seal(object []byte) ([]byte, error) {
	if len(object) <= len("{}") || object[0] != '{' || object[len(object)-1] != '}' || !json.Valid(object) {
		return nil, errors.New("fitted: a model file is a JSON object with fields")
	}
	fields := object[1 : len(object)-1]
	return withChecksum(fmt.Appendf(nil, `{"format":%q,"version":%d,%s`, format, version, fields)), nil
}

// Save writes a model file with the fields of a JSON object, completely or not at all.
func Save(path string, object []byte) error {
	text, err := Seal(object)
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// withChecksum ends the text of an object, up to its last brace, by the checksum: the SHA-256 of that text.
func withChecksum(body []byte) []byte {
	return fmt.Appendf(bytes.Clone(body), `%s%x"}`, checksumField, sha256.Sum256(body))
}

// whole says whether a text is as it was sealed.
func whole(text []byte) bool {
	at := bytes.LastIndex(text, []byte(checksumField))
	return at >= 0 && bytes.Equal(text, withChecksum(text[:at]))
}

const remedy = "make one with latent fit --out"

// largest bounds the memory that a file takes before it is known to be a model's.
const largest = 1 << 31

// ReadFile returns the text of a model file.
func ReadFile(path string) ([]byte, error) {
	text, err := atomicfile.ReadFile(path, largest)
	switch info, _ := os.Stat(path); {
	case info != nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory and not a model file: %s", path, remedy)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file: %s", path, remedy)
	}
	return text, err
}

// Open loads a model file. Errors name the file.
func (r Registry) Open(path string) (*Fitted, error) {
	text, err := ReadFile(path)
	if err != nil {
		return nil, err
	}
	f, err := r.Parse(text)
	return f, About(path, err)
}

// About adds the path of the file to an error of Parse, and advice unless it wraps [ErrNothing].
func About(path string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNothing):
		return fmt.Errorf("%s: %w", path, err)
	}
	return fmt.Errorf("%s: %w; %s", path, err, remedy)
}

// Parse loads the text of a model file. It checks that the file is complete and that its parts are consistent.
func (r Registry) Parse(text []byte) (*Fitted, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	var head struct {
		Format                 string
		Version, Model, Family json.RawMessage // as they are written, to show those of the wrong type
	}
	err := json.Unmarshal(text, &head)
	object := bytes.TrimLeft(text, " \t\r\n")
	switch syntax, damaged := errors.AsType[*json.SyntaxError](err); {
	case len(object) > 0 && object[0] != '{':
		return nil, errors.New("not a model file of latent: no JSON object")
	case damaged:
		return nil, fmt.Errorf("truncated or damaged at byte %d of %d: %w", syntax.Offset, len(text), err)
	case err != nil || head.Format != format:
		return nil, fmt.Errorf("not a model file of latent: its format is not %q", format)
	}
	if v, err := strconv.Atoi(string(head.Version)); err != nil || v < oldest || v > version {
		return nil, fmt.Errorf("its model file version is %.40s, and this version of latent reads %d to %d: "+
			"read it with the latent that wrote it",
			cmp.Or(string(head.Version), "missing"), oldest, version)
	}
	if !whole(text) {
		return nil, errors.New("damaged, or changed after it was saved: its checksum is wrong")
	}
	at := slices.IndexFunc(r, func(d Definition) bool { return strconv.Quote(d.Name) == string(head.Model) })
	switch {
	case head.Model == nil:
		return nil, errors.New("damaged: it has no model")
	case at < 0:
		return nil, &UnknownError{What: "model", Name: string(head.Model), Known: slices.Sorted(slices.Values(r.Names()))}
	}
	return r[at].load(text, head.Family)
}

func (d Definition) load(text []byte, family json.RawMessage) (*Fitted, error) {
	var name string
	if err := json.Unmarshal(family, &name); d.Families != nil {
		switch {
		case family == nil:
			return nil, errors.New("damaged: it has no family")
		case err != nil || !slices.Contains(d.Families.Names(false), name) && !d.Families.Joint(name):
			return nil, &UnknownError{What: "family", Name: string(family), Known: d.Families.Names(false)}
		}
	}
	f := new(Fitted)
	if err := json.Unmarshal(text, &f.File); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	err := f.load(d)
	if err != nil && !errors.Is(err, ErrNothing) {
		err = fmt.Errorf("damaged: %w", err)
	}
	if err != nil {
		return nil, err
	}
	return f, nil
}

// load makes the model ready for use.
func (f *Fitted) load(d Definition) (err error) {
	seen := map[string]bool{}
	for _, c := range f.File.Columns {
		if seen[c.Name] {
			return fmt.Errorf("two columns are named %q", c.Name)
		}
		seen[c.Name] = true
	}
	if f.File.Params == nil {
		return errors.New("it has no parameters")
	}
	if f.Model, err = d.Load(&f.File); err != nil {
		return err
	}
	return f.ready()
}

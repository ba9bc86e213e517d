package command

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
	"github.com/latent-go/latent/internal/families"
)

// A model file is one JSON object and nothing after it, not even an end of line: so
// every file that was cut short is invalid. Its last field is the checksum of all before it.
const (
	modelFormat   = "latent-model"
	modelVersion  = 3
	checksumField = `,"checksum":"`
)

// withChecksum ends the text of an object, up to its last brace, by the checksum: the SHA-256 of that text.
func withChecksum(body []byte) []byte {
	return fmt.Appendf(bytes.Clone(body), `%s%x"}`, checksumField, sha256.Sum256(body))
}

// whole says whether a text is as it was sealed.
func whole(text []byte) bool {
	at := bytes.LastIndex(text, []byte(checksumField))
	return at >= 0 && bytes.Equal(text, withChecksum(text[:at]))
}

type modelHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

type modelFile struct {
	modelHead
	summary
	saved *savedModel
}

// saveModel writes a model file, completely or not at all.
func saveModel(path string, s summary) error {
	text, err := encode(modelFile{modelHead: modelHead{modelFormat, modelVersion}, summary: s})
	if err != nil {
		return err
	}
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(withChecksum(bytes.TrimSuffix(text, []byte("}"))))
		return err
	})
}

// readModel reads a model file and checks that it makes sense.
func readModel(path string) (*modelFile, error) {
	text, err := atomicfile.ReadFile(path, largestModel)
	switch info, _ := os.Stat(path); {
	case info != nil && info.IsDir():
		return nil, fmt.Errorf("%s is a directory and not a model file: %s", path, remedy)
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s: no such file: %s", path, remedy)
	case err != nil:
		return nil, err
	}
	m, err := parseModel(text)
	if err != nil && !errors.Is(err, errNoFactors) {
		err = fmt.Errorf("%w; %s", err, remedy)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

const remedy = "make one with latent fit --out"

// largestModel bounds the memory that a file takes before it is known to be a model's.
const largestModel = 1 << 31

func parseModel(text []byte) (*modelFile, error) {
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
	case err != nil || head.Format != modelFormat:
		return nil, fmt.Errorf("not a model file of latent: its format is not %q", modelFormat)
	case string(head.Version) != strconv.Itoa(modelVersion):
		version := cmp.Or(string(head.Version), "missing")
		return nil, fmt.Errorf("its model file version is %.40s, and this version of latent reads %d alone: a file of another version needs the latent that wrote it", version, modelVersion)
	}
	if !whole(text) {
		return nil, errors.New("damaged, or changed after it was saved: its checksum is that of another text")
	}
	var name string
	if err := known("model", head.Model, &name, modelNames()); err != nil {
		return nil, err
	}
	if err := known("family", head.Family, new(string), models[name].families); err != nil {
		return nil, err
	}
	m := new(modelFile)
	m.Settings.own = models[name].settings()
	if err := json.Unmarshal(text, m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return m, m.check()
}

// known reads the name of a model or a family, and refuses one that there is not.
func known(what string, value json.RawMessage, name *string, names []string) error {
	if value == nil {
		return fmt.Errorf("damaged: it has no %s", what)
	}
	err := json.Unmarshal(value, name)
	made := slices.Contains(names, families.Auto) && families.Joint(*name) // with noise, or a number of factors
	if err != nil || !made && !slices.Contains(names, *name) {
		return fmt.Errorf("the %s %.40s is unknown to this version of latent, which knows %s", what, value, strings.Join(names, ", "))
	}
	return nil
}

// check makes the model ready for use.
func (m *modelFile) check() (err error) {
	seen := map[string]bool{}
	for _, c := range m.Columns {
		if seen[c.Name] {
			return fmt.Errorf("damaged: two columns are named %q", c.Name)
		}
		seen[c.Name] = true
	}
	if m.Params == nil {
		return errors.New("damaged: it has no parameters")
	}
	if m.saved, err = models[m.Model].load(m); errors.Is(err, errNoFactors) {
		return err
	} else if err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	return nil
}

// reading keeps the texts of columns whose levels the model knows. A table without names
// has its columns in the model's places.
func (m *modelFile) reading() func(name string) data.Reading {
	named, placed := map[string]bool{}, map[string]bool{} // whether a column has levels
	for j, c := range m.Columns {
		named[c.Name], placed["V"+strconv.Itoa(j+1)] = len(c.Levels) > 0, len(c.Levels) > 0
	}
	return func(name string) data.Reading {
		hasLevels, ok := named[name]
		if hasLevels || !ok && placed[name] {
			return data.ReadAsText
		}
		return data.ReadByForm
	}
}

// matches compares the counts and names of a model file with those of its parameters.
func (m *modelFile) matches(k, d int) error {
	if len(m.Columns) != d || m.D != d || m.K != k {
		return fmt.Errorf("its K = %d, D = %d and %d column names do not match parameters for K = %d and D = %d", m.K, m.D, len(m.Columns), k, d)
	}
	return nil
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// A model file is one JSON object and nothing after it, not even an end of line: so
// every file that was cut short is invalid.
const (
	modelFormat  = "latent-model"
	modelVersion = 1
)

type modelHead struct {
	Format  string `json:"format"`
	Version int    `json:"version"`
}

type modelFile struct {
	modelHead
	summary
}

// saveModel writes a model file, whole or not at all.
func saveModel(path string, s summary) error {
	text, err := encode(modelFile{modelHead{modelFormat, modelVersion}, s})
	if err != nil {
		return err
	}
	return writeFile(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

// readModel reads a model file and checks that it makes sense.
func readModel(path string) (*modelFile, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	m, err := parseModel(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return m, nil
}

func parseModel(text []byte) (*modelFile, error) {
	const remedy = "make one with latent fit --out"
	if start := bytes.TrimLeft(text, " \t\r\n"); len(start) == 0 {
		return nil, errors.New("an empty file, not a model: truncated or damaged; " + remedy)
	} else if start[0] != '{' {
		return nil, errors.New("not a model file of latent: no JSON object; " + remedy)
	}
	decoder := json.NewDecoder(bytes.NewReader(text))
	var object json.RawMessage
	if err := decoder.Decode(&object); err != nil {
		return nil, errors.New("truncated or damaged: the JSON object is not complete; " + remedy)
	}
	if rest := bytes.TrimSpace(text[decoder.InputOffset():]); len(rest) > 0 {
		return nil, fmt.Errorf("damaged: %d bytes after the end of the model; %s", len(rest), remedy)
	}
	var head struct {
		modelHead
		Model string `json:"model"`
	}
	if err := json.Unmarshal(object, &head); err != nil || head.Format != modelFormat {
		return nil, fmt.Errorf("not a model file of latent: its format is not %q; %s", modelFormat, remedy)
	}
	switch {
	case head.Version > modelVersion:
		return nil, fmt.Errorf("written by a newer version of latent: model file version %d, this one reads %d", head.Version, modelVersion)
	case head.Version < 1:
		return nil, fmt.Errorf("damaged: there is no model file version %d", head.Version)
	case head.Model != "bpca":
		return nil, fmt.Errorf("the model %q is unknown to this version of latent, which knows bpca", head.Model)
	}
	m := new(modelFile)
	if err := json.Unmarshal(object, m); err != nil {
		return nil, fmt.Errorf("damaged: %w", err)
	}
	return m, m.check()
}

func (m *modelFile) check() error {
	if err := m.Params.Check(); err != nil {
		return fmt.Errorf("damaged: %w", err)
	}
	if len(m.Columns) != m.Params.D || m.D != m.Params.D || m.K != m.Params.K {
		return fmt.Errorf("damaged: K = %d, D = %d and %d column names do not go with parameters for K = %d and D = %d", m.K, m.D, len(m.Columns), m.Params.K, m.Params.D)
	}
	seen := map[string]bool{}
	for _, name := range m.Columns {
		if seen[name] {
			return fmt.Errorf("damaged: two columns are named %q", name)
		}
		seen[name] = true
	}
	return nil
}

// writeFile has write fill a temporary file beside path, and moves it there when all
// went well: path never holds half a result. What is no regular file, such as a device
// or a pipe, is written directly.
func writeFile(path string, write func(io.Writer) error) error {
	direct, path, err := target(path)
	if err != nil {
		return err
	}
	if direct {
		f, err := os.OpenFile(path, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(write(f), f.Close())
	}
	f, err := temporary(path)
	if err != nil {
		return err
	}
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
		return fmt.Errorf("%s was not written: %w", path, err)
	}
	return nil
}

// target follows links, and tells whether the file must be written in place.
func target(path string) (direct bool, real string, err error) {
	info, err := os.Stat(path)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return false, path, nil
	case err != nil:
		return false, path, err
	case info.IsDir():
		return false, path, fmt.Errorf("--out %s is a directory", path)
	case !info.Mode().IsRegular():
		return true, path, nil
	}
	real, err = filepath.EvalSymlinks(path)
	return false, real, err
}

// temporary makes a file beside path, with the permissions of any new file.
func temporary(path string) (*os.File, error) {
	name := filepath.Join(filepath.Dir(path), fmt.Sprintf(".latent-%016x.tmp", rand.Uint64()))
	f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		var reason *os.PathError
		if errors.As(err, &reason) {
			err = reason.Err
		}
		return nil, fmt.Errorf("cannot write %s: %w", path, err)
	}
	return f, nil
}

// checkWritable finds out before a long fit that its result could not be saved.
func checkWritable(path string) error {
	if path == "" {
		return nil
	}
	direct, path, err := target(path)
	if err != nil || direct {
		return err
	}
	f, err := temporary(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

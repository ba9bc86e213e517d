package beam

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/latent-go/latent/internal/atomicfile"
)

// A file is one that rows are read from, as it was when the fit began.
type file struct {
	Name     string
	Size     int64
	Modified int64 // nanoseconds since 1970
}

func fileOf(name string) (file, error) {
	info, err := os.Stat(name)
	if err != nil {
		return file{}, err
	}
	return file{name, info.Size(), info.ModTime().UnixNano()}, nil
}

func filesOf(names []string) (list []file, err error) {
	for _, name := range names {
		f, err := fileOf(name)
		if err != nil {
			return nil, err
		}
		list = append(list, f)
	}
	return list, nil
}

var errChanged = errors.New(
	"the file has changed since the fit began, or is another one here: sums of it would be of no table",
)

// unchanged is an error about a file that is not what it was.
func unchanged(files []file) error {
	for _, was := range files {
		switch now, err := fileOf(was.Name); {
		case err != nil:
			return err
		case now != was:
			return fmt.Errorf("%s: %w", was.Name, errChanged)
		}
	}
	return nil
}

// Files that driver and workers exchange begin with the hash of what follows: a name leads to a whole file or to none,
// by a rename, and what is read is what was written.

// seal writes a file.
func seal(path string, content []byte) error {
	sum := sha256.Sum256(content)
	return atomicfile.Write(path, func(w io.Writer) error {
		if _, err := w.Write(sum[:]); err != nil {
			return err
		}
		_, err := w.Write(content)
		return err
	})
}

// unseal reads a file that seal wrote.
func unseal(path string) ([]byte, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if len(text) >= sha256.Size {
		content := text[sha256.Size:]
		if sum := sha256.Sum256(content); bytes.Equal(sum[:], text[:sha256.Size]) {
			return content, nil
		}
	}
	return nil, fmt.Errorf("%s is damaged: its content is not what was written", path)
}

// hashOf names content.
func hashOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

const orderName = "order"

func (t Task) path(dir string) string {
	return filepath.Join(dir, fmt.Sprintf("shards-%d-%d", t.First, t.Last))
}

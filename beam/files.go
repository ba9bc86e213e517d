package beam

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"

	"github.com/latent-go/latent/internal/wire"
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

// Files that driver and workers exchange begin with the hash of what follows, so that what is read is what was written.

// put seals a value and writes it; the hash names it.
func put(ctx context.Context, f Folder, name string, v any) (hash string, err error) {
	content, err := encode(v)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), f.Put(ctx, name, append(sum[:], content...))
}

// get reads a value that put wrote.
func get(ctx context.Context, f Folder, name string, v any) error {
	text, err := f.Get(ctx, name)
	if err != nil {
		return err
	}
	return unseal(name, text, v)
}

// unseal decodes the content of a file.
func unseal(name string, text []byte, v any) error {
	if len(text) >= sha256.Size {
		content := text[sha256.Size:]
		if sum := sha256.Sum256(content); bytes.Equal(sum[:], text[:sha256.Size]) && wire.Decode(content, v) == nil {
			return nil
		}
	}
	return fmt.Errorf("%s is damaged: its content is not what was written", name)
}

package beam

import (
	"context"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
)

// A shelf is a folder in the memory of this process: storage that puts, gets and lists, and no more.
type shelf struct {
	*sync.Map
	path string
}

var shelves sync.Map

func init() {
	RegisterFolders("shelf", func(_ context.Context, address string) (Folder, error) {
		return shelf{&shelves, strings.TrimSuffix(address, "?option=1") + "/"}, nil
	})
}

func (s shelf) Put(_ context.Context, name string, content []byte) error {
	s.Store(s.path+name, slices.Clone(content))
	return nil
}

func (s shelf) Get(_ context.Context, name string) ([]byte, error) {
	content, is := s.Load(s.path + name)
	if !is {
		return nil, fs.ErrNotExist
	}
	return content.([]byte), nil
}

func (s shelf) List(_ context.Context, prefix string) (names []string, err error) {
	for name := range s.Range {
		if rest, is := strings.CutPrefix(name.(string), s.path); is && strings.HasPrefix(rest, prefix) {
			names = append(names, rest)
		}
	}
	return names, nil
}

func (s shelf) Remove(ctx context.Context, names []string) error {
	if names == nil {
		names, _ = s.List(ctx, "")
	}
	for _, name := range names {
		s.Delete(s.path + name)
	}
	return nil
}

func (shelf) Close() error { return nil }

func TestAFolderNeedNotBeOfAFileSystem(t *testing.T) {
	path := table(t, 300, 2)
	o := framework.Options{K: 3, Seed: 1, MaxIterations: 5}
	want := alone(t, path, o)
	got, err := Fit(t.Context(), ofFile, fileSpec{Path: path}, o, Options{Dir: "shelf://here/runs/?option=1", Parts: 3})
	require.NoError(t, err)
	require.Equal(t, want.Parameters, got.Parameters)
	require.Equal(t, want.Trace, got.Trace)
	require.Empty(t, slices.Collect(maps.Keys(maps.Collect(shelves.Range))), "what a run leaves behind")

	_, err = Fit(t.Context(), ofFile, fileSpec{Path: path}, o, Options{Dir: "s3://bucket/runs"})
	require.ErrorContains(t, err, "beam: no folder for the run: beam: s3://bucket/runs/latent-beam-")
	require.ErrorContains(t, err, "it has no folders of scheme s3")
}

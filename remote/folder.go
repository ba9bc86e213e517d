package remote

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"gocloud.dev/blob"
	"gocloud.dev/gcerrors"
)

// A Folder is where processes exchange small objects: those of a bucket whose keys begin with a path. It is a Folder of
// module beam, to which a program makes it known by RegisterFolders.
type Folder struct {
	bucket *blob.Bucket
	path   string
}

// OpenFolder opens the folder with an address such as s3://BUCKET/PATH?region=eu-central-1. Nothing is made there.
func OpenFolder(ctx context.Context, name string) (*Folder, error) {
	a, err := addressOf(name)
	if err != nil {
		return nil, err
	}
	bucket, err := blob.OpenBucket(ctx, a.bucket+a.options)
	if err != nil {
		return nil, plain(err)
	}
	return &Folder{bucket, strings.TrimSuffix(a.key, "/") + "/"}, nil
}

// Put writes an object, in the place of one of the same name.
func (f *Folder) Put(ctx context.Context, name string, content []byte) error {
	return plain(f.bucket.Upload(ctx, f.path+name, bytes.NewReader(content),
		&blob.WriterOptions{ContentType: "application/octet-stream"}))
}

// Get reads an object; the error wraps [fs.ErrNotExist] where there is none.
func (f *Folder) Get(ctx context.Context, name string) ([]byte, error) {
	content, err := f.bucket.ReadAll(ctx, f.path+name)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return nil, fmt.Errorf("%s: %w: %w", name, fs.ErrNotExist, plain(err))
	}
	return content, plain(err)
}

// List returns the names that begin with prefix.
func (f *Folder) List(ctx context.Context, prefix string) (names []string, err error) {
	for o, err := range listed(ctx, f.bucket, f.path+prefix) {
		if err != nil {
			return nil, err
		}
		names = append(names, strings.TrimPrefix(o.Key, f.path))
	}
	return names, nil
}

// Remove removes objects, also those that are not there; nil: all of the folder.
func (f *Folder) Remove(ctx context.Context, names []string) (err error) {
	if names == nil {
		if names, err = f.List(ctx, ""); err != nil {
			return err
		}
	}
	for _, name := range names {
		if gone := f.bucket.Delete(ctx, f.path+name); gcerrors.Code(gone) != gcerrors.NotFound {
			err = errors.Join(err, plain(gone))
		}
	}
	return err
}

// Close closes the bucket.
func (f *Folder) Close() error { return f.bucket.Close() }

package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"path"
	"strings"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"gocloud.dev/blob"
	_ "gocloud.dev/blob/azureblob" // azblob
	_ "gocloud.dev/blob/fileblob"  // file
	_ "gocloud.dev/blob/gcsblob"   // gs
	_ "gocloud.dev/blob/s3blob"    // s3
	"gocloud.dev/gcerrors"
	"google.golang.org/api/googleapi"
)

// An address is the name of an object, or of several.
type address struct{ bucket, key, options string }

// addressOf takes a name apart. The bucket of files is the folder before the first character of a pattern.
func addressOf(name string) (a address, err error) {
	where, options, _ := strings.Cut(name, "?")
	scheme, rest, ok := strings.Cut(where, "://")
	if !ok {
		return a, errors.New("an object is named by scheme://bucket/key")
	}
	at := strings.IndexByte(rest, '/')
	if scheme == "file" {
		at = strings.LastIndexByte(rest[:len(literal(rest))], '/')
	}
	if at < 0 || at+1 == len(rest) {
		return a, errors.New("no key: an object is named by scheme://bucket/key")
	}
	a = address{bucket: scheme + "://" + rest[:at], key: rest[at+1:]}
	if options != "" {
		a.options = "?" + options
	}
	if scheme == "file" {
		a.bucket += "/"
	}
	return a, nil
}

// literal is what precedes the first special character of a pattern.
func literal(pattern string) string {
	if at := strings.IndexAny(pattern, "*["); at >= 0 {
		return pattern[:at]
	}
	return pattern
}

// name is that of an object of the same bucket.
func (a address) name(key string) string {
	return strings.TrimSuffix(a.bucket, "/") + "/" + key + a.options
}

func list(ctx context.Context, name string) (names []string, err error) {
	a, err := addressOf(name)
	if err != nil {
		return nil, err
	}
	prefix := literal(a.key)
	if prefix == a.key {
		return []string{name}, nil
	}
	if _, err := path.Match(a.key, ""); err != nil {
		return nil, errors.New("the pattern has a [ without its ]")
	}
	bucket, err := blob.OpenBucket(ctx, a.bucket+a.options)
	if err != nil {
		return nil, plain(err)
	}
	defer bucket.Close() //nolint:errcheck // nothing was written
	for o, err := range listed(ctx, bucket, prefix) {
		if err != nil {
			return nil, err
		}
		if ok, _ := path.Match(a.key, o.Key); ok && !o.IsDir {
			names = append(names, a.name(o.Key))
		}
	}
	return names, nil
}

// listed are the objects whose keys begin with prefix; an error ends them.
func listed(ctx context.Context, bucket *blob.Bucket, prefix string) iter.Seq2[*blob.ListObject, error] {
	return func(yield func(*blob.ListObject, error) bool) {
		for objects := bucket.List(&blob.ListOptions{Prefix: prefix}); ; {
			o, err := objects.Next(ctx)
			if err == io.EOF || !yield(o, plain(err)) || err != nil {
				return
			}
		}
	}
}

func open(ctx context.Context, name string) (io.ReadCloser, error) {
	a, err := addressOf(name)
	if err != nil {
		return nil, err
	}
	bucket, err := blob.OpenBucket(ctx, a.bucket+a.options)
	if err != nil {
		return nil, plain(err)
	}
	r, err := bucket.NewReader(ctx, a.key, nil)
	if err != nil {
		return nil, errors.Join(plain(err), bucket.Close())
	}
	return object{r, bucket}, nil
}

// An object closes its bucket, too.
type object struct {
	io.ReadCloser
	bucket *blob.Bucket
}

// Close closes both.
func (o object) Close() error { return errors.Join(o.ReadCloser.Close(), o.bucket.Close()) }

// plain says first what is wrong, and then what the service says.
func plain(err error) error {
	code := status(err)
	switch denied := code == http.StatusUnauthorized || code == http.StatusForbidden; {
	case denied || gcerrors.Code(err) == gcerrors.PermissionDenied:
		return fmt.Errorf("access is denied: see to the credentials (%w)", err)
	case gcerrors.Code(err) == gcerrors.NotFound:
		return fmt.Errorf("no such object, or no such bucket (%w)", err)
	}
	return err
}

// status is that of the answer of a service, which package blob does not tell apart in all cases; 0 without one.
func status(err error) int {
	if amazon, ok := errors.AsType[interface {
		error
		HTTPStatusCode() int
	}](err); ok {
		return amazon.HTTPStatusCode()
	}
	if google, ok := errors.AsType[*googleapi.Error](err); ok {
		return google.Code
	}
	if azure, ok := errors.AsType[*azcore.ResponseError](err); ok {
		return azure.StatusCode
	}
	return 0
}

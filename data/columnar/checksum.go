package columnar

import (
	"bufio"
	"context"
	"errors"
	"hash/crc32"
	"io"
	"os"

	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/thrift/lib/go/thrift"
)

// errChecksum reports a page that is not what its writer has summed.
var errChecksum = errors.New("the checksum of a page is wrong: the file is damaged")

// checkPages compares the pages of a column chunk with their checksums, which Arrow's code does not look at. Some
// writers have none: that is seen at the first page. A header that makes no sense is left to the reader.
func checkPages(file *os.File, chunk *metadata.ColumnChunkMetaData) error {
	r := bufio.NewReader(io.NewSectionReader(file, firstPage(chunk), chunk.TotalCompressedSize()))
	headers := pageHeaders(r)
	for {
		h, err := readPageHeader(headers)
		if err != nil || h.sum == nil || h.size < 0 {
			return nil //nolint:nilerr // the end, or what the reader will report
		}
		sum := crc32.NewIEEE()
		if n, err := io.CopyN(sum, r, int64(h.size)); err != nil || n < int64(h.size) || sum.Sum32() != uint32(*h.sum) {
			return errChecksum
		}
	}
}

// firstPage is where the pages of a chunk begin in the file.
func firstPage(chunk *metadata.ColumnChunkMetaData) int64 {
	from := chunk.DataPageOffset()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		from = min(from, chunk.DictionaryPageOffset())
	}
	return from
}

// A pageHeader is what the header of a page says of the bytes that follow:
// https://parquet.apache.org/docs/file-format/data-pages/, parquet.thrift.
type pageHeader struct {
	kind              int32
	size, whole       int32 // bytes in the file, and of the page
	sum               *int32
	values, encoding  int32
	levels            int32 // their encoding
	defined, repeated int32 // bytes of levels, of the second version
	compressed        bool
}

// Kinds of pages.
const (
	dataPage       = 0
	dictionaryPage = 2
	dataPage2      = 3
)

func pageHeaders(r io.Reader) thrift.TProtocol {
	return thrift.NewTCompactProtocolConf(thrift.NewStreamTransportR(r), nil)
}

func readPageHeader(p thrift.TProtocol) (pageHeader, error) {
	h := pageHeader{compressed: true}
	err := readStruct(p, map[int16]any{1: &h.kind, 2: &h.whole, 3: &h.size, 4: &h.sum,
		5: map[int16]any{1: &h.values, 2: &h.encoding, 3: &h.levels},
		7: map[int16]any{1: &h.values, 2: &h.encoding},
		8: map[int16]any{1: &h.values, 4: &h.encoding, 5: &h.defined, 6: &h.repeated, 7: &h.compressed},
	})
	return h, err
}

// readStruct reads the fields of a struct that are wanted.
func readStruct(p thrift.TProtocol, wanted map[int16]any) error {
	ctx := context.Background()
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return err
	}
	for {
		_, kind, id, err := p.ReadFieldBegin(ctx)
		if err != nil {
			return err
		}
		if kind == thrift.STOP {
			return p.ReadStructEnd(ctx)
		}
		switch to := wanted[id].(type) {
		case *int32:
			*to, err = p.ReadI32(ctx)
		case **int32:
			*to = new(int32)
			**to, err = p.ReadI32(ctx)
		case *bool:
			*to, err = p.ReadBool(ctx)
		case map[int16]any:
			err = readStruct(p, to)
		default:
			err = p.Skip(ctx, kind)
		}
		if err != nil {
			return err
		}
		if err := p.ReadFieldEnd(ctx); err != nil {
			return err
		}
	}
}

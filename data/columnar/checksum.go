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
	from := chunk.DataPageOffset()
	if chunk.HasDictionaryPage() && chunk.DictionaryPageOffset() > 0 {
		from = min(from, chunk.DictionaryPageOffset())
	}
	r := bufio.NewReader(io.NewSectionReader(file, from, chunk.TotalCompressedSize()))
	headers := thrift.NewTCompactProtocolConf(thrift.NewStreamTransportR(r), nil)
	for {
		h, err := readPageHeader(headers)
		if err != nil || !h.summed || h.compressed < 0 {
			return nil //nolint:nilerr // the end, or what the reader will report
		}
		sum := crc32.NewIEEE()
		if n, err := io.CopyN(sum, r, int64(h.compressed)); err != nil || n < int64(h.compressed) ||
			sum.Sum32() != uint32(h.crc) {
			return errChecksum
		}
	}
}

// A pageHeader is what the header of a page says of the bytes that follow:
// https://parquet.apache.org/docs/file-format/data-pages/checksumming/.
type pageHeader struct {
	compressed, crc int32
	summed          bool
}

func readPageHeader(p thrift.TProtocol) (h pageHeader, err error) {
	ctx := context.Background()
	if _, err := p.ReadStructBegin(ctx); err != nil {
		return h, err
	}
	for {
		_, kind, id, err := p.ReadFieldBegin(ctx)
		switch {
		case err != nil:
			return h, err
		case kind == thrift.STOP:
			return h, p.ReadStructEnd(ctx)
		case id == 3 && kind == thrift.I32:
			h.compressed, err = p.ReadI32(ctx)
		case id == 4 && kind == thrift.I32:
			h.crc, err = p.ReadI32(ctx)
			h.summed = true
		default:
			err = p.Skip(ctx, kind)
		}
		if err != nil {
			return h, err
		}
		if err := p.ReadFieldEnd(ctx); err != nil {
			return h, err
		}
	}
}

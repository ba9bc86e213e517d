package columnar

import (
	"bufio"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"os"
	"slices"
	"sync"

	"github.com/apache/arrow-go/v18/parquet"
	"github.com/apache/arrow-go/v18/parquet/compress"
	"github.com/apache/arrow-go/v18/parquet/metadata"
	"github.com/apache/arrow-go/v18/parquet/schema"
	"github.com/apache/thrift/lib/go/thrift"
	"golang.org/x/exp/constraints"
)

// pages are those of a chunk of a column of numbers that are plain, split by bytes or indices of a dictionary, as in
// most files. Their numbers go from a page's bytes into rows; Arrow's chunk readers copy them twice more.
type pages struct {
	r        *bufio.Reader // from the next page on
	headers  thrift.TProtocol
	codec    compress.Codec // nil: pages are not compressed
	kind     numberKind
	nullable bool
	rest     int // rows of the row group that follow the page

	room       []byte // that of the page
	joined     []byte // its numbers, if their bytes were apart
	left       int    // its rows that are not read
	plain      []byte // their numbers
	indexed    bool   // they are those of the dictionary at indices
	indices    runLengths
	defined    runLengths // 1: the row has a number
	dictionary []uint64   // bits of float64
}

// strip is how many rows of a few columns are put into the table's rows at a time.
const strip = 1 << 10

// scratch is the room for a strip.
type scratch struct {
	numbers          [together][8 * strip]byte
	defined, indices [strip]uint32
}

// together is how many columns are put into rows at a time.
const together = 4

var (
	scratches = sync.Pool{New: func() any { return new(scratch) }}
	bodies    = sync.Pool{New: func() any { return new([]byte) }} // room for a page as it is in the file
)

// Pages may have so many bytes, in the file and decompressed: Arrow's readers have the same limits.
const (
	mostCompressed   = int32(parquet.DefaultMaxCompressedPageSize)
	mostDecompressed = int32(parquet.DefaultMaxUncompressedPageSize)
)

var errPage = errors.New("a page is damaged")

// begin begins the pages of a chunk with so many rows, and reports false if Arrow's reader has to read them.
func (p *pages) begin(file *os.File, c *schema.Column, chunk *metadata.ColumnChunkMetaData, rows int) (bool, error) {
	kind := numberKindOf(c)
	unknown := func(e parquet.Encoding) bool {
		switch e {
		case parquet.Encodings.Plain, parquet.Encodings.PlainDict, parquet.Encodings.RLEDict, parquet.Encodings.RLE,
			parquet.Encodings.BitPacked, parquet.Encodings.ByteStreamSplit:
			return false
		}
		return true
	}
	if kind.size == 0 || c.MaxRepetitionLevel() > 0 || c.MaxDefinitionLevel() > 1 || chunk.CryptoMetadata() != nil ||
		slices.ContainsFunc(chunk.Encodings(), unknown) {
		return false, nil
	}
	if p.r == nil {
		p.r = bufio.NewReader(nil)
	}
	*p = pages{r: p.r, room: p.room, joined: p.joined, dictionary: p.dictionary[:0], kind: kind,
		nullable: c.MaxDefinitionLevel() > 0, rest: rows}
	from := firstPage(chunk)
	p.r.Reset(io.NewSectionReader(file, from, math.MaxInt64-from)) // as some writers tell too small a size of chunks
	p.headers = pageHeaders(p.r)
	if chunk.Compression() == compress.Codecs.Uncompressed {
		return true, nil
	}
	var err error
	p.codec, err = compress.GetCodec(chunk.Compression())
	return true, err
}

// next are the numbers of the next n rows, at most a strip: float64 of 8 bytes, little-endian, NaN where there is none.
// They are in the page or in room.
func (p *pages) next(n int, room []byte, s *scratch) ([]byte, error) {
	for at := 0; ; {
		if p.left == 0 {
			if err := p.read(); err != nil {
				return nil, err
			}
			continue
		}
		rows := min(p.left, n-at)
		p.left -= rows
		here, err := p.take(rows, room[8*at:8*(at+rows)], s)
		if err != nil || rows == n {
			return here, err
		}
		copy(room[8*at:], here)
		if at += rows; at == n {
			return room[:8*n], nil
		}
	}
}

// take are the numbers of rows of the page, for which there is just room.
func (p *pages) take(rows int, room []byte, s *scratch) ([]byte, error) {
	defined, given := s.defined[:rows], rows
	if p.nullable && !p.defined.skip(rows, 1) {
		if !p.defined.read(defined) {
			return nil, errPage
		}
		given = 0
		for _, d := range defined {
			given += int(d)
		}
	}
	values := room[8*(rows-given):] // from where they move up
	switch size := given * p.kind.size; {
	case p.indexed:
		indices := s.indices[:given]
		if !p.indices.read(indices) {
			return nil, errPage
		}
		if !lookUp(values, p.dictionary, indices) {
			return nil, errPage
		}
	case len(p.plain) < size:
		return nil, errPage
	default:
		numbers := p.plain[:size]
		p.plain = p.plain[size:]
		switch {
		case !p.kind.double:
			p.kind.widen(values, numbers)
		case given == rows:
			return numbers, nil
		default:
			values = numbers
		}
	}
	if given < rows {
		spread(room, values, defined)
	}
	return room, nil
}

// lookUp takes numbers of a dictionary, and reports whether it has them.
func lookUp(to []byte, dictionary []uint64, indices []uint32) bool {
	for i, at := range indices {
		if uint64(at) >= uint64(len(dictionary)) {
			return false
		}
		binary.LittleEndian.PutUint64(to[8*i:8*i+8], dictionary[at])
	}
	return true
}

// spread puts numbers where one is defined, and NaN elsewhere. The numbers may be at the end of where they are put.
func spread(to, numbers []byte, defined []uint32) {
	missing, next := math.Float64bits(math.NaN()), 0
	for i, d := range defined {
		v := missing
		if next < len(numbers) {
			mask := -uint64(d)
			v = binary.LittleEndian.Uint64(numbers[next:next+8])&mask | missing&^mask
		}
		binary.LittleEndian.PutUint64(to[8*i:8*i+8], v)
		next += 8 * int(d)
	}
}

// read reads pages up to the next one with rows.
func (p *pages) read() error {
	for p.left == 0 {
		if p.rest == 0 {
			return errRows
		}
		h, err := readPageHeader(p.headers)
		if errors.Is(err, io.EOF) {
			return errRows
		}
		if err != nil {
			return fmt.Errorf("%w: %w", errPage, err)
		}
		if err := p.page(h); err != nil {
			return err
		}
	}
	return nil
}

func (p *pages) page(h pageHeader) error {
	if h.size < 0 || h.size > mostCompressed || h.whole < 0 || h.whole > mostDecompressed {
		return fmt.Errorf("%w: it has %d bytes, %d decompressed", errPage, h.size, h.whole)
	}
	levels := 0 // bytes of them, where they are not compressed
	switch h.kind {
	case dataPage, dictionaryPage:
	case dataPage2:
		if levels = int(h.repeated) + int(h.defined); min(h.repeated, h.defined) < 0 || levels > int(min(h.size, h.whole)) {
			return errPage
		}
	default: // no numbers
		_, err := p.r.Discard(int(h.size))
		return err
	}
	body, err := p.body(h, levels)
	if err != nil {
		return err
	}
	if h.kind == dictionaryPage {
		return p.takeDictionary(h, body)
	}
	if h.values < 0 || int(h.values) > p.rest {
		return errRows
	}
	p.left = int(h.values)
	p.rest -= p.left
	switch {
	case h.kind == dataPage2:
		p.defined = runLengths{rest: body[h.repeated:levels], width: 1}
		body = body[levels:]
	case p.nullable && h.levels == int32(parquet.Encodings.BitPacked):
		return errors.New("a page says where numbers are missing in the encoding BIT_PACKED, which is no longer in use")
	case p.nullable:
		if len(body) < 4 || uint64(len(body)-4) < uint64(binary.LittleEndian.Uint32(body)) {
			return errPage
		}
		end := 4 + binary.LittleEndian.Uint32(body)
		p.defined = runLengths{rest: body[4:end], width: 1}
		body = body[end:]
	}
	switch e := parquet.Encoding(h.encoding); e {
	case parquet.Encodings.Plain:
		p.plain, p.indexed = body, false
	case parquet.Encodings.ByteStreamSplit:
		p.plain, p.indexed = p.join(body), false
	case parquet.Encodings.PlainDict, parquet.Encodings.RLEDict:
		if p.indices, p.indexed = (runLengths{}), true; len(body) > 0 { // none, if no row has a number
			p.indices = runLengths{rest: body[1:], width: int(body[0])}
		}
		if p.indices.width > 32 {
			return errPage
		}
	default:
		return fmt.Errorf("a page has the encoding %s, which its chunk does not announce", e)
	}
	return nil
}

// body is a page, decompressed from so many bytes on.
func (p *pages) body(h pageHeader, from int) ([]byte, error) {
	p.room = roomFor(p.room, int(h.whole))
	if p.codec == nil || !h.compressed {
		if h.size != h.whole {
			return nil, errPage
		}
		return p.room, p.bytes(h, p.room)
	}
	raw := bodies.Get().(*[]byte)
	defer bodies.Put(raw)
	*raw = roomFor(*raw, int(h.size))
	if err := p.bytes(h, *raw); err != nil {
		return nil, err
	}
	copy(p.room, (*raw)[:from])
	if from == len(p.room) {
		return p.room, nil
	}
	decoded, err := compress.Decode(p.codec, p.room[from:], (*raw)[from:])
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", errPage, err)
	case len(decoded) != len(p.room)-from:
		return nil, errPage
	}
	copy(p.room[from:], decoded) // which is there already
	return p.room, nil
}

// roomFor is room for so many bytes, the old one if it is enough.
func roomFor(old []byte, n int) []byte {
	if cap(old) < n {
		old = make([]byte, n)
	}
	return old[:n]
}

// bytes reads the bytes of a page, and compares them with their checksum.
func (p *pages) bytes(h pageHeader, to []byte) error {
	if _, err := io.ReadFull(p.r, to); err != nil {
		return fmt.Errorf("%w: %w", errPage, err)
	}
	if h.sum != nil && crc32.ChecksumIEEE(to) != uint32(*h.sum) {
		return errChecksum
	}
	return nil
}

// join puts the bytes of a number together: all first bytes come first in a page, then the second ones.
func (p *pages) join(body []byte) []byte {
	n := len(body) / p.kind.size
	p.joined = roomFor(p.joined, len(body))
	for k := range p.kind.size {
		for i, b := range body[k*n : (k+1)*n] {
			p.joined[i*p.kind.size+k] = b
		}
	}
	return p.joined
}

func (p *pages) takeDictionary(h pageHeader, body []byte) error {
	n := int(h.values)
	if n < 0 || len(body)/p.kind.size < n {
		return errPage
	}
	numbers := body
	if !p.kind.double {
		numbers = make([]byte, 8*n)
		p.kind.widen(numbers, body[:n*p.kind.size])
	}
	p.dictionary = slices.Grow(p.dictionary[:0], n)[:n]
	for i := range p.dictionary {
		p.dictionary[i] = binary.LittleEndian.Uint64(numbers[8*i : 8*i+8])
	}
	return nil
}

// A numberKind is how numbers are kept.
type numberKind struct {
	size   int                   // bytes of one; 0: they are none of fixed width
	double bool                  // they are float64
	widen  func(to, from []byte) // makes float64 of others, little-endian both
}

func numberKindOf(c *schema.Column) numberKind {
	unsigned, scale := integers(c)
	switch c.PhysicalType() {
	case parquet.Types.Double:
		return numberKind{size: 8, double: true}
	case parquet.Types.Float:
		return numberKind{4, false, func(to, from []byte) {
			for i := 0; i+4 <= len(from); i += 4 {
				putNumber(to[2*i:2*i+8], float64(math.Float32frombits(binary.LittleEndian.Uint32(from[i:i+4]))))
			}
		}}
	case parquet.Types.Int32:
		return numberKind{4, false, func(to, from []byte) {
			for i := 0; i+4 <= len(from); i += 4 {
				v := int64(int32(binary.LittleEndian.Uint32(from[i : i+4])))
				if unsigned {
					v = int64(uint32(v))
				}
				putNumber(to[2*i:2*i+8], scaled(float64(v), scale))
			}
		}}
	case parquet.Types.Int64:
		return numberKind{8, false, func(to, from []byte) {
			for i := 0; i+8 <= len(from); i += 8 {
				v := binary.LittleEndian.Uint64(from[i : i+8])
				number := float64(int64(v))
				if unsigned {
					number = float64(v)
				}
				putNumber(to[i:i+8], scaled(number, scale))
			}
		}}
	}
	return numberKind{}
}

func putNumber(to []byte, v float64) { binary.LittleEndian.PutUint64(to, math.Float64bits(v)) }

func scaled(v, scale float64) float64 {
	if scale != 1 {
		v /= scale
	}
	return v
}

// runLengths are unsigned integers of width bits, in runs of one that is repeated and of packed ones:
// https://parquet.apache.org/docs/file-format/data-pages/encodings/ (RLE).
type runLengths struct {
	rest   []byte // further runs
	width  int
	value  uint32
	same   int    // how often value follows
	packed []byte // from bit on
	bit    int
	more   int // how many of these follow
}

// begin begins the next run, and reports whether there is one.
func (r *runLengths) begin() bool {
	v, n := binary.Uvarint(r.rest)
	count := v >> 1
	if n <= 0 || count > math.MaxInt32 {
		return false
	}
	r.rest = r.rest[n:]
	if v&1 > 0 {
		size := int(min(count*uint64(r.width), uint64(len(r.rest))))
		r.packed, r.bit, r.rest = r.rest[:size], 0, r.rest[size:]
		r.more = 8 * int(count)
		return true
	}
	size := (r.width + 7) / 8
	if len(r.rest) < size {
		return false
	}
	var value [4]byte
	copy(value[:], r.rest[:size])
	r.rest, r.same, r.value = r.rest[size:], int(count), binary.LittleEndian.Uint32(value[:])
	return uint64(r.value) < 1<<r.width
}

// skip skips n integers if they are values of one run.
func (r *runLengths) skip(n int, value uint32) bool {
	for r.same+r.more == 0 {
		if !r.begin() {
			return false
		}
	}
	if r.same < n || r.value != value {
		return false
	}
	r.same -= n
	return true
}

// read reads integers, and reports whether there are as many.
func (r *runLengths) read(to []uint32) bool {
	for len(to) > 0 {
		var n int
		switch {
		case r.same > 0:
			n = min(len(to), r.same)
			for i := range to[:n] {
				to[i] = r.value
			}
			r.same -= n
		case r.more > 0:
			n = min(len(to), r.more)
			if r.bit+n*r.width > 8*len(r.packed) {
				return false
			}
			r.unpack(to[:n])
			r.more -= n
		default:
			if !r.begin() {
				return false
			}
		}
		to = to[n:]
	}
	return true
}

// unpack reads packed integers, the lowest bits first.
func (r *runLengths) unpack(to []uint32) {
	if r.width == 0 {
		clear(to)
		return
	}
	width := uint(r.width) & 63 // which a shift need not check
	mask := uint64(1)<<width - 1
	for inWord := 57 / r.width; len(to) > 0; { // where the first of a word may begin at any bit of a byte
		at := r.bit >> 3
		var word uint64
		if at+8 <= len(r.packed) {
			word = binary.LittleEndian.Uint64(r.packed[at:])
		} else {
			var last [8]byte
			copy(last[:], r.packed[at:])
			word = binary.LittleEndian.Uint64(last[:])
		}
		word >>= uint(r.bit) & 7
		n := min(inWord, len(to))
		for i := range to[:n] {
			to[i] = uint32(word & mask)
			word >>= width
		}
		r.bit += n * r.width
		to = to[n:]
	}
}

// interleave puts columns of n numbers, 8 bytes each, into rows that are stride apart.
func interleave[F constraints.Float](to []F, stride int, columns [][]byte, n int) {
	if len(columns) != together {
		for j, from := range columns {
			for i := range n {
				to[i*stride+j] = F(math.Float64frombits(binary.LittleEndian.Uint64(from[8*i:])))
			}
		}
		return
	}
	a, b, c, d := columns[0][:8*n], columns[1][:8*n], columns[2][:8*n], columns[3][:8*n]
	for i, at := 0, 0; i+8 <= len(a); i, at = i+8, at+stride {
		row := to[at : at+together : at+together]
		row[0] = F(math.Float64frombits(binary.LittleEndian.Uint64(a[i:])))
		row[1] = F(math.Float64frombits(binary.LittleEndian.Uint64(b[i:])))
		row[2] = F(math.Float64frombits(binary.LittleEndian.Uint64(c[i:])))
		row[3] = F(math.Float64frombits(binary.LittleEndian.Uint64(d[i:])))
	}
}

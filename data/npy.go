package data

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"os"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"unsafe"

	"golang.org/x/exp/constraints"

	"github.com/latent-go/latent/internal/parallel"
)

const npyMagic = "\x93NUMPY"

// ReadNPY reads an array as NumPy's save writes it, format versions 1 to 3: booleans, integers and floats of 32
// and 64 bits, in either byte order, and in C or Fortran order. A one-dimensional array is one column.
// Columns are named V1, V2, …; NaN is a missing value; integers beyond 2^53 are rounded to the nearest float64.
//
// It returns an error if the array has no or more than two dimensions, or no values, if its elements are of another
// type, or if the input holds fewer or more values than the header says. ReadNPY allocates no more than the input can
// fill. A Fortran-ordered array is briefly held twice if the input cannot seek; otherwise several goroutines read it.
func ReadNPY(r io.Reader) (*Table, error) { return readNPY(r, nil, false) }

func readNPY(r io.Reader, store *Store, float32s bool) (*Table, error) {
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, err
	}
	h.store = store
	if left, _ := remaining(r); float32s && h.single && h.inRows() && left == h.bytes() && store.holds(float64(left)) {
		return h.readFloat32s(r)
	}
	x, err := h.readValues(r, runtime.GOMAXPROCS(0))
	if err != nil {
		return nil, err
	}
	t := numericTable(x, h.rows, h.cols)
	t.store = store
	return t, nil
}

// readFloat32s reads them to where they stay.
func (h *npyHeader) readFloat32s(r io.Reader) (*Table, error) {
	t := numericTable(nil, h.rows, h.cols)
	t.store = h.store
	var err error
	if t.float32s, err = h.store.float32s(h.values()); err == nil {
		_, err = io.ReadFull(r, bytesOf(t.float32s))
	}
	return t, err
}

type npyHeader struct {
	rows, cols  int
	columnMajor bool
	shape       string // for messages
	store       *Store
	npyType
}

func (h *npyHeader) values() int { return h.rows * h.cols }

// inRows says whether the values are in row-major order.
func (h *npyHeader) inRows() bool { return !h.columnMajor || h.rows == 1 || h.cols == 1 }

// bytes is the length of the payload.
func (h *npyHeader) bytes() int64 { return int64(h.values()) * int64(h.size) }

func readNPYHeader(r io.Reader) (*npyHeader, error) {
	var start [8]byte // magic, major and minor version
	n, err := io.ReadFull(r, start[:])
	switch {
	case n < len(npyMagic) || string(start[:len(npyMagic)]) != npyMagic:
		return nil, orEarlyEnd(err, "not an NPY file: it does not begin with \\x93NUMPY")
	case err != nil:
		return nil, orEarlyEnd(err, "the NPY header is cut short")
	}
	var size [4]byte
	width := 4
	switch major := start[6]; major {
	case 1:
		width = 2
	case 2, 3:
	default:
		return nil, fmt.Errorf("NPY format version %d.%d is not known; save the array in version 1, 2 or 3", major, start[7])
	}
	if _, err := io.ReadFull(r, size[:width]); err != nil {
		return nil, orEarlyEnd(err, "the NPY header is cut short")
	}
	const most = 1 << 16 // NumPy itself takes 10000 by default
	length := binary.LittleEndian.Uint32(size[:])
	if length > most {
		return nil, fmt.Errorf("the NPY header is %d bytes long, at most %d are read", length, most)
	}
	dict := make([]byte, length)
	if _, err := io.ReadFull(r, dict); err != nil {
		return nil, orEarlyEnd(err, "the NPY header is cut short")
	}
	return parseNPYHeader(string(dict))
}

// orEarlyEnd is the reader's own error if it has one, and the message if the input just ended.
func orEarlyEnd(err error, message string) error {
	if err == nil || err == io.EOF || err == io.ErrUnexpectedEOF {
		return errors.New(message)
	}
	return err
}

// The header is a Python dictionary with three keys in any order.
var (
	npyDescr   = regexp.MustCompile(`['"]descr['"]\s*:\s*(?:['"]([^'"]*)['"]|([\[(]))`)
	npyFortran = regexp.MustCompile(`['"]fortran_order['"]\s*:\s*(True|False)`)
	npyShape   = regexp.MustCompile(`['"]shape['"]\s*:\s*(\([^)]*\))`)
)

func parseNPYHeader(dict string) (*npyHeader, error) {
	descr, order, shape := npyDescr.FindStringSubmatch(dict), npyFortran.FindStringSubmatch(dict),
		npyShape.FindStringSubmatch(dict)
	if descr == nil || order == nil || shape == nil {
		return nil, fmt.Errorf("malformed NPY header %.120q; it must give descr, fortran_order and shape", dict)
	}
	h := &npyHeader{columnMajor: order[1] == "True", shape: strings.Join(strings.Fields(shape[1]), " ")}
	if descr[2] != "" { // a list of fields
		return nil, errors.New("a structured NPY array is not supported; save its numeric fields as one float64 array")
	}
	var err error
	if h.npyType, err = npyTypeOf(descr[1]); err != nil {
		return nil, err
	}
	return h, h.setShape()
}

// setShape makes rows and columns of a shape such as "(150, 4)" or "(150,)".
func (h *npyHeader) setShape() error {
	var dims []int
	for text := range strings.SplitSeq(strings.Trim(h.shape, "()"), ",") {
		text = strings.TrimSuffix(strings.TrimSpace(text), "L") // Python 2 wrote longs
		if text == "" {
			continue
		}
		d, err := strconv.Atoi(text)
		if err != nil || d < 0 {
			return fmt.Errorf("malformed NPY header: %.60q in the shape is not a size", text)
		}
		dims = append(dims, d)
	}
	switch len(dims) {
	case 1:
		h.rows, h.cols = dims[0], 1
	case 2:
		h.rows, h.cols = dims[0], dims[1]
	default:
		return fmt.Errorf("the NPY array has %d dimensions, shape %.60s; reshape it to rows × columns", len(dims), h.shape)
	}
	if h.rows == 0 || h.cols == 0 {
		return fmt.Errorf("the NPY array of shape %s holds no values; a table needs at least one row and one column", h.shape)
	}
	over, size := bits.Mul64(uint64(h.rows), uint64(h.cols))
	if over == 0 {
		over, size = bits.Mul64(size, uint64(max(h.size, 8))) // in the file, and as float64
	}
	if over != 0 || size > math.MaxInt {
		return fmt.Errorf("malformed NPY header: shape %s is more than any memory holds", h.shape)
	}
	return nil
}

// chunk is how many values are read at a time: they stay in a core's cache while they are converted.
const chunk = 1 << 15

// readValues reads the payload, converts it to float64, and puts it in row-major order.
func (h *npyHeader) readValues(r io.Reader, workers int) ([]float64, error) {
	var x []float64
	var err error
	if left, sizeKnown := remaining(r); !sizeKnown {
		x, err = h.readInOrder(r)
	} else if left != h.bytes() {
		err = h.wrongSize(left)
	} else if x = h.mapped(r); x != nil {
		return x, nil
	} else {
		x, err = h.readSections(r.(io.ReadSeeker), workers)
	}
	if err != nil {
		return nil, err
	}
	if _, err := io.ReadFull(r, make([]byte, 1)); err == nil {
		return nil, h.wrongSize(h.bytes() + 1)
	} else if err != io.EOF {
		return nil, err
	}
	return x, nil
}

// mapped are the values where they lie in the file, as far as they are float64 in the order of a table, and more than
// memory is to hold; nil if they are to be read.
func (h *npyHeader) mapped(r io.Reader) []float64 {
	file, is := r.(*os.File)
	if !is || h.store == nil || !h.native || !h.inRows() || h.store.fits(h.bytes()) {
		return nil
	}
	from, err := file.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil
	}
	return h.store.mapped(file, from, h.values())
}

// readInOrder reads an input that cannot seek.
func (h *npyHeader) readInOrder(r io.Reader) ([]float64, error) {
	n := h.values()
	var x []float64
	elements := h.decoder()
	for done := 0; done < n; done = len(x) {
		size := min(n-done, chunk)
		var err error
		if x, err = h.store.reserve(x, size, n); err != nil {
			return nil, err
		}
		x = x[:done+size]
		got, err := io.ReadFull(r, elements.room(x[done:]))
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, h.wrongSize(int64(done)*int64(h.size) + int64(got))
		}
		if err != nil {
			return nil, err
		}
		elements.decode(x[done:])
	}
	if h.inRows() {
		return x, nil
	}
	ordered, err := h.store.filled(n)
	if err != nil {
		return nil, err
	}
	transpose(ordered, h.cols, x, h.rows, h.cols)
	return ordered, nil
}

// readSections reads an input that can seek, in sections that are read concurrently, each to its place.
// A section is a block of rows and columns; an array in row-major order is one column here.
func (h *npyHeader) readSections(r io.ReadSeeker, workers int) ([]float64, error) {
	start, err := r.Seek(0, io.SeekCurrent)
	if err != nil {
		return nil, err
	}
	rows, cols := h.values(), 1
	if h.columnMajor {
		rows, cols = h.rows, h.cols
	}
	width := min(cols, 64) // and as much of each column as is worth a call of the system
	height := min(rows, chunk/width)
	if height == rows {
		width = min(cols, max(1, chunk/rows))
	}
	across := (cols + width - 1) / width
	sections := across * ((rows + height - 1) / height)

	x, err := h.store.filled(h.values())
	if err != nil {
		return nil, err
	}
	file := readerAt(r)
	workers = min(workers, 1+h.values()>>19) // each has 4 MB to fill
	var begun atomic.Int64                   // sections
	err = parallel.Do(workers, workers, func(int) error {
		elements := h.decoder()
		var block []float64
		if cols > 1 {
			block = make([]float64, height*width)
		}
		for i := int(begun.Add(1)) - 1; i < sections; i = int(begun.Add(1)) - 1 {
			row, col := i/across*height, i%across*width
			height, width := min(height, rows-row), min(width, cols-col)
			into := block
			if cols == 1 {
				into = x[row : row+height]
			}
			runs, length := width, height
			if height == rows { // whole columns, which follow one another in the file
				runs, length = 1, height*width
			}
			for k := range runs {
				part := into[k*length : (k+1)*length]
				at := int64(col+k)*int64(rows) + int64(row)
				if n, err := file.ReadAt(elements.room(part), start+at*int64(h.size)); n < length*h.size {
					return err
				}
				elements.decode(part)
			}
			if cols > 1 {
				transpose(x[row*cols+col:], cols, block, height, width)
			}
		}
		return nil
	})
	if err == io.EOF || err == io.ErrUnexpectedEOF { // it was made shorter meanwhile
		end, _ := r.Seek(0, io.SeekEnd)
		return nil, h.wrongSize(end - start)
	}
	if err == nil {
		_, err = r.Seek(start+h.bytes(), io.SeekStart)
	}
	return x, err
}

// transpose lays the columns of src, one after another, into rows of dst that begin stride numbers apart.
func transpose(dst []float64, stride int, src []float64, rows, cols int) {
	for i := range rows {
		row := dst[i*stride:][:cols]
		for j := range row {
			row[j] = src[j*rows+i]
		}
	}
}

// readerAt reads r at any place, whatever the others do that read it the same way. A reader that is not one of
// those known may do something of its own when it is read, and keeps its place while it does.
func readerAt(r io.ReadSeeker) io.ReaderAt {
	switch r := r.(type) {
	case *os.File:
		return r
	case *bytes.Reader:
		return r
	case *strings.Reader:
		return r
	}
	return &oneAtATime{r: r}
}

type oneAtATime struct {
	mu sync.Mutex
	r  io.ReadSeeker
}

func (o *oneAtATime) ReadAt(p []byte, at int64) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if _, err := o.r.Seek(at, io.SeekStart); err != nil {
		return 0, err
	}
	return io.ReadFull(o.r, p)
}

// wrongSize is the error about a payload of another length than the header says, in bytes.
func (h *npyHeader) wrongSize(found int64) error {
	if found > h.bytes() {
		return fmt.Errorf("the NPY header says %d values, shape %s, but more bytes follow them; save the array "+
			"again, alone in its file", h.values(), h.shape)
	}
	return fmt.Errorf("the NPY data are cut short: the header says %d values, shape %s, found %d; save or copy the "+
		"file again", h.values(), h.shape, found/int64(h.size))
}

// npyType is how one element lies in the file.
type npyType struct {
	size    int  // bytes
	native  bool // float64 as the machine has it
	single  bool // float32 as it has it
	decoder func() decoder
}

// decoder makes float64 of elements as they lie in the file: room is where as many as dst has are to be read to,
// and decode puts them into dst then.
type decoder interface {
	room(dst []float64) []byte
	decode(dst []float64)
}

func npyTypeOf(descr string) (npyType, error) {
	kind := strings.TrimLeft(descr, "<>|=")
	order := strings.TrimSuffix(descr, kind)
	switch kind {
	case "b1":
		return npyType{size: 1, decoder: func() decoder { return new(truths) }}, nil
	case "i1":
		return widened[int8](order), nil
	case "u1":
		return widened[uint8](order), nil
	}
	if order == "<" || order == ">" || order == "=" {
		switch kind {
		case "f8":
			return widened[float64](order), nil
		case "f4":
			return widened[float32](order), nil
		case "i8":
			return widened[int64](order), nil
		case "i4":
			return widened[int32](order), nil
		case "i2":
			return widened[int16](order), nil
		case "u8":
			return widened[uint64](order), nil
		case "u4":
			return widened[uint32](order), nil
		case "u2":
			return widened[uint16](order), nil
		}
	}
	return npyType{}, fmt.Errorf("NPY element type %.60q (%s) is not supported; save the array as float64",
		descr, npyKindName(kind))
}

func npyKindName(kind string) string {
	names := map[byte]string{'b': "boolean", 'i': "integer", 'u': "unsigned integer", 'f': "float", 'c': "complex",
		'O': "Python objects", 'S': "bytes", 'a': "bytes", 'U': "text", 'V': "raw data", 'M': "dates", 'm': "time spans"}
	if kind != "" && names[kind[0]] != "" {
		return names[kind[0]]
	}
	return "unknown"
}

func widened[T constraints.Integer | constraints.Float](order string) npyType {
	var one T
	swapped := order == "<" && isBigEndian || order == ">" && !isBigEndian
	_, double := any(one).(float64)
	_, single := any(one).(float32)
	return npyType{int(unsafe.Sizeof(one)), double && !swapped, single && !swapped,
		func() decoder { return &widening[T]{swapped: swapped} }}
}

// widening decodes numbers of type T, in the machine's order of bytes or in the other. It keeps its room from one
// section to the next; for float64, that is the destination itself.
type widening[T constraints.Integer | constraints.Float] struct {
	elements []T
	swapped  bool
}

func (w *widening[T]) room(dst []float64) []byte {
	switch x := any(dst).(type) {
	case []T:
		w.elements = x
	default:
		w.elements = slices.Grow(w.elements[:0], len(dst))[:len(dst)]
	}
	return bytesOf(w.elements)
}

func (w *widening[T]) decode(dst []float64) {
	if w.swapped {
		swapBytes(w.elements)
	}
	if _, inPlace := any(dst).([]T); inPlace {
		return
	}
	for i, v := range w.elements {
		dst[i] = float64(v)
	}
}

// truths decodes booleans, which are true whatever their bits unless all are zero.
type truths struct{ widening[uint8] }

func (b *truths) decode(dst []float64) {
	for i, v := range b.elements {
		dst[i] = 0
		if v != 0 {
			dst[i] = 1
		}
	}
}

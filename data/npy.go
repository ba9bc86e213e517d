package data

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"
	"regexp"
	"strconv"
	"strings"

	"golang.org/x/exp/constraints"
)

// npyio writes our files but does not read them. As of v0.6.0 its header parser slices without looking at
// the bounds, and allocates what a length in the file says; its payload reader allocates what the shape
// says, reads one element at a time, and takes the end of the file for data: a truncated array comes back
// without an error.

const npyMagic = "\x93NUMPY"

// ReadNPY reads an array as NumPy's save writes it, format versions 1 to 3: booleans, integers and floats of 32
// and 64 bits, in either byte order, and in C or Fortran order. A one-dimensional array is one column.
// Columns are named V1, V2, …; NaN is a missing value; integers beyond 2^53 are rounded to the nearest float64.
//
// It is an error if the array has no or more than two dimensions, or no values, if its elements are of
// another type, or if the input holds fewer or more values than the header says. No more is allocated than
// the input can fill. A Fortran-ordered array from an input that cannot seek is held twice for a moment.
func ReadNPY(r io.Reader) (*Table, error) {
	h, err := readNPYHeader(r)
	if err != nil {
		return nil, err
	}
	x, err := h.readValues(r)
	if err != nil {
		return nil, err
	}
	return numericTable(x, h.rows, h.cols), nil
}

type npyHeader struct {
	rows, cols  int
	columnMajor bool
	shape       string // for messages
	npyType
}

func (h *npyHeader) values() int { return h.rows * h.cols }

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
	descr, order, shape := npyDescr.FindStringSubmatch(dict), npyFortran.FindStringSubmatch(dict), npyShape.FindStringSubmatch(dict)
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
	over, bytes := bits.Mul64(uint64(h.rows), uint64(h.cols))
	if over == 0 {
		over, bytes = bits.Mul64(bytes, uint64(max(h.size, 8))) // in the file, and as float64
	}
	if over != 0 || bytes > math.MaxInt {
		return fmt.Errorf("malformed NPY header: shape %s is more than any memory holds", h.shape)
	}
	return nil
}

// readValues reads the payload in chunks, converts it to float64, and puts it in row-major order.
func (h *npyHeader) readValues(r io.Reader) ([]float64, error) {
	const chunk = 1 << 14 // values; chunk and conversion stay in a core's cache
	n := h.values()
	var x []float64
	left, sizeKnown := remaining(r)
	if sizeKnown {
		if left != int64(n)*int64(h.size) {
			return nil, h.wrongSize(left/int64(h.size), left > int64(n)*int64(h.size))
		}
		x = make([]float64, 0, n)
	}
	// An array known to be complete is put in order as it comes, others once they are.
	scatter := h.columnMajor && h.rows > 1 && h.cols > 1
	early := scatter && sizeKnown
	raw := make([]byte, min(n, chunk)*h.size)
	values := make([]float64, min(n, chunk))
	for done := 0; done < n; {
		values = values[:min(n-done, chunk)]
		got, err := io.ReadFull(r, raw[:len(values)*h.size])
		if err == io.EOF || err == io.ErrUnexpectedEOF {
			return nil, h.wrongSize(int64(done+got/h.size), false)
		}
		if err != nil {
			return nil, err
		}
		h.decode(values, raw[:got])
		if early {
			h.place(x[:n], values, done)
		} else {
			x = append(reserve(x, len(values), n), values...)
		}
		done += len(values)
	}
	if _, err := io.ReadFull(r, raw[:1]); err == nil {
		return nil, h.wrongSize(int64(n), true)
	} else if err != io.EOF {
		return nil, err
	}
	x = x[:n]
	if scatter && !early {
		ordered := make([]float64, n)
		h.place(ordered, x, 0)
		x = ordered
	}
	return x, nil
}

// place puts column-major values, the first of which is number `from` of the array, where they belong in
// the row-major x.
func (h *npyHeader) place(x, values []float64, from int) {
	row, col := from%h.rows, from/h.rows
	for _, v := range values {
		x[row*h.cols+col] = v
		if row++; row == h.rows {
			row, col = 0, col+1
		}
	}
}

func (h *npyHeader) wrongSize(found int64, more bool) error {
	if more {
		return fmt.Errorf("the NPY header says %d values, shape %s, but more bytes follow them; save the array again, alone in its file", h.values(), h.shape)
	}
	return fmt.Errorf("the NPY data are cut short: the header says %d values, shape %s, found %d; save or copy the file again", h.values(), h.shape, found)
}

// npyType is how one element lies in the file.
type npyType struct {
	size   int                             // bytes
	decode func(dst []float64, src []byte) // len(src) = size·len(dst)
}

func npyTypeOf(descr string) (npyType, error) {
	kind := strings.TrimLeft(descr, "<>|=")
	var order binary.ByteOrder
	switch strings.TrimSuffix(descr, kind) {
	case "<":
		order = binary.LittleEndian
	case ">":
		order = binary.BigEndian
	case "=":
		order = binary.NativeEndian
	}
	switch kind {
	case "b1":
		return npyType{1, decodeBool}, nil
	case "i1":
		return npyType{1, widen[int8](binary.LittleEndian)}, nil
	case "u1":
		return npyType{1, widen[uint8](binary.LittleEndian)}, nil
	}
	if order != nil {
		switch kind {
		case "f8":
			return npyType{8, widen[float64](order)}, nil
		case "f4":
			return npyType{4, widen[float32](order)}, nil
		case "i8":
			return npyType{8, widen[int64](order)}, nil
		case "i4":
			return npyType{4, widen[int32](order)}, nil
		case "i2":
			return npyType{2, widen[int16](order)}, nil
		case "u8":
			return npyType{8, widen[uint64](order)}, nil
		case "u4":
			return npyType{4, widen[uint32](order)}, nil
		case "u2":
			return npyType{2, widen[uint16](order)}, nil
		}
	}
	return npyType{}, fmt.Errorf("NPY element type %.60q (%s) is not supported; save the array as float64", descr, npyKindName(kind))
}

func npyKindName(kind string) string {
	names := map[byte]string{'b': "boolean", 'i': "integer", 'u': "unsigned integer", 'f': "float", 'c': "complex",
		'O': "Python objects", 'S': "bytes", 'a': "bytes", 'U': "text", 'V': "raw data", 'M': "dates", 'm': "time spans"}
	if kind != "" && names[kind[0]] != "" {
		return names[kind[0]]
	}
	return "unknown"
}

// widen returns a decoder of elements of type T. It keeps its scratch from chunk to chunk.
func widen[T constraints.Integer | constraints.Float](order binary.ByteOrder) func(dst []float64, src []byte) {
	var scratch []T
	return func(dst []float64, src []byte) {
		if len(scratch) < len(dst) {
			scratch = make([]T, len(dst))
		}
		elements := scratch[:len(dst)]
		if _, err := binary.Decode(src, order, elements); err != nil {
			panic("data: chunk and element sizes disagree: " + err.Error()) // not for any input
		}
		for i, v := range elements {
			dst[i] = float64(v)
		}
	}
}

func decodeBool(dst []float64, src []byte) {
	for i, b := range src {
		dst[i] = 0
		if b != 0 {
			dst[i] = 1
		}
	}
}

package data

import (
	"encoding/binary"
	"unsafe"

	"golang.org/x/exp/constraints"
)

// hugeFrom is the number of float64 from which on a slice's memory is worth advice: 4 MB, two huge pages at least.
const hugeFrom = 1 << 19

// newNumbers makes a slice of capacity n and no length. Where the system can, a large one lies in huge pages:
// the faults of small ones, one for every 4 kB, take longer than reading an array.
func newNumbers(n int) []float64 {
	x := make([]float64, 0, n)
	if n >= hugeFrom {
		adviseHuge(bytesOf(x[:n]))
	}
	return x
}

// reserve makes room in x for need more values: at once for all that are expected, but never for more than
// eight times those that are there, because what is expected may be what a hostile file claims.
func (s *Store) reserve(x []float64, need, expected int) ([]float64, error) {
	if cap(x)-len(x) >= need {
		return x, nil
	}
	return s.resized(x, max(len(x)+need, len(x)*5/4, min(expected, 8*len(x))))
}

// grow makes room for what the first lines of a CSV text let expect in all, at once where it can be believed.
func (s *Store) grow(x []float64, need, expected int) ([]float64, error) {
	const (
		enough     = 1 << 12 // numbers from which the rest can be estimated
		mostAtOnce = 1 << 27 // 1 GiB: a system may claim any size of a file that has nothing in it
	)
	if len(x) < enough || expected > mostAtOnce {
		return s.reserve(x, need, expected)
	}
	return s.resized(x, max(expected, len(x)+need, len(x)*5/4))
}

var isBigEndian = binary.NativeEndian.Uint16([]byte{1, 0}) != 1

// bytesOf is the memory of x, in the machine's order of bytes: any bytes are a number, and bytes need no alignment.
func bytesOf[T constraints.Integer | constraints.Float](x []T) []byte {
	var one T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), len(x)*int(unsafe.Sizeof(one)))
}

// swapBytes reverses the order of bytes in each number.
func swapBytes[T constraints.Integer | constraints.Float](x []T) {
	var one T
	b := bytesOf(x)
	switch unsafe.Sizeof(one) {
	case 2:
		for ; len(b) >= 2; b = b[2:] {
			binary.LittleEndian.PutUint16(b, binary.BigEndian.Uint16(b))
		}
	case 4:
		for ; len(b) >= 4; b = b[4:] {
			binary.LittleEndian.PutUint32(b, binary.BigEndian.Uint32(b))
		}
	case 8:
		for ; len(b) >= 8; b = b[8:] {
			binary.LittleEndian.PutUint64(b, binary.BigEndian.Uint64(b))
		}
	}
}

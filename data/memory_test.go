package data

import (
	"encoding/binary"
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/exp/constraints"
)

// checkMemory: the bytes of numbers are those that encoding/binary writes, in both orders.
func checkMemory[T constraints.Integer | constraints.Float](t *testing.T, x ...T) {
	native, err := binary.Append(nil, binary.NativeEndian, x)
	require.NoError(t, err)
	require.Equal(t, native, bytesOf(x))

	var other binary.ByteOrder = binary.BigEndian
	if isBigEndian {
		other = binary.LittleEndian
	}
	swapped, err := binary.Append(nil, other, x)
	require.NoError(t, err)
	swapBytes(x)
	require.Equal(t, swapped, bytesOf(x))
	require.Empty(t, bytesOf(x[:0]))
	swapBytes(x[:0])
}

func TestBytesOfNumbers(t *testing.T) {
	signalling := math.Float64frombits(0x7ff0_0000_0000_0001) // a NaN that arithmetic would make quiet
	checkMemory(t, 1, -2.5, math.Inf(1), signalling, 5e-324)
	checkMemory[float32](t, 1, -2.5, 1e-45)
	checkMemory[int64](t, 1, -2, math.MaxInt64)
	checkMemory[uint64](t, 1, math.MaxUint64)
	checkMemory[int32](t, 1, -2)
	checkMemory[uint16](t, 1, 0x1234)
	checkMemory[int8](t, 1, -2)
	checkMemory[uint8](t, 1, 255)
}

// TestNewNumbers: whatever advice the memory is worth, it is zero and can be written from end to end.
func TestNewNumbers(t *testing.T) {
	for _, n := range []int{0, 1, hugeFrom - 1, hugeFrom, 2*hugeFrom + 7} {
		x := newNumbers(n)
		require.Empty(t, x)
		require.GreaterOrEqual(t, cap(x), n)
		x = x[:n]
		for i := range x {
			if x[i] != 0 {
				require.Zero(t, x[i], i)
			}
			x[i] = 1
		}
	}
}

package data

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"reflect"
	"runtime"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/sbinet/npyio/npy"
	"github.com/stretchr/testify/require"
	"golang.org/x/exp/constraints"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// npyFile writes an array as NumPy does, format version 1.
func npyFile(descr string, fortran bool, shape string, payload []byte) []byte {
	order := map[bool]string{false: "False", true: "True"}[fortran]
	return npyFromDict(fmt.Sprintf("{'descr': '%s', 'fortran_order': %s, 'shape': %s, }", descr, order, shape), payload)
}

func npyFromDict(dict string, payload []byte) []byte {
	dict += strings.Repeat(" ", 63-(10+len(dict))%64) + "\n"
	b := []byte(npyMagic + "\x01\x00")
	b = binary.LittleEndian.AppendUint16(b, uint16(len(dict)))
	return append(append(b, dict...), payload...)
}

func TestReadNPYFollowsTheFormatDescription(t *testing.T) {
	// Laid out by hand after the format's description: a header padded to 128 bytes, then three integers.
	file := "\x93NUMPY\x01\x00v\x00{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }" + strings.Repeat(" ", 60) + "\n" +
		"\x01\x00\x00\x00\x00\x00\x00\x00\x02\x00\x00\x00\x00\x00\x00\x00\x03\x00\x00\x00\x00\x00\x00\x00"
	require.Len(t, file, 128+3*8)
	table, err := ReadNPY(strings.NewReader(file))
	require.NoError(t, err)
	x, rows, cols, err := table.Matrix()
	require.NoError(t, err)
	require.Equal(t, []string{"V1"}, table.Names)
	require.Equal(t, []int{3, 1}, []int{rows, cols})
	require.Equal(t, []float64{1, 2, 3}, x)
}

// checkElements: arrays of T come back as T's values, whatever the byte order, the order of the elements
// and the kind of reader.
func checkElements[T constraints.Integer | constraints.Float](t *testing.T, kind string) {
	t.Run(kind, func(t *testing.T) {
		rapid.Check(t, func(rt *rapid.T) {
			rows, cols := rapid.IntRange(1, 7).Draw(rt, "rows"), rapid.IntRange(1, 7).Draw(rt, "cols")
			raw := rapid.SliceOfN(rapid.Uint64(), rows*cols, rows*cols).Draw(rt, "bits")
			elements, want := make([]T, len(raw)), make([]float64, len(raw))
			for i, b := range raw {
				switch p := any(&elements[i]).(type) {
				case *float64:
					*p = math.Float64frombits(b)
				case *float32:
					*p = math.Float32frombits(uint32(b))
				default:
					elements[i] = T(b)
				}
				want[i] = float64(elements[i])
			}
			for _, fortran := range []bool{false, true} {
				inFile := elements
				if fortran {
					inFile = make([]T, 0, len(elements))
					for j := range cols {
						for i := range rows {
							inFile = append(inFile, elements[i*cols+j])
						}
					}
				}
				for prefix, order := range map[string]binary.ByteOrder{"<": binary.LittleEndian, ">": binary.BigEndian} {
					payload, err := binary.Append(nil, order, inFile)
					require.NoError(rt, err)
					requireMatrixFromNPY(rt, want, rows, cols, npyFile(prefix+kind, fortran, fmt.Sprintf("(%d, %d)", rows, cols), payload))
				}
			}
		})
	})
}

func requireMatrixFromNPY(t require.TestingT, want []float64, rows, cols int, file []byte) {
	for _, r := range []io.Reader{bytes.NewReader(file), onlyReader{bytes.NewReader(file)}, iotest.HalfReader(bytes.NewReader(file))} {
		table, err := ReadNPY(r)
		require.NoError(t, err)
		require.Equal(t, []int{rows, cols}, []int{table.Rows(), table.Cols()})
		require.Equal(t, bitsOf(want), bitsOf(table.flat))
	}
}

func TestReadNPYReadsEveryElementType(t *testing.T) {
	checkElements[float64](t, "f8")
	checkElements[float32](t, "f4")
	checkElements[int64](t, "i8")
	checkElements[int32](t, "i4")
	checkElements[int16](t, "i2")
	checkElements[int8](t, "i1")
	checkElements[uint64](t, "u8")
	checkElements[uint32](t, "u4")
	checkElements[uint16](t, "u2")
	checkElements[uint8](t, "u1")
	requireMatrixFromNPY(t, []float64{0, 1, 1}, 3, 1, npyFile("|b1", false, "(3,)", []byte{0, 1, 2}))
	native, err := binary.Append(nil, binary.NativeEndian, []float32{1.5})
	require.NoError(t, err)
	requireMatrixFromNPY(t, []float64{1.5}, 1, 1, npyFile("=f4", false, "(1,)", native))
}

// TestReadNPYReadsLongArrays: more than one chunk, in both orders.
func TestReadNPYReadsLongArrays(t *testing.T) {
	const rows, cols = 12345, 7
	x := make([]float64, rows*cols)
	byColumn := make([]float64, rows*cols)
	for i := range rows {
		for j := range cols {
			x[i*cols+j] = float64(i) + float64(j)/8
			byColumn[j*rows+i] = x[i*cols+j]
		}
	}
	for fortran, values := range map[bool][]float64{false: x, true: byColumn} {
		payload, err := binary.Append(nil, binary.LittleEndian, values)
		require.NoError(t, err)
		requireMatrixFromNPY(t, x, rows, cols, npyFile("<f8", fortran, "(12345, 7)", payload))
	}
}

// TestReadNPYReadsWhatNpyioWrites, and the other way round.
func TestReadNPYReadsWhatNpyioWrites(t *testing.T) {
	for _, values := range []any{[]float64{1, -2.5}, []float32{1, -2.5}, []int64{1, -2}, []int32{1, -2}, []int16{1, -2},
		[]int8{1, -2}, []uint64{1, 2}, []uint32{1, 2}, []uint16{1, 2}, []uint8{1, 2}, []bool{true, false}} {
		var b bytes.Buffer
		require.NoError(t, npy.Write(&b, values))
		table, err := ReadNPY(&b)
		require.NoError(t, err, "%T", values)
		for i, v := range table.flat {
			element := reflect.ValueOf(values).Index(i)
			if element.Kind() == reflect.Bool {
				require.Equal(t, element.Bool(), v == 1)
				continue
			}
			require.Equal(t, element.Convert(reflect.TypeFor[float64]()).Float(), v, "%T", values)
		}
	}

	x := []float64{1, math.NaN(), 3, math.Inf(1), math.Copysign(0, -1), 5e-324}
	var b bytes.Buffer
	require.NoError(t, WriteNPY(&b, x, 3, 2))
	requireMatrixFromNPY(t, x, 3, 2, b.Bytes())
	var dense mat.Dense
	require.NoError(t, npy.Read(&b, &dense))
	require.Equal(t, bitsOf(x), bitsOf(dense.RawMatrix().Data))
}

func TestReadNPYTakesHeadersOfOtherWriters(t *testing.T) {
	for _, dict := range []string{
		"{'descr': '<i2', 'fortran_order': False, 'shape': (1, 2)}",
		"{'shape':(1,2),'fortran_order':False,'descr':'<i2'}",
		`{"descr": "<i2", "fortran_order": True, "shape": (1, 2)}`,
		"{'descr': '<i2', 'fortran_order': False, 'shape': (1L, 2L), }",
	} {
		requireMatrixFromNPY(t, []float64{1, 2}, 1, 2, npyFromDict(dict, []byte{1, 0, 2, 0}))
	}
	dict := "{'descr': '|u1', 'fortran_order': False, 'shape': (1,), }\n"
	version3 := npyMagic + "\x03\x00" + string(rune(len(dict))) + "\x00\x00\x00" + dict + "\x07"
	requireMatrixFromNPY(t, []float64{7}, 1, 1, []byte(version3))
}

func TestReadNPYRefusesInOneLine(t *testing.T) {
	eight := make([]byte, 8)
	malformed := func(dict string) string { return string(npyFromDict(dict, eight)) }
	for _, c := range []struct{ name, file, want string }{
		{"empty", "", `not an NPY file: it does not begin with \x93NUMPY`},
		{"text", "a,b\n1,2\n3,4\n", `not an NPY file: it does not begin with \x93NUMPY`},
		{"version", npyMagic + "\x09\x00aaaaaa", "NPY format version 9.0 is not known; save the array in version 1, 2 or 3"},
		{"no length", npyMagic + "\x01\x00a", "the NPY header is cut short"},
		{"no header", npyMagic + "\x01\x00\xff\xff{", "the NPY header is cut short"},
		{"long header", npyMagic + "\x02\x00\xff\xff\xff\xff{", "the NPY header is 4294967295 bytes long, at most 65536 are read"},
		{"not a dictionary", malformed("[]"), "malformed NPY header"},
		{"mangled", malformed("'shape': 'descr': 'fortran_order': }{"), "malformed NPY header"},
		{"structured", malformed("{'descr': [('x', '<f8'), ('y', '<i4')], 'fortran_order': False, 'shape': (1,), }"), "a structured NPY array is not supported"},
		{"no type", malformed("{'descr': '', 'fortran_order': False, 'shape': (1,), }"), `NPY element type "" (unknown) is not supported`},
		{"half a type", malformed("{'descr': '<', 'fortran_order': False, 'shape': (1,), }"), `NPY element type "<" (unknown) is not supported`},
		{"wrong order", malformed("{'descr': '|f8', 'fortran_order': False, 'shape': (1,), }"), `NPY element type "|f8" (float) is not supported`},
		{"complex", string(npyFile("<c16", false, "(1,)", eight)), `NPY element type "<c16" (complex) is not supported; save the array as float64`},
		{"objects", string(npyFile("|O", false, "(1,)", eight)), `NPY element type "|O" (Python objects) is not supported`},
		{"dates", string(npyFile("<M8[ns]", false, "(1,)", eight)), `NPY element type "<M8[ns]" (dates) is not supported`},
		{"half floats", string(npyFile("<f2", false, "(4,)", eight)), `NPY element type "<f2" (float) is not supported`},
		{"text array", string(npyFile("<U2", false, "(1,)", eight)), `NPY element type "<U2" (text) is not supported`},
		{"scalar", string(npyFile("<f8", false, "()", eight)), "the NPY array has 0 dimensions, shape (); reshape it to rows × columns"},
		{"cube", string(npyFile("<f8", false, "(1, 1, 1)", eight)), "the NPY array has 3 dimensions, shape (1, 1, 1); reshape it to rows × columns"},
		{"line ends in the shape", string(npyFile("<f8", false, "(1,\n1,\n1)", eight)), "the NPY array has 3 dimensions, shape (1, 1, 1)"},
		{"no rows", string(npyFile("<f8", false, "(0, 4)", nil)), "the NPY array of shape (0, 4) holds no values"},
		{"no columns", string(npyFile("<f8", false, "(9000000000000000000, 0)", nil)), "holds no values"},
		{"negative", string(npyFile("<f8", false, "(-1,)", eight)), `malformed NPY header: "-1" in the shape is not a size`},
		{"beyond int", string(npyFile("<f8", false, "(99999999999999999999,)", eight)), `"99999999999999999999" in the shape is not a size`},
		{"overflow", string(npyFile("|u1", false, "(4294967296, 4294967296)", eight)), "shape (4294967296, 4294967296) is more than any memory holds"},
		{"large", string(npyFile("|u1", false, "(2305843009213693952,)", eight)), "is more than any memory holds"},
		{"cut short", string(npyFile("<f8", false, "(100, 3)", make([]byte, 79))), "the NPY data are cut short: the header says 300 values, shape (100, 3), found 9; save or copy the file again"},
		{"cut in Fortran order", string(npyFile("<f8", true, "(100, 3)", make([]byte, 80))), "found 10;"},
		{"nothing", string(npyFile("<f8", false, "(5,)", nil)), "found 0;"},
		{"trailing", string(npyFile("<f8", false, "(1,)", make([]byte, 9))), "the NPY header says 1 values, shape (1,), but more bytes follow them"},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.file), onlyReader{strings.NewReader(c.file)}} {
				table, err := ReadNPY(r)
				require.Nil(t, table)
				require.ErrorContains(t, err, c.want)
				require.NotContains(t, err.Error(), "\n")
			}
		})
	}
}

func TestReadNPYRefusesEveryPrefixOfAFile(t *testing.T) {
	payload, err := binary.Append(nil, binary.LittleEndian, []float64{1, 2, 3, 4, 5, 6})
	require.NoError(t, err)
	for _, fortran := range []bool{false, true} {
		file := npyFile("<f8", fortran, "(2, 3)", payload)
		for n := range file {
			for _, r := range []io.Reader{bytes.NewReader(file[:n]), onlyReader{bytes.NewReader(file[:n])}} {
				_, err := ReadNPY(r)
				require.Error(t, err, "%d bytes", n)
			}
		}
	}
}

// allocated is how many bytes f allocates, in all.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestReadNPYAllocatesByTheInputNotByItsClaims(t *testing.T) {
	for _, fortran := range []bool{false, true} {
		hostile := npyFile("<f8", fortran, "(1073741824, 1024)", make([]byte, 800))
		for _, r := range []io.Reader{bytes.NewReader(hostile), onlyReader{bytes.NewReader(hostile)}} {
			used := allocated(func() {
				_, err := ReadNPY(r)
				require.ErrorContains(t, err, "found 100;")
			})
			require.Less(t, used, uint64(1<<21))
		}
	}
}

// TestReadNPYHoldsTheNumbersOnce, in either order, where the size of the input is known.
func TestReadNPYHoldsTheNumbersOnce(t *testing.T) {
	const rows, cols = 50000, 20
	for _, fortran := range []bool{false, true} {
		file := npyFile("<f8", fortran, fmt.Sprintf("(%d, %d)", rows, cols), make([]byte, 8*rows*cols))
		used := allocated(func() {
			table, err := ReadNPY(bytes.NewReader(file))
			require.NoError(t, err)
			_, _, _, err = table.Matrix()
			require.NoError(t, err)
		})
		require.Less(t, used, uint64(8*rows*cols+1<<20))
	}
}

func TestReadErrorsOfTheInputComeThrough(t *testing.T) {
	file := npyFile("<f8", false, "(3,)", make([]byte, 24))
	for n := range len(file) + 1 {
		_, err := ReadNPY(io.MultiReader(bytes.NewReader(file[:n]), iotest.ErrReader(io.ErrClosedPipe)))
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
	for _, text := range []string{"", "a,b\n", "a,b\n1,2\n"} {
		_, err := ReadCSV(io.MultiReader(strings.NewReader(text), iotest.ErrReader(io.ErrClosedPipe)), CSVOptions{})
		require.ErrorIs(t, err, io.ErrClosedPipe)
	}
}

func TestWritersRefuseWrongShapes(t *testing.T) {
	for _, c := range []struct {
		n, rows, cols int
		want          string
	}{
		{6, 2, 2, "6 values do not make 2 rows of 2 columns"},
		{0, 0, 3, "the table has 0 rows and 3 columns; must have at least one of each"},
		{2, -1, -2, "the table has -1 rows and -2 columns; must have at least one of each"},
		{0, math.MaxInt, 2, "0 values do not make 9223372036854775807 rows of 2 columns"},
	} {
		require.EqualError(t, WriteNPY(io.Discard, make([]float64, c.n), c.rows, c.cols), c.want)
		require.EqualError(t, WriteCSV(io.Discard, nil, make([]float64, c.n), c.rows, c.cols), c.want)
	}
	require.EqualError(t, WriteCSV(io.Discard, []string{"a"}, make([]float64, 4), 2, 2), "1 names for 2 columns")
}

func FuzzReadNPY(f *testing.F) {
	f.Add(npyFile("<f8", false, "(1, 2)", make([]byte, 16)))
	f.Add(npyFile(">i2", true, "(2, 2)", make([]byte, 8)))
	f.Add(npyFile("|b1", false, "(99999999999,)", []byte{1}))
	f.Add(npyFromDict("{'descr': [('x', '<f8')], 'fortran_order': False, 'shape': (1,)}", nil))
	f.Add([]byte(npyMagic + "\x02\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, file []byte) {
		table, err := ReadNPY(bytes.NewReader(file))
		again, err2 := ReadNPY(onlyReader{bytes.NewReader(file)})
		require.Equal(t, err == nil, err2 == nil)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
			return
		}
		requireConsistent(t, table)
		requireSame(t, table, again)
	})
}

// BenchmarkReadNPY reads a million numbers in 50000 rows; bytes are those of the file.
func BenchmarkReadNPY(b *testing.B) {
	const rows, cols = 50000, 20
	for _, c := range []struct {
		name, descr string
		size        int
		fortran     bool
	}{{"float64", "<f8", 8, false}, {"float64-fortran", "<f8", 8, true}, {"float64-bigendian", ">f8", 8, false}, {"float32", "<f4", 4, false}, {"uint8", "|u1", 1, false}} {
		file := npyFile(c.descr, c.fortran, fmt.Sprintf("(%d, %d)", rows, cols), make([]byte, c.size*rows*cols))
		b.Run(c.name, func(b *testing.B) {
			b.SetBytes(int64(len(file)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := ReadNPY(bytes.NewReader(file)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// onlySeeker hides everything of a reader but Read and Seek.
type onlySeeker struct{ io.ReadSeeker }

// TestReadNPYSections: every shape of sections, by any number of workers, gives each number its place.
func TestReadNPYSections(t *testing.T) {
	for _, shape := range [][2]int{{1, 1}, {1, 70000}, {2, 40000}, {300, 130}, {511, 65}, {513, 65}, {513, 64}, {2000, 17}, {40000, 2}, {70000, 1}} {
		rows, cols := shape[0], shape[1]
		want, byColumn := make([]float64, rows*cols), make([]float64, rows*cols)
		for i := range rows {
			for j := range cols {
				want[i*cols+j] = float64(i*cols + j)
				byColumn[j*rows+i] = float64(i*cols + j)
			}
		}
		for fortran, values := range map[bool][]float64{false: want, true: byColumn} {
			little, err := binary.Append(nil, binary.LittleEndian, values)
			require.NoError(t, err)
			small := make([]float32, len(values))
			for i, v := range values {
				small[i] = float32(v) // exact, below 2^24
			}
			big, err := binary.Append(nil, binary.BigEndian, small)
			require.NoError(t, err)
			for descr, payload := range map[string][]byte{"<f8": little, ">f4": big} {
				file := npyFile(descr, fortran, fmt.Sprintf("(%d, %d)", rows, cols), payload)
				for workers := 1; workers <= 3; workers++ {
					for _, r := range []io.Reader{bytes.NewReader(file), onlySeeker{bytes.NewReader(file)}, onlyReader{bytes.NewReader(file)}} {
						h, err := readNPYHeader(r)
						require.NoError(t, err)
						x, err := h.readValues(r, workers)
						require.NoError(t, err)
						require.True(t, slices.Equal(want, x), "%v %s fortran=%v workers=%d %T", shape, descr, fortran, workers, r)
					}
				}
			}
		}
	}
}

// shrinking tells the size that it has at first, and ends before.
type shrinking struct {
	*bytes.Reader
	asked bool
	short []byte
}

func (s *shrinking) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd && !s.asked {
		s.asked = true
		return s.Reader.Seek(offset, whence)
	}
	if s.asked {
		at, _ := s.Reader.Seek(0, io.SeekCurrent)
		s.Reader = bytes.NewReader(s.short)
		_, _ = s.Reader.Seek(at, io.SeekStart)
	}
	return s.Reader.Seek(offset, whence)
}

func TestReadNPYNoticesThatTheInputShrinks(t *testing.T) {
	file := npyFile("<f8", false, "(100000,)", make([]byte, 800000))
	_, err := ReadNPY(onlySeeker{&shrinking{Reader: bytes.NewReader(file), short: file[:len(file)-8*1000-3]}})
	require.EqualError(t, err, "the NPY data are cut short: the header says 100000 values, shape (100000,), found 98999; save or copy the file again")
}

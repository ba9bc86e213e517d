package data

import (
	"bytes"
	"compress/gzip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func compress(t testing.TB, plain []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, err := w.Write(plain)
	require.NoError(t, err)
	require.NoError(t, w.Close())
	return b.Bytes()
}

// withStdin runs f with content on standard input, from a pipe or from a file.
func withStdin(t *testing.T, content []byte, pipe bool, f func()) {
	old := os.Stdin
	defer func() { os.Stdin = old }()
	if pipe {
		r, w, err := os.Pipe()
		require.NoError(t, err)
		go func() {
			_, _ = w.Write(content) // fails if the reader stops early, as it may
			_ = w.Close()
		}()
		os.Stdin = r
	} else {
		path := filepath.Join(t.TempDir(), "stdin")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		file, err := os.Open(path)
		require.NoError(t, err)
		os.Stdin = file
	}
	f()
	require.NoError(t, os.Stdin.Close())
}

// TestOpenGoesByContentNotByName: the same table from each format, file, redirection and pipe.
func TestOpenGoesByContentNotByName(t *testing.T) {
	x := []float64{1, 2, 3, 4, 5, 6.5}
	var plainCSV, plainNPY bytes.Buffer
	require.NoError(t, WriteCSV(&plainCSV, []string{"V1", "V2"}, x, 3, 2))
	require.NoError(t, WriteNPY(&plainNPY, x, 3, 2))
	late := []byte("V1,V2\n01,1\n1,2\none,3\n") // read twice
	for name, content := range map[string][]byte{"csv": plainCSV.Bytes(), "npy": plainNPY.Bytes(), "late": late} {
		want := numericTable(x, 3, 2)
		if name == "late" {
			want = csvTable(t, string(late))
			require.Equal(t, []string{"01", "1", "one"}, want.Levels("V1"))
		}
		for form, content := range map[string][]byte{"plain": content, "gzip": compress(t, content)} {
			t.Run(name+"/"+form, func(t *testing.T) {
				path := filepath.Join(t.TempDir(), "table.txt")
				require.NoError(t, os.WriteFile(path, content, 0o600))
				got, err := Open(path)
				require.NoError(t, err)
				requireSame(t, want, got)
				for _, pipe := range []bool{false, true} {
					withStdin(t, content, pipe, func() {
						got, err := Open("-")
						require.NoError(t, err)
						requireSame(t, want, got)
					})
				}
			})
		}
	}
}

func TestOpenErrorsCarryThePathOnce(t *testing.T) {
	dir := t.TempDir()
	whole := compress(t, bytes.Repeat([]byte("12.5,7\n"), 1000))
	for name, content := range map[string][]byte{
		"the input is empty; a table needs at least one row":                                                    nil,
		"line 2 has 1 field separated by ',', expected 2 as in line 1; an empty field needs its separator, too": []byte("a,b\n1\n"),
		"the NPY header is cut short":          []byte(npyMagic + "\x01\x00"),
		"compressed twice; decompress it once": compress(t, compress(t, []byte("a\n1\n"))),
		"other bytes follow the compressed data; compress the table again, alone in its file": append(bytes.Clone(whole), "x"...),
	} {
		path := filepath.Join(dir, "bad")
		require.NoError(t, os.WriteFile(path, content, 0o600))
		_, err := Open(path)
		require.EqualError(t, err, path+": "+name)
	}

	for n := len(gzipMagic); n < len(whole); n++ {
		_, err := Read(bytes.NewReader(whole[:n]), CSVOptions{})
		require.EqualError(t, err, "the compressed data are cut short; copy the file again", "%d bytes", n)
	}
	path := filepath.Join(dir, "magic.npy")
	require.NoError(t, os.WriteFile(path, []byte(npyMagic), 0o600))
	_, err := Open(path)
	require.EqualError(t, err, path+": the NPY header is cut short")

	broken := bytes.Clone(whole)
	broken[len(broken)-5] ^= 1 // in the checksum
	path = filepath.Join(dir, "broken")
	require.NoError(t, os.WriteFile(path, broken, 0o600))
	_, err = Open(path)
	require.EqualError(t, err, path+": gzip: invalid checksum")

	for _, path := range []string{filepath.Join(dir, "absent"), dir} {
		_, err := Open(path)
		require.ErrorContains(t, err, path)
		require.Equal(t, 1, bytes.Count([]byte(err.Error()), []byte(path)))
	}
	withStdin(t, []byte("a,b\n1\n"), true, func() {
		_, err := Open("-")
		require.EqualError(t, err, "standard input: line 2 has 1 field separated by ',', expected 2 as in line 1; an empty field needs its separator, too")
	})
}

// FuzzRead reads files as they are, and as what a gzipped file holds: the same table or an error in one line.
func FuzzRead(f *testing.F) {
	for _, text := range []string{"a,b\n1,2\n", "1;x\n01;y\n", string(npyFile("<f8", false, "(1, 2)", make([]byte, 16))), "\x1f\x8b", "\x1f\x8b\x08\x00\x00\x00\x00\x00\x00\xff\x01\x02"} {
		f.Add([]byte(text), uint16(0))
		f.Add(compress(f, []byte(text)), uint16(7))
	}
	f.Fuzz(func(t *testing.T, file []byte, cut uint16) {
		table, err := Read(bytes.NewReader(file), CSVOptions{})
		again, err2 := Read(onlyReader{bytes.NewReader(file)}, CSVOptions{})
		require.Equal(t, err == nil, err2 == nil)
		if err != nil {
			require.NotContains(t, err.Error(), "\n")
		} else {
			requireConsistent(t, table)
			requireSame(t, table, again)
		}
		if bytes.HasPrefix(file, []byte(gzipMagic)) {
			return
		}
		whole := compress(t, file)
		inflated, err3 := Read(bytes.NewReader(whole), CSVOptions{})
		require.Equal(t, err == nil, err3 == nil, "%v, %v", err, err3)
		if err == nil {
			requireSame(t, table, inflated)
		}
		_, err = Read(bytes.NewReader(whole[:min(int(cut), len(whole)-1)]), CSVOptions{})
		require.Error(t, err, "cut short")
		require.NotContains(t, err.Error(), "\n")
	})
}

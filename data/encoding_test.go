package data

import (
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/japanese"
	"golang.org/x/text/encoding/unicode"
)

// A table is the same in any encoding: found where UTF-8 it is not, or said.
func TestEncodings(t *testing.T) {
	const text = "Größe;Straße\n1,5;Zoë\n2,5;€ é\n\n3,5;Zoë\n"
	encoded := func(s string, err error) string {
		require.NoError(t, err)
		return s
	}
	western := encoded(charmap.Windows1252.NewEncoder().String(text))
	marked := unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	for _, c := range []struct{ about, text, said, want string }{
		{"UTF-8", text, "", ""},
		{"UTF-8 with a mark", "\ufeff" + text, "", ""},
		{"UTF-8 as said", text, "utf-8", "utf-8"},
		{"Windows-1252", western, "", "windows-1252"},
		{"late", "a;Straße\n" + strings.Repeat("1;x\n", 1<<15), "", ""},
		{"UTF-16", encoded(marked.NewEncoder().String(text)), "", "utf-16"},
		{"UTF-16 in the other order", encoded(unicode.UTF16(unicode.BigEndian, unicode.UseBOM).NewEncoder().String(text)), "", "utf-16"},
		{"UTF-16 without a mark", encoded(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(text)), "", "utf-16le"},
		{"in the other order", encoded(unicode.UTF16(unicode.BigEndian, unicode.IgnoreBOM).NewEncoder().String(text)), "", "utf-16be"},
		{"UTF-16 as said", encoded(unicode.UTF16(unicode.LittleEndian, unicode.IgnoreBOM).NewEncoder().String(text)), "utf-16le", "utf-16le"},
		{"Mac", encoded(charmap.Macintosh.NewEncoder().String(text)), "macintosh", "macintosh"},
	} {
		want := text
		if c.about == "late" {
			want = c.text
			c.text, c.want = encoded(charmap.Windows1252.NewEncoder().String(c.text+"2;ö\n")), "windows-1252"
			want += "2;ö\n"
		}
		wanted, err := ReadCSV(strings.NewReader(strings.TrimPrefix(want, "\ufeff")), CSVOptions{Comma: ';'})
		require.NoError(t, err)
		for _, r := range []io.Reader{
			strings.NewReader(c.text), onlyReader{strings.NewReader(c.text)}, iotest.OneByteReader(strings.NewReader(c.text)),
		} {
			got, err := Read(r, CSVOptions{Comma: ';', Encoding: c.said})
			require.NoError(t, err, c.about)
			assert.Equal(t, wanted.Names, got.Names, c.about)
			assert.Equal(t, wanted.Levels("Straße"), got.Levels("Straße"), c.about)
			assert.Equal(t, wanted.flat, got.flat, c.about)
			assert.Equal(t, c.want, got.Encoding(), c.about)
		}
		rows := 0
		for got, err := range Blocks([]Part{textPart("d.csv", c.text)}, CSVOptions{Comma: ';', Encoding: c.said}) {
			require.NoError(t, err, c.about)
			assert.Equal(t, wanted.Names, got.Names, c.about)
			assert.Equal(t, wanted.Levels("Straße")[0], got.Levels("Straße")[0], c.about)
			assert.Equal(t, c.want, got.Encoding(), c.about)
			rows += got.Rows()
		}
		assert.Equal(t, wanted.Rows(), rows)
	}
	shift, err := japanese.ShiftJIS.NewEncoder().String("名;b\n1;2\n")
	require.NoError(t, err)
	got, err := ReadCSV(strings.NewReader(shift), CSVOptions{Encoding: "shift_jis"})
	require.NoError(t, err)
	assert.Equal(t, []string{"名", "b"}, got.Names)
}

// What is neither UTF-8 nor Windows-1252, or damaged UTF-8, is an error and not other letters.
func TestEncodingsThatAreNotGuessed(t *testing.T) {
	for about, text := range map[string]string{
		"a byte that Windows-1252 does not have": "a;b\nx\x8f;1\ny;2\n",
		"one far from the beginning":             "a;b\nx\xe9;1\n" + strings.Repeat("y;2\n", 1<<16) + "x\x81;3\n",
		"damaged UTF-8":                          "größe;b\nx\xe9;1\nÄ;2\n",
		"damaged UTF-8, far from the beginning":  "größe;b\n" + strings.Repeat("y;2\n", 1<<16) + "x\xe9;3\n",
		"letters in long lines":                  "a;b\nx\xe9;1\n" + strings.Repeat("é", 1<<17) + ";2\n",
		"UTF-16 without a mark, in Cyrillic":     "\x3f\x04;\x00b\x00\n\x001\x00;\x002\x00\n\x00",
	} {
		_, err := ReadCSV(strings.NewReader(text), CSVOptions{})
		require.ErrorIs(t, err, ErrEncoding, about)
		failed := false
		for _, err := range Blocks([]Part{textPart("d.csv", text)}, CSVOptions{}) {
			failed = failed || err != nil
		}
		assert.True(t, failed, about)
	}
	for _, o := range []CSVOptions{{Encoding: "klingon"}} {
		_, err := ReadCSV(strings.NewReader("a\n1\n"), o)
		require.ErrorContains(t, err, `no encoding is called "klingon"`)
		for _, err := range Blocks([]Part{textPart("d.csv", "a\n1\n")}, o) {
			require.ErrorContains(t, err, `no encoding is called "klingon"`)
		}
	}
}

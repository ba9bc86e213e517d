package data

import (
	"bytes"
	"fmt"
	"regexp"
)

// strange are files that are taken for tables by mistake, by how they begin, and what to do instead.
var strange = []struct {
	begins *regexp.Regexp
	is, do string
}{
	{regexp.MustCompile(`^\x89PNG|^GIF8|^\xff\xd8\xff|^RIFF....WEBP|^BM.{4}\0\0\0\0`), "an image", saveAsUTF8},
	{regexp.MustCompile(`^%PDF-`), "a PDF document", saveAsUTF8},
	{regexp.MustCompile(`(?s)^PK\x03\x04.*(xl/|spreadsheet)|^\xd0\xcf\x11\xe0`), "a workbook of a spreadsheet program",
		"save one sheet as CSV in UTF-8 (in Excel by File, Save As, CSV UTF-8)"},
	{regexp.MustCompile(`^PK\x03\x04|^7z\xbc\xaf|^Rar!`), "an archive", "unpack it, and name a file within"},
	{regexp.MustCompile(`^BZh|^\xfd7zXZ|^\x28\xb5\x2f\xfd`), "compressed by a program other than gzip", "decompress it"},
	{regexp.MustCompile(`^SQLite format 3`), "a database", "export one table of it as CSV in UTF-8"},
	{regexp.MustCompile(`^PAR1|^ARROW1|^\xff\xff\xff\xff`), "a Parquet or Arrow file", "decompress it, or " +
		"pass it as a separate file"},
	{regexp.MustCompile(`^\x89HDF|^RDX[23]\n|^[XA]\n\x00\x00\x00|^\x80[\x02-\x05]`), "a file of objects, perhaps of R or Python", saveAsUTF8},
	{regexp.MustCompile(`(?i)^\s*<(!doctype|html|\?xml|svg|head|body)`), "a web page, or XML",
		"if you downloaded it, look at what came; otherwise " + saveAsUTF8},
	{regexp.MustCompile(`^\s*(\{\s*"|\[\s*[\[{])`), "JSON", saveAsUTF8},
	{regexp.MustCompile(`(?i)^(\s*(%[^\n]*)?\n)*\s*@relation\s`), "an ARFF file, as Weka has them",
		"put a line of names in place of all down to @data"},
	{regexp.MustCompile(`^[-+.0-9eE]+( +[0-9]+:[-+.0-9eE]+)+\s*\n`), "a list of indices and values, as LIBSVM has it",
		"write one column for each index"},
}

// isStrange is the error about the beginning of a file that is no table; nil for others.
func isStrange(head []byte) error {
	for _, one := range strange {
		if one.begins.Match(runesOf(head[:min(len(head), 4096)])) {
			return fmt.Errorf("this is %s, not a table of text; %s", one.is, one.do)
		}
	}
	return nil
}

// runesOf has every byte as the rune of its number, as regular expressions see texts.
func runesOf(head []byte) []byte {
	var b bytes.Buffer
	for _, c := range head {
		b.WriteRune(rune(c))
	}
	return b.Bytes()
}

package data

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestWhatIsNoTableIsNamed(t *testing.T) {
	for text, part := range map[string]string{
		"\x89PNG\r\n\x1a\n\x00\x00":                      "an image",
		"\xff\xd8\xff\xe0\x00":                           "an image",
		"%PDF-1.4\n%\xe2\xe3\n":                          "a PDF document",
		"PK\x03\x04\x14\x00[Content_Types].xml..xl/work": "a workbook",
		"PK\x03\x04\x14\x00\x00a.csv":                    "an archive",
		"\xd0\xcf\x11\xe0\xa1\xb1":                       "a workbook",
		"BZh91AY&SY":                                     "decompress it",
		"SQLite format 3\x00":                            "a database",
		"PAR1\x15\x04":                                   "a Parquet or Arrow file",
		"X\n\x00\x00\x00\x03":                            "objects",
		"\n<!DOCTYPE html>\n<html>":                      "a web page",
		"<?xml version=\"1.0\"?>":                        "XML",
		"{\"a\": 1}\n":                                   "JSON",
		"[\n {\"a\": 1}]":                                "JSON",
		"[[1, 2], [3, 4]]":                               "JSON",
		"% iris\n\n@RELATION iris\n":                     "ARFF",
		"+1 1:0.5 17:-2e-3\n-1 2:1\n":                    "LIBSVM",
	} {
		_, err := ReadCSV(strings.NewReader(text), CSVOptions{})
		assert.ErrorContains(t, err, part, "%q", text)
	}
	for _, text := range []string{"[id],[name]\n1,2\n", "{a},b\n1,2\n", "<5,>5\n1,2\n", "BMI,x\n1,2\n", "PK,b\n1,2\n", "A\n1\n", "X\n1\n", "%PDF,b\n1,2\n", "@relation,b\n1,2\n", "day 1:30\n5\n6\n"} {
		_, err := ReadCSV(strings.NewReader(text), CSVOptions{})
		assert.NoError(t, err, "%q", text)
	}
}

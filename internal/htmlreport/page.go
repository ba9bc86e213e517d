package htmlreport

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // of the page's template, style and script
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"io"
	"math"
	"strconv"
	"strings"
	"unicode"
)

// A Page is what is written.
type Page struct {
	Title    string
	Lead     string      // a sentence beneath the title
	Facts    [][2]string // names and values, which may have several lines
	Sections []Section
	Foot     string
}

// A Section has a title and, each optional, a text, a figure and tables.
type Section struct {
	Title  string
	Text   string
	Figure *Figure // nil: none
	Tables []Table
	Wide   bool // takes the full width of a large screen
}

// A Table of numbers and names. The first cell of a row names the row.
type Table struct {
	Caption string
	Head    []string
	Rows    [][]string // each as long as Head
	Open    bool       // shown at once, not only when its caption is chosen
}

// Missing stands for a number that is not there or not finite.
const Missing = "–"

// Number writes v in the digits of encoding/json; what JSON has no number for is [Missing].
func Number(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return Missing
	}
	text, err := json.Marshal(v)
	if err != nil {
		panic(err) // finite numbers have a form
	}
	return string(text)
}

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed style.css
	style string
	//go:embed script.js
	script string
)

var parsed = template.Must(template.New("page").Funcs(template.FuncMap{
	"px":      px,
	"ordinal": func(i int) string { return strconv.Itoa(i + 1) },
	"style":   func() template.CSS { return template.CSS(style) },
	"script":  func() template.JS { return template.JS(script) },
	"policy":  policy,
}).Parse(pageTemplate))

// policy allows the page's own style and script, by their hashes, and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'", hash(style), hash(script))
}

// px writes a coordinate, or an opacity, as short as a screen needs it.
func px(v float64) string {
	text := strconv.FormatFloat(v, 'f', 2, 64)
	text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	if text == "-0" {
		return "0"
	}
	return text
}

// Write writes the page. Tables whose rows and heads differ in length are misuse, at which
// it panics. What HTML has no place for, such as control characters, becomes U+FFFD.
func (p *Page) Write(w io.Writer) error {
	for _, s := range p.Sections {
		for _, t := range s.Tables {
			for i, row := range t.Rows {
				if len(row) != len(t.Head) {
					panic(fmt.Sprintf("htmlreport: row %d of table %q has %d cells, and its head %d", i, t.Caption, len(row), len(t.Head)))
				}
			}
		}
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, p); err != nil {
		return err
	}
	_, err := w.Write(bytes.Map(allowed, text.Bytes()))
	return err
}

// allowed replaces control characters and noncharacters; bytes.Map gives bytes that are no UTF-8 as U+FFFD.
func allowed(r rune) rune {
	switch {
	case r == '\n' || r == '\t':
		return r
	case unicode.IsControl(r), r >= 0xfdd0 && r <= 0xfdef, r&0xfffe == 0xfffe:
		return unicode.ReplacementChar
	}
	return r
}

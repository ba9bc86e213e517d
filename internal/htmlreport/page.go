package htmlreport

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // of the page's template, style and script
	"encoding/base64"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"unicode"
)

// A Page is what is written.
type Page struct {
	Title    string
	Lead     string // a sentence beneath the title
	Sections []Section
	Foot     string
}

// A Section has a title and, each optional, a text, warnings, items, a figure, facts and tables, in this order.
type Section struct {
	Title    string
	Text     string
	Warnings []string
	Items    []Item
	Figure   *Figure     // nil: none
	Facts    [][2]string // names and values, which may have several lines
	Tables   []Table
	Wide     bool // takes the full width of a large screen
}

// An Item is what is said of one class, such as a component.
type Item struct {
	Group int // of its colour, as points have it
	Name  string
	Size  string  // in words
	Share float64 // from 0 to 1, drawn as a bar
	Text  string
}

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed style.css
	rules string
	//go:embed script.js
	script string

	style = rules + stackedRules()
)

// parsed is the page's template, whose functions write what Go values have no form for.
var parsed = template.Must(template.New("page").Funcs(template.FuncMap{
	"px":      px,
	"tint":    tint,
	"shape":   shape,
	"ordinal": func(i int) string { return strconv.Itoa(i + 1) },
	"percent": func(share float64) float64 { return 100 * max(0, min(1, share)) },
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
			t.check()
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

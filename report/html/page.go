package html

import (
	"github.com/latent-go/latent/report"

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

var (
	//go:embed page.tmpl
	pageTemplate string
	//go:embed style.css
	rules string
	//go:embed script.js
	script string

	style = rules + stackedRules() + chosenRules()
)

// parsed is the page's template, whose functions write what Go values have no form for.
var parsed = template.Must(template.New("page").Funcs(template.FuncMap{
	"px":         px,
	"tint":       tint,
	"shape":      shape,
	"ordinal":    func(i int) string { return strconv.Itoa(i + 1) },
	"percentage": report.Percentage,
	"percent":    func(share float64) float64 { return 100 * max(0, min(1, share)) },
	"style":      func() template.CSS { return template.CSS(style) },
	"script":     func() template.JS { return template.JS(script) },
	"policy":     policy,
	"before":     func(i int) int { return i - 1 },
	"drawn":      drawn,
	"tall":       tall,
	"keyOf":      shadesOf,
	"widthOf":    widthOf,
	"classOf":    classOf,
}).Parse(pageTemplate))

// mostChosen is how many items there are rules for.
const mostChosen = 40

// chosenRules frame the class that is chosen among the items, in figures whose columns are classes.
func chosenRules() string {
	var text strings.Builder
	for i := 1; i <= mostChosen; i++ {
		fmt.Fprintf(&text, ":root:has(.choose [value=\"%d\"]:checked) .h%d{stroke:var(--ink)}\n", i, i)
	}
	return text.String()
}

// policy allows the page's own style and script, by their hashes, and nothing else.
func policy() string {
	hash := func(text string) string {
		sum := sha256.Sum256([]byte(text))
		return "'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	return fmt.Sprintf("default-src 'none'; style-src %s; script-src %s; base-uri 'none'; form-action 'none'",
		hash(style), hash(script))
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

// Write writes the document as a page. It panics if a row of a table does not have one cell for each column.
// Characters that HTML does not allow, such as control characters, become U+FFFD.
func Write(w io.Writer, d *report.Document) error {
	for _, s := range d.Sections {
		for _, t := range s.Tables {
			t.Check()
		}
	}
	var text bytes.Buffer
	if err := parsed.Execute(&text, d); err != nil {
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

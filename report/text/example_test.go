package text_test

import (
	"fmt"
	"strings"

	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// What a model says of a fit, as sections, is text as well as a page.
func ExampleNewPage() {
	means := report.Table{Caption: "means", Columns: report.Columns("component", "eruptions", "waiting")}
	means.Add(1, 4.29, 80)
	means.Add(2, 2.04, 54.5)
	var out strings.Builder
	p := text.NewPage(&out)
	p.Section(report.Section{Title: "Components", Tables: []report.Table{means}})
	p.Section(report.Section{Text: "Two kinds of eruptions."})
	fmt.Print(strings.ReplaceAll(strings.TrimSpace(p.String()), " \n", "\n"))
	// Output:
	// Means:
	//  component  eruptions  waiting
	// ───────────────────────────────
	//          1       4.29       80
	//          2       2.04     54.5
	//
	// Two kinds of eruptions.
}

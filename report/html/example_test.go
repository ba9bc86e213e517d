package html_test

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/html"
)

// A program of one's own writes what it found as the page that latent fit --report writes.
func ExampleWrite() {
	weights := report.Table{Caption: "weights", Columns: report.Columns("component", "weight", "duration"), Open: true}
	weights.Add(1, report.Share(0.6439891), report.Spread(4.2896385, 0.412308))
	weights.Add(2, report.Share(0.3560109), report.Spread(2.0363885, 0.263009))
	document := &report.Document{Title: "Old Faithful", Lead: "272 eruptions.", Sections: []report.Section{{
		Title: "Two kinds of eruptions",
		Figure: report.Chart{
			Title: "Weights", About: "The share of the eruptions of each kind.", XName: "kind", Names: []string{"long", "short"},
			Panels: []report.Panel{{Name: "share", Bars: true, Series: weights.Series("share", 1)}},
		},
		Tables: []report.Table{weights},
	}}}
	var page bytes.Buffer
	if err := html.Write(&page, document); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.Contains(page.String(), "<h1 dir=\"auto\">Old Faithful</h1>"))
	for _, row := range weights.Rows {
		fmt.Println(strings.ReplaceAll(fmt.Sprint(row[0], ": ", row[1], ", ", row[2], " minutes"), report.NoBreak, " "))
	}
	// Output:
	// true
	// 1: 64 %, 4.29 ± 0.41 minutes
	// 2: 36 %, 2.04 ± 0.26 minutes
}

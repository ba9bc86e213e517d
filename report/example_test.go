package report_test

import (
	"fmt"
	"strings"

	"github.com/latent-go/latent/report"
)

// A table of typed cells: people read them rounded, and files have all digits.
func Example() {
	t := report.Table{Caption: "two components", Columns: append(report.Columns("number", "criterion", "weight", "% of rows", "correlation", "tolerance"),
		report.Classes("short")...)}
	t.Add(report.Of(1), report.Nats(-1163.3348), report.Share(0.643), report.Percent(0.6434), report.Decimals(0.7866), report.Setting(1e-9),
		report.Shaded(report.Spread(2.0363885, 0.263009), 0.5))
	t.Check()
	for _, cell := range t.Rows[0] {
		fmt.Println(strings.ReplaceAll(fmt.Sprint(cell), report.NoBreak, " "))
	}
	fmt.Println(t.Columns[6].Class, report.Readable(-1234.5678))
	// Output:
	// 1
	// −1163.33
	// 64 %
	// 64.3
	// 0.79
	// 1.00×10⁻⁹
	// 2.04 ± 0.26
	// 1 −1235
}

// A grid has cells that are texts already.
func ExampleNewGrid() {
	g := report.NewGrid("component", "weight")
	g.Row("1", "0.64")
	g.Wrap("component")
	fmt.Println(g.Names, g.Rows, g.Wrapped)
	for _, s := range report.Single("Weights", nil, report.Table{Caption: "weights"}) {
		fmt.Println(s.Title, len(s.Tables))
	}
	// Output:
	// [component weight] [[1 0.64]] [component]
	// Weights 1
}

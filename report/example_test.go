package report_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"strings"

	"github.com/latent-go/latent/data"
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

// A file and JSON have all digits, and two numbers of a spread.
func ExampleTable_Write() {
	t := report.Table{Caption: "durations", Columns: report.Columns("kind", "rows", "share", "minutes", "test")}
	t.Add("long", 175, report.Share(0.6439891), report.Spread(4.2896385, 0.412308), 0.25)
	t.Add("short", 97, report.Share(math.NaN()), report.Spread(2.0363885, 0.263009), "none")
	if err := t.Write(os.Stdout, data.NewCSVWriter); err != nil {
		fmt.Println(err)
	}
	rows, err := json.Marshal(t.Rows)
	fmt.Println(string(rows), err)
	// Output:
	// kind,rows,share,minutes,minutes sd,test
	// long,175,0.6439891,4.2896385,0.412308,0.25
	// short,97,NaN,2.0363885,0.263009,none
	// [["long",175,0.6439891,{"mean":4.2896385,"sd":0.412308},0.25],["short",97,null,{"mean":2.0363885,"sd":0.263009},"none"]] <nil>
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

package command

import (
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/report"
)

type datasetsCommand struct {
	Format string `default:"text" enum:"text,json" help:"Output: text or json."`
}

type dataset struct {
	Name    string `json:"name"`
	Rows    int    `json:"rows"`
	Columns int    `json:"columns"`
	Label   string `json:"label"` // column of known classes, which fits leave out; may be empty
	Title   string `json:"title"`
	Source  string `json:"source"`
	Licence string `json:"licence"`
}

// Run lists the embedded data sets.
func (c *datasetsCommand) Run(s *session) error {
	var list []dataset
	for _, d := range data.Datasets() {
		list = append(list, dataset{d.Name, d.Rows, d.Cols, d.Label, d.Title, d.Source, d.License})
	}
	if c.Format == "json" {
		return writeJSON(s.stdout, list)
	}
	p := s.page()
	t := report.NewGrid("name", "rows", "columns", "label", "what")
	t.Wrap("name", "label", "what")
	for _, d := range list {
		t.Row(d.Name, strconv.Itoa(d.Rows), strconv.Itoa(d.Columns), d.Label, d.Title)
	}
	p.Grid(t)
	p.Line("")
	for _, d := range list {
		p.Prose(2, "%s: %s. Licence: %s.", d.Name, d.Source, d.Licence)
	}
	return s.show(p)
}

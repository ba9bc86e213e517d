package main

import (
	"strconv"

	"github.com/latent-go/latent/data"
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
	var p page
	t := newGrid("name", "rows", "columns", "label", "what", "source", "licence")
	t.prose("name", "label", "what", "source", "licence")
	for _, d := range list {
		t.row(d.Name, strconv.Itoa(d.Rows), strconv.Itoa(d.Columns), d.Label, d.Title, d.Source, d.Licence)
	}
	p.grid(t)
	return p.write(s.stdout)
}

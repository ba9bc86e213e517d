package outcome

import (
	"slices"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
	"github.com/latent-go/latent/report/text"
)

// describe shows what a model says of a fit: its first sentences, and the tables that people read, or without such what
// is said of each latent dimension.
func describe(p *text.Page, d *fitted.Description) {
	if d.Finding.Text != "" {
		p.Line("")
		p.Prose(0, "%s", wording.ASCII(d.Finding.Text))
	}
	if !slices.ContainsFunc(d.Sections, hasShort) {
		for _, one := range d.Finding.Items {
			p.Prose(2, "%s, %s: %s", one.Name, wording.ASCII(one.Size), wording.ASCII(one.Text))
		}
	}
	for _, one := range d.Sections {
		p.Section(one)
	}
}

// hasShort says whether a section has a table for people.
func hasShort(s report.Section) bool {
	return slices.ContainsFunc(s.Tables, func(t report.Table) bool { return !t.Long })
}

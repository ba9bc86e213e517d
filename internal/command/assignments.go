package command

import (
	"context"
	"fmt"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// idFlags name columns that tell rows apart.
type idFlags struct {
	ID []string `name:"id" placeholder:"COL" help:"Columns that name the rows: the fit leaves them out; they come first in --assignments and in the output of latent predict. Default: a first column that names the rows and has no name in the header."`
}

// isHead says whether a column of predictions may have a name: p1, p2, … for one.
func isHead(name string) bool {
	for _, stem := range []string{"p", "z", "mean", "feature"} {
		n, rest := 0, ""
		if got, _ := fmt.Sscanf(name+" ", stem+"%d%s", &n, &rest); got == 1 {
			return true
		}
	}
	return slices.Contains([]string{
		rowHead, labelHead, classHead, classes.GroupHead, stateHead, "probability", "log_likelihood", "log_predictive",
		"noise", "mean",
	}, name)
}

// checkTables refuses --assignments and --components where they cannot be.
func (c *fitCommand) checkTables() error {
	switch {
	case c.Assignments != "" && c.model().Pairs:
		return misused("--assignments cannot be used with --model %s: save the model by --out, and see latent predict",
			c.Model)
	case c.Components != "" && !c.model().Classes:
		return misused("--components requires a mixture or hmm: %s model has no components; --format json writes its "+
			"numbers", wording.A(c.Model))
	}
	return nil
}

// assign writes what the model says of each row that was read, as latent predict does.
func (c *fitCommand) assign(s *session, r *outcome.Report, in tables.Input) error {
	text, err := encode(r.Summary)
	if err != nil {
		return err
	}
	if text, err = fitted.Seal(text); err != nil {
		return err
	}
	m, err := s.known.parse(text)
	if err != nil {
		return err
	}
	// what there is to note, the fit has
	quiet := s.Quietly()
	quiet.Context = context.WithoutCancel(s)
	names := namesOf(m.Columns)
	order, err := in.Match(quiet, names)
	if err != nil {
		return in.Wrap(err)
	}
	in.Mark(m.Settings.NA)
	if err := in.Recode(m.Columns, order, false); err != nil {
		return in.Wrap(err)
	}
	p := &prediction{score: m.score, layout: m.layout, in: &in, ids: in.IDs, columns: names, errors: in.Renderer()}
	if err := p.take(quiet, m, order, in.Missing); err != nil {
		return err
	}
	return s.emitTable(c.Assignments, p.heads(), func(to data.Writer) error { return p.writeTable(s, to) })
}

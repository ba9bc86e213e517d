package command

import (
	"context"
	"fmt"
	"io"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/classes"
)

// idFlags name columns that tell rows apart.
type idFlags struct {
	ID []string `name:"id" placeholder:"COL" help:"Columns that name the rows: the fit leaves them out; they come first in --assignments and in the output of latent predict. Default: a first column that names the rows and has no name in the header."`
}

// takeIDs takes the columns of --id out of the table, and keeps their texts.
func (in *input) takeIDs(names []string) error {
	if len(names) == 0 {
		return nil
	}
	if at := slices.IndexFunc(names, isHead); at >= 0 {
		return misused("--id: column %q has the name of a column of the predictions: rename it", names[at])
	}
	var err error
	if in.ids, err = in.passThrough(names); err != nil {
		return err
	}
	if slices.Contains(names, in.label) {
		in.label = ""
	}
	in.Table, err = in.Table.Drop(names...)
	return in.wrap(err)
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
		rowHead, labelHead, classes.GroupHead, stateHead, "probability", "log_likelihood", "log_predictive", "noise", "mean",
	}, name)
}

// checkTables refuses --assignments and --components where they cannot be.
func (c *fitCommand) checkTables() error {
	switch {
	case c.Assignments != "" && c.model().Pairs:
		return misused("--assignments cannot be used with --model %s: save the model by --out, and see latent predict",
			c.Model)
	case c.Components != "" && !c.model().Classes:
		return misused(
			"--components requires a mixture or hmm: a %s model has no components; --format json writes its numbers", c.Model,
		)
	}
	return nil
}

// assign writes what the model says of each row that was read, as latent predict does.
func (c *fitCommand) assign(s *session, r *fitReport, in input) error {
	text, err := encode(r.summary)
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
	quiet := &session{
		Context: context.WithoutCancel(s),
		known:   s.known,
		stdin:   s.stdin,
		stdout:  io.Discard,
		stderr:  io.Discard,
		store:   s.store,
	}
	names := namesOf(m.Columns)
	order, err := in.match(quiet, names)
	if err != nil {
		return in.wrap(err)
	}
	in.marks = m.Settings.NA
	if err := in.recode(m.Columns, order, false); err != nil {
		return in.wrap(err)
	}
	p := &prediction{score: m.score, layout: m.layout, in: &in, ids: in.ids, columns: names, errors: in.renderer()}
	if p.x, p.rows, _, err = in.numbers(quiet, m.kind.Classes, !m.input.Gaps); err != nil {
		return in.wrap(err)
	}
	if !slices.IsSorted(order) {
		p.order = order
	}
	if m.input.Sequence {
		p.ends = in.EndsOf(p.rows)
		p.score = func(b framework.Rows) ([]float64, error) { return m.scoreSequences(p.series(b)) }
	}
	if p.numbers = in.gaps == missingDrop || in.gaps == missingEmpty; p.numbers {
		p.layout.First = append([]string{rowHead}, p.layout.First...)
	}
	return s.emitTable(c.Assignments, p.heads(), func(to data.Writer) error { return p.writeTable(s, to) })
}

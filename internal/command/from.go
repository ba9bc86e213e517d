package command

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// ofSaved are flags of other groups whose values are those of the saved model where a fit begins at one.
var ofSaved = []string{"select", "weights", "method", "prior", "size-prior", "temper", "restarts"}

// takeSaved has the fit be that of the saved model of --from, whose rows may be others.
func (c *fitCommand) takeSaved(s *session) error {
	for _, flag := range s.given {
		if group := flag.Group; group != nil && (group.Key == "model" || group.Key == ownGroup) ||
			slices.Contains(ofSaved, flag.Name) {
			return misused("--%s cannot be used with --from, as it is that of the saved model: leave one of them out", flag.Name)
		}
	}
	if c.Data == "" {
		return misused("--from requires --data, the rows that the model is to be fitted to")
	}
	m, err := c.known.read(c.From)
	if err != nil {
		return err
	}
	if m.kind.Pairs {
		return misused("--from requires a model of rows: %s is %s model", c.From, wording.A(m.Model))
	}
	of := m.Settings
	c.from, c.Model, c.Family, c.Method, c.Roles, c.Weights = m, m.Model, m.Family, m.Method, of.Roles, of.Weights
	if of.Prior != "" {
		if err := c.Prior.UnmarshalText([]byte(of.Prior)); err != nil {
			return err
		}
	}
	one := 1
	c.SizePrior, c.Restarts, c.Accelerate = cmp.Or(of.SizePrior, sizePriors[0]), &one, c.Accelerate || of.Accelerate
	if of.Temper > 0 {
		c.Temper = &of.Temper
	}
	if m.kind.method(m.Method).Iterates() {
		c.Tol, c.MaxIter = cmp.Or(c.Tol, &of.Tolerance), cmp.Or(c.MaxIter, &of.MaxIterations)
	} else {
		c.Restarts = nil
	}
	c.Criterion = cmp.Or(c.Criterion, m.Criterion)
	c.AsFitted(of.Spelt)
	switch finds := c.model().finds(c.Method); {
	case c.K != nil && *c.K != m.K:
		return misused("--k is %d, and the fit begins at K = %d of %s: leave --k out, or --from", *c.K, m.K, c.From)
	case c.Kmax != nil && *c.Kmax < m.K:
		return misused("--kmax is %d, and the fit begins at K = %d of %s; must be at least that", *c.Kmax, m.K, c.From)
	case !finds && c.Kmax != nil:
		return misused("--kmax cannot be used with --from and method %s, which keeps the K of %s", c.Method, c.From)
	case !finds:
		c.K = &m.K
	}
	return c.checkMethod()
}

// match takes the columns of the saved model out of a table, by their names; further ones are left out.
func (m *modelFile) match(s *tables.Session, in *tables.Input, weights string) (err error) {
	if weights != "" {
		in.Table, err = in.Table.Drop(weights)
	}
	names := namesOf(m.Columns)
	if err == nil {
		_, err = in.Match(s, names)
	}
	if err == nil {
		in.Table, err = in.Table.Select(names...)
	}
	return in.Wrap(err)
}

// table is a table as the model is fitted to it, whose columns are the model's.
func (m *modelFile) table(s *tables.Session, in *tables.Input) (*fitted.Table, error) {
	if err := in.Recode(m.Columns, upTo(0, len(m.Columns)-1), false); err != nil {
		return nil, err
	}
	t := &fitted.Table{Columns: m.Columns, Data: &in.Named}
	var err error
	if t.Rows, err = in.ReadRows(s, m.kind.Classes, !m.input.Gaps); err != nil {
		return nil, err
	}
	if m.input.Sequence {
		t.Sequences, err = in.AsSequences(t.Rows)
	}
	return t, err
}

// begin has a fit begin at the saved model, and says what that is of the rows, where this process writes it.
func (c *fitCommand) begin(s *session, t *task, o *framework.Options) (*outcome.Begun, error) {
	b, is := t.Problem.(fitted.Beginner[fitted.Found])
	if !is {
		return nil, misused("--from cannot be used with %s: %s model by method %s has no fit that begins at parameters",
			c.From, wording.A(c.Model), c.Method)
	}
	starts, err := b.Begin(&c.from.saved.File)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.From, err)
	}
	if t.DoubleTo = 0; c.K == nil && c.Kmax == nil {
		o.K = max(o.K, c.from.K, min(2*c.from.K, t.rows/2))
	}
	if starts && !o.FixedK { // moves from the saved model alone may miss a group that is new
		o.Restarts = 2
	}
	if !s.crew.Writes() {
		return nil, nil
	}
	found, at, err := b.Begun(s, o.Criterion, c.Workers)
	if err != nil {
		return nil, err
	}
	return outcome.Begin(c.From, c.from.Checksum, c.from.K, found, at, o.Criterion), nil
}

package command

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/report"
)

type selectCommand struct {
	fittingFlags
	checkpointFlags `group:"large"`
	compares        string   // what --family all or --cov all compares: all families, or covariances; empty: nothing
	Criteria        []string `group:"size" brief:"Criteria, such as evidence,bic,icl. Default: those that fit the method." placeholder:"NAME,…" sep:"none" help:"Criteria: of evidence, gfic, fic, bicem, elbo, bic, aic and icl; of mixtures also collapsed (the parameters integrated out), exacticl, dnml (discrete columns), sbic and slope; of factor sbic, with --method em where entries are missing. Default: those that fit the method."`
	Kmin            int      `group:"size" brief:"Smallest number of components, or of latent dimensions." name:"kmin" default:"1" range:"[1,inf)" help:"Smallest number of components, or of latent dimensions."`
	Kmax            *int     `group:"size" brief:"Largest number. Default: 10, or fewer." name:"kmax" placeholder:"K" help:"Largest number. Default: 10, or fewer for few rows. latent select does not double it: a warning names the criteria that choose the largest."`
	Label           string   `group:"table" brief:"Known classes of the rows: left out of the fits, and compared with the components." placeholder:"COL" help:"Known classes of the rows (mixtures, hmm): leave this column out of the fits, and compare the components of each K to it by the adjusted Rand index."`
	Bootstrap       *int     `group:"output" placeholder:"B" range:"[19,1000000]" help:"Test K against K + 1 components by the likelihood ratio of B tables drawn from the fit of K, from kmin up to the first K that is not rejected at 5 % (mixtures, --method em). 99 or 999 are usual."`
	Out             string   `group:"output" brief:"Save the table of the criteria." placeholder:"FILE" help:"Save the table: a line for each K, or family, with its criteria. CSV, or Parquet where the name ends in .parquet."`
	Report          string   `group:"output" brief:"Write DIR/index.html: the criteria in figures, one page that needs no network." placeholder:"DIR" help:"Write DIR/index.html: which K the criteria choose and how clear that is, in figures and their numbers, one page that needs no network."`
}

// Run scores every K and prints the table.
func (c *selectCommand) Run(s *session) error {
	if err := c.check(); err != nil {
		return err
	}
	if err := s.shares(c.source(), "", c.Bootstrap, c.Online); err != nil {
		return err
	}
	if err := s.checkWritten([]string{c.source()}, written{flag: "--out", path: c.Out},
		written{flag: "--report", path: c.Report, page: true},
		c.checkpoint()); err != nil {
		return err
	}
	in, err := c.open(s, c.Label)
	if err != nil {
		return err
	}
	progress, err := c.keep(s, c, in)
	if err != nil {
		return err
	}
	var t interface {
		finding
		AsTable() report.Table
	}
	if c.compares != "" {
		t, err = c.compare(s, in, progress)
	} else {
		t, err = c.scores(s, in, progress)
	}
	if err != nil {
		return tables.Explain(progress.left(outcome.Interrupted(err, nil)), in)
	}
	if err := s.complete(); err != nil || !s.crew.Writes() {
		return err
	}
	if c.Out != "" {
		if err := s.save(c.Out, t.AsTable()); err != nil {
			return err
		}
	}
	err = s.deliver(t, in, c.Report, c.Format)
	if err == nil {
		progress.done(s)
	}
	return err
}

func (c *selectCommand) check() error {
	if err := c.checkKept(); err != nil {
		return err
	}
	if c.Kmax != nil && *c.Kmax < c.Kmin {
		return misused("--kmax is %d; must be at least --kmin, %d", *c.Kmax, c.Kmin)
	}
	if err := c.expand(); err != nil {
		return err
	}
	c.byTable = c.Method == "" && !c.model().Classes && c.model().chooses()
	if err := c.modelFlags.check(c.usual()); err != nil {
		return err
	}
	if err := cmp.Or(c.checkBootstrap(c.Bootstrap, true), c.model().checkLabel(c.Model, c.Label)); err != nil {
		return err
	}
	switch {
	case c.Label != "" && c.compares != "":
		return misused("--label compares components of one family, and cannot be used with --family all or --cov all: " +
			"--drop leaves the column out")
	case c.Bootstrap != nil && c.compares != "":
		return misused(
			"--bootstrap tests numbers of components of one family, and cannot be used with --family all or --cov all",
		)
	case c.Bootstrap != nil && c.Method != methodEM:
		return misused("--bootstrap requires --method em, whose fits have the largest likelihood, and the method is %s",
			c.Method)
	}
	list, err := c.criteria(nil)
	if err != nil || len(list) == 0 {
		return err
	}
	return c.Prior.usedBy(list[0])
}

// usual is the method where none is given: of fits that the evidence compares, the one that climbs it.
func (c *selectCommand) usual() string {
	m := c.model()
	if len(c.Criteria) > 0 && c.Bootstrap == nil {
		first, _, _ := strings.Cut(c.Criteria[0], ",")
		for _, one := range m.Methods {
			own := one.Criteria[0].Name
			if own == framework.Evidence.Name && strings.EqualFold(strings.TrimSpace(first), own) {
				return one.Name
			}
		}
	}
	return m.selecting
}

// criteria are those asked for, or those that compare the method's fits.
func (c *selectCommand) criteria(t *task) ([]framework.Criterion, error) {
	list, err := c.named()
	if err != nil || len(list) > 0 || t == nil {
		return list, err
	}
	m := c.model()
	usual := m.criteria(c.Method)
	// what latent fit compares by; the first chooses starts
	if c.Method == methodEM && m.criteria(m.methods[0])[0].Name == framework.Evidence.Name {
		usual = slices.Insert(usual, 1, framework.Evidence)
	}
	for _, one := range usual {
		if t.Compares == nil || t.Compares(one) {
			list = append(list, one)
		}
	}
	return list, nil
}

// named are the criteria of --criteria. The parser would let an empty last name pass, so
// the list is taken apart here.
func (c *selectCommand) named() ([]framework.Criterion, error) {
	if c.Criteria == nil {
		return nil, nil
	}
	var list []framework.Criterion
	for name := range strings.SplitSeq(strings.Join(c.Criteria, ","), ",") {
		if name = strings.TrimSpace(name); name == "" {
			return nil, misused("--criteria has an empty name: separate names by single commas")
		}
		one, err := c.criterion("--criteria", name)
		if err != nil {
			return nil, err
		}
		if slices.ContainsFunc(list, func(c framework.Criterion) bool { return c.Name == one.Name }) {
			return nil, misused("--criteria names %s twice: name each criterion once", name)
		}
		list = append(list, one)
	}
	return list, nil
}

func (c *selectCommand) scores(s *session, in *tables.Input, progress *keeper) (*outcome.Selection, error) {
	began := time.Now()
	task, o, err := c.setup(s, in, c.Kmax, c.Kmin)
	if err != nil {
		return nil, err
	}
	c.Kmin = max(c.Kmin, task.KMin)
	criteria, err := c.criteria(task)
	if err != nil {
		return nil, err
	}
	if c.Kmax == nil && c.model().method(c.Method).ClosedForm {
		o.DoubleTo = task.DoubleTo
	}
	status := s.Line()
	defer status.Close()
	o.Recorder = status.Recorder(criteria[0].Name, upTo(c.Kmin, o.K), o)
	progress.attach("select", &o)
	all, err := task.score(s, upTo(c.Kmin, o.K), o, append(criteria, c.also(criteria)...))
	if err != nil || !s.crew.Writes() {
		return nil, err
	}
	t := &outcome.Selection{Model: c.Model, Family: c.Family, Method: c.Method, D: in.Cols(),
		Rows: in.Rows(), Columns: task.columns,
		KMin: c.Kmin, KMax: all.K[len(all.K)-1], Prior: c.SizePrior, Seed: c.Seed, Chosen: map[string]int{}, What: task.What}
	if err := t.Fill(all, c.model().method(c.Method), criteria, in, c.sizePrior()); err != nil {
		return nil, err
	}
	all.Remark(s.Session, in)
	if all.Bounded {
		s.Note(outcome.NoteBound)
	}
	s.noteEnd(task.CheckK, t.KMin, t.KMax,
		slices.DeleteFunc(slices.Clone(t.Criteria), func(name string) bool { return t.Chosen[name] < t.KMax }))
	if c.Bootstrap != nil {
		if err := t.Test(s.Session, status, in, task.Problem, c.drawing(*c.Bootstrap, o)); err != nil {
			return nil, err
		}
	}
	t.Warnings = append([]string{}, s.Notes...)
	t.Seconds = number(time.Since(began).Seconds())
	return t, nil
}

// noteEnd notes who chooses the largest K compared, where the table bears larger ones.
func (s *session) noteEnd(checkK func(k int) error, kmin, kmax int, who []string) {
	if len(who) == 0 || kmin == kmax || checkK(kmax+1) != nil {
		return
	}
	s.Note("K = %d is the largest compared, and best by %s: larger K may be better (--kmax)", kmax,
		strings.Join(who, ", "))
}

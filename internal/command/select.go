package command

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/sizes"
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
	if err := s.shares(c.source(), c.Bootstrap); err != nil {
		return err
	}
	if c.compares != "" && hostOf(s).Passes != nil {
		return misused(
			"--family all and --cov all fit several models, and the workers of a cluster have one: select each family by itself",
		)
	}
	if err := s.checkWritten([]string{c.source()}, written{flag: "--out", path: c.Out},
		written{flag: "--report", path: c.Report, page: true},
		c.checkpoint()); err != nil {
		return err
	}
	in, err := c.load(s.Session, c.Label)
	if err != nil {
		return err
	}
	progress, err := c.keep(s, c, in)
	if err != nil {
		return err
	}
	var t interface {
		print(s *session, in *tables.Input) error
		html(in *tables.Input) (*report.Document, error)
		table() report.Table
	}
	if c.compares != "" {
		t, err = c.compare(s, in, progress)
	} else {
		t, err = c.scores(s, in, progress)
	}
	if err != nil {
		return tables.Explain(progress.left(interrupted(err, nil)), in)
	}
	if err := s.complete(); err != nil || !s.crew.writes() {
		return err
	}
	if c.Out != "" {
		if err := s.save(c.Out, t.table()); err != nil {
			return err
		}
	}
	if c.Report != "" {
		page, err := t.html(in)
		if err != nil {
			return err
		}
		if err := writePage(c.Report, page); err != nil {
			return err
		}
	}
	if c.Format == "json" {
		err = writeJSON(s.stdout, t)
	} else {
		err = t.print(s, in)
	}
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

// agree compares the components of one K with known classes.
func (t *selection) agree(row *selectionRow, all *scores, i int, in *tables.Input) error {
	if in.Known == nil {
		return nil
	}
	f, err := all.fit(i)
	if err != nil {
		return err
	}
	assigned, err := f.Parameters.(fitted.Classifier).Classify()
	if err != nil {
		return err
	}
	t.Label, row.AdjustedRand = in.Known.Column, &agreementOf(in, assigned, row.K).AdjustedRand
	return nil
}

// A selection is the object that --format json writes.
type selection struct {
	Model    string         `json:"model"`
	Family   string         `json:"family"`
	Method   string         `json:"method"`
	N        number         `json:"n"`
	D        int            `json:"d"`
	Rows     int            `json:"rows"`
	Columns  []data.Column  `json:"columns"`
	KMin     int            `json:"kmin"`
	KMax     int            `json:"kmax"`
	Seed     uint64         `json:"seed"`
	Seconds  number         `json:"seconds"`
	Criteria []string       `json:"criteria"`
	Prior    string         `json:"size_prior"`
	Chosen   map[string]int `json:"chosen"` // K by criterion
	// Posterior is p(K|X) among the K compared, and Credible the smallest set of 90 %: with the criterion evidence.
	Posterior []sizeProbability `json:"posterior,omitempty"`
	Credible  []int             `json:"credible,omitempty"`
	Table     []selectionRow    `json:"table"`
	Tests     []ratioTest       `json:"tests,omitempty"` // with --bootstrap
	Label     string            `json:"label,omitempty"` // column of --label
	Warnings  []string          `json:"warnings"`

	what string
}

// posterior fills in p(K|X) by criterion j.
func (t *selection) posterior(all *scores, j int, prior sizes.Prior) error {
	probabilities, err := all.SizePosterior(j, prior)
	if err != nil {
		return err
	}
	t.Posterior, t.Credible = sizePosterior(all.K, probabilities)
	return nil
}

type selectionRow struct {
	K      int               `json:"k"`
	Values map[string]number `json:"values"` // by criterion; null where there is none
	fitStatistics
	Converged bool   `json:"converged"`
	Status    string `json:"status"`
	Error     string `json:"error,omitempty"` // why a value is null

	AdjustedRand *number `json:"adjusted_rand_index,omitempty"` // of the components and the classes of --label
}

func (c *selectCommand) scores(s *session, in *tables.Input, progress *keeper) (*selection, error) {
	began := time.Now()
	task, o, err := c.setup(s, in, c.Kmax, c.Kmin)
	if err != nil {
		return nil, err
	}
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
	if err != nil {
		return nil, err
	}
	t := &selection{Model: c.Model, Family: c.Family, Method: c.Method, D: in.Cols(),
		Rows: in.Rows(), Columns: task.columns,
		KMin: c.Kmin, KMax: all.K[len(all.K)-1], Prior: c.SizePrior, Seed: c.Seed, Chosen: map[string]int{}, what: task.What}
	if err := t.fill(all, criteria, in, c.sizePrior()); err != nil {
		return nil, err
	}
	all.remark(s, in)
	if all.bounded {
		s.Note(noteBound)
	}
	s.noteEnd(task, t.KMin, t.KMax,
		slices.DeleteFunc(slices.Clone(t.Criteria), func(name string) bool { return t.Chosen[name] < t.KMax }))
	if c.Bootstrap != nil {
		if err := t.test(s.Session, status, in, task.Problem, c.drawing(*c.Bootstrap, o)); err != nil {
			return nil, err
		}
	}
	t.Warnings = append([]string{}, s.Notes...)
	t.Seconds = number(time.Since(began).Seconds())
	return t, nil
}

// noteEnd notes who chooses the largest K compared, where the table bears larger ones.
func (s *session) noteEnd(t *task, kmin, kmax int, who []string) {
	if len(who) == 0 || kmin == kmax || t.CheckK(kmax+1) != nil {
		return
	}
	s.Note("K = %d is the largest compared, and best by %s: larger K may be better (--kmax)", kmax,
		strings.Join(who, ", "))
}

func (t *selection) fill(all *scores, asked []framework.Criterion, in *tables.Input, prior sizes.Prior) error {
	for j, one := range asked {
		name := strings.ToLower(one.Name)
		t.Criteria = append(t.Criteria, name)
		best := all.BestUnder(j, prior)
		if best < 0 {
			return all.without(one)
		}
		t.Chosen[name] = all.K[best]
		if one.Name == framework.Evidence.Name && (j == 0 || t.Method != methodEM) { // EM chooses starts by the first
			if err := t.posterior(all, j, prior); err != nil {
				return err
			}
		}
		if j == 0 {
			f, err := all.fit(best)
			if err != nil {
				return err
			}
			t.N = number(f.N)
		}
	}
	for i, k := range all.K {
		end := all.ends[i]
		row := selectionRow{
			K: k, Values: map[string]number{}, fitStatistics: all.statistics(i), Converged: end.converged, Status: end.status,
		}
		for j, name := range t.Criteria {
			row.Values[name] = number(all.Values[i][j])
		}
		if end.err != nil {
			row.Error = in.Render(end.err)
		} else if err := t.agree(&row, all, i, in); err != nil {
			return err
		}
		t.Table = append(t.Table, row)
	}
	return nil
}

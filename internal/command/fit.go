package command

import (
	"cmp"
	"time"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/outcome"
	"github.com/latent-go/latent/internal/tables"
)

type fitCommand struct {
	fittingFlags
	checkpointFlags `group:"large"`
	Criterion       string `group:"size" placeholder:"NAME" help:"Score by which fits are compared: evidence, gfic, fic, bicem, elbo, bic, aic or icl; of mixtures also collapsed (the parameters integrated out), exacticl and dnml (discrete columns). Default: the method's own."`
	From            string `group:"search" brief:"Begin at a saved model: its columns, method and settings." placeholder:"MODEL.json" help:"Begin at this saved model, with its columns, family, method, criterion and settings, and say what changed: K, the criterion on the rows, which components moved, came and went. The evidence keeps the prior of the saved model. K can fall, and rise where the method makes moves (gfab of mixtures, regressions and hmm), from there and from one more start; em, map and vb keep it."`
	K               *int   `group:"size" brief:"Number of components, or of latent dimensions. Default: latent finds it." name:"k" xor:"size" placeholder:"K" range:"[1,inf)" help:"Fit with this number of components, or of latent dimensions."`
	Kmax            *int   `group:"size" brief:"Largest number. Default: 10 components, more where more are found." name:"kmax" xor:"size" placeholder:"K" range:"[1,inf)" help:"Largest number. Default: 10 components, doubled while the largest tried are not clearly worse, fewer for few rows; features: 8; bpca and ppca: columns − 1, at most rows − 2; factor: as many as the covariance matrix identifies; vbmf: the smaller side of the matrix."`
	Label           string `group:"table" brief:"Known classes of the rows: left out of the fit, and compared with the components." placeholder:"COL" help:"Known classes of the rows (mixtures, hmm): leave this column out of the fit, and compare components to it by the adjusted Rand index and a cross-table."`
	Bootstrap       *int   `group:"output" placeholder:"B" range:"[2,1000000]" help:"Standard errors and 95 % intervals of the numbers of mixtures and hmm, and standard errors of the loadings of factor, from B tables drawn from the fit and refitted. 200 are usual."`
	Out             string `group:"output" brief:"Save the model for latent predict and latent sample." placeholder:"MODEL.json" help:"Save the model for latent predict and latent sample."`
	Assignments     string `group:"output" brief:"Write the component of each row and its probabilities." placeholder:"FILE" help:"Write the predictions of each row, as latent predict does: component, probabilities and log-likelihood, or latent means. CSV, or Parquet if the name ends in .parquet."`
	Components      string `group:"output" placeholder:"FILE" help:"Write the numbers of the components of mixtures and hmm (means, standard deviations, probabilities of levels), one a row: component, weight, column, quantity, value. CSV, or Parquet if the name ends in .parquet."`
	Groups          *int   `group:"output" placeholder:"G" range:"[1,inf)" help:"Number of groups into which the components of a mixture are joined. Default: by their overlap and the density between them."`
	Report          string `group:"output" brief:"Write DIR/index.html: the fit in figures, one page that needs no network." placeholder:"DIR" help:"Write DIR/index.html: the fit in figures and their numbers, one page that needs no network. A missing folder is created."`
}

// Help ends the output of latent fit --help.
func (*fitCommand) Help() string {
	return "The complete_data_standard_errors of mixtures (--format json) assume known labels: they ignore " +
		"the uncertainty about labels, and are too small where components overlap. Those of --bootstrap are not."
}

// Run fits, saves and prints.
func (c *fitCommand) Run(s *session) error {
	if err := c.check(s); err != nil {
		return err
	}
	if err := s.shares(c.source(), c.From, c.Bootstrap, c.Online); err != nil {
		return err
	}
	source := c.source()
	if err := s.checkWritten([]string{source, c.From}, written{flag: "--out", path: c.Out},
		written{flag: "--assignments", path: c.Assignments},
		written{flag: "--components", path: c.Components}, written{flag: "--report", path: c.Report, page: true},
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
	read := *in
	r, err := c.fit(s, in, progress)
	if err != nil {
		return tables.Explain(progress.left(err), in)
	}
	if err := s.complete(); err != nil || !s.crew.Writes() {
		return err
	}
	if c.Out != "" {
		if err := saveModel(c.Out, r.Summary); err != nil {
			return err
		}
	}
	if c.Assignments != "" {
		if err := c.assign(s, r, read); err != nil {
			return err
		}
	}
	if c.Components != "" {
		if err := s.save(c.Components, r.ClassTable()); err != nil {
			return err
		}
	}
	err = s.deliver(r, in, c.Report, c.Format)
	if err == nil {
		progress.done(s)
	}
	return err
}

func (c *fitCommand) check(s *session) error {
	if c.From != "" {
		if err := c.takeSaved(s); err != nil {
			return err
		}
	}
	if err := cmp.Or(c.checkTables(), c.checkKept(), c.checkGroups()); err != nil {
		return err
	}
	c.fixesK, c.compares = c.K != nil, c.from == nil
	m := c.model()
	if c.from == nil {
		c.byTable = c.Method == "" && m.chooses()
		if err := c.modelFlags.check(m.methods[0]); err != nil {
			return err
		}
	}
	if c.SizePrior != sizePriors[0] && (c.K != nil || c.model().finds(c.Method)) {
		return misused("--size-prior requires a method that fits every K and compares, and cannot be used with "+
			"--method %s or --k", c.Method)
	}
	if err := c.model().checkLabel(c.Model, c.Label); err != nil {
		return err
	}
	if err := c.checkBootstrap(c.Bootstrap, false); err != nil {
		return err
	}
	c.compareUsual()
	crit, err := c.criterion("--criterion", c.Criterion)
	if err != nil {
		return err
	}
	return cmp.Or(c.Prior.usedBy(crit), c.compareBy(crit, c.Criterion != ""))
}

// sizes are those of the fits that are to be made up to K; nil where one fit finds its size.
func (c *fitCommand) sizes(k int) []int {
	switch {
	case c.K != nil:
		return []int{k}
	case c.model().finds(c.Method):
		return nil
	}
	return upTo(1, k)
}

// fit makes one fit, or as many as there are sizes where the method does not prune.
func (c *fitCommand) fit(s *session, in *tables.Input, progress *keeper) (*outcome.Report, error) {
	began := time.Now()
	listed := c.Restarts != nil
	t, o, err := c.setup(s, in, cmp.Or(c.K, c.Kmax), 1)
	if err != nil {
		return nil, outcome.Interrupted(err, nil)
	}
	if err := c.checkBootstrap(c.Bootstrap, false); err != nil { // with the method that suits the table
		return nil, err
	}
	crit, err := c.criterion("--criterion", c.Criterion)
	if err != nil {
		return nil, err
	}
	if c.Criterion == "" {
		crit = c.usual(t)
	}
	status := s.Line()
	defer status.Close()
	shown := o
	if len(c.compared) > 0 {
		shown.Restarts = 1 // how many there will be, nobody knows
	}
	o.Criterion, o.Also, o.FixedK, o.Recorder = crit, c.also([]framework.Criterion{crit}), c.K != nil,
		status.Recorder(crit.Name, c.sizes(o.K), shown)
	o.AlsoAll = true
	progress.attach("fit", &o)
	var begun *outcome.Begun
	if c.from != nil {
		if begun, err = c.begin(s, t, &o); err != nil {
			return nil, err
		}
	}
	if c.K == nil && c.Kmax == nil && t.DoubleTo > 0 {
		o.DoubleTo = t.DoubleTo
	}

	var best *outcome.Fit
	var table []outcome.SizeScore
	if c.model().finds(c.Method) || o.FixedK {
		best, err = t.fit(s, o)
	} else {
		var all *outcome.Scores
		if all, err = t.score(s, upTo(1, o.K), o, append([]framework.Criterion{crit}, o.Also...)); err == nil {
			table = all.Column(0)
			all.Remark(s.Session, in)
			best, err = all.Open(all.BestUnder(0, c.sizePrior()))
		}
	}
	if err != nil {
		return nil, outcome.Interrupted(err, best)
	}
	if !s.crew.Writes() { // nobody reads what this process would say
		return nil, nil
	}
	kept := c.settings(in)
	kept.FixedK = c.K != nil
	r, err := outcome.New(s.Session, in, best, outcome.Asked{Kind: c.Kind(), Family: c.Family, Method: c.Method,
		Criterion: crit,
		Seed:      c.Seed, KMax: o.K, ByK: table, Columns: t.columns, Settings: kept, What: t.What, Why: c.why,
		ListStarts: listed, Tolerance: o.Tolerance, ComparedBy: c.comparedBy, Prior: c.Prior.unit(),
		SizePrior: c.sizePrior(), Groups: c.Groups, Workers: c.Workers, Program: s.name,
		Saved: c.Out})
	if err == nil && begun != nil {
		err = r.Compare(begun, in)
	}
	if err != nil {
		return nil, err
	}
	if c.Bootstrap != nil {
		if err := r.AddErrors(s.Session, status, in, c.drawing(*c.Bootstrap, o)); err != nil {
			return nil, outcome.Interrupted(err, best)
		}
	}
	if err := r.Close(s.Session, c.Report != "", c.Format == "text"); err != nil {
		return nil, err
	}
	r.Seconds = number(time.Since(began).Seconds())
	return r, nil
}

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/latent-go/latent/framework"
)

type fitCommand struct {
	fittingData
	inputFlags
	modelFlags
	Method    string `default:"gfab" enum:"gfab,fab,em,vb,closed-form" help:"Inference: gfab, fab, em, vb or closed-form. gfab and fab prune from kmax down; the others fit every K up to kmax and keep the best."`
	Criterion string `placeholder:"NAME" help:"What judges fits: gfic, fic, bicem, elbo, bic, aic or icl. Default: the method's own."`
	K         *int   `name:"k" xor:"size" placeholder:"K" help:"Fit with this number of latent dimensions."`
	Kmax      *int   `name:"kmax" xor:"size" placeholder:"K" help:"Latent dimensions at most. Default: columns − 1 (no more than rows − 2)."`
	Out       string `placeholder:"MODEL.json" help:"Save the model for latent predict and latent sample."`
}

// Run fits, saves and prints.
func (c *fitCommand) Run(s *session) error {
	crit, err := c.check()
	if err != nil {
		return err
	}
	if err := s.checkOut(c.Out, c.Data); err != nil {
		return err
	}
	in, err := c.load(s, c.Data, c.Weights)
	if err != nil {
		return err
	}
	r, err := c.fit(s, in, crit)
	if err != nil {
		return explain(err, in)
	}
	if c.Out != "" {
		if err := saveModel(c.Out, r.summary); err != nil {
			return err
		}
	}
	if c.Format == "json" {
		return writeJSON(s.stdout, r)
	}
	return r.print(s.stdout, in, c.Out)
}

func (c *fitCommand) check() (framework.Criterion, error) {
	if c.K != nil && *c.K < 1 {
		return framework.Criterion{}, misused("--k is %d: it must be at least 1", *c.K)
	}
	if c.Out == "-" {
		return framework.Criterion{}, misused("--out is -, but standard output has the report: name a file for the model")
	}
	if c.Kmax != nil && *c.Kmax < 1 {
		return framework.Criterion{}, misused("--kmax is %d: it must be at least 1", *c.Kmax)
	}
	if err := c.modelFlags.check(c.Method); err != nil {
		return framework.Criterion{}, err
	}
	return criterion("--criterion", c.Criterion, c.Method)
}

// fit makes one fit, or as many as there are sizes where the method does not prune.
func (c *fitCommand) fit(s *session, in *sample, crit framework.Criterion) (*report, error) {
	began := time.Now()
	kmax := largest(in)
	if c.Kmax != nil {
		kmax = *c.Kmax
	}
	if c.K != nil {
		kmax = *c.K
	}
	_, d := in.Dims()
	if err := checkSize(kmax, d); err != nil {
		return nil, err
	}
	e, err := newEngine(s, in, &c.modelFlags, c.Method)
	if err != nil {
		return nil, interrupted(err, nil)
	}
	watch := newProgress(s.stderr, crit.Name)
	defer watch.close()
	o := c.options(c.Method, kmax)
	o.Criterion, o.FixedK, o.Recorder = crit, c.K != nil, watch

	var best *fitted
	var table []sizeScore
	if prunes := c.Method == framework.GFAB.String() || c.Method == framework.FAB.String(); prunes || o.FixedK {
		best, err = e.fit(s, o)
	} else {
		var all *scores
		if all, err = e.score(s, upTo(1, kmax), o, []framework.Criterion{crit}); err == nil {
			table = all.column(0)
			all.remark(s, in)
			best, err = all.fit(all.Best(0))
		}
	}
	if err != nil {
		return nil, interrupted(err, best)
	}
	r := newReport(best, in, c.Method, crit)
	r.Model, r.Family, r.Seed, r.KMax, r.ByK = c.Model, c.Family, c.Seed, kmax, table
	r.Settings = c.settings(c.Method)
	r.Settings.FixedK = c.K != nil
	r.Seconds = number(time.Since(began).Seconds())
	return r, nil
}

var errInterrupted = errors.New("interrupted")

// interrupted says how far a cancelled fit had come; other errors stay.
func interrupted(err error, f *fitted) error {
	switch {
	case !errors.Is(err, context.Canceled):
		return err
	case f == nil:
		return fmt.Errorf("%w before the fit was complete: nothing was saved", errInterrupted)
	}
	return fmt.Errorf("%w after %d iterations at K = %d, %s %s: nothing was saved", errInterrupted, f.Iterations, f.Shape.K, strings.ToLower(f.Criterion), digits(f.Value))
}

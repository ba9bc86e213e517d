package command

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/latent-go/latent/reproduce"
)

type reproduceCommand struct {
	Names   []string `arg:"" optional:"" name:"NAME" help:"Experiments; all runs all of them."`
	List    bool     `help:"Name the experiments."`
	Out     string   `placeholder:"DIR" help:"Folder of the results: figures, numbers and a page for each experiment, in a folder of its name. What an interrupted run has finished is not done again."`
	Quick   bool     `help:"The same code on fewer seeds and smaller data, less than 20 s an experiment."`
	Tables  int      `default:"0" range:"[0,inf)" help:"How many tables experiments draw that may draw any number: the first are those of a shorter run. 0: their own number."`
	Data    string   `placeholder:"DIR" help:"Folder of the data sets that are not shipped (zebo.csv, spectf.csv)."`
	Workers int      `default:"0" range:"[0,inf)" help:"Concurrent runs; 0: one per processor. Results do not depend on it."`
}

// Help ends the output of latent reproduce --help.
func (*reproduceCommand) Help() string {
	return "Each experiment writes its figures as SVG and PNG, its numbers as CSV, and a page that puts the paper's statements beside what was measured. Experiments whose data are missing are left out, with a remark, unless they were named."
}

// Run runs experiments, or lists them.
func (c *reproduceCommand) Run(s *session) error {
	if c.List {
		return c.list(s)
	}
	if len(c.Names) == 0 {
		return misused("name an experiment, or all: %s", strings.Join(reproduce.Names(), ", "))
	}
	if c.Out == "" {
		return misused("--out DIR is missing: where the results go")
	}
	experiments, err := reproduce.Find(c.Names...)
	if err != nil {
		return usageError{err}
	}
	status := s.status()
	show := func(p reproduce.Progress) { status.show(p.Done >= p.Total, func() string { return bar(p) }) }
	reports, err := reproduce.Run(s, experiments, reproduce.Options{Out: c.Out, Quick: c.Quick, Data: c.Data, Tables: c.Tables, Workers: c.Workers, Progress: show, Command: c.command(), Date: time.Now()})
	status.close()
	p := s.page()
	g := newGrid("experiment", "verdict", "seconds", "page")
	rows := 0
	for _, r := range reports {
		var missing *reproduce.MissingData
		switch {
		case errors.As(r.Err, &missing) && len(c.Names) == 1 && c.Names[0] == r.Name:
			return missing
		case errors.As(r.Err, &missing):
			s.note("%s was left out: %v", r.Name, missing)
		case r.Err == nil:
			g.row(r.Name, string(r.Verdict), fmt.Sprintf("%.1f", r.Seconds), r.Page)
			rows++
		}
	}
	if s.Err() != nil {
		return fmt.Errorf("%w: what was finished is kept in %s, and the same command goes on from there", errInterrupted, c.Out)
	}
	if err != nil {
		return errors.New(oneLine(err))
	}
	if rows > 0 {
		p.grid(g)
	}
	return p.write(s)
}

// command is how to run it again.
func (c *reproduceCommand) command() string {
	words := append([]string{"latent reproduce"}, c.Names...)
	if c.Quick {
		words = append(words, "--quick")
	}
	if c.Tables > 0 {
		words = append(words, fmt.Sprintf("--tables %d", c.Tables))
	}
	if c.Data != "" {
		words = append(words, "--data DIR")
	}
	return strings.Join(append(words, "--out DIR"), " ")
}

func (c *reproduceCommand) list(s *session) error {
	p := s.page()
	g := newGrid("experiment", "what", "data")
	g.prose("what")
	for _, e := range reproduce.All() {
		needs := "generated or shipped"
		if len(e.Needs) > 0 {
			needs = "--data with " + e.Needs[0].Name
		}
		g.row(e.Name, e.Title, needs)
	}
	p.grid(g)
	return p.write(s)
}

// bar shows the progress of an experiment.
func bar(p reproduce.Progress) string {
	const width = 30
	full := width
	if p.Total > 0 {
		full = width * p.Done / p.Total
	}
	left := ""
	if p.Left >= 0 {
		left = ", about " + p.Left.Round(time.Second).String() + " left"
	}
	return fmt.Sprintf("%s %s%s %d of %d%s", p.Experiment, strings.Repeat("█", full), strings.Repeat("░", width-full), p.Done, p.Total, left)
}

// Command latent-reproduce runs the experiments of the papers that latent implements, and studies beyond them, and
// compares what it measures with what the papers state:
//
//	latent-reproduce --list                          the experiments
//	latent-reproduce all --out results --data DIR    all; DIR holds zebo.csv and spectf.csv, which are not shipped
//	latent-reproduce evidence --out results --quick  one of them, on fewer seeds and smaller data
//
// The exit status is that of latent: 0 when done, 1 when an experiment failed, 2 when the command was used wrongly.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/term"

	"github.com/latent-go/latent/reproduce"
)

const name = "latent-reproduce"

type flags struct {
	Names   []string `arg:"" optional:"" name:"NAME" help:"Experiments; all runs all of them."`
	List    bool     `help:"Name the experiments."`
	Out     string   `placeholder:"DIR" help:"Folder of the results: ${results}"`
	Quick   bool     `help:"The same code on fewer seeds and smaller data, less than 20 s an experiment."`
	Tables  int      `default:"0" help:"How many tables experiments draw that may draw any number: the first are those of a shorter run. 0: their own number."`
	Data    string   `placeholder:"DIR" help:"Folder of the data sets that are not shipped (zebo.csv, spectf.csv), and of tables of your own with known classes (experiment tables)."`
	Workers int      `default:"0" help:"Concurrent runs; 0: one per processor. Results do not depend on it."`
}

const (
	about = "Each experiment writes its figures as SVG and PNG, its numbers as CSV, and a page that puts the paper's " +
		"statements beside " +
		"what was measured. Experiments whose data are missing are left out, with a remark, unless they were named."
	results = "figures, numbers and a page for each experiment, in a folder of its name. " +
		"What an interrupted run has finished is not done again."
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	context.AfterFunc(ctx, stop) // a second signal ends the process at once
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

// errUsage is wrapped by errors of the caller.
var errUsage = errors.New("used wrongly")

type usageError struct{ error }

func (usageError) Is(target error) bool { return target == errUsage }

// run is the command as a function: it returns the exit status.
func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	var f flags
	answered := false // by kong: --help
	parser := kong.Must(&f, kong.Name(name), kong.Description(about), kong.Vars{"results": results},
		kong.Writers(stdout, stderr), kong.Exit(func(int) { answered = true }))
	_, err := parser.Parse(args)
	switch {
	case answered:
		return 0
	case err != nil:
		err = usageError{err}
	default:
		err = f.run(ctx, stdout, stderr)
	}
	if err == nil {
		return 0
	}
	_, _ = fmt.Fprintf(stderr, "%s: %s\n", name, strings.ReplaceAll(err.Error(), "\n", "; "))
	if errors.Is(err, errUsage) {
		return 2
	}
	return 1
}

// run runs experiments, or lists them.
func (f *flags) run(ctx context.Context, stdout, stderr io.Writer) error {
	switch {
	case f.List:
		return list(stdout)
	case len(f.Names) == 0:
		return usageError{fmt.Errorf("name an experiment, or all: %s", strings.Join(reproduce.Names(), ", "))}
	case f.Out == "":
		return usageError{errors.New("--out DIR is missing: where the results go")}
	case f.Tables < 0:
		return usageError{fmt.Errorf("--tables is %d, and has to be 0 or more", f.Tables)}
	case f.Workers < 0:
		return usageError{fmt.Errorf("--workers is %d, and has to be 0 or more", f.Workers)}
	}
	experiments, err := reproduce.Find(f.Names...)
	if err != nil {
		return usageError{err}
	}
	show, erase := status(stderr)
	reports, failed := reproduce.Run(ctx, experiments, reproduce.Options{
		Out: f.Out, Quick: f.Quick, Data: f.Data, Tables: f.Tables, Workers: f.Workers,
		Progress: show, Command: f.command(), Date: time.Now(),
	})
	erase()
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, r := range reports {
		var missing *reproduce.MissingData
		switch {
		case errors.As(r.Err, &missing) && len(f.Names) == 1 && f.Names[0] == r.Name:
			return missing
		case errors.As(r.Err, &missing):
			_, _ = fmt.Fprintf(stderr, "%s: %s was left out: %v\n", name, r.Name, missing)
		case r.Err == nil:
			_, _ = fmt.Fprintf(table, "%s\t%s\t%.1f s\t%s\n", r.Name, r.Verdict, r.Seconds, r.Page)
		}
	}
	if err := table.Flush(); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return fmt.Errorf("interrupted: what was finished is kept in %s, and the same command goes on from there", f.Out)
	}
	return failed
}

// command is how to run it again.
func (f *flags) command() string {
	words := append([]string{name}, f.Names...)
	if f.Quick {
		words = append(words, "--quick")
	}
	if f.Tables > 0 {
		words = append(words, fmt.Sprintf("--tables %d", f.Tables))
	}
	if f.Data != "" {
		words = append(words, "--data DIR")
	}
	return strings.Join(append(words, "--out DIR"), " ")
}

func list(stdout io.Writer) error {
	table := tabwriter.NewWriter(stdout, 0, 0, 2, ' ', 0)
	for _, e := range reproduce.All() {
		needs := ""
		if len(e.Needs) > 0 {
			needs = " (needs " + e.Needs[0].Name + ")"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s%s\n", e.Name, e.Title, needs)
	}
	return table.Flush()
}

// status shows progress on one line of a terminal, and nothing elsewhere.
func status(stderr io.Writer) (show func(reproduce.Progress), erase func()) {
	const eraseLine = "\r\x1b[K"
	if file, ok := stderr.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return nil, func() {}
	}
	return func(p reproduce.Progress) { _, _ = io.WriteString(stderr, eraseLine+bar(p)) },
		func() { _, _ = io.WriteString(stderr, eraseLine) }
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
	done := strings.Repeat("█", full) + strings.Repeat("░", width-full)
	return fmt.Sprintf("%s %s %d of %d%s", p.Experiment, done, p.Done, p.Total, left)
}

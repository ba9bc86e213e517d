// Package command is the command with the passes of its fits made by Apache Beam, with models of one's own: what
// latent-beam does.
package command

import (
	"bytes"
	"context"
	"encoding/gob"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/apache/beam/sdks/v2/go/pkg/beam/log"

	"github.com/latent-go/latent/beam"
	"github.com/latent-go/latent/command"
)

// A place is where passes are made.
type place struct {
	name                      string // of the program
	runner, endpoint, workers string
	worker, parallelism       int
	options                   beam.Options
}

// Main runs the command with the arguments of the process, what comes before those of the command saying where passes
// are made, and returns the exit status. The host has a Name, and neither Group nor Passes. It is called once, in the
// driver and in workers.
func Main(h command.Host) (status int) {
	name := h.Name
	beam.RegisterShares(name, func(ctx context.Context, spec []byte) (beam.Shares, error) {
		var j command.Job
		if err := gob.NewDecoder(bytes.NewReader(spec)).Decode(&j); err != nil {
			return nil, err
		}
		return command.Open(ctx, h, j)
	})
	log.SetLogger(&log.Standard{Level: log.SevError})
	slog.SetDefault(slog.New(slog.DiscardHandler)) // Prism tells every step; what matters is in errors
	p, args, status := flags(name, os.Args[1:], os.Stderr)
	switch {
	case status >= 0:
		return status
	case p.worker > 0:
		return p.serve()
	}
	os.Args = append(os.Args[:1], args...)
	h.Passes = p.passes
	return command.Main(h)
}

// flags reads what comes before the command; a status of 0 or more ends the program.
func flags(name string, args []string, stderr io.Writer) (p place, rest []string, status int) {
	p.name = name
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(stderr)
	f.Usage = func() {
		_, _ = fmt.Fprintf(stderr, "Usage: %s [flags] <command of latent> …\n       %s -worker PORT\n\n", name, name)
		f.PrintDefaults()
	}
	f.StringVar(&p.runner, "runner", "prism", "prism, on this machine, or universal: the job service at -endpoint")
	f.StringVar(&p.endpoint, "endpoint", "", "job service of -runner universal, such as Flink's, `HOST:8099`")
	f.StringVar(&p.workers, "workers", "",
		"where each host of the runner finds its -worker, such as `localhost:50000`; without it this process is the worker")
	f.IntVar(&p.worker, "worker", 0, "be a worker at this `port` of localhost")
	f.StringVar(&p.options.Dir, "dir", "",
		"`folder` that all hosts share, for what driver and workers exchange; without it that of temporary files")
	f.IntVar(&p.options.Parts, "parts", 1, "tasks of a pass, at most the shards, 16: several for every slot of a cluster")
	f.IntVar(&p.parallelism, "parallelism", 0,
		"tasks that -runner universal makes at a time, at most the slots of its cluster; 0: all of -parts")
	f.IntVar(&p.options.Threads, "threads", 0, "goroutines of a task; 0: one a processor")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return p, nil, 0
	case err != nil:
		return p, nil, 2
	}
	problem := ""
	switch {
	case p.worker < 0 || p.worker > 65535:
		problem = fmt.Sprintf("-worker is %d: a port is from 1 to 65535", p.worker)
	case p.worker > 0 && f.NArg() > 0:
		problem = "-worker takes no command"
	case p.runner != "prism" && p.runner != "universal":
		problem = fmt.Sprintf("-runner is %q: it must be prism or universal", p.runner)
	case (p.runner == "universal") != (p.endpoint != ""):
		problem = "-runner universal and -endpoint go together"
	case p.options.Parts < 1 || p.options.Threads < 0:
		problem = "-parts must be at least 1, and -threads not negative"
	case p.parallelism < 0 || p.parallelism > 0 && p.runner != "universal":
		problem = "-parallelism must not be negative, and is of -runner universal alone"
	default:
		return p, f.Args(), -1
	}
	_, _ = fmt.Fprintln(stderr, name+": "+problem)
	return p, nil, 2
}

// passes begins those of a fit.
func (p place) passes(ctx context.Context, j command.Job) (_ command.Passes, err error) {
	var spec bytes.Buffer
	if err := gob.NewEncoder(&spec).Encode(j); err != nil {
		return nil, err
	}
	o := p.options
	if p.runner == "prism" {
		o.Runner, err = beam.Prism(ctx, p.workers)
	} else {
		o.Runner, err = beam.Portable(ctx, p.endpoint, p.workers, p.parallelism)
	}
	if err != nil {
		return nil, err
	}
	passes, err := beam.Begin(ctx, p.name, spec.Bytes(), j.Rows, j.Files, o)
	if err != nil {
		return nil, errors.Join(err, o.Runner.Close())
	}
	return run{passes, o.Runner}, nil
}

// A run closes its runner too.
type run struct {
	*beam.Passes
	runner beam.Runner
}

// Close removes the folder of the run and leaves the runner.
func (r run) Close() error { return errors.Join(r.Passes.Close(), r.runner.Close()) }

func (p place) serve() (status int) {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := beam.Serve(ctx, p.worker,
		func(address string) { _, _ = fmt.Fprintln(os.Stderr, p.name+": a worker at "+address) })
	if err != nil {
		_, _ = fmt.Fprintln(os.Stderr, p.name+": "+err.Error())
		return 1
	}
	return 0
}

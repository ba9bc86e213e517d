// Package command is the command latent as a function, for a main package of your own. The families and models that
// it adds work with fit, select, predict, sample, pages, checkpoints and completion.
//
//	func main() {
//		own := builtin.Family{Name: "negative-binomial", Of: numeric.Family{Density: negativeBinomial{}}}
//		os.Exit(command.Main(command.Host{Name: "own", Models: builtin.Models(own)}))
//	}
//
// docs/guides/own-command.md has a whole program. Processes of an MPI job, and workers of Apache Beam, run it by Main
// of the packages mpi/command and beam/command, which are in modules of their own.
package command

import (
	"context"
	"io"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/command"
	"github.com/latent-go/latent/internal/tables"
)

// A Host is what a program that runs the command sets; the zero value is the command latent in one process.
type Host struct {
	Name   string          // of the program in its messages; empty: latent
	Models fitted.Registry // the values of --model, its default first; nil: those of package builtin
	// Sources are where --data finds what is no file of this system, by the scheme that its name begins with, such as s3
	// of s3://bucket/part-*.parquet; nil: files alone. Module remote has some.
	Sources map[string]Source
	// Group is the processes that run the command together, with the same arguments; nil: this process alone. Local
	// is how many of them, including this one, share the memory of this machine; at least 1 with a Group.
	Group framework.Group
	Local int
	// Passes prepares passes over the rows that other processes make, such as those of a cluster; nil: this process
	// makes them. It cannot be combined with a Group.
	Passes func(ctx context.Context, j Job) (Passes, error)
}

// A Source has tables under names with a scheme: either List and Open, of objects with the content of files, or Table.
// An error should say what is wrong in one line, without the name. List returns the names that a pattern matches, in
// their order, and a name without * or [ itself. Open reads an object, of any format that --data takes; it is copied to
// a temporary file. Table returns the table of a query (see [data.FromRows]).
type Source = tables.Source

// A Job is what other processes open to make the passes of a command (see [Open]): Args of the command, the Candidate
// among several families, Data in place of --data, whatever folder a process is in, Files that the rows are read from,
// and the number of Rows.
type Job = command.Job

// Passes are passes over the rows that other processes make: a [fitted.Passes] with Close.
type Passes = command.Passes

// known are the models of a host.
func known(models fitted.Registry) fitted.Registry {
	if models == nil {
		return builtin.Models()
	}
	return models
}

// Main runs the command with the arguments of the process, until it is done or the process is told to end, and
// returns the exit status: 0 when done, 1 when data or fit failed, 2 when the command line or the Host is invalid.
// Call it once.
func Main(h Host) (status int) {
	h.Models = known(h.Models)
	return command.Main(command.Host(h))
}

// Run runs the command with its arguments, without the program's name, and returns the exit status of [Main].
func Run(ctx context.Context, h Host, args []string, stdin io.Reader, stdout, stderr io.Writer) (status int) {
	h.Models = known(h.Models)
	return command.Run(ctx, command.Host(h), args, stdin, stdout, stderr)
}

// Opened holds the rows of a [Job] and its model: its Share is [framework.Share], of the state as encoding/gob writes
// it, and Close releases what was opened.
type Opened = command.Opened

// Open opens the rows of a job, from the Sources of the [Host], and prepares its model, one of those of the host, for
// shares of its passes.
func Open(ctx context.Context, h Host, j Job) (Opened, error) {
	h.Models = known(h.Models)
	return command.Open(ctx, command.Host(h), j)
}

// Command latent-mpi is the command latent for the processes of an MPI job, which share the work of fit and select:
//
//	mpirun -np 4 latent-mpi fit --data FILE --checkpoint PROGRESS --out MODEL.json
//
// The result has the bits of latent in one process. All processes read the data, by the same path; the first one alone
// writes files and messages. Where several of them share a machine, they share its cores and memory in equal parts:
// --workers is of each, and --memory of all of a machine.
package main

import (
	"os"

	"github.com/latent-go/latent/command"
	mpi "github.com/latent-go/latent/mpi/command"
)

func main() { os.Exit(run()) }

func run() int { return mpi.Main(command.Host{Name: "latent-mpi"}) }

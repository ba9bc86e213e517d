// Command latent-beam is the command latent with the passes of fits made by Apache Beam.
//
//	latent-beam fit --data ROWS.npy …                            on Prism, in this process
//	latent-beam -runner universal -endpoint HOST:8099 -workers localhost:50000 -dir /shared fit --data /shared/ROWS.npy …
//	latent-beam -worker 50000                                    a worker, on each host of the runner's
//
// What comes before the command says where passes are made; what follows is as in latent --help. Data, and the folder
// of the run, are on storage that all hosts have under one name.
package main

import (
	"os"

	beam "github.com/latent-go/latent/beam/command"
	"github.com/latent-go/latent/command"
)

func main() { os.Exit(beam.Main(command.Host{Name: "latent-beam"})) }

// Command latent fits latent variable models to tables, chooses their size, and
// applies the models it has saved.
//
//	latent fit                              gFAB with a Gaussian mixture on an embedded data set
//	latent fit --data FILE --out MODEL.json
//	latent select --data FILE               criteria over a range of K
//	latent predict MODEL.json --data FILE   components, or latent means, and log-likelihood of each row
//	latent check MODEL.json --data FILE     whether the model fits the table
//	latent sample MODEL.json -n 100         rows drawn from the model
//	latent datasets                         the embedded data sets
//	latent version
//
// Results go to standard output, as text or as JSON (--format json). Standard error
// has one line for an error, one for each remark on data and fits once the result is
// written and, on a terminal, the progress of the fit; --quiet has errors alone, and --log has lines for programs. The
// exit status is 0 when done, 1 when data or fit failed and 2 when the command was used wrongly.
package main

import (
	"os"

	"github.com/latent-go/latent/command"
)

func main() { os.Exit(command.Main(command.Host{})) }

package command_test

import (
	"context"
	"fmt"
	"os"
	"strings"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/family"
)

// A family of one's own, here one that the library has, by a name of its own.
func Example() {
	own := command.Host{Name: "own", Models: builtin.Models(builtin.Family{Name: "visits", Of: family.Poisson{}})}
	args := strings.Fields("select --data earthquakes --select count --family visits --criteria bic --kmax 3 --method em --out table.csv")
	dir, err := os.MkdirTemp("", "latent")
	if err != nil {
		panic(err)
	}
	defer os.RemoveAll(dir) //nolint:errcheck // nothing of it is needed
	args[len(args)-1] = dir + "/table.csv"
	var said, errs strings.Builder
	status := command.Run(context.Background(), own, args, nil, &said, &errs)
	for line := range strings.Lines(said.String()) {
		if strings.Contains(line, "chooses") {
			fmt.Print(status, " ", line)
		}
	}
	// Output: 0 bic    chooses K = 2
}

// A worker opens the rows of a job with the models and sources of its own program.
func ExampleOpen() {
	job := command.Job{Args: strings.Fields("fit --data earthquakes --select count --family visits --k 2"), Data: "earthquakes"}
	own := command.Host{Models: builtin.Models(builtin.Family{Name: "visits", Of: family.Poisson{}})}
	opened, err := command.Open(context.Background(), own, job)
	if err != nil {
		panic(err)
	}
	fmt.Println(opened.Rows(), opened.Close())
	// Output: 107 <nil>
}

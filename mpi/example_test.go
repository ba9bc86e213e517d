package mpi_test

import (
	"context"
	"fmt"
	"log"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/mpi"
)

// Every process of mpirun -np 4 runs this program, and process 0 prints what all have found.
func Example() {
	group, err := mpi.Init()
	if err != nil {
		log.Fatal(err)
	}
	table, err := data.Load("faithful")
	if err != nil {
		log.Fatal(err)
	}
	x, n, d, err := table.Matrix()
	if err != nil {
		log.Fatal(err)
	}
	rows, err := blocks.FromSlice(x, n, d)
	if err != nil {
		log.Fatal(err)
	}
	res, err := framework.Fit(context.Background(), mixture.Model{Family: normal.Family{}}, rows, framework.Options{K: 10, Group: group})
	if err != nil {
		log.Fatal(err)
	}
	if rank, size := group.Rank(); rank == 0 {
		fmt.Printf("%d components by %d processes\n", res.Shape.K, size)
	}
	if err := group.Finalize(); err != nil {
		log.Fatal(err)
	}
}

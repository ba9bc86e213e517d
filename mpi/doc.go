// Package mpi lets the processes of an MPI job make one fit together: its [Group] is the Group of [framework.Options].
//
//	group, err := mpi.Init()
//	if err != nil {
//		return err
//	}
//	defer group.Finalize()
//	res, err := framework.Fit(ctx, model, rows, framework.Options{K: 20, Group: group})
//
// Every process runs this program, as mpirun -np 4 starts it, and has the same result, to the bits of one process
// alone. The program latent-mpi is the command latent for such jobs.
//
// A pass costs one MPI_Allgather of the partial sums, some kilobytes. Messages are of any size, and leave from memory
// that is not Go's, so that networks which register memory, such as InfiniBand, see it come and go.
//
// All calls of MPI are made by one thread, which the package keeps (MPI_THREAD_FUNNELED). A process that waits for the
// others leaves its core to them after a millisecond, and looks again every 50 µs. MPI's signal handlers are replaced
// by those of Go, which it needs for its own faults.
//
// A process that ends without Finalize, by a panic, os.Exit or a signal, ends the job: mpirun says so and ends the
// others.
//
// It needs a C compiler and Open MPI (Debian: libopenmpi-dev, openmpi-bin). Another MPI is taken by its compiler:
// CC=mpicc go build -tags mpicc.
package mpi

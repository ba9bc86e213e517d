// Package reproduce runs the experiments of the papers that latent implements, and some
// beyond them, and reports whether what the papers state was measured.
//
//	err := reproduce.Run(ctx, reproduce.All(), reproduce.Options{Out: "results", Quick: true})
//
// An [Experiment] is a list of independent jobs and a conclusion from their results:
// figures, tables, and statements of the paper with what was measured. Whether they agree is
// computed from the numbers. Jobs run concurrently, each on one goroutine with its own seeds, so
// that the numbers are the same for any number of workers; results are stored as they come, and
// an interrupted run resumes from them.
//
// experiment.go has the types, run.go the runner, write.go what goes to disk, chart.go
// the figures' style; every other file is an experiment.
package reproduce

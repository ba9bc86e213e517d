// Package beam makes the passes of a fit on a cluster, by a runner of Apache Beam: Prism in this process or beside it,
// or Flink, Spark and others by their job server. The outcome has the bits of [framework.Fit] in one process with the
// same number of shards.
//
// A program names what it can fit in a variable of a package, which every process of it then knows:
//
//	type work = beam.Work[blocks.Rows, *mixture.Parameters, *mixture.Statistics]
//
//	var readings = beam.Register("readings", func(ctx context.Context, path string) (*work, error) {
//		…open the file, make the model…
//	})
//
// The driver calls [Fit]; a worker is the same program and calls [Serve]. A run is one pipeline, whose workers make the
// passes by [framework.Share] until the fit is over: a pass is no job of the runner. Beam moves neither rows nor sums:
// workers open the data themselves, once, and keep them open from pass to pass; parameters and sums are files in a
// folder that all see, made for the run and removed afterwards. What a pass costs, and when another way is better, says
// docs/guides/beam.md.
package beam

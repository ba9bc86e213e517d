package framework

import "context"

// LogModes is logModes for tests of this package from outside it.
func LogModes[B, P any, S Statistics[S]](
	ctx context.Context, m Model[B, P, S], src Source[B], p P, workers int,
) (float64, error) {
	return logModes(ctx, m, src, p, workers)
}

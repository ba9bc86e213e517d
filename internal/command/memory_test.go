package command

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/faults"
	"github.com/latent-go/latent/internal/memory"
)

func TestACommandThatTakesTooMuchMemoryIsEndedInWords(t *testing.T) {
	ctx, leave := context.WithCancelCause(t.Context())
	ticks, looks := make(chan time.Time), 0
	go func() {
		for range 3 {
			ticks <- time.Time{}
		}
	}()
	watchMemory(ctx, ticks, func() float64 { looks++; return float64(looks) * 2e9 }, 5e9, "--memory allows", leave)
	require.Equal(t, 3, looks)
	require.ErrorIs(t, ctx.Err(), context.Canceled, "so that the progress is saved, as by an interrupt")
	require.EqualError(t, withCause(ctx, faults.ErrInterrupted), "out of memory: 6 GB are in use, and --memory allows 5 GB: interrupted")
	require.Equal(t, faults.ErrInterrupted, withCause(t.Context(), faults.ErrInterrupted))

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	watchMemory(ended, nil, nil, 0, "", leave) // it ends with the command
}

// TestWhatIsQuadraticInColumnsIsForeseen: not parallel, as the bound is one of the process.
func TestWhatIsQuadraticInColumnsIsForeseen(t *testing.T) {
	defer memory.SetLimit(0)
	const cols = 20_000
	path := file(t, "wide.csv", strings.Repeat(strings.Repeat("1,2,4,", cols/3)+"1,2\n"+strings.Repeat("2,1,3,", cols/3)+"2,1\n", 2))
	for line, what := range map[string]string{
		"--model factor":             fmt.Sprintf("the covariance matrix of %d columns needs 3.2 GB of memory", cols),
		"--model factor --method em": "the covariance matrix of 20000 columns",
		"--family student-t":         "a covariance matrix needs more rows than columns",
		"--family factor-analysers":  "one class of factor-analysers over 20000 columns",
		"--cov full --missing drop":  "a covariance matrix needs more rows than columns",
	} {
		fails(t, 1, what, "", append([]string{"fit", "--memory", "1GB", "--data", path}, strings.Fields(line)...)...)
	}
}

func TestLimitsOfReading(t *testing.T) {
	path := file(t, "open.csv", "a,b\n1,2\n\"3,4\n"+strings.Repeat("1,2\n", 1<<18))
	fails(t, 1, "line 3: a row of more than 1.05 MB begins there, beyond the limit of rows: do its quotes end? (if the file is right, raise it by --limit)", "", "fit", "--data", path, "--limit", "row=1MiB,cell=2MB")
	fails(t, 1, "quotes do not match", "", "fit", "--data", path)
	for value, part := range map[string]string{"rows=1": "no limit", "row": "is no size", "ratio=-1": "is no size"} {
		fails(t, 2, part, "", "fit", "--limit", value)
	}
	fails(t, 2, "is no size", "", "fit", "--memory", "much")
}

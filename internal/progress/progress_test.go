package progress

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/latent-go/latent/framework"
	_ "github.com/latent-go/latent/internal/fixedseed" // rapid draws the same in every run
	"github.com/latent-go/latent/internal/wording"
)

// TestTimeLeftIsThatOfFitsLikeThoseBefore: where the time of a fit is proportional to its K, the estimate is what is left, to what the
// fits under way have done; it is there neither before fits have ended nor after the last has begun.
func TestTimeLeftIsThatOfFitsLikeThoseBefore(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		most, starts := rapid.IntRange(2, 12).Draw(rt, "K"), rapid.IntRange(1, 5).Draw(rt, "starts")
		sizes := wording.UpTo(1, most)
		clock := time.Unix(0, 0)
		c := newSchedule(sizes, framework.Options{Restarts: starts, Workers: 1})
		c.now, c.began = func() time.Time { return clock }, clock
		whole := starts * most * (most + 1) / 2
		passed, begun := 0, 0
		for _, k := range sizes {
			for start := range starts {
				c.see(k, start)
				c.see(k, start)
				begun++
				text := c.String()
				require.Contains(rt, text, "fit ")
				switch {
				case begun == 1, begun == most*starts:
					require.NotContains(rt, text, "left", text)
				default:
					require.Regexp(rt, `about \d+ (s|min|h) left`, text)
					done := c.weight * float64(begun-1) / float64(begun)
					require.Contains(rt, text, Left(time.Duration(passed)*time.Minute, done/float64(whole)))
				}
				passed += k
				clock = clock.Add(time.Duration(k) * time.Minute)
			}
		}
		require.Equal(rt, whole, passed)
	})
	one := newSchedule(nil, framework.Options{Restarts: 1, Workers: 1})
	one.see(7, 0)
	assert.Empty(t, one.String(), "how long convergence takes, nobody knows")
	found := newSchedule(nil, framework.Options{Restarts: 10, Workers: 2})
	for k := 10; k > 3; k-- { // one start that prunes is one fit
		found.see(k, 0)
	}
	assert.Equal(t, "fit 1 of 10  ", found.String())
}

func TestTimesLeftAreRound(t *testing.T) {
	for _, c := range []struct {
		passed time.Duration
		share  float64
		want   string
	}{
		{time.Second, 0.5, "about 1 s left"}, {31 * time.Second, 0.5, "about 30 s left"}, {time.Minute, 0.1, "about 9 min left"},
		{time.Hour, 0.1, "about 9 h left"}, {time.Hour, 1, "about 0 s left"},
	} {
		assert.Equal(t, c.want, Left(c.passed, c.share))
	}
}

// TestLogsHaveALineEverySoOften of long work, and none of short work.
func TestLogsHaveALineEverySoOften(t *testing.T) {
	var out bytes.Buffer
	line := InLog(slog.New(slog.NewTextHandler(&out, nil)))
	line.Show(func() string { return "soon" })
	assert.Empty(t, out.String())
	line.shown = time.Now().Add(-logged)
	line.Show(func() string { return "later" })
	line.Show(func() string { return "again" })
	assert.Contains(t, out.String(), "msg=later")
	assert.Equal(t, 1, strings.Count(out.String(), "\n"))
	line.Close()
}

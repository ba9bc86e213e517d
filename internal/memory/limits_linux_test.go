package memory_test

import (
	"fmt"
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/memory"
)

// TestLimitsAreSaid in processes that have less.
func TestLimitsAreSaid(t *testing.T) {
	const asked = "LATENT_SAYS_LIMITS"
	if os.Getenv(asked) != "" {
		fmt.Println(memory.Limits())
		return
	}
	require.NoError(t, memory.Limits())
	self, err := os.Executable()
	require.NoError(t, err)
	for set, want := range map[string]string{
		"-n 12":     "the limit of open files (ulimit -n) is 12, and 16 are needed to start: raise it",
		"-d 184320": "the limit of data (ulimit -d) is 180 MiB, and 192 MiB are needed to start: raise it",
	} {
		c := exec.Command("sh", "-c", "ulimit "+set+` && exec "$0" -test.run '^TestLimitsAreSaid$'`, self)
		c.Env = append(os.Environ(), asked+"=1")
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), want)
	}
}

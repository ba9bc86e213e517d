package memory_test

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/internal/memory"
)

func TestSizesAreReadAsTheyAreWritten(t *testing.T) {
	for text, want := range map[string]float64{
		"1": 1, "17": 17, "1e9": 1e9, "800MB": 8e8, "4G": 4e9, "4 GB": 4e9, "1.5GiB": 1.5 * (1 << 30), "3kB": 3e3, "3KiB": 3072, "2TB": 2e12,
	} {
		got, err := memory.ParseSize(text)
		require.NoError(t, err, text)
		require.Equal(t, want, got, text)
	}
	for _, text := range []string{"", "B", "GB", "-1", "0", "nan", "inf", "1XB", "1iB", "1 0", "1e300", "4GBB"} {
		_, err := memory.ParseSize(text)
		require.ErrorContains(t, err, "is no size", text)
	}
	for bytes, want := range map[float64]string{0: "0 bytes", 999: "999 bytes", 1000: "1 kB", 12e9: "12 GB", 8e12: "8 TB", 999.6e6: "1 GB", 1.5e21: "1.5e+03 EB"} {
		require.Equal(t, want, memory.Size(bytes))
	}
}

// TestWhatIsTooLargeIsForeseen with a limit of the process's own, which no other program can change.
func TestWhatIsTooLargeIsForeseen(t *testing.T) {
	require.NoError(t, memory.Need("a number", 8))
	require.Positive(t, memory.Available())
	defer memory.SetLimit(0)
	memory.SetLimit(memory.Used() + 1e8)
	require.LessOrEqual(t, memory.Available(), 1e8)
	require.NoError(t, memory.Need("a table", 1e6))
	err := memory.Need("a matrix of 10⁶ × 10⁶", 8e12)
	var short *memory.Error
	require.ErrorAs(t, err, &short)
	require.Equal(t, 8e12, short.Need)
	require.Regexp(t, `^a matrix of 10⁶ × 10⁶ needs 8 TB of memory, and [0-9.]+ [kM]?B(ytes)? are there$`, err.Error())
	memory.SetLimit(1)
	require.Zero(t, memory.Available())
	memory.SetLimit(0)
	if runtime.GOOS == "linux" {
		require.False(t, math.IsInf(memory.Available(), 1), "/proc/meminfo says it")
		require.Error(t, memory.Need("more than any machine has", 1e18))
	}
}

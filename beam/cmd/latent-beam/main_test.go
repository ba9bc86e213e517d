package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/data/columnar"
)

// mainEnv makes the test's program the command.
const mainEnv = "LATENT_BEAM_TEST_MAIN"

func TestMain(m *testing.M) {
	if os.Getenv(mainEnv) != "" {
		main()
	}
	os.Exit(m.Run())
}

func program(args ...string) *exec.Cmd {
	cmd := exec.Command(os.Args[0], args...)
	cmd.Env = append(os.Environ(), mainEnv+"=1")
	return cmd
}

// The driver is one process and the worker another, which has another folder. Of Parquet files it is told what the columns are.
func TestTheCommandHasTheBitsOfLatent(t *testing.T) {
	dir := t.TempDir()
	var rows strings.Builder
	file, err := os.Create(filepath.Join(dir, "rows.parquet"))
	require.NoError(t, err)
	w, err := columnar.NewParquetWriter(file, []data.Head{{Name: "a"}, {Name: "b"}})
	require.NoError(t, err)
	for i := range 300 {
		a, b := i*i%17+9*(i%2), i*7%13
		_, _ = fmt.Fprintf(&rows, "%d,%d\n", a, b)
		require.NoError(t, w.Write(nil, []float64{float64(a), float64(b)}))
	}
	require.NoError(t, w.Close())
	require.NoError(t, file.Close())
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rows.csv"), []byte("a,b\n"+rows.String()), 0o666))
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	port := l.Addr().(*net.TCPAddr).Port
	require.NoError(t, l.Close())
	worker := program("-worker", fmt.Sprint(port))
	require.NoError(t, worker.Start())
	defer func() {
		require.NoError(t, worker.Process.Signal(os.Interrupt))
		require.NoError(t, worker.Wait())
	}()
	address := fmt.Sprintf("localhost:%d", port)
	require.Eventually(t, func() bool {
		conn, err := net.Dial("tcp", address)
		return err == nil && conn.Close() == nil
	}, 30*time.Second, 20*time.Millisecond)

	t.Chdir(dir) // notes name the file as the command does
	for _, name := range []string{"rows.csv", "rows.parquet"} {
		fit := strings.Fields("fit --data " + name + " --family gaussian --format json --restarts 1 --kmax 3 --max-iter 8 --out m.json")
		var want, got, errs bytes.Buffer
		driver := program(append([]string{"-workers", address, "-dir", dir, "-parts", "4"}, fit...)...)
		driver.Dir, driver.Stdout, driver.Stderr = dir, &got, &errs
		require.NoError(t, driver.Run(), errs.String())
		saved, err := os.ReadFile(filepath.Join(dir, "m.json"))
		require.NoError(t, err)
		fit[len(fit)-1] = "one.json"
		require.Zero(t, command.Run(t.Context(), command.Host{}, fit, nil, &want, &errs), errs.String())
		require.Equal(t, object(t, want.Bytes()), object(t, got.Bytes()))
		require.NotContains(t, errs.String(), "was computed by this process")
		alone, err := os.ReadFile(filepath.Join(dir, "one.json"))
		require.NoError(t, err)
		require.Equal(t, string(alone), string(saved))
	}
	left, err := filepath.Glob(filepath.Join(dir, "latent-beam-*"))
	require.NoError(t, err)
	require.Empty(t, left)
}

func object(t *testing.T, text []byte) (o map[string]any) {
	require.NoError(t, json.Unmarshal(text, &o))
	delete(o, "seconds")
	return o
}

func TestFlagsAreRefusedInWords(t *testing.T) {
	for args, want := range map[string]string{
		"-runner flink fit":     `-runner is "flink": it must be prism or universal`,
		"-runner universal fit": "-runner universal and -endpoint go together",
		"-endpoint host:1 fit":  "-runner universal and -endpoint go together",
		"-worker 99999":         "-worker is 99999: a port is from 1 to 65535",
		"-worker 5000 fit":      "-worker takes no command",
		"-parts 0 fit":          "-parts must be at least 1, and -threads not negative",
		"-parallelism 2 fit":    "-parallelism must not be negative, and is of -runner universal alone",
	} {
		out, err := program(strings.Fields(args)...).CombinedOutput()
		require.Error(t, err)
		require.Contains(t, string(out), want)
	}
}

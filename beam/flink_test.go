package beam

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"testing"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
)

// flinkEnv has the Java classpath of Flink's job server (testdata/flink).
const flinkEnv = "LATENT_FLINK_CLASSPATH"

// flink starts a job server with a mini cluster.
func flink(t testing.TB) (endpoint string) {
	classpath := os.Getenv(flinkEnv)
	if classpath == "" {
		t.Skipf("%s is not set: .ci/run sets it where Java and Maven are at hand", flinkEnv)
	}
	port := freePort(t)
	cmd := exec.Command("java", "-Xmx1g", "-cp", classpath, "org.apache.beam.runners.flink.FlinkJobServerDriver", "--job-host=localhost",
		fmt.Sprintf("--job-port=%d", port), "--artifact-port=0", "--expansion-port=0", "--flink-master=[local]", "--artifacts-dir="+t.TempDir())
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	endpoint = fmt.Sprintf("localhost:%d", port)
	for begin := time.Now(); answers(endpoint) != nil; {
		require.Less(t, time.Since(begin), time.Minute, "the job server does not start")
		time.Sleep(100 * time.Millisecond)
	}
	return endpoint
}

func freePort(t testing.TB) int {
	l, err := net.Listen("tcp", "localhost:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// One worker is killed in the middle of the second pass, and another started in its place.
func TestFlinkHasTheBitsOfOneProcessAlsoWhenAWorkerDies(t *testing.T) {
	endpoint := flink(t)
	path := table(t, 3000, 4)
	o := framework.Options{K: 3, Seed: 1, MaxIterations: 3, NoMoves: true}
	want := alone(t, path, o)
	port := freePort(t)
	address, process := workerAt(t, port)
	onFlink, err := Portable(t.Context(), endpoint, address, 2)
	require.NoError(t, err)
	defer onFlink.Close()
	s := fileSpec{Path: path, Mark: t.TempDir() + "/mark"}
	runs := 0
	r := RunnerFunc(func(ctx context.Context, p *sdk.Pipeline, tasks int) error {
		runs++
		began := time.Now()
		err := onFlink.Run(ctx, p, tasks)
		t.Logf("pipeline %d: %v: %v", runs, time.Since(began), err)
		return err
	})
	o.Recorder = inSecondPass(t, s.Mark, func() {
		_ = process.Kill()
		_, _ = process.Wait()
		workerAt(t, port)
	})
	got, err := on(t, "", s, o, Options{Runner: r, Parts: 2})
	require.NoError(t, err)
	require.Equal(t, want.Parameters, got.Parameters)
	require.Equal(t, want.Trace, got.Trace)
	require.Equal(t, 2, runs, "one pipeline, and one in its place")
}

// BenchmarkFlink is what a pass costs beyond the computing, after the first, for which the job starts.
func BenchmarkFlink(b *testing.B) {
	endpoint := flink(b)
	address, _ := worker(b)
	r, err := Portable(b.Context(), endpoint, address, 1)
	require.NoError(b, err)
	defer r.Close()
	benchmarkPasses(b, r, 30)
}

package beam

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	sdk "github.com/apache/beam/sdks/v2/go/pkg/beam"
	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/tier"
)

// A standalone is a cluster of Flink: a JobManager, TaskManagers of one slot each, and Beam's job server, all of them
// processes of this host.
type standalone struct {
	t                    testing.TB
	dir, rest, jobServer string
	managers             []*exec.Cmd
	started              []*os.Process // all that has been
}

// conf takes the ports of the JobManager and of its REST. Sizes of memory are what Flink's scripts would compute.
const conf = `jobmanager.rpc.address: localhost
jobmanager.rpc.port: %d
rest.address: localhost
rest.bind-address: localhost
rest.port: %d
jobmanager.bind-host: localhost
jobmanager.memory.process.size: 1024m
taskmanager.bind-host: localhost
taskmanager.host: localhost
taskmanager.numberOfTaskSlots: 1
taskmanager.cpu.cores: 1.0
taskmanager.memory.framework.heap.size: 64m
taskmanager.memory.framework.off-heap.size: 64m
taskmanager.memory.task.heap.size: 128m
taskmanager.memory.task.off-heap.size: 32m
taskmanager.memory.managed.size: 64m
taskmanager.memory.network.min: 32m
taskmanager.memory.network.max: 32m
taskmanager.memory.jvm-metaspace.size: 256m
taskmanager.memory.jvm-overhead.min: 64m
taskmanager.memory.jvm-overhead.max: 64m
heartbeat.interval: 1000
heartbeat.timeout: 10000
`

func newStandalone(t testing.TB, managers int) *standalone {
	c := &standalone{t: t, dir: t.TempDir()}
	rest, jobs := freePort(t), freePort(t)
	c.rest, c.jobServer = fmt.Sprintf("localhost:%d", rest), fmt.Sprintf("localhost:%d", jobs)
	text := fmt.Sprintf(conf, freePort(t), rest)
	require.NoError(t, os.WriteFile(filepath.Join(c.dir, "flink-conf.yaml"), []byte(text), 0o666))
	c.java("org.apache.flink.runtime.entrypoint.StandaloneSessionClusterEntrypoint", "--configDir", c.dir)
	for range managers {
		c.addManager()
	}
	c.java("org.apache.beam.runners.flink.FlinkJobServerDriver", "--job-host=localhost", fmt.Sprintf("--job-port=%d", jobs),
		"--artifact-port=0", "--expansion-port=0", "--flink-master="+c.rest, "--artifacts-dir="+t.TempDir())
	c.await(managers)
	require.Eventually(t, func() bool { return answers(c.jobServer) == nil }, 2*time.Minute, 100*time.Millisecond)
	return c
}

// java starts a process, which ends with the test.
func (c *standalone) java(args ...string) *exec.Cmd {
	classpath := os.Getenv(flinkEnv)
	if classpath == "" {
		c.t.Skipf("%s is not set: .ci/nightly sets it where Java and Maven are at hand", flinkEnv)
	}
	flags := []string{"-Xmx512m"}
	for _, name := range strings.Fields("lang net io nio lang.reflect text time util util.concurrent util.concurrent.atomic " +
		"util.concurrent.locks") {
		flags = append(flags, "--add-opens=java.base/java."+name+"=ALL-UNNAMED") // as Flink's own scripts do
	}
	cmd := exec.Command("java", append(append(flags, "-cp", classpath), args...)...)
	require.NoError(c.t, cmd.Start())
	c.started = append(c.started, cmd.Process)
	c.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	return cmd
}

func (c *standalone) addManager() {
	c.managers = append(c.managers, c.java("org.apache.flink.runtime.taskexecutor.TaskManagerRunner", "--configDir", c.dir))
}

// killManager kills the first TaskManager, and starts another.
func (c *standalone) killManager() {
	_ = c.managers[0].Process.Kill()
	c.managers = c.managers[1:]
	c.addManager()
}

// get reads what Flink's REST says.
func (c *standalone) get(path string, v any) error {
	r, err := http.Get("http://" + c.rest + path)
	if err != nil {
		return err
	}
	defer r.Body.Close()
	return json.NewDecoder(r.Body).Decode(v)
}

// await waits until the cluster has so many TaskManagers.
func (c *standalone) await(managers int) {
	require.Eventually(c.t, func() bool {
		var is struct{ TaskManagers int }
		return c.get("/overview", &is) == nil && is.TaskManagers == managers
	}, 2*time.Minute, 100*time.Millisecond)
}

// parallelism is that of every job, as Flink has it.
func (c *standalone) parallelism() (of []int) {
	var all struct{ Jobs []struct{ ID string } }
	require.NoError(c.t, c.get("/jobs", &all))
	for _, j := range all.Jobs {
		var job struct {
			Config struct {
				Parallelism int `json:"job-parallelism"`
			} `json:"execution-config"`
		}
		require.NoError(c.t, c.get("/jobs/"+j.ID+"/config", &job))
		of = append(of, job.Config.Parallelism)
	}
	return of
}

// Two TaskManagers of one host have one worker process, whose workers have the same ID. What dies, dies in the middle of
// the second pass.
func TestAClusterOfFlinkHasTheBitsOfOneProcessWhateverDies(t *testing.T) {
	tier.Leave(t, "TestFlinkHasTheBitsOfOneProcessAlsoWhenAWorkerDies, TestWorkersOfOneIDAreToldApartByTheirTaskManagers")
	c := newStandalone(t, 2)
	path := table(t, 3000, 4)
	o := framework.Options{K: 3, Seed: 1, MaxIterations: 3, NoMoves: true}
	want := alone(t, path, o)
	port := freePort(t)
	address, process := workerAt(t, port)
	replaceWorker := func() {
		_ = process.Kill()
		_, _ = process.Wait()
		_, process = workerAt(t, port)
	}
	onFlink, err := Portable(t.Context(), c.jobServer, address, 0)
	require.NoError(t, err)
	defer onFlink.Close()
	for _, dies := range []struct {
		what string
		do   func()
	}{
		{"nothing", func() {}},
		{"a TaskManager", c.killManager},
		{"the worker", replaceWorker},
		{"both", func() { c.killManager(); replaceWorker() }},
		// Its heartbeats end, and the connections to it do not.
		{"the heartbeat", func() {
			_ = c.managers[0].Process.Signal(syscall.SIGSTOP)
			c.await(1)
			c.killManager()
		}},
	} {
		t.Run(dies.what, func(t *testing.T) {
			s := fileSpec{Path: path, Mark: filepath.Join(t.TempDir(), "mark")}
			runs, before := 0, len(c.parallelism())
			r := RunnerFunc(func(ctx context.Context, p *sdk.Pipeline, tasks int) error {
				runs++
				began := time.Now()
				err := onFlink.Run(ctx, p, tasks)
				t.Logf("pipeline %d, %d tasks: %v: %v", runs, tasks, time.Since(began), err)
				return err
			})
			o.Recorder = inSecondPass(t, s.Mark, dies.do)
			got, err := on(t, "", s, o, Options{Runner: r, Parts: 2})
			require.NoError(t, err)
			require.Equal(t, want.Parameters, got.Parameters)
			require.Equal(t, want.Trace, got.Trace)
			asked := c.parallelism()
			t.Logf("parallelism by REST: %v", asked)
			require.Equal(t, slices.Repeat([]int{2}, len(asked)), asked)
			require.Greater(t, len(asked), before)
			require.LessOrEqual(t, len(asked), before+runs, "a fit may end before its last pipeline has become a job")
			c.await(2)
		})
	}
}

// BenchmarkAClusterOfFlink is what a pass costs beyond the computing, with the processor time of Flink and its job
// server beside that of the driver.
func BenchmarkAClusterOfFlink(b *testing.B) {
	c := newStandalone(b, 2)
	address, _ := worker(b)
	r, err := Portable(b.Context(), c.jobServer, address, 0)
	require.NoError(b, err)
	defer r.Close()
	benchmarkPasses(b, r, 30, c.started...)
}

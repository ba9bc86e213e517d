// Package job starts MPI jobs of a test's own binary, for tests.
package job

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

const variable = "LATENT_MPI_TASK"

// Main is TestMain of a package whose tests start jobs: a process of a job does the task that the test has named, with
// the arguments that it has given, and returns its exit status.
func Main(m *testing.M, tasks map[string]func() int) {
	if task := tasks[os.Getenv(variable)]; task != nil {
		os.Exit(task())
	}
	os.Exit(m.Run())
}

// A Job is what mpirun said.
type Job struct {
	Status      int
	Out, Errors string
	Took        time.Duration
}

// A Part is some of the processes of a job: their number, what mpirun is told of them and the arguments.
type Part struct {
	Processes int
	Options   []string
	Arguments []string
}

// Run makes a job of processes that do a task. The test is skipped where there is no mpirun.
func Run(t *testing.T, task string, parts ...Part) Job {
	t.Helper()
	return Start(t, task, parts...)()
}

// Start is Run, and returns at once; wait returns when the job has ended.
func Start(t *testing.T, task string, parts ...Part) (wait func() Job) {
	t.Helper()
	path, err := exec.LookPath("mpirun")
	if err != nil {
		t.Skip("there is no mpirun (Debian: openmpi-bin)")
	}
	self, err := os.Executable()
	require.NoError(t, err)
	args := []string{"--oversubscribe"}
	for i, p := range parts {
		if i > 0 {
			args = append(args, ":")
		}
		args = append(append(args, "-np", fmt.Sprint(p.Processes)), p.Options...)
		args = append(append(args, "-x", variable, self), p.Arguments...)
	}
	return begin(t, append([]string{path}, args...), task)
}

// Command runs a command line that starts a job, such as one with several machines.
func Command(t *testing.T, task string, line ...string) Job {
	t.Helper()
	return begin(t, line, task)()
}

func begin(t *testing.T, line []string, task string) (wait func() Job) {
	t.Helper()
	const longest = 5 * time.Minute // a job that hangs fails its test
	ctx, cancel := context.WithTimeout(t.Context(), longest)
	t.Cleanup(cancel)
	command := exec.CommandContext(ctx, line[0], line[1:]...)
	command.Env = append(os.Environ(), variable+"="+task, "OMPI_ALLOW_RUN_AS_ROOT=1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1")
	command.Cancel = func() error { return command.Process.Signal(os.Interrupt) }
	command.WaitDelay = 10 * time.Second
	var out, errs bytes.Buffer
	command.Stdout, command.Stderr = &out, &errs
	began := time.Now()
	require.NoError(t, command.Start())
	return func() Job {
		_ = command.Wait()
		require.NoError(t, ctx.Err(), "%s hangs: %s", strings.Join(line, " "), errs.String())
		return Job{command.ProcessState.ExitCode(), out.String(), errs.String(), time.Since(began)}
	}
}

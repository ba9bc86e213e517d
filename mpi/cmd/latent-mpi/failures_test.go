package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/mpi/internal/job"
)

// children are the processes of a job of this test's binary, by their arguments.
func children(t *testing.T, argument string) (list []int) {
	t.Helper()
	paths, err := filepath.Glob("/proc/[0-9]*/cmdline")
	require.NoError(t, err)
	self, err := os.Executable()
	require.NoError(t, err)
	for _, path := range paths {
		text, _ := os.ReadFile(path) // it may have ended
		if args := strings.Split(string(text), "\x00"); args[0] == self && strings.Contains(string(text), argument) {
			pid, err := strconv.Atoi(strings.Split(path, "/")[2])
			require.NoError(t, err)
			list = append(list, pid)
		}
	}
	return list
}

// The process that is killed, in the middle of a fit, may be any; its progress is in the file, and another number of processes goes on
// from there.
func TestAKilledProcessEndsTheJobAndTheCheckpointGoesOn(t *testing.T) {
	path := filepath.Join(t.TempDir(), "progress")
	line := "fit --data iris --method em --k 3 --format json --tol 1e-300 --restarts 200 --checkpoint " + path
	alone := timeless(t, written(command.Host{}, line), line)
	part := job.Part{Processes: 3, Arguments: strings.Fields(line)}
	wait := job.Start(t, "latent-mpi", part)
	for began := time.Now(); ; time.Sleep(time.Second / 50) {
		if _, err := os.Stat(path); err == nil {
			break
		}
		require.Less(t, time.Since(began), time.Minute, "no checkpoint is written")
	}
	processes := children(t, path)
	require.Len(t, processes, 3)
	require.NoError(t, syscall.Kill(processes[1], syscall.SIGKILL))
	killed := time.Now()
	j := wait()
	require.Less(t, time.Since(killed), 10*time.Second)
	require.NotZero(t, j.Status)
	require.Contains(t, j.Errors, "signal 9 (Killed)")
	require.Empty(t, j.Out)
	require.Eventually(t, func() bool { return len(children(t, path)) == 0 }, 10*time.Second, time.Second/50, "processes are left")

	part.Processes = 2
	j = job.Run(t, "latent-mpi", part)
	require.Zero(t, j.Status, j.Errors)
	require.Equal(t, alone, timeless(t, j.Out, line))
	require.NoFileExists(t, path)
}

// Processes that cannot have the same result end with one error, and write nothing.
func TestProcessesThatDifferEndWithAnError(t *testing.T) {
	here, there, nowhere := t.TempDir(), t.TempDir(), t.TempDir()
	var one, other strings.Builder
	for i := range 400 {
		fmt.Fprintf(&one, "%d,%d\n", i*i%37, i%11)
		fmt.Fprintf(&other, "%d,%d\n", i*i%37, i%11+i/399) // the last cell differs
	}
	for dir, text := range map[string]string{here: one.String(), there: other.String()} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, "t.csv"), []byte("x,y\n"+text), 0o600))
	}
	model := filepath.Join(nowhere, "model.json")
	at := func(dir string, more ...string) job.Part {
		return job.Part{Processes: 1, Options: []string{"--wdir", dir}, Arguments: append([]string{"fit", "--data", "t.csv", "--out", model}, more...)}
	}
	kernels := at(here)
	kernels.Options = append(kernels.Options, "-x", "GODEBUG=cpu.avx512f=off,cpu.avx2=off")
	failing := map[string][]job.Part{
		"the parameters of processes 0 and 1 differ: the processes read different rows": {at(here), at(there)},
		"process 1: t.csv: no such file":                                                {at(here), at(nowhere)},
		"process 1 was started with other arguments than process 0":                     {at(here, "--k", "2"), at(here, "--k", "3")},
		"t.csv: no such file": {at(nowhere), at(here)},
	}
	if portable(t) {
		failing["processes 0 and 1 differ in the machine"] = []job.Part{at(here), kernels}
	}
	for want, parts := range failing {
		j := job.Run(t, "latent-mpi", parts...)
		require.NotZero(t, j.Status, want)
		require.Contains(t, j.Errors, want)
		require.Equal(t, 1, strings.Count(j.Errors, "latent-mpi: "), "one process says it: %s", j.Errors)
		require.Empty(t, j.Out)
		require.NoFileExists(t, model)
		require.Less(t, j.Took, 30*time.Second)
	}
	for _, method := range []string{"em --start random", "em --start rows", "vb", "cvb0 --family categorical"} { // whatever a start takes of the rows
		more := strings.Fields("--restarts 1 --k 2 --method " + method)
		j := job.Run(t, "latent-mpi", at(here, more...), at(there, more...))
		require.NotZero(t, j.Status, method)
		require.Contains(t, j.Errors, "differ", method)
	}
}

// portable says whether the processor has kernels that GODEBUG can turn off.
func portable(t *testing.T) bool {
	text, err := os.ReadFile("/proc/cpuinfo")
	return err == nil && strings.Contains(string(text), " avx2 ")
}

// The processes of one machine have equal parts of --memory.
func TestProcessesOfAMachineShareItsMemory(t *testing.T) {
	path := filepath.Join(t.TempDir(), "wide.csv")
	require.NoError(t, os.WriteFile(path, []byte(strings.Repeat(strings.Repeat("1,2,4,", 3000)+"1,2\n"+strings.Repeat("2,1,3,", 3000)+"2,1\n", 2)), 0o600))
	args := strings.Fields("fit --memory 1.6GB --model factor --data " + path)
	j := job.Run(t, "latent-mpi", job.Part{Processes: 4, Arguments: args})
	require.Equal(t, 1, j.Status)
	require.Regexp(t, "latent-mpi: .*the covariance matrix of 9002 columns needs 648 MB of memory, and [0-9.]+ MB are there", j.Errors)
}

// Two machines that a network joins: processes in network namespaces of their own, and TCP between them.
func TestProcessesOnTwoMachinesHaveTheBitsOfOne(t *testing.T) {
	script := filepath.Join(t.TempDir(), "two-machines")
	require.NoError(t, os.WriteFile(script, []byte(twoMachines), 0o700))
	if out, err := exec.Command(script, "begin").CombinedOutput(); err != nil {
		t.Skipf("network namespaces cannot be made here: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command(script, "end").Run() })
	self, err := os.Executable()
	require.NoError(t, err)
	line := "fit --format json --restarts 1"
	j := job.Command(t, "latent-mpi", append([]string{script, "run", self}, strings.Fields(line)...)...)
	require.Zero(t, j.Status, j.Errors)
	require.Equal(t, timeless(t, written(command.Host{}, line), line), timeless(t, j.Out, line))
	sent, err := exec.Command(script, "sent").Output()
	require.NoError(t, err)
	bytes, err := strconv.Atoi(strings.TrimSpace(string(sent)))
	require.NoError(t, err)
	require.Greater(t, bytes, 100_000, "the sums went over the network")
}

// twoMachines makes two namespaces, and runs a command in both; mpirun starts the second process by this script, in place of ssh.
const twoMachines = `#!/bin/sh
set -e
one=latent1 two=latent2 net=10.77.31
case $1 in
begin)
	command -v ip unshare mpirun >/dev/null
	ip netns add $one
	ip netns add $two
	ip link add $one netns $one type veth peer name $two netns $two
	ip -n $one addr add $net.1/24 dev $one
	ip -n $two addr add $net.2/24 dev $two
	for name in $one $two; do ip -n $name link set $name up; ip -n $name link set lo up; done
	;;
run)
	shift
	exec ip netns exec $one unshare --uts sh -c 'hostname $0; exec "$@"' $one mpirun --host $net.1,$net.2 -np 2 --mca plm_rsh_agent "$(realpath "$0")" \
		--mca btl tcp,self --mca pml ob1 --mca oob_tcp_if_include $net.0/24 --mca btl_tcp_if_include $net.0/24 -x LATENT_MPI_TASK "$@"
	;;
sent)
	ip netns exec $one cat /sys/class/net/$one/statistics/tx_bytes
	;;
end)
	ip netns del $one
	ip netns del $two
	;;
*) # HOST COMMAND
	shift
	exec ip netns exec $two unshare --uts sh -c "hostname $two; $*"
	;;
esac
`

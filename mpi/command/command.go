// Package command is the command for the processes of an MPI job, with models of one's own: what latent-mpi does.
package command

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/mpi"
)

// Main runs the command with the arguments of the process, in all processes of a job together, and returns the exit
// status. The host has a Name, and neither Group nor Passes. It is called once.
func Main(h command.Host) (status int) {
	group, err := mpi.Init()
	if err == nil {
		h.Group = group
		if h.Local, err = settle(group); err == nil {
			status = command.Main(h)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, h.Name+":", err)
		return 1
	}
	ended := make(chan error, 1)
	go func() { ended <- group.Finalize() }()
	select {
	case err = <-ended:
	case <-time.After(2 * time.Second): // a command that was left in the middle of a step: its end is that of the job
		return max(1, status)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, h.Name+":", err)
		return max(1, status)
	}
	return status
}

// settle finds how many processes there are on this machine, and leaves this one its part of the cores: all of them,
// where it is the only one that may run there.
func settle(group *mpi.Group) (local int, err error) {
	name, err := os.Hostname()
	if err != nil {
		return 0, err
	}
	machine := name + "\n"
	all, err := group.Gather(context.Background(), []byte(machine+cores()))
	if err != nil {
		return 0, err
	}
	same := 0
	for _, one := range all {
		if bytes.HasPrefix(one, []byte(machine)) {
			local++
		}
		if string(one) == machine+cores() {
			same++
		}
	}
	if os.Getenv("GOMAXPROCS") == "" {
		runtime.GOMAXPROCS(max(1, runtime.GOMAXPROCS(0)/same))
	}
	return local, nil
}

// cores are those that the process may run on, as Linux writes them, and empty elsewhere.
func cores() string {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return ""
	}
	_, after, _ := strings.Cut(string(status), "Cpus_allowed:")
	line, _, _ := strings.Cut(after, "\n")
	return strings.TrimSpace(line)
}

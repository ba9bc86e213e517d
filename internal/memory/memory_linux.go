package memory

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"path"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// system is what the kernel can give without swapping, within the process's own limit of addresses (ulimit -v).
func system() float64 {
	left := math.Inf(1)
	if kilobytes, ok := field("/proc/meminfo", "MemAvailable:"); ok {
		left = 1024 * kilobytes
	}
	var addresses unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_AS, &addresses); err == nil && addresses.Cur < math.MaxInt64 {
		if kilobytes, ok := field("/proc/self/status", "VmSize:"); ok {
			// the rest is lost between what is in use
			left = math.Min(left, math.Max(0, 0.7*(float64(addresses.Cur)-1024*kilobytes)))
		}
	}
	return left
}

// Limits says which limit of the process is below what it starts with, as the runtime of Go has no more than a trace
// for a thread or a file that it cannot have. Of addresses and data most is for threads; the rest begins at what fits
// small tables.
func Limits() error {
	for _, l := range []struct {
		resource int
		least    uint64
		name     string
	}{
		{unix.RLIMIT_AS, 1536 << 20, "addresses (ulimit -v)"},
		{unix.RLIMIT_DATA, 192 << 20, "data (ulimit -d)"},
	} {
		var r unix.Rlimit
		if err := unix.Getrlimit(l.resource, &r); err == nil && r.Cur < l.least {
			return fmt.Errorf("the limit of %s is %d MiB, and %d MiB are needed to start: raise it",
				l.name, r.Cur>>20, l.least>>20)
		}
	}
	const files = 16
	var r unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &r); err == nil && r.Cur < files {
		return fmt.Errorf("the limit of open files (ulimit -n) is %d, and %d are needed to start: raise it", r.Cur, files)
	}
	return nil
}

// controlGroup is what the limits of the process's group and of those around it leave, in either version of control
// groups. The files that a group has in memory can be dropped, and do not count.
func controlGroup() float64 {
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return math.Inf(1)
	}
	left := math.Inf(1)
	for line := range strings.Lines(string(groups)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case parts[1] == "":
			left = math.Min(left, within("/sys/fs/cgroup", parts[2], "memory.max", "memory.current", "file"))
		case parts[1] == "memory":
			left = math.Min(left,
				within("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes", "memory.usage_in_bytes", "total_cache"))
		}
	}
	return left
}

// within goes from a group outwards. In a container the group may be seen as the root, whatever it is called.
func within(root, group, most, used, cached string) float64 {
	left := math.Inf(1)
	for {
		dir := path.Join(root, group)
		limit, limited := number(path.Join(dir, most))
		now, ok := number(path.Join(dir, used))
		if limited && ok {
			files, _ := field(path.Join(dir, "memory.stat"), cached)
			left = math.Min(left, math.Max(0, limit-now+files))
		}
		if group == "/" || group == "." || group == "" {
			return left
		}
		group = path.Dir(group)
	}
}

// number is that in a file of one; without one, as where it is "max", ok is false.
func number(name string) (value float64, ok bool) {
	text, err := os.ReadFile(name)
	if err != nil {
		return 0, false
	}
	value, err = strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
	return value, err == nil
}

// field is the number behind a word that begins a line.
func field(name, word string) (value float64, ok bool) {
	f, err := os.Open(name)
	if err != nil {
		return 0, false
	}
	defer f.Close() //nolint:errcheck // nothing was written
	for lines := bufio.NewScanner(f); lines.Scan(); {
		if parts := strings.Fields(lines.Text()); len(parts) > 1 && parts[0] == word {
			value, err = strconv.ParseFloat(parts[1], 64)
			return value, err == nil
		}
	}
	return 0, false
}

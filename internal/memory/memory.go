// Package memory says how much memory there is, and refuses work that is known to need more.
package memory

import (
	"fmt"
	"math"
	"runtime/metrics"
	"strconv"
	"strings"
	"sync/atomic"
)

// An Error says that there is too little memory for something.
type Error struct {
	What        string  // that needs it
	Need, There float64 // bytes
}

func (e *Error) Error() string {
	return fmt.Sprintf("%s needs %s of memory, and %s are there", e.What, Size(e.Need), Size(e.There))
}

// Need returns an [Error] where something that takes so many bytes is beyond the memory that is left. The slack of the
// runtime is not counted.
func Need(what string, bytes float64) error {
	const (
		hardly  = 1 << 28 // what takes so little is not worth a look at the system
		nothing = 1 << 20 // nor at the limit
	)
	if bytes < nothing || bytes < hardly && limit.Load() == 0 {
		return nil
	}
	if there := Available(); bytes > there {
		return &Error{what, bytes, there}
	}
	return nil
}

// limit is in bytes; 0 stands for none.
var limit atomic.Uint64

// SetLimit bounds what the process may use; 0 takes the bound away.
func SetLimit(bytes float64) { limit.Store(uint64(bytes)) }

// neighbours is how many processes share what the system has, less one.
var neighbours atomic.Int64

// SetNeighbours has n processes, of which this is one, share what the system and the control group leave, in equal
// parts.
func SetNeighbours(n int) { neighbours.Store(int64(n - 1)) }

// Available is how many bytes the process may still take: what the system, the control group and [SetLimit] leave; +Inf
// where none of them is known.
func Available() float64 {
	left := math.Min(system(), controlGroup()) / float64(1+neighbours.Load())
	if most := limit.Load(); most > 0 {
		left = math.Min(left, math.Max(0, float64(most)-Used()))
	}
	return left
}

// Used is how many bytes the Go runtime has from the system and has not given back.
func Used() float64 {
	samples := []metrics.Sample{{Name: "/memory/classes/total:bytes"}, {Name: "/memory/classes/heap/released:bytes"}}
	metrics.Read(samples)
	return float64(samples[0].Value.Uint64()) - float64(samples[1].Value.Uint64())
}

var prefixes = []string{"", "k", "M", "G", "T", "P", "E"}

// Size is a number of bytes for people, such as 12 GB, in powers of 1000.
func Size(bytes float64) string {
	i := 0
	for bytes >= 999.5 && i < len(prefixes)-1 {
		bytes /= 1000
		i++
	}
	if i == 0 {
		return fmt.Sprintf("%.0f bytes", bytes)
	}
	return fmt.Sprintf("%.3g %sB", bytes, prefixes[i])
}

// ParseSize reads a positive number of bytes such as 800MB, 1.5 GiB, 4G or 1e9.
func ParseSize(text string) (bytes float64, err error) {
	rest, unit, base := strings.TrimSuffix(strings.TrimSpace(text), "B"), 1., 1000.
	if cut, ok := strings.CutSuffix(rest, "i"); ok {
		rest, base = cut, 1024
	}
	for i, prefix := range prefixes[1:] {
		if cut, ok := strings.CutSuffix(strings.ToUpper(rest), strings.ToUpper(prefix)); ok {
			rest, unit = cut, math.Pow(base, float64(i+1))
			break
		}
	}
	number, err := strconv.ParseFloat(strings.TrimSpace(rest), 64)
	if bytes = number * unit; err != nil || !(bytes >= 1 && bytes <= math.MaxInt64/2) || base == 1024 && unit == 1 {
		return 0, fmt.Errorf("%q is no size: write a number of bytes, such as 800MB, 4GB or 1.5GiB", text)
	}
	return bytes, nil
}

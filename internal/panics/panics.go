// Package panics carries a panic from one goroutine to another, or into a report, with the stack
// of the code that panicked.
package panics

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
)

// A Panic is the value of a panic and where it came from. Raised again, it prints both.
type Panic struct {
	Value  any
	Frames []runtime.Frame // of the goroutine that panicked, the innermost first, without the runtime's own
}

// Of is the panic that a deferred function has recovered, nil for nil. Called there and then, it still
// sees the stack. One from another goroutine is not changed.
func Of(recovered any) *Panic {
	if recovered == nil {
		return nil
	}
	if p, ok := recovered.(*Panic); ok {
		return p
	}
	callers := make([]uintptr, 256)
	frames := runtime.CallersFrames(callers[:runtime.Callers(1, callers)])
	p := &Panic{Value: recovered}
	begun := false
	for more := true; more; {
		var f runtime.Frame
		f, more = frames.Next()
		switch {
		case f.Function == "runtime.gopanic" && !begun:
			begun = true // before it is the deferred function
		case begun && !strings.HasPrefix(f.Function, "runtime."):
			p.Frames = append(p.Frames, f)
		}
	}
	return p
}

// Error is the value of the panic and its stack.
func (p *Panic) Error() string { return fmt.Sprintf("%v\n\n%s", p.Value, Stack(p.Frames)) }

// ErrFault is the error of a read of memory that is not there any more: the pages of a mapped file that was made
// shorter. Such a fault is a panic where [runtime/debug.SetPanicOnFault] has made it one, and else ends the program.
var ErrFault = errors.New("a file that is mapped into memory was changed, or made shorter, while it was read")

// Error is [ErrFault] where that is what a deferred function has recovered, else [Of] it; nil for nil.
func Error(recovered any) error {
	if recovered == nil {
		return nil
	}
	value := recovered
	if p, ok := recovered.(*Panic); ok {
		value = p.Value
	}
	if _, fault := value.(interface{ Addr() uintptr }); fault {
		return ErrFault
	}
	return Of(recovered)
}

// Unwrap is the value of the panic where that is an error.
func (p *Panic) Unwrap() error {
	err, _ := p.Value.(error)
	return err
}

// Stack lists frames as a traceback does.
func Stack(frames []runtime.Frame) string {
	var list strings.Builder
	for _, f := range frames {
		fmt.Fprintf(&list, "%s\n\t%s:%d\n", f.Function, f.File, f.Line)
	}
	return list.String()
}

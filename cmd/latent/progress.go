package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/latent-go/latent/framework"
)

// A statusLine is one line of a terminal that is written anew, ten times a second. On
// anything but a terminal it shows nothing.
type statusLine struct {
	terminal *os.File // nil: nothing to show

	mu      sync.Mutex // Select makes several fits at a time
	shown   time.Time
	written bool
}

func newStatusLine(w io.Writer) *statusLine {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &statusLine{terminal: f}
	}
	return &statusLine{}
}

const eraseLine = "\r\x1b[K"

// show writes the line if it is time to, or at once.
func (l *statusLine) show(atOnce bool, line func() string) {
	if l.terminal == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := time.Now(); atOnce || now.Sub(l.shown) >= time.Second/10 {
		l.shown, l.written = now, true
		_, _ = l.terminal.WriteString(eraseLine + line())
	}
}

// recorder shows iterations. It never ends a fit: progress that cannot be shown is no error.
func (l *statusLine) recorder(criterion string) framework.Recorder {
	return framework.RecorderFunc(func(e framework.Event) error {
		l.show(false, func() string {
			return fmt.Sprintf("start %d  iteration %d  K %d  %s %s", e.Restart+1, e.Iteration, e.K, criterion, digits(e.Value))
		})
		return nil
	})
}

// close wipes the line.
func (l *statusLine) close() {
	if l.written {
		l.erase()
	}
}

func (l *statusLine) erase() {
	if l.terminal != nil {
		_, _ = l.terminal.WriteString(eraseLine)
	}
}

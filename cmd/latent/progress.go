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

// progress shows the latest iteration on one line of a terminal, ten times a second.
// On anything but a terminal it shows nothing.
type progress struct {
	w         io.Writer // nil: nothing to show
	criterion string

	mu      sync.Mutex // Select makes several fits at a time
	shown   time.Time
	written bool
}

func newProgress(w io.Writer, criterion string) *progress {
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		return &progress{w: f, criterion: criterion}
	}
	return &progress{}
}

const eraseLine = "\r\x1b[K"

// Record never ends a fit: progress that cannot be shown is no error.
func (p *progress) Record(e framework.Event) error {
	if p.w == nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if now := time.Now(); now.Sub(p.shown) >= time.Second/10 {
		p.shown, p.written = now, true
		_, _ = fmt.Fprintf(p.w, eraseLine+"start %d  iteration %d  K %d  %s %s", e.Restart+1, e.Iteration, e.K, p.criterion, digits(e.Value))
	}
	return nil
}

// close wipes the line.
func (p *progress) close() {
	if p.written {
		_, _ = io.WriteString(p.w, eraseLine)
	}
}

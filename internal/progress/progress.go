// Package progress says how far long work has come, such as fits and the reading of tables, and when it may end.
package progress

import (
	"fmt"
	"io"
	"log/slog"
	"os"
	"runtime"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/wording"
)

// A Line says how far long work has come: on one line of a terminal that is written anew, ten times a second, or
// in a log, every ten seconds. Elsewhere it shows nothing.
type Line struct {
	terminal *os.File     // nil: none
	log      *slog.Logger // nil: none

	mu      sync.Mutex // Select makes several fits at a time
	shown   time.Time
	written bool
}

// On is a line for work that begins now, on w if that is a terminal. Short work needs none.
func On(w io.Writer) *Line {
	line := &Line{shown: time.Now()}
	if f, ok := w.(*os.File); ok && term.IsTerminal(int(f.Fd())) {
		line.terminal = f
	}
	return line
}

// logged is how often a log has a line about long work, and shownEvery how often a terminal has another one.
const logged, shownEvery = 10 * time.Second, time.Second / 10

// InLog is a line for work that begins now, in a log.
func InLog(log *slog.Logger) *Line { return &Line{log: log, shown: time.Now()} }

// Hide leaves a terminal to others.
func (l *Line) Hide() { l.terminal = nil }

const eraseLine = "\r\x1b[K"

// Show writes the line if it is time to.
func (l *Line) Show(line func() string) {
	if l.terminal == nil && l.log == nil {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	now := time.Now()
	switch since := now.Sub(l.shown); {
	case l.log != nil && since >= logged:
		l.shown = now
		l.log.Info(line())
	case l.terminal != nil && since >= shownEvery:
		l.shown, l.written = now, true
		_, _ = l.terminal.WriteString(eraseLine + line())
	}
}

// A schedule knows which fits of several have begun, and from that how long the others may take.
type schedule struct {
	sizes   []int // K of the fits that are to be made; nil: it is not known beforehand, as one fit finds it
	starts  int   // of each
	workers int   // fits at a time, at most
	now     func() time.Time
	began   time.Time
	begun   map[[2]int]bool // by K, 0 where it is found, and start
	weight  float64         // of those: the time of an iteration grows as K does
}

// newSchedule begins to count fits of so many starts of each K.
func newSchedule(sizes []int, o framework.Options) *schedule {
	t := &schedule{sizes: sizes, starts: o.Restarts, workers: o.Workers, now: time.Now, begun: map[[2]int]bool{}}
	if t.workers < 1 {
		t.workers = runtime.GOMAXPROCS(0)
	}
	t.began = t.now()
	return t
}

// see takes a start of the fit of K for begun.
func (t *schedule) see(k, start int) {
	one := [2]int{k, start}
	if t.sizes == nil {
		one[0] = 0
	}
	if !t.begun[one] {
		t.begun[one] = true
		t.weight += float64(max(1, one[0]))
	}
}

// String is how many fits have begun, and the time that is left if those to come take as long as those before, each by
// its K: what convergence takes, nobody knows. There is no such time before fits have ended, nor after the last has
// begun.
func (t *schedule) String() string {
	all, whole := t.starts, float64(t.starts)
	if t.sizes != nil {
		all, whole = t.starts*len(t.sizes), 0
		for _, k := range t.sizes {
			whole += float64(t.starts * max(1, k))
		}
	}
	n := len(t.begun)
	if all < 2 {
		return ""
	}
	text := fmt.Sprintf("fit %d of %d  ", min(n, all), all)
	ended := n - min(t.workers, all)
	if ended < 1 || n >= all {
		return text
	}
	done := t.weight * float64(ended) / float64(n)
	return text + Left(t.now().Sub(t.began), done/whole) + "  "
}

// Left is the time that the rest of some work may take after a share of it.
func Left(passed time.Duration, share float64) string {
	rest := time.Duration(float64(passed) * (1 - share) / share)
	switch {
	case rest < 10*time.Second:
		rest = rest.Round(time.Second)
	case rest < 2*time.Minute:
		rest = rest.Round(5 * time.Second)
	case rest < 2*time.Hour:
		return fmt.Sprintf("about %.0f min left", rest.Minutes())
	default:
		return fmt.Sprintf("about %.0f h left", rest.Hours())
	}
	return fmt.Sprintf("about %.0f s left", rest.Seconds())
}

// Recorder shows iterations of fits of the sizes, or of one that finds its size. It never ends a fit: progress that
// cannot be shown is no error.
func (l *Line) Recorder(criterion string, sizes []int, o framework.Options) func(framework.Event) error {
	t := newSchedule(sizes, o)
	return func(e framework.Event) error {
		t.see(e.K, e.Restart)
		l.Show(func() string {
			return fmt.Sprintf("%sstart %d  iteration %d  K %d  %s %s", t, e.Restart+1, e.Iteration, e.K,
				criterion, wording.Nats(e.Value))
		})
		return nil
	}
}

// Draws shows how many draws are done.
func (l *Line) Draws(what string, draws int) func(done int) {
	began := time.Now()
	return func(done int) {
		l.Show(func() string {
			return fmt.Sprintf("%s  draw %d of %d  %s", what, done, draws,
				Left(time.Since(began), float64(done)/float64(draws)))
		})
	}
}

// Close wipes the line.
func (l *Line) Close() {
	if l.written {
		l.Erase()
	}
}

// Erase wipes a terminal's line, whoever wrote it.
func (l *Line) Erase() {
	if l.terminal != nil {
		_, _ = l.terminal.WriteString(eraseLine)
	}
}

package reproduce

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/latent-go/latent/internal/atomicfile"
	"github.com/latent-go/latent/internal/parallel"
)

// Options say how to run experiments.
type Options struct {
	Out      string // folder of the results, made when it is not there
	Quick    bool
	Data     string // folder of data that are not shipped
	Tables   int    // how many tables are drawn by experiments that may draw any number; 0: their own
	Workers  int    // jobs at the same time, 0: one a processor
	Progress func(Progress)
	// Command is the command that the page names; "" leaves it out, as the zero Date does.
	Command string
	Date    time.Time
}

// Progress reports the progress of a run. Calls do not overlap.
type Progress struct {
	Experiment  string
	Done, Total int           // jobs of the experiment
	Left        time.Duration // estimate for the experiment; negative when there is none yet
}

// A Report is the outcome of one experiment.
type Report struct {
	Name    string
	Page    string // path of its page; "" when it failed
	Verdict Verdict
	Outcome *Outcome
	Seconds float64
	Err     error // for an experiment that lacks its data, a [MissingData]
}

// Run runs experiments one after another and writes their results to the folders
// Out/NAME. An experiment that fails does not keep the others from running: its error is in
// its report, and all errors but those of missing data are joined in what Run returns. When
// ctx is cancelled, jobs that have ended are kept, and another run with the same
// options resumes from them.
func Run(ctx context.Context, experiments []*Experiment, o Options) ([]Report, error) {
	if err := os.MkdirAll(o.Out, 0o777); err != nil {
		return nil, fmt.Errorf("the folder of the results cannot be made: %w", err)
	}
	var reports []Report
	var failures []error
	for _, e := range experiments {
		began := time.Now()
		r := Report{Name: e.Name}
		r.Outcome, r.Page, r.Err = e.run(ctx, o)
		r.Seconds = time.Since(began).Seconds()
		var missing *MissingData
		switch {
		case r.Err == nil:
			r.Verdict = r.Outcome.Verdict()
		case !errors.As(r.Err, &missing):
			failures = append(failures, fmt.Errorf("%s: %w", e.Name, r.Err))
		}
		reports = append(reports, r)
		if ctx.Err() != nil {
			break
		}
	}
	return reports, errors.Join(failures...)
}

func (e *Experiment) run(ctx context.Context, o Options) (*Outcome, string, error) {
	s := &Settings{Quick: o.Quick, Data: o.Data, Tables: o.Tables}
	for _, f := range e.Needs {
		if _, err := s.Table(f); err != nil {
			return nil, "", err
		}
	}
	parts, err := e.plan(s)
	if err != nil {
		return nil, "", err
	}
	store, err := e.open(o)
	if err != nil {
		return nil, "", err
	}
	results, err := e.compute(ctx, parts, store, o)
	if err != nil {
		return nil, "", err
	}
	outcome, err := e.conclude(s, results)
	if err != nil {
		return nil, "", err
	}
	page, err := e.write(outcome, o)
	return outcome, page, err
}

// compute runs the jobs whose results are not kept yet.
func (e *Experiment) compute(ctx context.Context, parts []part, s store, o Options) ([][]byte, error) {
	results := make([][]byte, len(parts))
	meter := newMeter(e.Name, parts, o.Progress)
	var missing []int
	for i, p := range parts {
		if kept, ok := s.read(p.key); ok {
			results[i] = kept
			meter.kept(p)
			continue
		}
		missing = append(missing, i)
	}
	return results, parallel.DoContext(ctx, len(missing), o.Workers, func(ctx context.Context, at int) (err error) {
		i := missing[at]
		if results[i], err = parts[i].run(ctx); err == nil {
			err = s.write(parts[i].key, results[i])
		}
		meter.ended(parts[i])
		return err
	})
}

// meter estimates the time left from the cost of what was done.
type meter struct {
	mu          sync.Mutex
	progress    func(Progress)
	name        string
	done, total int
	spent, all  float64 // cost of the jobs run and of all that were not kept
	began       time.Time
}

func newMeter(name string, parts []part, progress func(Progress)) *meter {
	m := &meter{progress: progress, name: name, total: len(parts), began: time.Now()}
	for _, p := range parts {
		m.all += p.cost
	}
	m.report()
	return m
}

func (m *meter) kept(p part) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	m.all -= p.cost
	m.report()
}

func (m *meter) ended(p part) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.done++
	m.spent += p.cost
	m.report()
}

func (m *meter) report() {
	if m.progress == nil {
		return
	}
	left := time.Duration(-1)
	if m.spent > 0 {
		left = time.Duration(float64(time.Since(m.began)) * (m.all - m.spent) / m.spent)
	}
	m.progress(Progress{m.name, m.done, m.total, left})
}

// A store keeps results of jobs, one file each.
type store string

// open makes the folder of the results of jobs of this revision.
func (e *Experiment) open(o Options) (store, error) {
	size := "full"
	if o.Quick {
		size = "quick"
	}
	dir := filepath.Join(o.Out, e.Name, "jobs", fmt.Sprintf("%s-%d", size, e.Revision))
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return "", fmt.Errorf("the folder of the results cannot be made: %w", err)
	}
	return store(dir), nil
}

func (s store) path(key string) string { return filepath.Join(string(s), key+".gob") }

// read returns a result that exists and is complete.
func (s store) read(key string) ([]byte, bool) {
	text, err := os.ReadFile(s.path(key))
	if err != nil || len(text) < crc32.Size || crc32.ChecksumIEEE(text[crc32.Size:]) != binary.BigEndian.Uint32(text) {
		return nil, false
	}
	return text[crc32.Size:], true
}

func (s store) write(key string, text []byte) error {
	return replace(s.path(key), append(binary.BigEndian.AppendUint32(nil, crc32.ChecksumIEEE(text)), text...))
}

// replace writes a file atomically.
func replace(path string, text []byte) error {
	return atomicfile.Write(path, func(w io.Writer) error {
		_, err := w.Write(text)
		return err
	})
}

package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log"
	"sync/atomic"
	"time"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/fitted"
)

// A model is a file as it was when it was loaded.
type model struct {
	*fitted.Fitted
	checksum string         // SHA-256 of the file
	names    []string       // of the numbers of a row
	places   map[string]int // of the columns
}

// models is the model of a path: the last one that could be loaded.
type models struct {
	path    string
	current atomic.Pointer[model]
	failed  atomic.Pointer[string] // why the file that is there now is none; nil: it is loaded
	metrics *metrics
}

// now is the model to answer a request by, from its first row to its last.
func (m *models) now() *model { return m.current.Load() }

// load takes the file if its checksum is another one. Where it cannot be loaded the model before it stays.
func (m *models) load() error {
	text, err := fitted.ReadFile(m.path)
	if err != nil {
		return m.fail(err)
	}
	checksum := fmt.Sprintf("%x", sha256.Sum256(text))
	if now := m.now(); now != nil && now.checksum == checksum {
		m.failed.Store(nil)
		return nil
	}
	f, err := builtin.Models().Parse(text)
	if err != nil {
		return m.fail(fitted.About(m.path, err))
	}
	next := &model{Fitted: f, checksum: checksum, names: f.Model.Layout().Names(), places: map[string]int{}}
	for j, c := range f.Columns() {
		next.places[c.Name] = j
	}
	m.current.Store(next)
	m.failed.Store(nil)
	m.metrics.loads.Add(1)
	return nil
}

func (m *models) fail(err error) error {
	reason := err.Error()
	if before := m.failed.Swap(&reason); before == nil || *before != reason {
		m.metrics.failures.Add(1)
	}
	return err
}

// watch loads the file anew when it has changed, until the context is done. What went wrong it notes once.
func (m *models) watch(ctx context.Context, every time.Duration, notes *log.Logger) {
	tick := time.NewTicker(every)
	defer tick.Stop()
	noted := ""
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		before := m.now()
		switch err := m.load(); {
		case err != nil && err.Error() != noted:
			noted = err.Error()
			notes.Printf("the model stays %s: %v", before.checksum, err)
		case err == nil:
			noted = ""
		}
		if after := m.now(); after != before {
			notes.Printf("the model is now %s", after.checksum)
		}
	}
}

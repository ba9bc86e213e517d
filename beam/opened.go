package beam

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
)

// What a worker has opened stays open for the next pass, and for the next pipeline, which is the same process.

// mostOpen bounds the works that are kept open while nobody reads them.
const mostOpen = 4

type openWork struct {
	once  sync.Once
	work  Shares
	err   error
	users int
	used  uint64 // when last
}

var works = struct {
	sync.Mutex
	of    map[[sha256.Size]byte]*openWork
	clock uint64
}{of: map[[sha256.Size]byte]*openWork{}}

var errNotOpen = errors.New("what the job reads could not be opened") // where that panics

// opened is what open has made for this job, its spec and its files as they are, now or earlier. An error is not kept.
func opened(o *order, open func() (Shares, error)) (w Shares, release func(), err error) {
	key := sha256.Sum256(fmt.Appendf(nil, "%q %q %v", o.Job, o.Spec, o.Files))
	works.Lock()
	e := works.of[key]
	if e == nil {
		e = &openWork{err: errNotOpen}
		works.of[key] = e
	}
	e.users++
	works.Unlock()
	e.once.Do(func() { e.work, e.err = open() })
	if e.err != nil {
		works.Lock()
		if works.of[key] == e {
			delete(works.of, key)
		}
		works.Unlock()
		return nil, nil, e.err
	}
	return e.work, e.released, nil
}

// released ends a use, and closes works that have not been used for longest.
func (e *openWork) released() {
	works.Lock()
	defer works.Unlock()
	e.users--
	works.clock++
	e.used = works.clock
	for len(works.of) > mostOpen {
		oldest := [sha256.Size]byte{}
		var found *openWork
		for key, e := range works.of {
			if e.users == 0 && (found == nil || e.used < found.used) {
				oldest, found = key, e
			}
		}
		if found == nil {
			return
		}
		delete(works.of, oldest)
		_ = found.work.Close()
	}
}

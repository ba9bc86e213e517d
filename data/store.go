package data

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"sync"
	"unsafe"

	"github.com/edsrzf/mmap-go"

	"github.com/latent-go/latent/internal/memory"
)

// A Store holds the numbers of tables, and the codes of their categories: in memory up to a limit, and beyond it in
// mapped files, whose pages the system reads and drops as needed. A table larger than memory is read, fitted and
// classified like any other, since its numbers are one slice of float64 in either case. An NPY file of float64 in
// row-major order is mapped itself. Data that have to be decoded (CSV, other types) are kept in a temporary file,
// which has no name if the system allows that. A nil Store keeps everything in memory.
//
// If a mapped file is shortened, its last pages are lost. Reading them is a fault, which package framework turns into
// an error. [Store.Check] finds files that have changed.
type Store struct {
	limit int64 // bytes in memory

	mu      sync.Mutex
	used    int64 // bytes in memory
	regions []*region
	watched []sighting
}

// A sighting is how a file was that belongs to somebody else.
type sighting struct {
	path string
	info fs.FileInfo
}

// A region is a mapped file.
type region struct {
	file  *os.File
	pages mmap.MMap
	own   bool // a temporary file
	named bool // one that is still there
}

// NewStore returns a Store that holds so many bytes in memory. Close it when its tables are no longer used.
func NewStore(memory int64) *Store { return &Store{limit: memory} }

// Close releases mapped memory and temporary files. Tables whose numbers are there must no longer be used.
func (s *Store) Close() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	var errs []error
	for _, r := range s.regions {
		errs = append(errs, r.unmap())
		if r.own {
			errs = append(errs, r.file.Close())
		}
		if r.named {
			errs = append(errs, os.Remove(r.file.Name()))
		}
	}
	s.regions, s.watched, s.used = nil, nil, 0
	return errors.Join(errs...)
}

// Watch adds a file to those that [Store.Check] examines. It is for a file that is read piece by piece and must not
// change meanwhile. Pipes and devices, which have no time of modification, are ignored.
func (s *Store) Watch(path string) error {
	info, err := os.Stat(path)
	if err != nil || s == nil || !info.Mode().IsRegular() {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watched = append(s.watched, sighting{path, info})
	return nil
}

// Check returns an error about a file that has changed, by its size and time, since it was mapped or [Store.Watch]
// saw it.
func (s *Store) Check() error {
	if s == nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, seen := range s.watched {
		if err := seen.check(); err != nil {
			return err
		}
	}
	return nil
}

func (f sighting) check() error {
	now, err := os.Stat(f.path)
	if err != nil || !os.SameFile(f.info, now) || f.info.Size() != now.Size() || !f.info.ModTime().Equal(now.ModTime()) {
		return fmt.Errorf("%s: %w", f.path, errChanged)
	}
	return nil
}

// Mapped returns the number of bytes that are kept in files.
func (s *Store) Mapped() (n int64) {
	if s == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.regions {
		n += int64(len(r.pages))
	}
	return n
}

// fits takes so many more bytes of memory where the limit lets it.
func (s *Store) fits(bytes int64) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.used+bytes > s.limit {
		return false
	}
	s.used += bytes
	return true
}

// holds says whether there is so much room in memory.
func (s *Store) holds(bytes float64) bool {
	if s == nil {
		return true
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return float64(s.used)+bytes <= float64(s.limit)
}

// numbers makes a slice of capacity n and no length.
func (s *Store) numbers(n int) ([]float64, error) {
	if s == nil {
		if err := memory.Need(fmt.Sprintf("a table of %d numbers", n), 8*float64(n)); err != nil {
			return nil, err
		}
	}
	if s.fits(8 * int64(n)) {
		return newNumbers(n), nil
	}
	return s.scratch(n)
}

// filled makes a slice of n numbers, which are to be overwritten.
func (s *Store) filled(n int) ([]float64, error) {
	x, err := s.numbers(n)
	return x[:min(n, cap(x))], err
}

// float32s is filled for numbers of half the size.
func (s *Store) float32s(n int) ([]float32, error) {
	x, err := s.filled((n + 1) / 2)
	return unsafe.Slice((*float32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))[:min(n, 2*len(x))], err
}

// codes makes lists of n codes each, to be overwritten: in one piece, as a store may hold many columns but not many
// files.
func (s *Store) codes(lists, n int) ([][]int32, error) {
	x, err := s.filled((lists*n + 1) / 2)
	if err != nil {
		return nil, err
	}
	all, list := codesOf(x), make([][]int32, lists)
	for j := range list {
		list[j] = all[j*n : (j+1)*n : (j+1)*n]
	}
	return list, nil
}

// codesOf are the codes that lie in the memory of numbers, two in each.
func codesOf(x []float64) []int32 {
	return unsafe.Slice((*int32)(unsafe.Pointer(unsafe.SliceData(x))), 2*len(x))
}

// resized is x with a capacity of n.
func (s *Store) resized(x []float64, n int) ([]float64, error) {
	if r := s.regionOf(x); r != nil {
		return r.resize(len(x), n)
	}
	before := 8 * int64(cap(x))
	if s.fits(8*int64(n) - before) {
		return append(newNumbers(n), x...), nil
	}
	y, err := s.scratch(n)
	if err != nil {
		return nil, err
	}
	s.fits(-before)
	return append(y, x...), nil
}

// regionOf is the temporary file that x begins; nil: it lies in memory.
func (s *Store) regionOf(x []float64) *region {
	if s == nil || cap(x) == 0 {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	at := unsafe.Pointer(unsafe.SliceData(x[:1]))
	for _, r := range s.regions {
		if unsafe.Pointer(unsafe.SliceData(r.pages)) == at && r.own {
			return r
		}
	}
	return nil
}

// Spool copies the contents of r to a temporary file, which stands at its beginning. The caller closes it; it is
// removed when the store is closed at the latest.
func (s *Store) Spool(r io.Reader) (*os.File, error) {
	file, err := os.CreateTemp("", "latent-*.spool")
	if err != nil {
		return nil, fmt.Errorf("cannot create a temporary file: %w", err)
	}
	s.mu.Lock()
	s.regions = append(s.regions, &region{file: file, named: os.Remove(file.Name()) != nil})
	s.mu.Unlock()
	if _, err := io.Copy(file, r); err != nil {
		file.Close() //nolint:errcheck // the copy's error says more
		if at, ok := errors.AsType[*fs.PathError](err); !ok || at.Path != file.Name() {
			return nil, fmt.Errorf("cannot be read to the end: %w", err)
		}
		return nil, fmt.Errorf("cannot copy to the temporary file %s: %w; set TMPDIR to a folder with more room",
			file.Name(), err)
	}
	_, err = file.Seek(0, io.SeekStart)
	return file, err
}

// scratch maps a new temporary file.
func (s *Store) scratch(n int) ([]float64, error) {
	file, err := os.CreateTemp("", "latent-*.numbers")
	if err != nil {
		return nil, fmt.Errorf("cannot create a temporary file for %s of numbers, which exceed the memory limit: %w",
			memory.Size(8*float64(n)), err)
	}
	r := &region{file: file, own: true, named: os.Remove(file.Name()) != nil}
	s.mu.Lock()
	s.regions = append(s.regions, r)
	s.mu.Unlock()
	return r.resize(0, n)
}

// resize makes the file hold n numbers, length of which are there.
func (r *region) resize(length, n int) ([]float64, error) {
	bytes := 8 * int64(max(n, 1))
	err := r.unmap()
	if err == nil {
		err = allocate(r.file, bytes)
	}
	if err == nil {
		r.pages, err = mmap.MapRegion(r.file, int(bytes), mmap.RDWR, 0, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("no room for %s of numbers in the temporary file %s: %w; set TMPDIR to a folder with "+
			"more room",
			memory.Size(float64(bytes)), r.file.Name(), err)
	}
	return floatsOf(r.pages)[:length], nil
}

func (r *region) unmap() error {
	if r.pages == nil {
		return nil
	}
	return r.pages.Unmap()
}

// mapped maps the n numbers from a place of a file on; nil if they are not to be had that way.
func (s *Store) mapped(file *os.File, from int64, n int) []float64 {
	info, err := file.Stat()
	if err != nil || from%8 != 0 || info.Size() < from+8*int64(n) {
		return nil
	}
	pages, err := mmap.MapRegion(file, int(from)+8*n, mmap.RDONLY, 0, 0)
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.regions = append(s.regions, &region{file: file, pages: pages})
	s.watched = append(s.watched, sighting{file.Name(), info})
	return floatsOf(pages[from:])
}

// floatsOf are the numbers whose bytes begin at an aligned place, which pages of memory and multiples of 8 from there
// are.
func floatsOf(b []byte) []float64 {
	return unsafe.Slice((*float64)(unsafe.Pointer(unsafe.SliceData(b))), len(b)/8)
}

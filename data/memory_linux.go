package data

import (
	"errors"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// adviseHuge asks for huge pages below the whole pages of b. It is a hint, and no harm if it is refused.
func adviseHuge(b []byte) {
	page := os.Getpagesize()
	start := -int(uintptr(unsafe.Pointer(&b[0]))) & (page - 1)
	if whole := (len(b) - start) &^ (page - 1); whole > 0 {
		_ = unix.Madvise(b[start:start+whole], unix.MADV_HUGEPAGE)
	}
}

// allocate makes a file that long, and has the system set its blocks aside, so that a full disk shows at once and not
// as a fault when its mapped pages are written.
func allocate(file *os.File, bytes int64) error {
	if err := file.Truncate(bytes); err != nil {
		return err
	}
	err := unix.Fallocate(int(file.Fd()), 0, 0, bytes)
	if errors.Is(err, unix.EOPNOTSUPP) {
		return nil
	}
	return err
}

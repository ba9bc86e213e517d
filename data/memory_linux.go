package data

import (
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

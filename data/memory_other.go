//go:build !linux

package data

import "os"

func adviseHuge([]byte) {}

// allocate makes a file that long.
func allocate(file *os.File, bytes int64) error { return file.Truncate(bytes) }

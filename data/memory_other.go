//go:build !linux

package data

func adviseHuge([]byte) {}

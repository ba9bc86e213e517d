package main

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

type versionCommand struct{}

// Run prints the versions of the module and of Go, what the loops over rows are written in and
// what multiplies matrices.
func (versionCommand) Run(s *session) error {
	_, err := fmt.Fprintln(s.stdout, "latent "+strings.ReplaceAll(version(), "; ", "\n"))
	return err
}

// version is everything about the program that may change the bits of a result.
func version() string {
	version := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	return fmt.Sprintf("%s %s %s/%s; kernels: %s, products of matrices: %s", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, simd.Instructions(), linalg.Backend())
}

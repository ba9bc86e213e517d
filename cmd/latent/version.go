package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
)

type versionCommand struct{}

// Run prints the versions of the module and of Go, what the loops over rows are written in and
// what multiplies matrices.
func (versionCommand) Run(s *session) error {
	version := "(unknown)"
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Version != "" {
		version = info.Main.Version
	}
	_, err := fmt.Fprintf(s.stdout, "latent %s %s %s/%s\nkernels: %s, products of matrices: %s\n", version, runtime.Version(), runtime.GOOS, runtime.GOARCH, simd.Instructions(), linalg.Backend())
	return err
}

//go:build openblas

package linalg

import (
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/netlib/blas/netlib"
)

// Whoever builds with this tag asks for the BLAS that CGO_LDFLAGS names.
func init() { blas64.Use(netlib.Implementation{}) }

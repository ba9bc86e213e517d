// Package variances says which variances of columns and classes can be worked with: their limits in float64, their
// floors, and the errors of classes and columns that have none.
package variances

import (
	"errors"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// Vanishing is the share of a column's variance in the table below which that of a component is nothing but rounding.
const Vanishing = 1e-13

// Finest is the share of a column's variance that a floor is at least: a resolution beyond it is as good as any.
const Finest = 1e-10

// Ulps is the relative difference of equal values: four units in the last place.
const Ulps = 4 * 0x1p-52

// Narrowest and Widest bound the variance of a column of the table: precisions, the vanishing share of a variance and
// sums over rows then stay in the range of float64.
const Narrowest, Widest = 1e-280, 1e280

// Reasons of a [blocks.DataError] about a column.
var (
	ErrAllConstant = errors.New("is constant, like all others: there is nothing to fit")
	ErrNoSpread    = errors.New("is constant and tells no rows apart")
	ErrWithinStep  = errors.New(
		"varies less than the steps between its values and hardly tells rows apart; take a family of codes or counts",
	)
)

// ErrNoRows is the error of a class without rows.
var ErrNoRows = fmt.Errorf("family: no rows: %w; lower K", framework.ErrDegenerate)

// Collapsed is the error of a class whose variance has vanished in a column.
func Collapsed(column int) error {
	return blocks.FaultyColumn(column, fmt.Errorf("has collapsed onto one value: "+
		"%w; lower K, allow pruning, or take MAP", framework.ErrDegenerate))
}

// Singular is the error of a class whose covariance matrix is singular.
func Singular() error {
	return fmt.Errorf("too few rows, or rows in line, for a covariance matrix: %w; lower K, allow pruning, or take MAP",
		framework.ErrDegenerate)
}

// Constant reports whether the standard deviation of a column of the table is below the rounding of its values: sums
// over equal numbers leave some of it.
func Constant(mean, variance float64) bool {
	return !(math.Sqrt(variance) > 1e-16*math.Abs(mean))
}

// Measurable is an error if a column of the table is constant, or its variance at an end of the range of float64.
func Measurable(column int, mean, variance float64) error {
	switch {
	case Constant(mean, variance):
		return blocks.FaultyColumn(column, blocks.ErrConstant)
	case !(variance > Narrowest && variance < Widest):
		return blocks.FaultyColumn(column,
			fmt.Errorf("has the variance %.3g, near the limits of float64: rescale it", variance))
	}
	return nil
}

// FloorFactor is the factor of the squared resolutions that a family's Floor stands for; 0 if there is no floor.
func FloorFactor(name string, floor float64) (factor float64, err error) {
	switch {
	case math.IsNaN(floor) || math.IsInf(floor, 0):
		return 0, fmt.Errorf("family: the floor of %s is %v; must be finite", name, floor)
	case floor == 0:
		return 1, nil
	}
	return max(0, floor), nil
}

// FloorOf returns the floor of a column, and its variance in the table; scale is that variance without wild rows. A
// constant column has no resolution: its value, which has its units, is the standard deviation.
func FloorOf(column int, factor, step, mean, variance, scale float64) (floor, all float64, err error) {
	if math.IsInf(step, 1) || Constant(mean, variance) {
		if variance = mean * mean; mean == 0 {
			variance = 1
		}
		return variance, variance, Measurable(column, mean, variance)
	}
	floor = max(factor*step*step/12, Finest*scale)
	if floor > variance && step*step/12 <= variance {
		return 0, 0, blocks.FaultyColumn(column,
			fmt.Errorf("has the variance %.3g, below %v times its floor, %.3g: lower that factor", variance, factor, floor))
	}
	return floor, variance, Measurable(column, mean, variance)
}

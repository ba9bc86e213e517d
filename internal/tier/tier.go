// Package tier says how far tests go: at the desk (go test -short), in the gate (go test), and at night (go test -tags
// exhaustive). What a test leaves out below the night, .ci/nightly runs.
package tier

import "testing"

// Of is what a test takes at the desk, in the gate and at night. At night -short, too, asks for what is small: suites
// are whole then, and sizes are not.
func Of[T any](desk, gate, night T) T {
	switch {
	case testing.Short():
		return desk
	case Night:
		return night
	}
	return gate
}

// Sizes are the numbers of latent dimensions that a suite goes through: one and several, at night two besides.
func Sizes() []int { return Of([]int{1, 3}, []int{1, 3}, []int{1, 2, 3}) }

// Leave leaves what follows to the night, and says what holds its property in the gate.
func Leave(t testing.TB, holds string) {
	t.Helper()
	if !Night {
		t.Skip("at night (-tags exhaustive); in the gate: " + holds)
	}
}

//go:build !exhaustive

package theorems

// exhaustive asks for sizes that take minutes.
const exhaustive = false

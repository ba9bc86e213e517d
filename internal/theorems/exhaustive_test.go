//go:build exhaustive

package theorems

const exhaustive = true

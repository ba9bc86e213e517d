//go:build !exhaustive

package tier

// Night is whether every case of every suite is asked for.
const Night = false

// Package fixedseed, imported by a test for its effect, makes rapid's properties draw
// the same cases in every run: no test may depend on luck. The flag -rapid.seed still
// chooses others.
package fixedseed

import (
	"flag"

	_ "pgregory.net/rapid" // defines the flag
)

func init() {
	if err := flag.Set("rapid.seed", "1"); err != nil {
		panic(err)
	}
}

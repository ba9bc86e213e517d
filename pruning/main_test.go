package pruning_test

import (
	"flag"
	"os"
	"testing"
)

func TestMain(m *testing.M) {
	if err := flag.Set("rapid.seed", "1"); err != nil { // the same cases every time, unless told otherwise
		panic(err)
	}
	os.Exit(m.Run())
}

package parallel

import "github.com/latent-go/latent/internal/panics"

// Reraise panics with err if that is a [*panics.Panic], and else returns it.
func Reraise(err error) error {
	if p, ok := err.(*panics.Panic); ok {
		panic(p)
	}
	return err
}

var exited = &panics.Panic{Value: "parallel: a call ended its goroutine by runtime.Goexit"}

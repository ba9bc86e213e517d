package lvmtest

import (
	"slices"
	"time"

	"github.com/latent-go/latent/framework"
)

// RunSome runs the checks of those names.
func RunSome[B, P any, S framework.Statistics[S]](c Case[B, P, S], names ...string) (list []Outcome) {
	for _, check := range checks[B, P, S]() {
		if slices.Contains(names, check.Check) {
			list = append(list, check.outcome(&c))
		}
	}
	return list
}

// LimitSample sets what a call of Sample may take, and returns a function that puts it back.
func LimitSample(limit time.Duration) (restore func()) {
	before := sampleLimit
	sampleLimit = limit
	return func() { sampleLimit = before }
}

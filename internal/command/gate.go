package command

import (
	"slices"
	"strings"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
)

// gateMethods are those that a gate has.
var gateMethods = []string{methodGFAB, methodFAB, methodEM}

// gated is the model with a gate, which has no conjugate prior.
func (m model) gated() model {
	m.mixes = false
	return m.withMethods(fitted.OfClasses(framework.Slope))
}

// checkGate refuses what does not go with --gate, and families of a column of known classes.
func (f *modelFlags) checkGate() error {
	if known := f.KnownColumn(); f.Described().Family[known] != "" {
		return misused("--columns %s=%s: the column is named by --known", known, f.Described().Family[known])
	}
	gate := f.Gate()
	_, flag := f.Given()
	if len(gate) == 0 {
		return nil
	}
	if m := f.known.models[f.Model]; f.Method != "" && slices.Contains(m.methods, f.Method) &&
		!slices.Contains(gateMethods, f.Method) {
		return misused("%s cannot be used with --method %s: choose one of %s", flag, f.Method,
			strings.Join(gateMethods, ", "))
	}
	for _, name := range gate {
		if given := f.Described().Family[name]; given != "" && given != families.Categorical {
			return misused("--columns %s=%s: a column of %s is a number, or %s", name,
				given, flag, families.Categorical)
		}
	}
	return nil
}

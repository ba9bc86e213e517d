package command

import (
	"errors"
	"fmt"
	"maps"
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

// checkGate refuses what does not go with --gate.
func (f *modelFlags) checkGate() error {
	gate := f.Gate()
	if len(gate) == 0 {
		return nil
	}
	if m := f.known.models[f.Model]; f.Method != "" && slices.Contains(m.methods, f.Method) &&
		!slices.Contains(gateMethods, f.Method) {
		return misused("--gate cannot be used with --method %s: choose one of %s", f.Method, strings.Join(gateMethods, ", "))
	}
	for _, name := range gate {
		if given := f.Described().Family[name]; given != "" && given != families.Categorical {
			return misused("--columns %s=%s: a column of --gate is a number, or %s", name,
				given, families.Categorical)
		}
	}
	return nil
}

// checkCovariates refuses covariates that are no numbers, or say nothing.
func (in columns) checkCovariates(names []string, flag string) error {
	for _, name := range names {
		switch j := slices.Index(in.Names, name); {
		case in.Levels(name) != nil:
			return fmt.Errorf("%s: column %.60q has texts; must be numbers", flag, name)
		case in.Constant(j, in.Weights):
			return fmt.Errorf("%s: column %.60q is constant: leave it out of %[1]s, and --drop %[3]s", flag, name, item(name))
		}
	}
	return nil
}

// described are the families of --columns, with those of the gate.
func (f *modelFlags) described() *columnFamilies {
	if len(f.Gate()) == 0 {
		return f.Described()
	}
	given := *f.Described()
	if given.Family = maps.Clone(given.Family); given.Family == nil {
		given.Family = map[string]string{}
	}
	for _, name := range f.Gate() {
		if given.Family[name] == "" {
			given.Family[name] = families.Gate
		}
	}
	return &given
}

// checkGate refuses columns of the gate that say nothing or lack a value.
func (in columns) checkGate(gate []string) error {
	for _, name := range gate {
		j := slices.Index(in.Names, name)
		if in.Constant(j, in.Weights) {
			return fmt.Errorf("--gate: column %.60q is constant: leave it out of the gate", name)
		}
		for row := range in.Rows() {
			if v := in.Number(row, j); v != v {
				return &framework.DataError{
					Row:    row,
					Column: j,
					Value:  v,
					Reason: errors.New("a gate needs every value of its columns; --missing drop leaves such rows out"),
				}
			}
		}
	}
	return nil
}

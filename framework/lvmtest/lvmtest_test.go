package lvmtest_test

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/framework/lvmtest"
)

func TestTheRightModelPasses(t *testing.T) {
	lvmtest.Test(t, right(toy{}))
	assert.NoError(t, lvmtest.Check(right(toy{})))
}

// TestEveryCheckHasAMutantThatItAloneCatches: and no check is skipped.
func TestEveryCheckHasAMutantThatItAloneCatches(t *testing.T) {
	caught := map[string]bool{}
	for _, m := range mutants() {
		t.Run(m.name, func(t *testing.T) {
			for _, o := range lvmtest.Run(m.c) {
				assert.Empty(t, o.Skipped, o.Check)
				if o.Check != m.check {
					assert.Empty(t, o.Failures, "%s fails too", o.Check)
					continue
				}
				caught[o.Check] = true
				assert.NotEmpty(t, o.Failures, o.Check)
				for _, f := range o.Failures {
					t.Log(o.Check, f)
				}
			}
		})
	}
	for _, o := range lvmtest.Run(right(toy{})) {
		assert.True(t, caught[o.Check], "no mutant for %s", o.Check)
	}
}

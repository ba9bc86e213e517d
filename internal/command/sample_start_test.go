package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestSampleStartsAFit(t *testing.T) {
	without, _ := done(t, "fit", "--data", "faithful", "--k", "2", "--format", "json")
	with, _ := done(t, "fit", "--data", "faithful", "--k", "2", "--sample", "100", "--format", "json")
	assert.Contains(t, with, `"sample":100`)
	assert.NotContains(t, without, `"sample"`)
	fails(t, 2, "--sample is -1; must be non-negative", "", "fit", "--data", "faithful", "--sample", "-1")
	fails(t, 2, "--sample 100", "", "fit", "--model", "hmm", "--sample", "100")
}

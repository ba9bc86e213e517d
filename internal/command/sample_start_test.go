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

func TestOnePassOfMiniBatches(t *testing.T) {
	text, _ := done(t, "fit", "--data", "faithful", "--online", "100")
	assert.Contains(t, text, "status          one pass in mini-batches\n")
	assert.Contains(t, text, "chosen K        2 of at most 10\n")
	object, _ := done(t, "fit", "--data", "faithful", "--online", "100", "--format", "json")
	assert.Contains(t, object, `"online":100`)
	assert.Contains(t, object, `"converged":true,"status":"one pass in mini-batches"`)
	fails(t, 2, "--online makes one fit, and does not compare covariances: name one by --cov", "", "fit", "--data", "faithful", "--cov", "all", "--online", "100")
	fails(t, 2, "--max-iter cannot be used with --online, which makes one pass", "", "fit", "--data", "faithful", "--max-iter", "5", "--online", "100")
	fails(t, 2, "--online 100 requires a table of independent rows", "", "fit", "--model", "hmm", "--online", "100")
	fails(t, 2, "--online cannot be used with --method closed-form", "", "fit", "--model", "bpca", "--data", "iris", "--method", "closed-form", "--online", "100")
}

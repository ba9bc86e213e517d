package command

import (
	"testing"

	"github.com/stretchr/testify/assert"
)

func TestAccelerateThroughTheCommand(t *testing.T) {
	args := []string{"fit", "--method", "em", "--k", "3", "--data", "iris", "--restarts", "1", "--seed", "2", "--format", "json"}
	plain, _ := done(t, args...)
	fast, _ := done(t, append(args, "--accelerate")...)
	before, after := decode(t, plain), decode(t, fast)
	assert.Less(t, after["iterations"], before["iterations"].(float64)/2)
	assert.GreaterOrEqual(t, after["value"], before["value"].(float64)-1e-6)
	assert.Equal(t, "converged", after["status"])
	assert.Equal(t, true, after["settings"].(map[string]any)["accelerate"])
	assert.NotContains(t, before["settings"], "accelerate")
	fails(t, 2, "--accelerate cannot be used with --method closed-form, which has no iterations: leave it out, or take --method gfab or fab or em or vb", "", "fit", "--model", "bpca", "--method", "closed-form", "--accelerate", "--data", "iris")
}

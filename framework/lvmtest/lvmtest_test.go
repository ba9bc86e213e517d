package lvmtest_test

import (
	"testing"

	"github.com/latent-go/latent/framework/lvmtest"
)

func TestTheRightModelPasses(t *testing.T) {
	lvmtest.Test(t, right(toy{}))
}

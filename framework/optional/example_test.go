package optional_test

import (
	"fmt"

	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/models/mixture"
)

// A mixture has what most criteria and moves ask for. Its classes do not mix: it is no Rotator.
func ExampleNames() {
	m := mixture.Model{Family: normal.Family{}}
	names := optional.Names[
		blocks.Rows, framework.Source[blocks.Rows], *mixture.Parameters, *mixture.Statistics,
	](m)
	fmt.Println(names[:8])
	fmt.Println(names[8:])
	// Output:
	// [Curved Projector Proper LogProber Assigner Splitter LabelEntropy Condenser]
	// [Creeping Symmetric Collapsible Labeller Coded Singular Scaler Follower]
}

package outcome

import (
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/latent-go/latent/fitted"
)

// The whole search follows the evidence, and may end behind a structure that was ahead by the evidence and the labels.
func TestTheLeadOfTheBestStructure(t *testing.T) {
	r := new(Report)
	r.ComparedBy = "bic"
	r.Criterion = "bic"
	r.Compared = []fitted.Compared{{Structure: fitted.StructuresNamed("VVE")[0], K: 20},
		{Structure: fitted.StructuresNamed("EEI")[0], K: 33}}
	for behind, want := range map[fitted.Number]string{
		3: ": 3.000 nats ahead of EEI with K = 33", -18.05: ": 18.050 nats behind EEI with K = 33 since its whole search, " +
			"which follows the evidence",
	} {
		r.Compared[1].Behind = behind
		assert.Contains(t, r.comparedFact()[0][1], want)
	}
}

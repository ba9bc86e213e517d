package reproduce

import (
	"fmt"
	"strings"

	"github.com/latent-go/latent/framework"
)

// All lists the experiments, paper by paper.
func All() []*Experiment {
	return []*Experiment{
		gficFig1(), gficFig2(framework.GFIC), gficTable1(),
		vbfe33(), vbfeFig51(), vbfeFig52(), vbfeFig53(), vbfeFig61(), vbfeFig62(), vbfeFig63(),
		vbfeTable(zeboMinorities), vbfeTable(zeboTendency),
		vbmfFigure(artificial1), vbmfFigure(artificial2), vbmfFigure(satellite), vbmfFigure(spectf),
		elboRate(), elboMisspecified(), beyond(), calibration(), intervals(), evidenceStudy(), factors(), states(),
		latentFeatures(), groupStudy(), structureStudy(), tablesStudy(), regressions(),
	}
}

// Names lists the names of the experiments.
func Names() []string {
	var names []string
	for _, e := range All() {
		names = append(names, e.Name)
	}
	return names
}

// Find returns the experiments of the given names; "all" stands for all of them. An
// unknown name is an error that lists them.
func Find(names ...string) ([]*Experiment, error) {
	var found []*Experiment
	for _, name := range names {
		if name == "all" {
			return All(), nil
		}
		before := len(found)
		for _, e := range All() {
			if e.Name == name {
				found = append(found, e)
			}
		}
		if len(found) == before {
			return nil, fmt.Errorf("there is no experiment %q: there are all, %s", name, strings.Join(Names(), ", "))
		}
	}
	return found, nil
}

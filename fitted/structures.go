package fitted

import (
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
)

// A Structure is a covariance structure, by its name in mclust, and the family that it is to --family.
type Structure struct{ Name, Family string }

// Structures are all covariance structures, those with fewer parameters first.
func Structures() (list []Structure) {
	names, of := normal.Structures()
	for i, name := range names {
		list = append(list, Structure{name, normal.Family{Covariance: of[i]}.Name()})
	}
	return list
}

// HeavyTailed are Student-t components with scale matrices of their own.
var HeavyTailed = Structure{"VVV", families.StudentT}

// Label tells structures apart.
func (f Structure) Label() string {
	if f == HeavyTailed {
		return "Student-t " + f.Name
	}
	return f.Name
}

// StructuresNamed are those of some names of mclust, in the order of [Structures].
func StructuresNamed(names ...string) []Structure {
	return slices.DeleteFunc(Structures(), func(f Structure) bool { return !slices.Contains(names, f.Name) })
}

// About says in words which parts of the covariances vary.
func (f Structure) About() string {
	var parts [3][]string
	for i, part := range []string{"volume", "shape", "orientation"} {
		at := strings.IndexByte("EVI", f.Name[i])
		parts[at] = append(parts[at], part)
	}
	var said []string
	for i, how := range []string{"equal", "varying"} {
		if len(parts[i]) > 0 {
			said = append(said, how+" "+strings.Join(parts[i], " and "))
		}
	}
	switch f.Name[1:] {
	case "II":
		said = append(said, "spheres")
	case "EI", "VI":
		said = append(said, "axes along the columns")
	}
	if f == HeavyTailed {
		said = append(said, "heavy tails")
	}
	return strings.Join(said, ", ")
}

// A Comparison asks one fit to compare covariance structures.
type Comparison struct {
	Structures []Structure
	Usual      bool                // nobody named them
	By         framework.Criterion // that the best of each are compared by
}

// A Winner is found by a fit that compared covariance structures.
type Winner interface {
	// Won returns the columns by the best structure, the families that they have in words, and how all structures fared,
	// the best first.
	Won() (columns []data.Column, what string, all []Compared)
}

// A Compared is a covariance structure that took part in a comparison.
type Compared struct {
	Covariance string `json:"covariance"`
	Family     string `json:"family"`
	K          int    `json:"k"`
	Value      Number `json:"value"`
	Behind     Number `json:"behind"` // the best, in nats
	Converged  bool   `json:"converged"`
	Stage      string `json:"stage"` // that the search ended at
	Error      string `json:"error,omitempty"`

	Structure Structure `json:"-"`
	Err       error     `json:"-"`
}

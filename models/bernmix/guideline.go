package bernmix

import (
	"fmt"
	"strings"
)

// Goal is the purpose of a fit (paper K, sections 6.1 and 7.2).
type Goal int

const (
	// Prediction asks for a small generalisation error.
	Prediction Goal = iota
	// GeneralTendency asks for few large clusters.
	GeneralTendency
	// MinorityClusters asks for small clusters too, of rows that agree closely.
	MinorityClusters
)

var goalNames = [...]string{
	Prediction:       "prediction",
	GeneralTendency:  "general-tendency",
	MinorityClusters: "minority-clusters",
}

func (g Goal) String() string {
	if g < 0 || int(g) >= len(goalNames) {
		return fmt.Sprintf("Goal(%d)", int(g))
	}
	return goalNames[g]
}

// GoalByName finds a goal by its name, ignoring case. The error for an unknown name lists the goals.
func GoalByName(name string) (Goal, error) {
	for g, s := range goalNames {
		if strings.EqualFold(s, name) {
			return Goal(g), nil
		}
	}
	return 0, fmt.Errorf("bernmix: unknown goal %q: choose one of %s", name, strings.Join(goalNames[:], ", "))
}

// A Recommendation is a starting point: b sets the size of the clusters, a sets their number, and the guideline is to
// adjust them in turn.
type Recommendation struct {
	A, B   float64
	Phase  Phase   // of Theorem 5.1.2 at A and B
	MaxA   float64 // at this B, redundant components stay if a is at least MaxA
	Reason string  // one sentence for the user
}

// The values of paper K's experiments: small in Tables 6.1 and 6.2, uniform in Table 6.2
// and section 6.2.1. An a below ½ is below MaxA at every b and M.
const (
	smallHyperparameter   = 1e-4
	uniformHyperparameter = 1.0
)

// Recommend returns the hyperparameters of paper K's guideline (sections 6.2 and 7.2) for
// m columns. They lie inside NoRedundant. For another b, keep a below MaxA = ½ + M·min(½, b), the corrected border of
// Corollary 5.1.1 (b > a/M − 1/(2M)). It returns an error for an unknown goal and for m < 1.
func Recommend(goal Goal, m int) (Recommendation, error) {
	h := Hyperparameters{A: smallHyperparameter, M: m}
	var reason string
	switch goal {
	case Prediction:
		h.B = uniformHyperparameter
		reason = "the generalisation error is small and stable for small a with b near 1, where redundant components empty"
	case GeneralTendency:
		h.B = uniformHyperparameter
		reason = "a large b merges small clusters into the general tendency, and a small a empties redundant " +
			"components; raise b for fewer clusters"
	case MinorityClusters:
		h.B = smallHyperparameter
		reason = "a small b keeps small clusters of rows that agree closely, and a, which must be smaller the " +
			"smaller b is, empties redundant components"
	default:
		return Recommendation{}, fmt.Errorf("bernmix: unknown goal %v: choose one of %s", goal,
			strings.Join(goalNames[:], ", "))
	}
	phase, err := h.Phase()
	if err != nil {
		return Recommendation{}, err
	}
	return Recommendation{A: h.A, B: h.B, Phase: phase, MaxA: h.MaxA(), Reason: reason}, nil
}

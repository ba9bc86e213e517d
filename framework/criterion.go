package framework

import (
	"fmt"
	"math"
	"reflect"
	"strings"
)

// Evaluation is what a criterion judges: a state (q, Π) of a model. All
// quantities are in nats. Where [Options].Temper is α, LogJoint is α E[ln p(X,Z|Π)] −
// KL(q(Π)‖p(Π)), Entropy α H(q(Z)), and N α times the sum of the row weights.
type Evaluation struct {
	LogJoint      float64 // E_q[ln p(X,Z|Π)]
	Entropy       float64 // H(q)
	LogDet        float64 // ln|F|, F = E_q[F_Ξ]; only where Needs asks for it
	LogDetCounts  float64 // ln|F| counted through q alone; likewise
	LogLikelihood float64 // ln p(X|Π); along the way its bound LogJoint + Entropy
	Shape         Shape
	N             float64 // sum of the row weights
}

// Bound is E_q[ln p(X,Z|Π)] + H(q), the lower bound of ln p(X|Π) that EM ascends
// (paper G, eq. 21).
func (e *Evaluation) Bound() float64 { return e.LogJoint + e.Entropy }

// Needs says what a criterion asks of a model.
type Needs uint8

const (
	NeedsCurvature  Needs = 1 << iota // the model is Curved
	NeedsCounts                       // the model is Counted
	NeedsEstimates                    // Π is estimated, not integrated out: the model is not Variational
	NeedsLikelihood                   // ln p(X|Π) at the final parameters: one more pass
	NeedsAssigner                     // z is discrete: the model is an Assigner
)

// A Criterion scores a fitted model, larger is better: each one approximates or
// bounds ln p(X|K) in nats (BIC and AIC are −½ times their usual form).
type Criterion struct {
	Name   string
	Source string // where it comes from
	Needs  Needs
	Value  func(e *Evaluation) float64
}

// The criteria. Paper G is Hayashi, Maeda and Fujimaki (2015).
var (
	// GFIC is E_q[ln p(X,Z|Π)] + H(q) − ½ ln|F_Ξ| − (D_Π/2) ln N.
	GFIC = Criterion{"gFIC", "Hayashi, Maeda & Fujimaki 2015, eqs. 2, 16 and 17", NeedsCurvature | NeedsEstimates, func(e *Evaluation) float64 {
		return e.Bound() - e.LogDet/2 - charge(e.Shape.Total(), e.N)
	}}
	// FIC is gFIC with F counted through q alone: −½ Σ_k D_ξk ln(N_k/N) in a mixture.
	FIC = Criterion{"FIC", "Fujimaki & Morinaga 2012; paper G, eq. 1", NeedsCounts | NeedsEstimates, func(e *Evaluation) float64 {
		return e.Bound() - e.LogDetCounts/2 - charge(e.Shape.Total(), e.N)
	}}
	// BICEM is the objective of EM less (D_Π/2) ln N.
	BICEM = Criterion{"BICEM", "Hayashi, Maeda & Fujimaki 2015, section 6", NeedsEstimates, func(e *Evaluation) float64 {
		return e.Bound() - charge(e.Shape.Total(), e.N)
	}}
	// BIC is ln p(X|Π) − (d/2) ln N with d identifiable parameters.
	BIC = Criterion{"BIC", "Schwarz 1978", NeedsEstimates | NeedsLikelihood, func(e *Evaluation) float64 {
		return e.LogLikelihood - charge(e.Shape.Identifiable(), e.N)
	}}
	// AIC is ln p(X|Π) − d with d identifiable parameters.
	AIC = Criterion{"AIC", "Akaike 1974", NeedsEstimates | NeedsLikelihood, func(e *Evaluation) float64 {
		return e.LogLikelihood - float64(e.Shape.Identifiable())
	}}
	// ICL is BIC less the entropy of the assignment, for discrete z.
	ICL = Criterion{"ICL", "Biernacki, Celeux & Govaert 2000", NeedsEstimates | NeedsLikelihood | NeedsAssigner, func(e *Evaluation) float64 {
		return e.LogLikelihood - e.Entropy - charge(e.Shape.Identifiable(), e.N)
	}}
	// ELBO is E_q[ln p(X,Z|Π)] + H(q): the evidence lower bound of a variational
	// model (paper G, eq. 19). For a model that estimates Π it is the objective of EM
	// (eq. 21), which charges nothing for parameters and so never falls as K grows. Of a
	// tempered fit it is the tempered bound, and the only one of these criteria there is.
	ELBO = Criterion{"ELBO", "Hayashi, Maeda & Fujimaki 2015, eqs. 19 and 21", 0, (*Evaluation).Bound}
)

// Criteria lists all criteria.
func Criteria() []Criterion { return []Criterion{GFIC, FIC, BICEM, BIC, AIC, ICL, ELBO} }

// CriterionByName finds a criterion whatever the case of its name; the error for an
// unknown one lists them.
func CriterionByName(name string) (Criterion, error) {
	var names []string
	for _, c := range Criteria() {
		if strings.EqualFold(c.Name, name) {
			return c, nil
		}
		names = append(names, strings.ToLower(c.Name))
	}
	return Criterion{}, fmt.Errorf("framework: unknown criterion %q: choose one of %s", name, strings.Join(names, ", "))
}

// charge is the price of d parameters at n rows, (d/2) ln N.
func charge(d int, n float64) float64 { return float64(d) / 2 * math.Log(n) }

// abilities are the optional interfaces that a model implements.
type abilities[B, P any, S Statistics[S]] struct {
	name        string
	curved      Curved[P, S]
	counted     Counted[P, S]
	projector   Projector[P, S]
	expander    Expander[P, S]
	penalized   Penalized[P]
	condenser   Condenser[B]
	variational bool
	assigner    bool
	scaler      bool // of S
}

func abilitiesOf[B, P any, S Statistics[S]](m Model[B, P, S]) abilities[B, P, S] {
	a := abilities[B, P, S]{name: fmt.Sprintf("%T", m)}
	a.curved, _ = m.(Curved[P, S])
	a.counted, _ = m.(Counted[P, S])
	a.projector, _ = m.(Projector[P, S])
	a.expander, _ = m.(Expander[P, S])
	a.penalized, _ = m.(Penalized[P])
	a.condenser, _ = m.(Condenser[B])
	_, a.variational = m.(Variational)
	_, a.assigner = m.(Assigner[B, P])
	a.scaler = reflect.TypeFor[S]().Implements(reflect.TypeFor[Scaler]())
	return a
}

// supports says why the model cannot be judged by c, or nil.
func (a abilities[B, P, S]) supports(c Criterion) error {
	switch {
	case c.Needs&NeedsEstimates != 0 && a.variational:
		return fmt.Errorf("framework: %s charges for estimated parameters, and %s integrates them out: use ELBO", c.Name, a.name)
	case c.Needs&NeedsCurvature != 0 && a.curved == nil:
		return a.missing(c.Name, "Curved", "a Curvature method")
	case c.Needs&NeedsCounts != 0 && a.counted == nil:
		return a.missing(c.Name, "Counted", "a Counts method")
	case c.Needs&NeedsAssigner != 0 && !a.assigner:
		return a.missing(c.Name, "Assigner", "discrete latent variables and a Responsibilities method")
	}
	return nil
}

// tempers says why the posterior of the model's parameters cannot be tempered by alpha, or
// nil.
func (a abilities[B, P, S]) tempers(alpha float64) error {
	switch {
	case !(alpha > 0 && alpha <= 1):
		return fmt.Errorf("framework: Temper is %v: it is a power of the likelihood, above 0 and at most 1", alpha)
	case alpha == 1:
		return nil
	case !a.variational:
		return fmt.Errorf("framework: Temper is %v, and %s has no posterior of its parameters to temper: take a model that implements framework.Variational", alpha, a.name)
	case !a.scaler:
		return a.unscalable(fmt.Sprintf("Temper is %v", alpha))
	}
	return nil
}

// unscalable says what an option asks of statistics that are no [Scaler].
func (a abilities[B, P, S]) unscalable(option string) error {
	return fmt.Errorf("framework: %s, and the statistics of %s, %v, do not implement framework.Scaler (a Scale method)", option, a.name, reflect.TypeFor[S]())
}

func (a abilities[B, P, S]) missing(what, iface, method string) error {
	return fmt.Errorf("framework: %s needs a model that implements framework.%s (%s); %s does not", what, iface, method, a.name)
}

// own is the criterion that a method maximises in this model.
func (a abilities[B, P, S]) own(m Method) Criterion {
	switch {
	case a.variational:
		return ELBO
	case m == GFAB:
		return GFIC
	case m == FAB:
		return FIC
	}
	return BICEM
}

// logLikelihood is the bound of ln p(X|Π), the log prior taken off.
func (a abilities[B, P, S]) logLikelihood(e *Evaluation, p P) float64 {
	if a.penalized == nil {
		return e.Bound()
	}
	return e.Bound() - a.penalized.LogPrior(p)
}

// logDets fills in the log-determinants that criteria need.
func (a abilities[B, P, S]) logDets(s S, p P, needs Needs, e *Evaluation) error {
	if needs&NeedsCurvature != 0 {
		blocks, err := a.curved.Curvature(s, p, nil)
		if err != nil {
			return err
		}
		e.LogDet = blocks.LogDet()
	}
	if needs&NeedsCounts != 0 {
		blocks, err := a.counted.Counts(s, p, nil)
		if err != nil {
			return err
		}
		e.LogDetCounts = blocks.LogDet()
	}
	return nil
}

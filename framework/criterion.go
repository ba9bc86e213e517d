package framework

import (
	"fmt"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/laplace"
)

// Evaluation is a state (q, Π) of a model, as a criterion scores it. All quantities are in nats. If [Options].Temper is
// α, LogJoint is α E[ln p(X,Z|Π)] − KL(q(Π)‖p(Π)), Entropy α H(q(Z)), and N α times the observations.
type Evaluation struct {
	LogJoint      float64 // E_q[ln p(X,Z|Π)]
	Entropy       float64 // H(q)
	LabelEntropy  float64 // the part of Entropy that is the labels' (see [optional.LabelEntropy])
	LogDet        float64 // ln|F|, F = E_q[F_Ξ]; only if Needs asks for it
	LogDetCounts  float64 // ln of the factor of F that q decides; likewise
	LogLikelihood float64 // ln p(X|Π); before convergence its bound LogJoint + Entropy
	Shape         Shape
	N             float64 // observations, with weights
	// the estimate of ln p(X) with Π integrated out (see [optional.Collapsible]), only if Needs asks; before
	// convergence its first order
	Collapsed     float64
	LabelEvidence float64 // ln p(X,Ẑ) with Π integrated out, Ẑ the most probable labels, likewise
	CodeLength    float64 // of [optional.Coded], likewise
	Evidence      float64 // the bound of ln p(X|K) under the prior (see [optional.Proper]), likewise
	// ln M of equivalent modes, likewise, of the final state (docs/theory/evidence.md, section 1); NaN if unknown
	LogModes float64
	// parameters and the N that they are charged by (see [optional.Charger]); nil if N is that of all
	Charges []optional.Charge
}

// Bound is E_q[ln p(X,Z|Π)] + H(q), the lower bound of ln p(X|Π) that EM ascends
// (paper G, eq. 21).
func (e *Evaluation) Bound() float64 { return e.LogJoint + e.Entropy }

// charges are the model's, or those of one N.
func (e *Evaluation) charges(yield func(optional.Charge) bool) {
	if e.Charges != nil {
		for _, c := range e.Charges {
			if !yield(c) {
				return
			}
		}
		return
	}
	free := e.Shape.Identifiable() - e.Shape.Shared
	_ = yield(optional.Charge{Parameters: e.Shape.Component, Free: free, Latent: true, N: e.N}) &&
		yield(optional.Charge{Parameters: e.Shape.Shared, Free: e.Shape.Shared, N: e.N})
}

// ParameterCharge is ½ ln N for every number of Π, in nats.
func (e *Evaluation) ParameterCharge() (sum float64) {
	for c := range e.charges {
		sum += half(c.Parameters, c.N)
	}
	return sum
}

// LaplaceCharge is the charge of a criterion in addition to ½ ln|F|, with F of the average of N observations: ½ ln N
// for every number of Ξ, and for those of Θ with their own N.
func (e *Evaluation) LaplaceCharge() (sum float64) {
	for c := range e.charges {
		if c.Latent {
			c.N = e.N
		}
		sum += half(c.Parameters, c.N)
	}
	return sum
}

// FreeCharge is ½ ln N for every identifiable parameter, in nats.
func (e *Evaluation) FreeCharge() (sum float64) {
	for c := range e.charges {
		sum += half(c.Free, c.N)
	}
	return sum
}

// half is (d/2) ln N.
func half(d int, n float64) float64 { return float64(d) / 2 * math.Log(n) }

// Needs are the requirements of a criterion.
type Needs struct {
	Curvature   bool // the model is [optional.Curved]
	Information bool // the factor of F that Π decides, too
	Estimates   bool // Π is estimated, not integrated out: the model is not [optional.Variational]
	Likelihood  bool // ln p(X|Π) at the final parameters: one more pass
	Assigner    bool // z is discrete: the model is an [optional.Assigner], or has an [optional.LabelEntropy]
	Collapsed   bool // Π can be integrated out: the model is [optional.Collapsible]; two more passes
	Labeller    bool // the model is [optional.Collapsible] and an [optional.Labeller]; one more pass
	Code        bool // the data are discrete: the model is [optional.Coded] and an [optional.Labeller]; likewise
	Learning    bool // the model is [optional.Singular]
	Prior       bool // the model is [optional.Proper]
}

// or are the requirements of two criteria.
func (n Needs) or(m Needs) Needs {
	return Needs{
		Curvature: n.Curvature || m.Curvature, Information: n.Information || m.Information,
		Estimates: n.Estimates || m.Estimates, Likelihood: n.Likelihood || m.Likelihood,
		Assigner: n.Assigner || m.Assigner, Collapsed: n.Collapsed || m.Collapsed, Labeller: n.Labeller || m.Labeller,
		Code: n.Code || m.Code, Learning: n.Learning || m.Learning, Prior: n.Prior || m.Prior,
	}
}

// passes says that they cost passes beside that of the likelihood.
func (n Needs) passes() bool { return n.Collapsed || n.Labeller || n.Code }

// A Criterion scores a fitted model, larger is better: each one approximates or
// bounds ln p(X|K) in nats (BIC and AIC are −½ times their usual form).
type Criterion struct {
	Name   string
	Source string // the reference
	Needs  Needs
	Value  func(e *Evaluation) float64
	// Sweep replaces Value in a criterion that compares fits of several K: it returns one value for each.
	Sweep func(s *Sweep) ([]float64, error)
}

// The criteria. Paper G is Hayashi, Maeda and Fujimaki (2015).
var (
	// GFIC is E_q[ln p(X,Z|Π)] + H(q) − ½ ln|F_Ξ| − (D_Π/2) ln N.
	GFIC = Criterion{Name: "gFIC", Source: "Hayashi, Maeda & Fujimaki 2015, eqs. 2, 16 and 17",
		Needs: Needs{Curvature: true, Information: true, Estimates: true}, Value: func(e *Evaluation) float64 {
			return e.Bound() - e.LogDet/2 - e.LaplaceCharge()
		}}
	// FIC is gFIC with the factor of F that q decides: −½ Σ_k D_ξk ln(N_k/N) in a mixture.
	FIC = Criterion{Name: "FIC", Source: "Fujimaki & Morinaga 2012; paper G, eq. 1",
		Needs: Needs{Curvature: true, Estimates: true}, Value: func(e *Evaluation) float64 {
			return e.Bound() - e.LogDetCounts/2 - e.LaplaceCharge()
		}}
	// BICEM is the objective of EM less (D_Π/2) ln N.
	BICEM = Criterion{Name: "BICEM", Source: "Hayashi, Maeda & Fujimaki 2015, section 6", Needs: Needs{Estimates: true},
		Value: func(e *Evaluation) float64 {
			return e.Bound() - e.ParameterCharge()
		}}
	// BIC is ln p(X|Π) − (d/2) ln N with d identifiable parameters.
	BIC = Criterion{Name: "BIC", Source: "Schwarz 1978", Needs: Needs{Estimates: true, Likelihood: true},
		Value: func(e *Evaluation) float64 {
			return e.LogLikelihood - e.FreeCharge()
		}}
	// AIC is ln p(X|Π) − d with d identifiable parameters.
	AIC = Criterion{Name: "AIC", Source: "Akaike 1974", Needs: Needs{Estimates: true, Likelihood: true},
		Value: func(e *Evaluation) float64 {
			return e.LogLikelihood - float64(e.Shape.Identifiable())
		}}
	// ICL is BIC less the entropy of the labels, for discrete z.
	ICL = Criterion{Name: "ICL", Source: "Biernacki, Celeux & Govaert 2000",
		Needs: Needs{Estimates: true, Likelihood: true, Assigner: true}, Value: func(e *Evaluation) float64 {
			return e.LogLikelihood - e.LabelEntropy - e.FreeCharge()
		}}
	// ELBO is E_q[ln p(X,Z|Π)] + H(q): the evidence lower bound of a variational
	// model (paper G, eq. 19). For a model that estimates Π it is the objective of EM
	// (eq. 21), which charges nothing for parameters and so never falls as K grows. For a tempered fit it is the tempered
	// bound, and the only one of these criteria.
	ELBO = Criterion{Name: "ELBO", Source: "Hayashi, Maeda & Fujimaki 2015, eqs. 19 and 21", Value: (*Evaluation).Bound}
	// Collapsed is E_q[ln p(X,Z)] + H(q) to second order, with Π integrated out under the model's priors: an estimate of
	// ln p(X), and no strict bound. It charges for parameters by integration alone, and holds at any q.
	Collapsed = Criterion{
		Name:   "Collapsed",
		Source: "Teh, Newman & Welling 2007; Kurihara, Welling & Teh 2007, section 3",
		Needs:  Needs{Collapsed: true},
		Value: func(e *Evaluation) float64 {
			return e.Collapsed
		},
	}
	// ExactICL is ln p(X,Ẑ) with Π integrated out, at the most probable labels: what ICL approximates.
	ExactICL = Criterion{Name: "ExactICL", Source: "Biernacki, Celeux & Govaert 2010", Needs: Needs{Labeller: true},
		Value: func(e *Evaluation) float64 {
			return e.LabelEvidence
		}}
	// DNML is ln p(X,Ẑ|Π̂(Ẑ)) less the logarithm of its sum over all data of the same size, for the labels and for each
	// component separately: minus the length of a code, for discrete data.
	DNML = Criterion{Name: "DNML", Source: "Wu, Sugawara & Yamanishi 2017, section 3", Needs: Needs{Code: true},
		Value: func(e *Evaluation) float64 {
			return e.CodeLength
		}}
)

// empty says that there is nothing that a criterion is worth.
func (c Criterion) empty() bool { return c.Value == nil && c.Sweep == nil }

// Criteria lists all criteria.
func Criteria() []Criterion {
	return []Criterion{Evidence, Completed, GFIC, FIC, BICEM, BIC, AIC, ICL, ELBO, Collapsed, ExactICL, DNML, SBIC, Slope}
}

// CriterionByName finds a criterion by its name, in any case; the error for an unknown name lists all.
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

// capabilities are the optional interfaces that a model implements.
type capabilities[B, P any, S Statistics[S]] struct {
	name        string
	curved      optional.Curved[P, S]
	proper      optional.Proper[P, S]
	projector   optional.Projector[P, S]
	rotator     optional.Rotator[P, S]
	splitter    optional.Splitter[Source[B], P, S] // nil if dimensions mix
	charger     optional.Charger[P, S]
	coupled     optional.Coupled[B, Source[B], P, S]
	expander    optional.Expander[P, S]
	estimating  optional.Estimating[P, S]
	penalized   optional.Penalized[P]
	condenser   optional.Condenser[Source[B]]
	labelled    optional.LabelEntropy[S]
	collapsible optional.Collapsible[B, P, S]
	coded       optional.Coded[P, S]
	singular    optional.Singular[P]
	labels      bool // the model is a Labeller
	fixedPoint  bool
	variational bool
	assigner    bool
	bounded     bool // its likelihood
	inOrder     bool
	replacing   bool // the prior of penalized
	scaler      bool // of S
	follows     bool // likewise
	creeps      bool
	nilable     bool // P may be nil
}

func capabilitiesOf[B, P any, S Statistics[S]](m Model[B, P, S]) *capabilities[B, P, S] {
	c := &capabilities[B, P, S]{name: fmt.Sprintf("%T", m)}
	c.curved, _ = m.(optional.Curved[P, S])
	c.proper, _ = m.(optional.Proper[P, S])
	c.projector, _ = m.(optional.Projector[P, S])
	c.rotator, _ = m.(optional.Rotator[P, S])
	if c.rotator == nil && c.projector != nil {
		c.splitter, _ = m.(optional.Splitter[Source[B], P, S])
	}
	c.charger, _ = m.(optional.Charger[P, S])
	c.coupled, _ = m.(optional.Coupled[B, Source[B], P, S])
	c.expander, _ = m.(optional.Expander[P, S])
	c.estimating, _ = m.(optional.Estimating[P, S])
	c.penalized, _ = m.(optional.Penalized[P])
	c.condenser, _ = m.(optional.Condenser[Source[B]])
	c.labelled, _ = m.(optional.LabelEntropy[S])
	c.collapsible, _ = m.(optional.Collapsible[B, P, S])
	c.coded, _ = m.(optional.Coded[P, S])
	c.singular, _ = m.(optional.Singular[P])
	_, c.labels = m.(optional.Labeller[B, P, S])
	_, c.fixedPoint = m.(optional.FixedPoint)
	_, c.variational = m.(optional.Variational)
	_, c.assigner = m.(optional.Assigner[B, P])
	_, c.bounded = m.(optional.BoundedLikelihood)
	_, c.inOrder = m.(optional.InOrder)
	_, c.replacing = m.(optional.ReplacesPrior)
	c.scaler = reflect.TypeFor[S]().Implements(reflect.TypeFor[optional.Scaler]())
	c.follows = reflect.TypeFor[S]().Implements(reflect.TypeFor[optional.Follower[S]]())
	creeping, ok := m.(optional.Creeping)
	c.creeps = ok && creeping.Creeps()
	c.nilable = nilable(reflect.TypeFor[P]())
	return c
}

// supports returns why the model cannot be scored by c, or nil.
func (a *capabilities[B, P, S]) supports(c Criterion) error {
	var improper error
	if c.Needs.Prior {
		improper = a.supportsPrior(c.Name)
	}
	switch {
	case c.empty():
		return fmt.Errorf("framework: the criterion %q has no Value and no Sweep: take one of Criteria, or CriterionByName",
			c.Name)
	case c.Needs.Estimates && a.variational:
		return fmt.Errorf("framework: %s charges for estimated parameters, and %s integrates them out: use ELBO",
			c.Name, a.name)
	case improper != nil:
		return improper
	case c.Needs.Curvature && a.curved == nil:
		return a.missing(c.Name, "Curved", "a Curvature method")
	case c.Needs.Assigner && !a.assigner && a.labelled == nil:
		return a.missing(c.Name, "Assigner", "discrete latent variables and a Responsibilities method")
	case (c.Needs.Labeller || c.Needs.Code) && a.coupled != nil:
		return fmt.Errorf("framework: %s needs q = p(Z|X,Π), and %s keeps another q", c.Name, a.name)
	case (c.Needs.Collapsed || c.Needs.Labeller) && a.collapsible == nil:
		return a.missing(c.Name, "Collapsible", "conjugate priors, and LogEvidence and Spread methods")
	case (c.Needs.Labeller || c.Needs.Code) && !a.labels:
		return a.missing(c.Name, "Labeller", "discrete latent variables and an InferLabels method")
	case c.Needs.Learning && a.singular == nil:
		return a.missing(c.Name, "Singular", "a LearningCoefficient method")
	case c.Needs.Code && a.coded == nil:
		return a.missing(c.Name, "Coded", "discrete data and a CodeLength method")
	}
	return nil
}

// others are the criteria that fits of the model can be scored by, at no pass but that of the likelihood, beside those
// asked for.
func (a *capabilities[B, P, S]) others(asked []Criterion) (list []Criterion) {
	for _, c := range Criteria() {
		same := func(other Criterion) bool { return other.Name == c.Name }
		if c.Sweep == nil && !c.Needs.passes() && a.supports(c) == nil && !slices.ContainsFunc(asked, same) {
			list = append(list, c)
		}
	}
	return list
}

// tempers returns why the posterior of the model's parameters cannot be tempered by alpha, or
// nil.
func (a *capabilities[B, P, S]) tempers(alpha float64) error {
	switch {
	case !(alpha > 0 && alpha <= 1):
		return fmt.Errorf("framework: Temper is %v; must be above 0 and at most 1", alpha)
	case alpha == 1:
		return nil
	case !a.variational || a.fixedPoint:
		return fmt.Errorf("framework: Temper is %v, and %s has no posterior of its parameters to temper: take a "+
			"model that implements optional.Variational", alpha, a.name)
	case !a.scaler:
		return a.unscalable(fmt.Sprintf("Temper is %v", alpha))
	}
	return nil
}

// unscalable is the error about an option that needs statistics that are an [optional.Scaler].
func (a *capabilities[B, P, S]) unscalable(option string) error {
	return fmt.Errorf("framework: %s, and the statistics of %s, %v, do not implement optional.Scaler (a Scale method)",
		option, a.name, reflect.TypeFor[S]())
}

func (a *capabilities[B, P, S]) missing(what, iface, method string) error {
	return fmt.Errorf("framework: %s needs a model that implements optional.%s (%s); %s does not", what, iface, method,
		a.name)
}

// own is the criterion that a method maximises in this model.
func (a *capabilities[B, P, S]) own(m Method) Criterion {
	switch {
	case a.fixedPoint && a.collapsible != nil:
		return Collapsed
	case a.variational:
		return ELBO
	// the steps of an Expander do not climb it
	case m == GFAB && a.expander == nil && a.supportsPrior(Evidence.Name) == nil:
		return Evidence
	case m == GFAB:
		return GFIC
	case m == FAB:
		return FIC
	}
	return BICEM
}

// evaluation is a model's part of the evaluation of a state, without the curvature.
func (a *capabilities[B, P, S]) evaluation(m Model[B, P, S], s S, p P, entropy float64) (e Evaluation, err error) {
	e = Evaluation{LogJoint: m.LogJoint(s, p), Entropy: entropy, LabelEntropy: entropy, Shape: m.Shape(p),
		N: s.Observations()}
	if err := a.number("LogJoint", e.LogJoint); err != nil {
		return e, err
	}
	if err := a.number("Infer", entropy); err != nil {
		return e, err
	}
	if a.labelled != nil {
		e.LabelEntropy = a.labelled.LabelEntropy(s)
	}
	if a.charger != nil {
		e.Charges = a.charger.Charges(s, p)
		for _, c := range e.Charges {
			if !(c.N > 0) {
				return e, a.violated("Charges", "charges %d parameters for N = %v; must be positive", c.Parameters, c.N)
			}
		}
	}
	e.LogLikelihood = e.Bound()
	if a.penalized != nil {
		e.LogLikelihood -= a.penalized.LogPrior(p)
	}
	return e, nil
}

// curvature fills in f, memory reused, and what criteria need of it.
func (a *capabilities[B, P, S]) curvature(s S, p P, countOnly bool, f *laplace.Curvature) error {
	f.Reset(s.Observations(), countOnly)
	if err := a.curved.Curvature(s, p, f); err != nil {
		return err
	}
	if err := a.number("Curvature", f.LogDetCounts()); err != nil || countOnly {
		return err
	}
	return a.number("Curvature", f.LogDet())
}

// charge fills in what criteria need of the curvature.
func (e *Evaluation) charge(f *laplace.Curvature) {
	if !f.CountOnly() {
		e.LogDet = f.LogDet()
	}
	if e.LogDetCounts = f.LogDetCounts(); !f.Factors() {
		e.LogDetCounts = math.NaN()
	}
}

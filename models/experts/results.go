package experts

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/internal/simd"
)

// Prior returns p(z_n = k|a_n), rows×K, given the gate's columns alone, in dst (allocated if nil). The family's
// columns may be missing.
func (m Model) Prior(b blocks.Rows, p *Parameters, dst []float64) ([]float64, error) {
	of, err := m.PriorScorer(p)
	if err != nil {
		return nil, err
	}
	return of(b, dst)
}

// PriorScorer returns a function that computes Prior for one block after another, in one goroutine. It allocates
// nothing if dst is large enough.
func (m Model) PriorScorer(p *Parameters) (func(b blocks.Rows, dst []float64) ([]float64, error), error) {
	r, err := m.reader(p)
	return func(b blocks.Rows, dst []float64) ([]float64, error) {
		dst = dst[:0]
		err := r.eachRow(b, func(_ int, _, prior []float64) { dst = append(dst, prior...) })
		return dst, err
	}, err
}

// A reader reads t and π of rows.
type reader struct {
	gate
	at, pi, r []float64
}

func (m Model) reader(p *Parameters) (*reader, error) {
	own, err := m.columns(p.D)
	if err != nil {
		return nil, err
	}
	g := gate{columns: m.Gate, family: own, p: p}
	return &reader{gate: g, at: make([]float64, p.width()), pi: make([]float64, p.K())}, nil
}

// eachRow visits t and π of every row of a block.
func (g *reader) eachRow(b blocks.Rows, visit func(i int, t, prior []float64)) error {
	if _, err := g.of(b); err != nil {
		return err
	}
	size := family.ChunkRows(b)
	g.r = linalg.Resize(g.r, g.p.K()*family.Padded(size))
	for first := 0; first < b.N; first += size {
		n := min(size, b.N-first)
		if err := g.LogProb(first, n, g.r); err != nil {
			return err
		}
		for i := range n {
			for j := range g.at {
				g.at[j] = g.design.T[j*family.Padded(n)+i]
			}
			for k := range g.pi {
				g.pi[k] = g.prior[k*family.Padded(n)+i]
			}
			visit(first+i, g.at, g.pi)
		}
	}
	return nil
}

// LogOdds returns the coefficients of ln(π_k/π_1), k = 2…K, as linear functions of (1, columns of the gate), in the
// table's units: (K−1)×P row-major.
func (p *Parameters) LogOdds() []float64 { return p.Root.Odds(p.Gate, 0) }

// A Coefficient says what one unit of a gate's column adds to the log odds ln(π_k/π_1) of a class against the first
// class. exp(Value) is the odds ratio; Error is the standard error of Value.
type Coefficient struct{ Value, Error float64 }

// Coefficients returns the gate's coefficients for classes 2 to K against the first, (K−1)×P, the intercept first.
// Their standard errors come from the observed information of the rows of b about the gate, which allows for the
// uncertainty about classes (Louis 1982) but holds the family's parameters fixed. They are NaN if the information is
// singular.
func (m Model) Coefficients(b blocks.Rows, p *Parameters) ([][]Coefficient, error) {
	l, err := m.likelihood(b, p)
	if err != nil {
		return nil, err
	}
	_, _, observed := l.Derivatives(p.Gate)
	n := p.width()
	list := make([][]Coefficient, p.K()-1)
	var chol mat.Cholesky
	var cov mat.SymDense
	var errs []float64
	if len(list) > 0 && chol.Factorize(observed) && chol.InverseTo(&cov) == nil {
		errs = p.Root.Errors(&cov, 0, p.K())
	}
	for i, v := range p.LogOdds() {
		c := Coefficient{v, math.NaN()}
		if errs != nil {
			c.Error = errs[i]
		}
		list[i/n] = append(list[i/n], c)
	}
	return list, nil
}

// likelihood is the gate's likelihood given the densities of the classes, Σ_n w_n ln Σ_k π_k(t_n) f_nk.
func (m Model) likelihood(b blocks.Rows, p *Parameters) (*logit.Likelihood, error) {
	q, err := m.Responsibilities(b, p, nil)
	if err != nil {
		return nil, err
	}
	l := &logit.Likelihood{K: p.K(), Width: p.width(), LogDensity: make([]float64, len(q)),
		Weights: make([]float64, b.N)}
	of, err := m.reader(p)
	if err != nil {
		return nil, err
	}
	return l, of.eachRow(b, func(i int, t, prior []float64) {
		l.T, l.Weights[i] = append(l.T, t...), b.Weight(i)
		for k, v := range prior {
			l.LogDensity[i*l.K+k] = math.Log(q[i*l.K+k]) - math.Log(max(v, 1e-300))
		}
	})
}

// newtonSteps is the number of steps after which those towards a maximum have become short.
const newtonSteps = 20

var errSeparates = errors.New("separates classes in the gate: its coefficients have no finite maximum of the " +
	"likelihood; the prior alone bounds them in a fit by the evidence, the last iteration " +
	"in other fits, and their standard errors mean nothing")

// Doubts reports the doubts about the mixture, and a gate whose likelihood has no finite maximum because its columns
// rule out some class for some row with certainty. The sign is that steps of Newton's method from the fit do not
// become shorter.
func (m Model) Doubts(b blocks.Rows, p *Parameters) ([]error, error) {
	doubts, err := m.mixture().Doubts(p.Mixture)
	if err != nil || p.K() == 1 || len(m.Gate) == 0 {
		return doubts, err
	}
	l, err := m.likelihood(b, p)
	if err != nil {
		return nil, err
	}
	gate := slices.Clone(p.Gate)
	step := make([]float64, len(gate)-l.Width)
	for k := range l.K - 1 { // where no probability is left to change, the way that led there
		floats.SubTo(at(step, k, l.Width), p.gate(k+1), p.gate(0))
	}
	for range newtonSteps {
		next, ok := l.Step(gate)
		if !ok {
			break
		}
		step = next
		floats.Add(gate[l.Width:], step)
		if l.Farthest(step) < logit.ShortStep {
			return doubts, nil
		}
	}
	if l.Farthest(step) > logit.LongStep {
		doubts = append(doubts, blocks.FaultyColumn(m.Gate[p.Root.Widest(step)], errSeparates))
	}
	return doubts, nil
}

// ---- Draws

// Sample draws new values in the family's columns of the rows of b, given the gate's columns. It returns the rows,
// N×D row-major, and the class of each. Missing values stay missing, and columns that the family conditions on stay
// as they are.
func (m Model) Sample(b blocks.Rows, p *Parameters, rng *rand.Rand) (x []float64, labels []int, err error) {
	draw, err := m.drawer(p, rng)
	if err != nil {
		return nil, nil, err
	}
	prior, err := m.Prior(b, p, nil)
	if err != nil {
		return nil, nil, err
	}
	for i := range b.N {
		x = append(x, b.Row(i)...)
		k, err := draw(at(prior, i, p.K()), x[i*p.D:])
		if err != nil {
			return nil, nil, err
		}
		labels = append(labels, k)
	}
	return x, labels, nil
}

// drawer is a function that draws a class and the family's columns of a row.
func (m Model) drawer(p *Parameters, rng *rand.Rand) (func(prior, row []float64) (int, error), error) {
	own, err := m.columns(p.D)
	if err != nil {
		return nil, err
	}
	pl, err := family.NewPlan(m.Family, len(own))
	if err != nil {
		return nil, err
	}
	pl.Attach(p.Mixture.Pooled)
	of := make([]float64, len(own))
	return func(prior, row []float64) (int, error) {
		for j, c := range own {
			of[j] = row[c]
		}
		k := categorical.Draw(prior, rng)
		err := pl.Resample(p.Mixture.Component(k), rng, of)
		for j, c := range own {
			row[c] = of[j]
		}
		return k, err
	}, nil
}

// ---- Parameters from elsewhere

// Check returns an error for parameters that do not match the model, such as those of another file.
func (m Model) Check(p *Parameters) error {
	if p == nil || p.Mixture == nil || p.D < 1 {
		return errors.New("experts: the parameters have no classes or no columns")
	}
	own, err := m.columns(p.D)
	if err != nil {
		return err
	}
	if p.Mixture.D != len(own) {
		return fmt.Errorf("experts: classes of %d columns do not match the family's %d", p.Mixture.D, len(own))
	}
	if err := m.mixture().Check(p.Mixture); err != nil {
		return err
	}
	if len(p.Gate) != p.K()*(1+len(m.Gate)) || !simd.Finite(p.Gate) {
		return fmt.Errorf("experts: a gate of %d numbers does not match K = %d and %d columns", len(p.Gate), p.K(),
			len(m.Gate))
	}
	if err := p.Root.Check(len(m.Gate)); err != nil {
		return fmt.Errorf("experts: %w", err)
	}
	return nil
}

// Canonical orders the classes by their share of the rows, the largest first.
func (m Model) Canonical(p *Parameters) (*Parameters, error) {
	return m.Permute(p, p.Mixture.Order())
}

// Permute moves class order[k] of p to position k.
func (m Model) Permute(p *Parameters, order []int) (*Parameters, error) {
	mix, err := m.mixture().Permute(p.Mixture, order)
	if err != nil {
		return nil, err
	}
	q := framework.KeepAxes(p, p.K(), order)
	q.Mixture = mix
	return q, nil
}

// Vector returns the numbers of [Parameters.LogOdds], then the K shares of the classes, then the classes' parameters.
func (p *Parameters) Vector() []float64 { return append(p.LogOdds(), p.Mixture.Vector()...) }

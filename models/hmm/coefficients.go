package hmm

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/models/experts"
)

// scored is a model whose local step has the scores of logits, and not their information.
type scored struct{ Model }

func (m scored) NewStatistics(p *Parameters) *Statistics {
	s := m.Model.NewStatistics(p)
	for i := range s.Gates {
		s.Gates[i].Overlap = nil
	}
	return s
}

// step is the difference, in log odds, of second differences.
const step = 1e-4

// Coefficients returns the numbers of [Parameters.LogOdds] with standard errors: a list of (K−1)×P for each state, and
// then of first steps if they depend on covariates. The errors come from the observed information
// of src about the logits, which allows for the uncertainty about states but holds the family's parameters, and a
// constant start, fixed: differences of the gradient of ln p(X) (Fisher's identity), for which it makes two local steps
// for each coefficient. They are NaN for a state that is too rarely left to tell, or whose coefficients have no finite
// maximum of the likelihood.
func (m Model) Coefficients(
	ctx context.Context, src framework.Source[blocks.Sequences], p *Parameters,
) ([][]experts.Coefficient, error) {
	if m.Structure.Covariates == 0 {
		return nil, nil
	}
	info, err := m.information(ctx, src, p)
	if err != nil {
		return nil, err
	}
	sources, own := p.sources(), (p.K-1)*p.Root.Width()
	known := make([]bool, sources)
	for i := range known {
		var chol mat.Cholesky
		known[i] = own > 0 && chol.Factorize(block(info, i*own, own))
	}
	for a := range sources * own { // what is not known does not move what is
		for b := a; b < sources*own; b++ {
			if !known[a/own] || !known[b/own] {
				info.SetSym(a, b, 0)
				if a == b {
					info.SetSym(a, a, 1)
				}
			}
		}
	}
	var chol mat.Cholesky
	var cov mat.SymDense
	whole := own > 0 && chol.Factorize(info) && chol.InverseTo(&cov) == nil
	list := make([][]experts.Coefficient, sources)
	odds := p.LogOdds()
	for i := range list {
		var errs []float64
		if whole && known[i] {
			errs = p.Root.Errors(&cov, i*own, p.K)
		}
		for j, v := range odds[i*own : (i+1)*own] {
			c := experts.Coefficient{Value: v, Error: math.NaN()}
			if errs != nil {
				c.Error = errs[j]
			}
			list[i] = append(list[i], c)
		}
	}
	return list, nil
}

// block is a part of a matrix on its diagonal.
func block(m *mat.SymDense, first, n int) *mat.SymDense {
	if n == 0 {
		return new(mat.SymDense)
	}
	return m.SliceSym(first, first+n).(*mat.SymDense)
}

// information is the observed information about γ of the states but the reference, of all sources.
func (m Model) information(
	ctx context.Context, src framework.Source[blocks.Sequences], p *Parameters,
) (*mat.SymDense, error) {
	width := p.Root.Width()
	own := (p.K - 1) * width
	n := p.sources() * own
	if n == 0 {
		return new(mat.SymDense), nil
	}
	q := *p
	differences := mat.NewDense(n, n, nil)
	for a := range n {
		source, place := a/own, a/own*p.K*width+a%own
		if a%own >= p.reference(source)*width {
			place += width
		}
		for _, side := range []float64{-1, 1} {
			q.Gate = slices.Clone(p.Gate)
			q.Gate[place] += side * step
			s, _, err := framework.LocalStep(ctx, scored{m}, src, &q, m.Workers)
			if err != nil {
				return nil, err
			}
			row := differences.RawRowView(a)
			for i := range s.Gates {
				score, at := s.Gates[i].Score(q.gate(i)), p.reference(i)*width
				floats.AddScaled(row[i*own:(i+1)*own], -side/(2*step), slices.Delete(score, at, at+width))
			}
		}
	}
	info := mat.NewSymDense(n, nil)
	for a := range n {
		for b := a; b < n; b++ {
			info.SetSym(a, b, (differences.At(a, b)+differences.At(b, a))/2)
		}
	}
	return info, nil
}

// newtonSteps is the number of steps after which those towards a maximum have become short.
const newtonSteps = 20

var errSeparates = errors.New("its coefficients have no finite maximum of the likelihood; the prior alone bounds " +
	"them in a fit by the evidence, the last iteration in other fits, and their standard errors mean nothing")

// Doubts reports logits whose likelihood has no finite maximum, because covariates rule out some state for some step
// with certainty, although there are moves enough to tell. The sign is that steps of Newton's method from the fit do
// not become shorter. Moves as rare as their coefficients are many have no finite maximum as a rule, and large
// standard errors.
func (m Model) Doubts(
	ctx context.Context, src framework.Source[blocks.Sequences], p *Parameters,
) (doubts []error, err error) {
	if m.Structure.Covariates == 0 || p.K == 1 {
		return nil, nil
	}
	q := *p
	q.Gate = slices.Clone(p.Gate)
	steps, lengths := make([][]float64, p.sources()), make([]float64, p.sources())
	for range newtonSteps {
		s, _, err := framework.LocalStep(ctx, m, src, &q, m.Workers)
		if err != nil {
			return nil, err
		}
		for i := range s.Gates {
			step, ok := s.Gates[i].Newton(q.gate(i))
			if !ok { // no probability is left to change, or steps do not tell
				continue
			}
			steps[i], lengths[i] = step, s.farthest(i, step, float64(p.Root.Width()))
			floats.Add(q.gate(i), step)
		}
		if floats.Max(lengths) < logit.ShortStep {
			return nil, nil
		}
	}
	for i, length := range lengths {
		if length > logit.LongStep {
			before := "in a first step"
			if i < p.K {
				before = fmt.Sprintf("after state %d", i+1)
			}
			doubts = append(doubts, blocks.FaultyColumn(p.D+p.Root.Widest(steps[i]),
				fmt.Errorf("separates states %s: %w", before, errSeparates)))
		}
	}
	return doubts, nil
}

// farthest is the length of a step between two states that more than least moves from a source lead to.
func (s *Statistics) farthest(source int, step []float64, least float64) (length float64) {
	moves := s.Starts
	if source < s.K {
		moves = at(s.Moves, source, s.K)
	}
	for a, n := range moves {
		for b := range a {
			if min(n, moves[b]) > least {
				length = max(length, s.Gates[source].Length(step, a, b))
			}
		}
	}
	return length
}

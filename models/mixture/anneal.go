package mixture

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/categorical"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/prior"
)

// An Annealer makes a mixture with conjugate priors an evidence.Annealed, for annealed importance sampling. Its state
// is (Z, Π), with distribution ∝ p(Z,Π) p(X|Z,Π)^t. It draws the parameters given Z from the posterior of t times the
// statistics, and z_n given Π in proportion to β_k p(x_n|ξ_k)^t: two exact Gibbs steps at every temperature, for
// every family. So AIS can estimate the marginal likelihood of any mixture in this package:
//
//	target, err := mixture.NewAnnealer(ctx, model, table, k)
//	estimate, err := evidence.AIS(ctx, target, evidence.AISOptions{})
type Annealer struct {
	rows blocks.Rows
	k    int
	with *bayes
}

// A State is a draw of labels and parameters.
type State struct {
	Weights    []float64 // β, K
	Components []float64 // ξ, K×P

	s     *Statistics
	h     []float64
	value float64 // ln p(X|Z,Π)
}

// NewAnnealer returns an Annealer for k components with the priors of m, which must be proper; default priors are
// scaled by the table.
func NewAnnealer(ctx context.Context, m Variational, t *blocks.Table, k int) (*Annealer, error) {
	if k < 1 {
		return nil, fmt.Errorf("mixture: K is %d; must be at least 1", k)
	}
	_, pl, err := family.Pool(ctx, t, m.Family)
	if err != nil {
		return nil, err
	}
	with, err := newBayes(pl, m.Prior, m.Weights)
	if err != nil {
		return nil, err
	}
	rows := t.All()
	for i := range rows.N {
		if v := rows.Weight(i); v != math.Trunc(v) {
			return nil, fmt.Errorf("mixture: the weight of %w", blocks.FaultyRow(i, "is %v; must be a whole number, to "+
				"anneal", v))
		}
	}
	return &Annealer{rows, k, with}, nil
}

// Draw draws (Z, Π) from the prior.
func (a *Annealer) Draw(rng *rand.Rand) (*State, error) {
	pl := a.with.Plan
	st := &State{
		Weights:    make([]float64, a.k),
		Components: make([]float64, a.k*pl.Size().Params),
		s:          newStatistics(pl, a.k),
		h:          make([]float64, a.k*pl.Size().Hyper),
	}
	a.with.Update(st.s.Classes, st.h) // no rows yet: the prior
	if err := a.drawParameters(st, rng); err != nil {
		return nil, err
	}
	return st, a.assign(st, 0, rng)
}

// LogLikelihood returns ln p(X|Z,Π).
func (a *Annealer) LogLikelihood(st *State) float64 { return st.value }

// Step draws Π given Z, and Z given Π.
func (a *Annealer) Step(st *State, t float64, rng *rand.Rand) (*State, error) {
	st.s.Classes.Scale(t)
	a.with.Update(st.s.Classes, st.h)
	if err := a.drawParameters(st, rng); err != nil {
		return nil, err
	}
	return st, a.assign(st, t, rng)
}

// drawParameters draws the weights given N_k, and the components from h.
func (a *Annealer) drawParameters(st *State, rng *rand.Rand) error {
	c := prior.Dirichlet{Alpha: a.with.alpha}.Concentrations(a.k)
	linalg.Axpy(1, st.s.Nk, c)
	st.Weights = c.Rand(rng, st.Weights)
	a.with.Draw(st.h, rng, st.Components)
	clear(st.s.log)
	return st.s.Classes.Prepare(st.Components, nil, nil, st.s.tilt)
}

// assign draws the labels of the rows, of each copy of a weighted one, in proportion to
// β_k p(x_n|ξ_k)^t, and sums up the rows.
func (a *Annealer) assign(st *State, t float64, rng *rand.Rand) error {
	s := st.s
	s.clear()
	st.value = 0
	p, copies := make([]float64, a.k), make([]float64, a.k)
	return s.Classes.Chunks(a.rows, func(first, n int, w []float64) error {
		padded := family.Padded(n)
		s.r = linalg.Resize(s.r, padded*a.k)
		clear(s.r)
		s.Classes.AddScores(s.r)
		for i := range n {
			w := a.rows.Weight(first + i)
			for k := range a.k {
				v := s.r[k*padded+i]
				if p[k], copies[k] = logOf(st.Weights[k]), 0; t > 0 { // 0·v is NaN of a row whose v is −Inf
					p[k] += t * v
				}
			}
			softmax(p)
			for range int(w) {
				copies[categorical.Draw(p, rng)]++
			}
			st.value += w * s.Classes.BaseOf(i)
			for k, c := range copies {
				if c > 0 {
					st.value += c * s.r[k*padded+i]
				}
				s.r[k*padded+i] = c
			}
		}
		clearBeyond(s.r, n)
		s.add(n, w)
		return nil
	})
}

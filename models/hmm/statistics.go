package hmm

import (
	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/logit"
)

// Statistics are the sums of a local step: expected numbers of steps, starts and moves, and for each state the
// statistics of its family.
type Statistics struct {
	K         int       `keep:"count"`
	N         float64   // steps, Σ_n w_n T_n
	Sequences float64   // Σ_n w_n
	Nk        []float64 `keep:"rows"` // steps in each state
	Starts    []float64 `keep:"rows"` // expected sequences that start in each state
	Moves     []float64 `keep:"both"` // expected moves from state i to state j, K×K row-major
	Loss      []float64 `keep:"rows"` // −Σ w ln(1 − γ_tk), up to 13.8 nats a step: see Relevance
	Labels    float64   // Σ_n w_n H(path of sequence n), without the families' latent variables
	Classes   *family.Classes
	// Gates are the sums about the logits of moves that depend on covariates: of each state before, and then of first
	// steps if they depend on covariates, too
	Gates []logit.Sums

	plan    *family.Plan
	chain   chain
	tilt    []float64 // K, what every step in a state loses
	leaving []float64 // K, what it loses besides where it is not the last
	hyper   []float64 // K×H, of MAP
	counts  []float64 // K×K, likewise
	product []float64 // K×K
	window  *window
	long    *long
	hasty   bool // of a lane: its parts may forget soon
	workers int
	sink    *sink
	kept    *sink // its memory
	charges []optional.Charge

	expectedStart, expectedMoves []float64 // of Variational: E[ln π] and E[ln a]
}

func newStatistics(p *family.Plan, k int) *Statistics {
	s := &Statistics{
		K:       k,
		Nk:      make([]float64, k),
		Starts:  make([]float64, k),
		Moves:   make([]float64, k*k),
		Loss:    make([]float64, k),
		Classes: p.Classes(k),
	}
	s.restore(p)
	return s
}

// restore completes statistics that come from a checkpoint, or from Keep.
func (s *Statistics) restore(p *family.Plan) {
	if s.plan == nil {
		s.Classes.Restore(p)
		s.plan, s.chain, s.window = p, newChain(s.K), new(window)
		s.tilt, s.leaving = make([]float64, s.K), make([]float64, s.K)
	}
}

// Observations returns N, the weighted number of steps.
func (s *Statistics) Observations() float64 { return s.N }

// Merge adds the sums of another shard, or of another local step with as many states.
func (s *Statistics) Merge(o *Statistics) {
	s.N += o.N
	s.Sequences += o.Sequences
	s.Labels += o.Labels
	linalg.Axpy(1, o.Nk, s.Nk)
	linalg.Axpy(1, o.Starts, s.Starts)
	linalg.Axpy(1, o.Moves, s.Moves)
	linalg.Axpy(1, o.Loss, s.Loss)
	for i := range s.Gates {
		s.Gates[i].Merge(&o.Gates[i])
	}
	s.Classes.Merge(o.Classes)
}

// Scale multiplies the weight of all sequences by factor (see [optional.Scaler]).
func (s *Statistics) Scale(factor float64) {
	s.N *= factor
	s.Sequences *= factor
	s.Labels *= factor
	linalg.Scale(factor, s.Nk)
	linalg.Scale(factor, s.Starts)
	linalg.Scale(factor, s.Moves)
	linalg.Scale(factor, s.Loss)
	for i := range s.Gates {
		s.Gates[i].Scale(factor)
	}
	s.Classes.Scale(factor)
}

// reset readies the statistics for a local step, and empties the sums but for those of the classes.
func (s *Statistics) reset(p *family.Plan, workers int) {
	s.restore(p)
	s.workers = workers
	s.N, s.Sequences, s.Labels = 0, 0, 0
	clear(s.Nk)
	clear(s.Starts)
	clear(s.Moves)
	clear(s.Loss)
	for i := range s.Gates {
		s.Gates[i].Clear()
	}
}

// Follow empties s and readies it for the local step that lead is ready for (see [optional.Follower]).
func (s *Statistics) Follow(lead *Statistics) {
	s.reset(lead.plan, lead.workers)
	s.Classes.Follow(lead.Classes)
	s.chain.copy(&lead.chain)
	copy(s.tilt, lead.tilt)
	copy(s.leaving, lead.leaving)
	s.gated(lead.chain.gates)
}

// gated readies the statistics for the logits of a chain.
func (s *Statistics) gated(g gates) {
	s.chain.gates = g
	for len(g.gate) > 0 && len(s.Gates) < g.sources(s.K) {
		s.Gates = append(s.Gates, logit.NewSums(s.K, g.root.Width()))
	}
}

// keep keeps some states.
func (s *Statistics) keep(dims []int) *Statistics {
	t := framework.KeepAxes(s, s.K, dims)
	t.Classes, t.Gates = s.Classes.Keep(dims), nil
	for _, i := range keptSources(len(s.Gates), s.K, dims) {
		t.Gates = append(t.Gates, s.Gates[i].Keep(dims))
	}
	t.restore(s.plan)
	return t
}

// Left returns N⁻_k, the expected number of moves from state k, including those to itself: the steps in k that are
// not the last of their sequence.
func (s *Statistics) Left(k int) float64 { return floats.Sum(at(s.Moves, k, s.K)) }

package topics

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
)

// Model is latent Dirichlet allocation with its parameters integrated out. Fit it with framework.PrunedEM, which
// lowers K if that raises the evidence, or with framework.EM at a fixed K.
type Model struct {
	Alpha float64 // α, a document's concentration on each topic; with Estimate its starting value; 0 selects 0.1
	Beta  float64 // β, a topic's concentration on each word, likewise; 0 selects 0.01
	// Estimate estimates α, between 0.001 and 10, and β, between 0.001 and 1000, from the data. Each iteration takes a
	// step of Minka's fixed point (2000, section 4) for both, and a secant step for β.
	Estimate bool

	fractional bool // counts are expected ones
}

// The default concentrations of [Model].
const (
	DefaultAlpha = 0.1
	DefaultBeta  = 0.01
)

// Parameters hold the posterior of the topics given q, Dirichlet(β + Counts), and the concentrations.
type Parameters struct {
	K      int       `json:"k" keep:"count"`
	Words  int       `json:"words"`                 // V, the size of the vocabulary
	Counts []float64 `json:"counts" keep:"columns"` // n_wk, expected tokens of each word in each topic, V×K
	Tokens []float64 `json:"tokens" keep:"rows"`    // n_k, their sums over words
	Alpha  float64   `json:"alpha"`                 // α, concentration of each topic in a document
	Beta   float64   `json:"beta"`                  // β, concentration of each word in a topic
}

// SolvesFixedPoint marks the model: CVB0 solves a fixed-point equation for q and climbs no bound.
func (Model) SolvesFixedPoint() {}

// BoundsEvidence marks the model as optional.Variational: θ and φ are integrated out.
func (Model) BoundsEvidence() {}

// ---- Start

// spreadOfStart is the share of the tokens of all documents in a topic that a start makes of one document.
const spreadOfStart = 0.5

// Init builds each topic from the words of one document, mixed with all words. It draws documents far from those
// already drawn, as k-means++ does, by the angle between their counts. It returns an error for values that are not
// counts.
func (m Model) Init(
	ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand,
) (*Parameters, error) {
	alpha, beta, err := m.concentrations()
	if err != nil {
		return nil, err
	}
	all, err := m.read(ctx, src)
	if err != nil {
		return nil, err
	}
	p := &Parameters{
		K:      k,
		Words:  len(all.words),
		Counts: make([]float64, len(all.words)*k),
		Tokens: make([]float64, k),
		Alpha:  alpha,
		Beta:   beta,
	}
	share := all.tokens / float64(k)
	for j, document := range all.seeds(k, rng) {
		for w, n := range all.words {
			p.Counts[w*k+j] = spreadOfStart * share * n / all.tokens
		}
		columns, counts := all.document(document)
		sum := total(columns, counts)
		for e, w := range columns {
			p.Counts[w*k+j] += (1 - spreadOfStart) * share * count(counts, e) / sum
		}
		p.Tokens[j] = share
	}
	return p, nil
}

func (m Model) concentrations() (alpha, beta float64, err error) {
	alpha, beta = m.Alpha, m.Beta
	if alpha == 0 {
		alpha = DefaultAlpha
	}
	if beta == 0 {
		beta = DefaultBeta
	}
	for name, v := range map[string]float64{"Alpha": alpha, "Beta": beta} {
		if !concentrated(v) {
			return 0, 0, fmt.Errorf("topics: %s is %v; must be from %v to %v", name, v,
				leastConcentration, mostConcentration)
		}
	}
	return alpha, beta, nil
}

// ---- Local step; that of a document is in tokens.go, the sums over documents are in statistics.go

// NewStatistics allocates statistics for p.K topics.
func (Model) NewStatistics(p *Parameters) *Statistics {
	n := p.Words * p.K
	return &Statistics{Counts: make([]float64, n), Squares: make([]float64, n)}
}

// Prepare clears the sums. The model has no tilt.
func (m Model) Prepare(p *Parameters, _ *laplace.Tilt, s *Statistics) error {
	s.empty(p)
	s.estimates = m.Estimate
	return nil
}

// ---- Global step

// Maximize copies the expected counts. With Estimate it also takes a step of the concentrations.
func (m Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = &Parameters{}
	}
	dst.K, dst.Words, dst.Alpha, dst.Beta = p.K, p.Words, p.Alpha, p.Beta
	dst.Counts = append(dst.Counts[:0], s.Counts...)
	dst.Tokens = linalg.Resize(dst.Tokens, p.K)
	columnSums(dst.Tokens, s.Counts)
	if m.Estimate {
		dst.Alpha = stepOfAlpha(p.Alpha, s.Rise, float64(p.K)*s.RiseTotal)
		dst.Beta = s.stepOfBeta(p)
	}
	return dst, nil
}

// LogJoint returns an estimate of E_q[ln p(X,Z)], with the documents' part at the α of the local step.
func (m Model) LogJoint(s *Statistics, p *Parameters) float64 { return s.Documents + s.logTopics(p) }

// LogEvidence returns LogJoint (see [optional.Collapsible]).
func (m Model) LogEvidence(s *Statistics, p *Parameters) (float64, error) {
	return m.LogJoint(s, p), nil
}

// Spread returns nil: LogEvidence already includes the second order.
func (Model) Spread(*Statistics, *Parameters) (func(blocks.Rows) (float64, error), error) {
	return nil, nil
}

// Shape counts V − 1 parameters for each topic.
func (Model) Shape(p *Parameters) framework.Shape {
	return framework.Shape{K: p.K, Component: p.K * (p.Words - 1), Shared: 1}
}

// ---- Projection

// Relevance returns, for each topic, its number of tokens times one minus the cosine between its counts and those of
// the most similar topic. So small and duplicate topics are the first to be dropped.
func (Model) Relevance(s *Statistics, p *Parameters) ([]float64, error) {
	gram := make([]float64, p.K*p.K)
	for w := range p.Words {
		row := s.Counts[w*p.K : (w+1)*p.K]
		for k, n := range row {
			if n > 0 {
				linalg.Axpy(n, row[:k+1], gram[k*p.K:k*p.K+k+1])
			}
		}
	}
	relevance := make([]float64, p.K)
	columnSums(relevance, s.Counts)
	for k := range p.K {
		closest := 0.0
		for l := range p.K {
			if l == k {
				continue
			}
			i, j := max(k, l), min(k, l)
			if size := math.Sqrt(gram[i*p.K+i]) * math.Sqrt(gram[j*p.K+j]); size > 0 {
				closest = max(closest, gram[i*p.K+j]/size)
			}
		}
		relevance[k] *= max(0, 1-closest)
	}
	return relevance, nil
}

// Keep restricts s and p to the topics dims. Tokens of dropped topics are in no topic until Update next reaches them.
func (Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	kept := *s
	of := framework.KeepAxes(&sums{K: p.K, Counts: s.Counts, Squares: s.Squares}, p.K, dims)
	kept.Counts, kept.Squares, kept.scratch = of.Counts, of.Squares, scratch{}
	return &kept, framework.KeepAxes(p, p.K, dims), nil
}

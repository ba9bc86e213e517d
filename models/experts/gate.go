package experts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/logit"
	"github.com/latent-go/latent/models/mixture"
)

// The numbers that a gate sees, and the sums of its bound, are those of package logit.

// gate is the prior of the rows of a block.
type gate struct {
	b       blocks.Rows
	columns []int // of the gate
	family  []int // the others
	p       *Parameters
	s       *Statistics

	design        logit.Design
	logits, prior []float64 // η and π, K×n, rows filled up
	logSum        []float64
}

// of notes a block, and returns the family's columns of it.
func (g *gate) of(b blocks.Rows) (blocks.Rows, error) {
	if b.D != g.p.D {
		return b, fmt.Errorf("experts: a row of %d columns does not match a model of %d", b.D, g.p.D)
	}
	g.b = b
	return b.Columns(g.family), nil
}

var errMissing = errors.New("a gate needs every value of its columns: fill it in, or leave the row out")

// LogProb puts ln π_k(a) of some rows into r.
func (g *gate) LogProb(first, n int, r []float64) error {
	if err := g.design.Read(g.b, first, n, g.p.Root, g.columns, errMissing); err != nil {
		return err
	}
	padded, k := g.design.Padded(), g.p.K()
	g.logits, g.prior, g.logSum = linalg.Resize(g.logits, k*padded), linalg.Resize(g.prior, k*padded),
		linalg.Resize(g.logSum, 2*padded)
	g.design.Predict(g.p.Gate, g.logits, g.prior, g.logSum)
	copy(r, g.logits)
	for j := range k {
		linalg.Axpy(-1, g.logSum[:padded], at(r, j, padded))
	}
	return nil
}

// Assigned adds the rows to the sums of the gate.
func (g *gate) Assigned(n int, w, r []float64) {
	g.s.Sums.Add(&g.design, n, w, r, g.logits, g.prior, g.logSum)
}

// ---- Parameters

// Parameters are those of K classes and a gate of P − 1 columns.
type Parameters struct {
	D int `json:"d"` // columns of the table
	// Mixture holds the classes. Its weights are the classes' shares of the rows: the averages of the gate's
	// probabilities.
	Mixture *mixture.Parameters `json:"mixture"`
	Gate    []float64           `json:"gate" keep:"rows"` // γ, K×P, of t = L⁻¹a; Σ_k γ_k = 0
	Root    logit.Root          `json:"root"`             // L, P×P, lower triangular: LLᵀ = Σ aaᵀ/N of a = (1, columns)
}

// K returns the number of classes.
func (p *Parameters) K() int { return p.Mixture.K }

// width is P.
func (p *Parameters) width() int { return p.Root.Width() }

// gate is γ_k.
func (p *Parameters) gate(k int) []float64 { return at(p.Gate, k, p.width()) }

// like returns dst, or new memory, with the design of p.
func (p *Parameters) like(dst *Parameters, mix *mixture.Parameters) *Parameters {
	if dst == nil {
		dst = &Parameters{Gate: make([]float64, mix.K*p.width())}
	}
	dst.D, dst.Mixture, dst.Root = p.D, mix, p.Root
	return dst
}

// ---- Columns

// width is the number of columns of a source.
func width(ctx context.Context, src framework.Source[blocks.Rows]) (int, error) {
	for b, err := range src.Blocks(ctx) {
		return b.D, err
	}
	return 0, errors.New("experts: the source has no rows")
}

// columns are those of the family in a table of d.
func (m Model) columns(d int) ([]int, error) {
	for i, c := range m.Gate {
		if c < 0 || c >= d {
			return nil, fmt.Errorf("experts: the gate names column %d, and the table has columns 1 to %d", c+1, d)
		}
		if slices.Contains(m.Gate[:i], c) {
			return nil, fmt.Errorf("experts: the gate names column %d twice", c+1)
		}
	}
	own := m.Columns
	if own == nil {
		for c := range d {
			if !slices.Contains(m.Gate, c) {
				own = append(own, c)
			}
		}
	}
	if len(own) == 0 {
		return nil, errors.New("experts: the gate takes every column: leave some to the family")
	}
	for _, c := range own {
		if c < 0 || c >= d {
			return nil, fmt.Errorf("experts: the family names column %d, and the table has columns 1 to %d", c+1, d)
		}
	}
	return own, nil
}

// shift numbers the column of an error about some columns as the table does.
func shift(err error, columns []int) error {
	if fault, ok := errors.AsType[*blocks.DataError](err); ok && fault.Column >= 0 && !errors.Is(err, errMissing) {
		fault.Column = columns[fault.Column]
	}
	return err
}

package experts

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/models/mixture"
)

// The gate sees a row as t = L⁻¹a, a = (1, columns of the gate), LLᵀ = Σ aaᵀ/N over the table that a fit began with:
// then no column has a unit, no two are correlated, the first is still 1, and linear maps of the columns change
// nothing.
//
// −ln Σ_k exp(γ_kᵀt), which is no function of sums over rows, is bounded by its tangent at the gate of the local step
// less ¼ Σ_k (γ_kᵀt − η_k)², where η are the values of γᵀt there (Böhning 1992: ½ I is no less than the Hessian). With
// Σ_k η_k = 0 the bound on E_q[ln p(z|t)] is that of a regression, −¼ Σ_k (2y_k − γ_kᵀt)² and what does not depend on
// γ, of working responses y_k = ½ η_k + q_k − π_k. It is exact, and has the gradient, at the local step's gate: the
// fixed point is that of multinomial logistic regression (docs/theory/experts.md, section 2).

// gate is the prior of the rows of a block.
type gate struct {
	b       blocks.Rows
	columns []int // of the gate
	family  []int // the others
	p       *Parameters
	s       *Statistics

	t             []float64 // P×n, rows filled up
	logits, prior []float64 // η and π, K×n
	work          []float64

	overlaps, products []float64 // of pairs of classes, and of pairs of numbers of t, rows filled up
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

// read puts t of some rows into g.t.
func (g *gate) read(first, n int) error {
	padded, width := family.Padded(n), g.p.width()
	g.t = linalg.Resize(g.t, width*padded)
	linalg.Fill(g.t[:n], 1)
	clear(g.t[n:])
	for i := range n {
		row := g.b.Row(first + i)
		for j, c := range g.columns {
			if math.IsNaN(row[c]) {
				return &blocks.DataError{Row: g.b.First + first + i, Column: c, Value: row[c], Reason: errMissing}
			}
			g.t[(j+1)*padded+i] = row[c]
		}
	}
	for j := range width {
		of, row := at(g.t, j, padded), at(g.p.Root, j, width)
		for l, v := range row[:j] {
			linalg.Axpy(-v, at(g.t, l, padded), of)
		}
		linalg.Scale(1/row[j], of)
	}
	return nil
}

// LogProb puts ln π_k(a) of some rows into r.
func (g *gate) LogProb(first, n int, r []float64) error {
	if err := g.read(first, n); err != nil {
		return err
	}
	padded, k := family.Padded(n), g.p.K()
	g.logits, g.prior, g.work = linalg.Resize(g.logits, k*padded), linalg.Resize(g.prior, k*padded),
		linalg.Resize(g.work, 2*padded)
	linalg.MulSerial(false, false, 1, linalg.General(k, g.p.width(), g.p.Gate),
		linalg.General(g.p.width(), padded, g.t), 0, linalg.General(k, padded, g.logits))
	copy(g.prior, g.logits)
	simd.Softmax(g.prior, k, padded, g.work, g.work[padded:])
	copy(r, g.logits)
	for j := range k {
		linalg.Axpy(-1, g.work[:padded], at(r, j, padded))
	}
	return nil
}

// Assigned adds the rows to the sums of the gate.
func (g *gate) Assigned(n int, w, r []float64) {
	g.inform(n, w)
	padded, width := family.Padded(n), g.p.width()
	weight := func(i int) float64 {
		if w == nil {
			return 1
		}
		return w[i]
	}
	logSum, response := g.work[:padded], g.work[padded:]
	clear(response)
	for k := range g.p.K() {
		q, eta, prior := at(r, k, padded), at(g.logits, k, padded), at(g.prior, k, padded)
		level, vacated := 0.0, 0.0
		for i := range n {
			w, v := weight(i), eta[i]
			pull := q[i] - w*prior[i]
			response[i] = pull + w*v/2
			level += q[i]*(v-logSum[i]) - pull*v - w*v*v/4
			vacated += w * math.Log1p(-min(prior[i], 1-0x1p-53))
		}
		g.s.Level[k] += level
		g.s.Vacated[k] += vacated
		slope := at(g.s.Slope, k, width)
		for j := range slope {
			slope[j] += linalg.Dot(at(g.t, j, padded), response)
		}
	}
	for j := range width {
		of := response
		copy(of, at(g.t, j, padded))
		for i, v := range w {
			of[i] *= v
		}
		for l := range width {
			g.s.Design[j*width+l] += linalg.Dot(of, at(g.t, l, padded))
		}
	}
}

// ---- Parameters

// Parameters are those of K classes and a gate of P − 1 columns.
type Parameters struct {
	D int `json:"d"` // columns of the table
	// Mixture holds the classes. Its weights are the classes' shares of the rows: the averages of the gate's
	// probabilities.
	Mixture *mixture.Parameters `json:"mixture"`
	Gate    []float64           `json:"gate" keep:"rows"` // γ, K×P, of t = L⁻¹a; Σ_k γ_k = 0
	Root    []float64           `json:"root"`             // L, P×P, lower triangular: LLᵀ = Σ aaᵀ/N of a = (1, columns)
}

// K returns the number of classes.
func (p *Parameters) K() int { return p.Mixture.K }

// width is P.
func (p *Parameters) width() int { return int(math.Round(math.Sqrt(float64(len(p.Root))))) }

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

// center makes the sum of the γ_k 0, which changes no probability.
func (p *Parameters) center() {
	n, k := p.width(), float64(p.K())
	for j := range n {
		sum := 0.0
		for i := j; i < len(p.Gate); i += n {
			sum += p.Gate[i]
		}
		for i := j; i < len(p.Gate); i += n {
			p.Gate[i] -= sum / k
		}
	}
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

var (
	errConstant  = errors.New("is constant: leave it out of the gate")
	errDependent = errors.New("is a linear combination of other columns of the gate: leave it out of the gate")
)

// design is L. It returns an error if a column is constant, or determined by the others.
func design(ctx context.Context, src framework.Source[blocks.Rows], columns []int) ([]float64, error) {
	if len(columns) == 0 {
		return []float64{1}, nil
	}
	pooled, _, err := family.Pool(ctx, framework.ColumnsOf(src, columns), normal.Family{Floor: family.NoFloor})
	if fault, ok := errors.AsType[*blocks.DataError](err); ok {
		switch {
		case errors.Is(err, blocks.ErrConstant):
			fault.Reason = errConstant
		case errors.Is(err, normal.ErrDependent):
			fault.Reason = errDependent
		}
	}
	if err != nil {
		return nil, shift(err, columns)
	}
	d := len(columns)
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(d, pooled.Parameters[d:])) {
		return nil, blocks.FaultyColumn(columns[d-1], errDependent)
	}
	root := mat.NewDense(d+1, d+1, nil)
	root.SetCol(0, append([]float64{1}, pooled.Parameters[:d]...))
	root.Slice(1, d+1, 1, d+1).(*mat.Dense).Copy(chol.RawU().T())
	return root.RawMatrix().Data, nil
}

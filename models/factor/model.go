package factor

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/optional"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/laplace"
	"github.com/latent-go/latent/models/lineargaussian"
	"github.com/latent-go/latent/prior"
)

// Model is fitted from blocks of rows. A missing entry (NaN) is integrated out. If the noise has blocks, a row must
// have all columns of a block or none.
type Model struct {
	Structure // of the noise
	// Prior is the prior under which the evidence is computed: a prior.UnitInformation, or nil for the default.
	Prior prior.Prior `json:",omitempty"`
}

// Compressed is [Model] fitted from [lineargaussian.Moments] of complete rows. It returns the same numbers up to
// rounding, at a cost per iteration that does not depend on the number of rows.
type Compressed struct{ Model }

// ---- Start: Init, in start.go

// ---- Local step; rows that miss entries are in missing.go

// NewStatistics allocates statistics for the K and D of p.
func (Model) NewStatistics(p *Parameters) *Statistics {
	s := &Statistics{Statistics: *lineargaussian.NewStatistics(p.K, p.D), XX: make([]float64, len(p.Unit))}
	if p.Center != nil {
		parts := len(p.parts(p.D))
		s.Seen, s.X = make([]float64, parts), make([]float64, p.D)
		s.Z, s.PartZZ = make([]float64, parts*p.K), make([]float64, parts*p.K*p.K)
	}
	return s
}

// Prepare computes Σ⁻¹ = WᵀΨ⁻¹W + I + D·S₀⁻¹, the last term with a tilt only, and the gain of μ_n = ΣWᵀΨ⁻¹(x_n −
// mean) (docs/theory/factor.md, section 1). For rows with missing entries it computes what each part adds to Σ⁻¹.
func (Model) Prepare(p *Parameters, tilt *laplace.Tilt, s *Statistics) error {
	for _, sum := range s.sums() {
		clear(*sum)
	}
	weighted, err := p.weighted()
	if err != nil {
		return err
	}
	if p.Center != nil {
		return s.local.prepare(p, weighted, tilt, s)
	}
	return s.Condition(p.Mean, p.Loadings, weighted, 1, s.Information(p.Loadings, weighted, 1), nil, tilt)
}

// weighted is Ψ⁻¹W, D×K.
func (p *Parameters) weighted() ([]float64, error) {
	r, ok := p.root(p.Noise, p.D)
	if !ok {
		return nil, fmt.Errorf("factor: %d factors leave no noise above rounding: %w", p.K, framework.ErrDegenerate)
	}
	w := slices.Clone(p.Loadings)
	columns(w, p.K, func(v []float64) {
		r.whiten(v, false)
		r.whiten(v, true)
	})
	return w, nil
}

// Infer adds the rows of a block.
func (Model) Infer(b blocks.Rows, p *Parameters, s *Statistics) (float64, error) {
	if p.Center != nil {
		entropy := 0.0
		err := s.local.reader.each(b, p.Structure, p.D, func(v *pattern) error {
			h, err := s.addPattern(v, p)
			entropy += h
			return err
		})
		return entropy, err
	}
	entropy, err := s.Add(b)
	if err != nil {
		return 0, err
	}
	x, parts := make([]float64, p.D), p.parts(p.D)
	for i := range b.N {
		if w := b.Weight(i); w != 0 {
			for j, v := range b.Row(i) {
				x[j] = v - p.Mean[j]
			}
			addSquares(s.XX, parts, w, x)
		}
	}
	return entropy, nil
}

// addSquares adds the entries of w·xxᵀ that squares, with the layout of gather, has.
func addSquares(squares []float64, parts [][]int, w float64, x []float64) {
	for _, part := range parts {
		m := len(part)
		for i, j := range part {
			v, row := w*x[j], squares[i*m:]
			for l, other := range part {
				row[l] += v * x[other]
			}
		}
		squares = squares[m*m:]
	}
}

// Infer adds all rows that the moments stand for.
func (Compressed) Infer(m *lineargaussian.Moments, p *Parameters, s *Statistics) (float64, error) {
	entropy, err := s.AddMoments(m)
	if err != nil {
		return 0, err
	}
	linalg.Axpy(1, p.gather(m.Scatter, m.D), s.XX)
	shift := slices.Clone(m.Mean)
	linalg.Axpy(-1, p.Mean, shift)
	addSquares(s.XX, p.parts(p.D), m.N, shift)
	return entropy, nil
}

// ---- Global step

// Maximize sets W = XᵀM S⁻¹ and the entries of Ψ to the mean squares and products of the residuals, no less than the
// floor.
func (Model) Maximize(s *Statistics, p, dst *Parameters) (*Parameters, error) {
	if dst == nil {
		dst = &Parameters{
			Mean: make([]float64, p.D), Loadings: make([]float64, p.D*p.K), Noise: make([]float64, len(p.Noise)),
		}
	}
	dst.K, dst.D, dst.Structure, dst.Unit, dst.Center = p.K, p.D, p.Structure, p.Unit, p.Center
	copy(dst.Mean, p.Mean)
	if err := s.regress(dst); err != nil {
		return dst, err
	}
	squares, counts := s.residuals(dst), s.counts()
	if p.Isotropic && !s.incomplete() {
		counts = []float64{s.N * float64(p.D)}
	}
	if err := p.noise(dst.Noise, squares, counts, p.Unit, p.D); err != nil {
		return dst, err
	}
	if p.Isotropic && !(dst.Noise[0] > vanishing*mean(p.Unit)) {
		return dst, noNoise(p.K)
	}
	return dst, nil
}

// vanishing is the share of the total variance below which isotropic noise is rounding.
const vanishing = 1e-13

func noNoise(k int) error {
	return fmt.Errorf("factor: %d factors leave no noise above rounding: %w; the rows lie in a space of that "+
		"dimension; lower K, or drop columns that depend on others", k, framework.ErrDegenerate)
}

func mean(list []float64) (sum float64) {
	for _, v := range list {
		sum += v / float64(len(list))
	}
	return sum
}

// Expand calls Expand of [lineargaussian.Statistics] at the loadings of p: if entries are missing, with the penalty −½
// Σ_d ln|S_d| of the D columns, too, the best change of z makes ΣE[zzᵀ] over all rows (N − D)·I.
func (Model) Expand(s *Statistics, p *Parameters, charged bool) (*Parameters, float64, error) {
	entropy, err := s.Statistics.Expand(p.Loadings, charged)
	if err == nil {
		s.Expanded(s.Z)
		for g := range s.Seen {
			zz := mat.NewDense(s.K, s.K, s.partZZ(g).RawSymmetric().Data)
			s.Expanded(zz.RawMatrix().Data)
			zz.Copy(mat.DenseCopyOf(zz.T()))
			s.Expanded(zz.RawMatrix().Data)
		}
	}
	return p, entropy, err
}

// LogJoint returns E_q[ln p(X,Z|Π)].
func (Model) LogJoint(s *Statistics, p *Parameters) float64 {
	r, ok := p.root(p.Noise, p.D)
	if !ok {
		return math.Inf(-1)
	}
	value := s.N*float64(s.K)*math.Log(2*math.Pi) + mat.Trace(mat.NewSymDense(s.K, s.ZZ))
	counts, parts := s.counts(), p.parts(p.D)
	for g, part := range parts {
		value += counts[min(g, len(counts)-1)] * (float64(len(part))*math.Log(2*math.Pi) + r.logDet[g])
	}
	return -(value + p.traceRatio(s.residuals(p), r)) / 2
}

// traceRatio is tr(Ψ⁻¹R) for squares R with the layout of gather, or their sum where Ψ is isotropic.
func (p *Parameters) traceRatio(squares []float64, r *root) (sum float64) {
	if p.Isotropic {
		return floats.Sum(squares) / p.Noise[0]
	}
	var ratio []float64
	for g, part := range r.parts {
		m := len(part)
		ratio = append(ratio[:0], squares[:m*m]...)
		r.chol[g].SolveRight(blas64.General{Rows: m, Cols: m, Data: ratio, Stride: m})
		trace := 0.
		for i := range m {
			trace += ratio[i*m+i]
		}
		sum += trace
		squares = squares[m*m:]
	}
	return sum
}

// Shape counts the parameters W and Ψ. The count for BIC and AIC adds the mean and subtracts what WWᵀ + Ψ does not
// identify: a rotation and, with two blocks, how their common part is divided between them.
func (Model) Shape(p *Parameters) framework.Shape { return p.shape(p.K, p.D) }

func (st Structure) shape(k, d int) framework.Shape {
	shared := st.parameters(d)
	free := d*k - k*(k-1)/2
	if len(st.Blocks) == 2 {
		free = k * (d - k)
	}
	return framework.Shape{K: k, Component: d * k, Shared: shared, Free: free + shared + d}
}

// Estimates calls [Parameters.Rescaled], because gFAB's and FAB's own loadings are longer than the maximum likelihood
// estimates.
func (Model) Estimates(s *Statistics, p *Parameters) (*Parameters, error) { return p.Rescaled(s) }

// ---- Curvature

// Curvature adds S ⊗ I_D, the curvature for loadings in units of the noise, Ψ^−½W. In these units the information of
// a row is constant, so that gFIC equals FIC; in units of the columns it would be infinite in a Heywood case. Isotropic
// noise has no such case, and the coordinates of package bpca: loadings in units of the mean column variance. If
// entries are missing, each part adds a block with the S of its rows. The curvature does not exist for N ≤ D (see
// [lineargaussian.ErrTooFewRows]); the evidence does.
func (m Model) Curvature(s *Statistics, p *Parameters, f *laplace.Curvature) error {
	if f.Prior() {
		unit, err := prior.AsUnitInformation(m.Prior)
		if err != nil {
			return err
		}
		return s.integrate(p, f, unit)
	}
	information := math.Exp(p.logInformation(p.Noise, p.Unit))
	if !s.incomplete() {
		return s.Statistics.Curvature(information, f)
	}
	for g, part := range p.parts(p.D) {
		if s.Seen[g] <= float64(s.D) {
			return fmt.Errorf("factor: %w: %w (N = %v, D = %d): use EM with BIC, or drop the column",
				blocks.FaultyColumn(part[0], errFewEntries), lineargaussian.ErrTooFewRows, s.Seen[g], s.D)
		}
		f.Mixed(s.partZZ(g), &laplace.Scaled{Of: laplace.Identity(len(part)), Factor: information})
	}
	return nil
}

// logInformation is that of a row about each loading, in the coordinates of Curvature.
func (st Structure) logInformation(noise, unit []float64) float64 {
	if !st.Isotropic {
		return 0
	}
	return math.Log(mean(unit) / noise[0])
}

var errFewEntries = errors.New("has no more entries than the table has columns")

// Charges lists what BIC charges: ½ ln N for each parameter, where N counts the rows that show the parameter's part,
// a set of columns with noise of their own. The parameters that a rotation fixes are subtracted from the parts that
// most rows show, so that the order of the columns does not matter.
func (Model) Charges(s *Statistics, p *Parameters) []optional.Charge {
	all := p.shape(p.K, p.D)
	if !s.incomplete() {
		return []optional.Charge{{
			Parameters: all.Component, Free: all.Free - all.Shared, Latent: true, N: s.N,
		}, {Parameters: all.Shared, Free: all.Shared, N: s.N}}
	}
	var list []optional.Charge
	fixed := p.D*p.K + all.Shared + p.D - all.Free // by the choice of a rotation
	parts := p.parts(p.D)
	order := make([]int, len(parts))
	for g := range order {
		order[g] = g
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(s.Seen[b], s.Seen[a]) })
	for _, g := range order {
		m, n := len(parts[g]), s.Seen[g]
		off := min(fixed, m*p.K)
		fixed -= off
		list = append(list, optional.Charge{Parameters: m * p.K, Free: m*(p.K+1) - off, Latent: true, N: n})
		if own := m * (m + 1) / 2; !p.Isotropic {
			list = append(list, optional.Charge{Parameters: own, Free: own, N: n})
		}
	}
	if p.Isotropic {
		list = append(list, optional.Charge{Parameters: 1, Free: 1, N: s.N})
	}
	return list
}

// ---- Projection

// Signal returns WᵀΨ⁻¹W (K×K).
func (Model) Signal(_ *Statistics, p *Parameters) (*mat.SymDense, error) {
	weighted, err := p.weighted()
	if err != nil {
		return nil, err
	}
	var product mat.Dense
	product.Mul(p.W().T(), mat.NewDense(p.D, p.K, weighted))
	return linalg.SymmetricPart(&product), nil
}

// Relevance returns the signal-to-noise ratio w_kᵀΨ⁻¹w_k of each factor.
func (m Model) Relevance(s *Statistics, p *Parameters) (ratios []float64, err error) {
	signal, err := m.Signal(s, p)
	if err != nil {
		return nil, err
	}
	for k := range p.K {
		ratios = append(ratios, signal.At(k, k))
	}
	return ratios, nil
}

// Rotate replaces Z by ZV and W by WV for the orthonormal basis V (K×K), which leaves Wz unchanged.
func (Model) Rotate(s *Statistics, p *Parameters, basis *mat.Dense) (*Statistics, *Parameters, error) {
	q := *p
	q.Loadings = make([]float64, len(p.Loadings))
	q.W().Mul(p.W(), basis)
	q.Mean, q.Noise = slices.Clone(p.Mean), slices.Clone(p.Noise)
	return s.mapped(basis.T()), &q, nil
}

// Keep restricts Z and W to the columns dims.
func (Model) Keep(s *Statistics, p *Parameters, dims []int) (*Statistics, *Parameters, error) {
	return s.mapped(linalg.Selection(dims, s.K)), framework.KeepAxes(p, p.K, dims), nil
}

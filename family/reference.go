package family

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/linalg"
)

// What a unit-information prior is about must not be what one wrong cell makes of it: a value of 10⁶ among ones has a
// share of 10¹²/N of the variance. Location m and scatter S of the table are those of Huber's (1964) M-estimator,
//
//	m = Σ u_n x_n/Σ u_n,   S = Σ u_n (x_n−m)(x_n−m)ᵀ/N,   u_n = min(1, c/d_n²),   d_n² = (x_n−m)ᵀS⁻¹(x_n−m),
//
// which is equivariant as the structure of the covariance is: to affine maps where S is a matrix, to units of columns,
// to rotations. c is far beyond what rows of one or of several groups have, so that both are mean and covariance
// wherever no row is that far; and r wild rows add less than a share r·c/(N − r·c) to the scatter, whatever they hold.

// A scattered factor has a location and a scatter of the table that its prior is about.
type scattered interface {
	// scatterForm is the number of groups of neighbouring columns that are measured together, each of so many columns, and
	// whether by a matrix or by one variance; 0 groups where it has none.
	scatterForm() (groups, width int, matrix bool)
	// scatterOf is the part of ξ that has them: all locations, and then the scatters.
	scatterOf(xi []float64) []float64
}

// A summarised factor is one whose ξ of the table has something else there: scatter puts them in their places, from the
// sums about the anchor.
type summarised interface {
	scatter(sums, anchor, xi []float64)
}

func (g gaussian) scatterForm() (groups, width int, matrix bool) { return 1, g.d, true }

func (g isotropic) scatterForm() (groups, width int, matrix bool) { return g.groups, g.width, false }

func (g axial) scatterForm() (groups, width int, matrix bool) {
	if g.form == EII {
		return 1, g.columns(), false
	}
	return g.columns(), 1, false
}

// Lognormal columns are Gaussian in something else than the columns.
func (lognormal) scatterForm() (groups, width int, matrix bool) { return 0, 0, false }

func (f analyser) scatterForm() (groups, width int, matrix bool) { return f.d, 1, false }

// That of a regression is of its response alone.
func (f linear) scatterForm() (groups, width int, matrix bool) {
	if !f.intercept {
		return 0, 0, false
	}
	return 1, 1, false
}

// That of noise is the family's.
func (f noisy) scatterForm() (groups, width int, matrix bool) {
	if of, ok := f.inner.(scattered); ok {
		return of.scatterForm()
	}
	return 0, 0, false
}

func (g gaussian) scatterOf(xi []float64) []float64 { return xi }

func (g isotropic) scatterOf(xi []float64) []float64 { return xi }

func (f studentT) scatterOf(xi []float64) []float64 { return xi[:len(xi)-1] }

func (f analyser) scatterOf(xi []float64) []float64 { return xi[:2*f.d] }

func (f linear) scatterOf(xi []float64) []float64 { return xi[:2] }

func (f noisy) scatterOf(xi []float64) []float64 { return f.inner.(scattered).scatterOf(f.params(xi)) }

// scatter gives analysers without factors their variances.
func (f analyser) scatter(_, _, xi []float64) { copy(xi, f.withoutFactors(xi)) }

// scatterForm is that of the factor.
func (f *part) scatterForm() (groups, width int, matrix bool) {
	if of, ok := f.Factor.(scattered); ok {
		return of.scatterForm()
	}
	return 0, 0, false
}

// scatter is [summarised].scatter of the factor's part of the table, own.
func (f *part) scatter(w *Pooled, own []float64) {
	if of, ok := f.Factor.(summarised); ok {
		of.scatter(f.ofSums(w.Sums), f.ofAnchor(w.Anchor), own)
	}
}

// furthest is c of n rows in so many columns: about 7 standard deviations of √χ², and less where the rows are so few
// that one of them cannot be that far.
func furthest(columns int, n float64) float64 {
	root := math.Sqrt(float64(columns))
	return min((root+5)*(root+5), max(n/4, (root+2.5)*(root+2.5)))
}

// A scatterOf is location and scatter of one group of columns, and the sums over rows that lead to the next.
type scatterOf struct {
	first, width int // columns of the table
	matrix       bool
	mean, cov    []float64 // width; width² or 1
	root         linalg.Cholesky
	far          float64 // c
	regressors   bool    // and not of what a factor describes
}

// ready factorises the scatter; false where there is none. Directions without scatter are given some, as no row lies
// far out in them.
func (s *scatterOf) ready() (ok bool) {
	if !s.matrix {
		return s.cov[0] > 0
	}
	some := append([]float64(nil), s.cov...)
	if s.root, ok = linalg.NewCholesky(s.width, some); ok {
		return true
	}
	const least = 1e-9
	copy(some, s.cov)
	for a := range s.width {
		if v := &some[a*(s.width+1)]; *v > 0 {
			ok, *v = true, *v*(1+least)
		} else {
			*v = 1
		}
	}
	if ok {
		s.root, ok = linalg.NewCholesky(s.width, some)
	}
	return ok
}

// scatterSums are the sums over rows of one group.
type scatterSums struct {
	N, Weight    float64 // Σ w_n, Σ w_n u_n
	Beyond       float64 // Σ w_n of rows beyond c
	First, Cross []float64
	row, half    []float64
}

func (s *scatterOf) sums() *scatterSums {
	return &scatterSums{
		First: make([]float64, s.width),
		Cross: make([]float64, len(s.cov)),
		row:   make([]float64, s.width),
		half:  make([]float64, s.width),
	}
}

// add adds a row that has all columns of the group.
func (t *scatterSums) add(s *scatterOf, x []float64, w float64) {
	floats.SubTo(t.row, x, s.mean)
	square := floats.Dot(t.row, t.row)
	if square-square != 0 || w == 0 {
		return
	}
	distance := square / s.cov[0]
	if s.matrix {
		copy(t.half, t.row)
		s.root.HalfSolveRight(linalg.General(1, s.width, t.half))
		distance = floats.Dot(t.half, t.half)
	}
	t.N += w
	if distance > s.far {
		t.Beyond += w
		w *= s.far / distance
	}
	t.Weight += w
	floats.AddScaled(t.First, w, t.row)
	if !s.matrix {
		t.Cross[0] += w * square / float64(s.width)
		return
	}
	for a, v := range t.row {
		floats.AddScaled(t.Cross[a*s.width+a:(a+1)*s.width], w*v, t.row[a:])
	}
}

func (t *scatterSums) merge(o *scatterSums) {
	t.N += o.N
	t.Weight += o.Weight
	t.Beyond += o.Beyond
	floats.Add(t.First, o.First)
	floats.Add(t.Cross, o.Cross)
}

// move takes location and scatter of the sums, and returns the largest relative change of a variance.
func (s *scatterOf) move(t *scatterSums) (change float64) {
	shift := make([]float64, s.width)
	floats.ScaleTo(shift, 1/t.Weight, t.First)
	floats.Add(s.mean, shift)
	size := 1
	if s.matrix {
		size = s.width
	}
	for a := range size {
		for b := a; b < size; b++ {
			square := shift[a] * shift[b]
			if !s.matrix {
				square = floats.Dot(shift, shift) / float64(s.width)
			}
			next := (t.Cross[a*size+b] - t.Weight*square) / t.N
			if a == b {
				change = max(change, math.Abs(next/s.cov[a*size+a]-1))
			}
			s.cov[a*size+b], s.cov[b*size+a] = next, next
		}
	}
	return change
}

// referenceRounds bounds the passes of the estimate, whose variances fall by a factor of about c/N in each until they
// settle.
const referenceRounds = 200

// refer puts location and scatter that wild rows do not move into w.Reference, where there are such rows: parameters as
// those of the pooled table. It reads the source once, and again only where there are.
func (p *Plan) refer(ctx context.Context, src framework.Source[framework.Rows], w *Pooled) error {
	groups := p.scatters(w)
	if len(groups) == 0 {
		return nil
	}
	moved := false
	for range referenceRounds {
		sums, err := p.scatterSums(ctx, src, groups)
		if err != nil {
			return err
		}
		change := 0.0
		for i, s := range groups {
			if t := sums[i]; t.Beyond > 0 || moved && t.N > 0 {
				moved = true
				change = max(change, s.move(t))
			}
			if !s.ready() {
				return nil // what is left has no scatter: the prior stays that of all rows
			}
		}
		if !(change > 1e-12) {
			break
		}
	}
	if moved {
		w.Reference = p.referenceOf(w, groups)
	}
	return nil
}

// scatters are the groups of columns of the plan's factors, as they are in the pooled table.
func (p *Plan) scatters(w *Pooled) (list []*scatterOf) {
	for i := range p.parts {
		f := &p.parts[i]
		if of, ok := f.Factor.(interface{ regressorScatter(w *Pooled) *scatterOf }); ok {
			s := of.regressorScatter(&Pooled{Sums: f.ofSums(w.Sums), Anchor: f.ofAnchor(w.Anchor)})
			if s != nil && s.ready() {
				s.first += f.at.Columns
				list = append(list, s)
			}
		}
		groups, width, matrix := f.scatterForm()
		if groups == 0 {
			continue
		}
		own := slices.Clone(f.ofParams(w.Parameters))
		f.scatter(w, own)
		params := f.Factor.(scattered).scatterOf(own)
		mean, rest := params[:groups*width], params[groups*width:]
		for g := range groups {
			s := &scatterOf{first: f.at.Columns + g*width, width: width, matrix: matrix, far: furthest(width, w.N)}
			s.mean = append(s.mean, mean[g*width:(g+1)*width]...)
			if s.cov = append(s.cov, rest[g]); matrix {
				s.cov = append([]float64(nil), rest...)
			}
			if s.ready() {
				list = append(list, s)
			}
		}
	}
	return list
}

// scatterSums sums up the rows.
func (p *Plan) scatterSums(
	ctx context.Context, src framework.Source[framework.Rows], groups []*scatterOf,
) ([]*scatterSums, error) {
	return framework.Survey(ctx, src, 0,
		func() ([]*scatterSums, error) {
			list := make([]*scatterSums, len(groups))
			for i, s := range groups {
				list[i] = s.sums()
			}
			return list, nil
		},
		func(list []*scatterSums, b framework.Rows) error {
			for i := range b.N {
				x, w := b.Row(i), b.Weight(i)
				for j, s := range groups {
					list[j].add(s, x[s.first:s.first+s.width], w)
				}
			}
			return nil
		},
		func(into, from []*scatterSums) error {
			for i, t := range into {
				t.merge(from[i])
			}
			return nil
		})
}

// referenceOf are the parameters with the locations and scatters of the groups.
func (p *Plan) referenceOf(w *Pooled, groups []*scatterOf) []float64 {
	reference := append([]float64(nil), w.Parameters...)
	for i := range p.parts {
		f := &p.parts[i]
		f.scatter(w, f.ofParams(reference))
	}
	for _, s := range groups {
		for i := range p.parts {
			f := &p.parts[i]
			if s.first < f.at.Columns || s.first >= f.at.Columns+f.size.Columns {
				continue
			}
			if s.regressors {
				if w.Regressors == nil {
					w.Regressors = make([]float64, p.size.Regressors)
				}
				to := w.Regressors[f.at.Regressors:]
				copy(to, s.mean)
				copy(to[s.width:], s.cov)
				continue
			}
			n, width, _ := f.scatterForm()
			params, g := f.Factor.(scattered).scatterOf(f.ofParams(reference)), (s.first-f.at.Columns)/width
			copy(params[g*width:], s.mean)
			switch rest := params[n*width:]; {
			case s.matrix:
				copy(rest, s.cov)
			case n == 1: // one variance, which may be repeated
				linalg.Fill(rest, s.cov[0])
			default:
				rest[g] = s.cov[0]
			}
		}
	}
	return reference
}

package family

import (
	"context"
	"slices"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/huber"
	"github.com/latent-go/latent/internal/linalg"
)

// A Scattered factor has a location and a scatter of the table for its prior to be about, which rows far out do not
// move (Huber 1964).
type Scattered interface {
	// ScatterForm is the number of groups of neighbouring columns that are measured together, each of so many columns, and
	// whether by a matrix or by one variance; 0 groups if it has none.
	ScatterForm() (groups, width int, matrix bool)
	// ScatterOf is the part of ξ that has them: all locations, and then the scatters.
	ScatterOf(xi []float64) []float64
}

// A Summarised factor is a [Scattered] one whose ξ of the table has something else there.
type Summarised interface {
	// Scatter puts locations and scatters in their places in ξ, from the sums about the anchor.
	Scatter(sums, anchor, xi []float64)
}

// A Regressing factor has regressors, whose location and scatter in the table are to be without rows far out, too.
type Regressing interface {
	// RegressorScatter is the mean and the covariance of the regressors, m and m×m, from the factor's column first on;
	// nil if its prior needs none.
	RegressorScatter(pooled *Pooled) (first int, mean, covariance []float64)
}

// scatterForm is that of the factor.
func (f *part) scatterForm() (groups, width int, matrix bool) {
	if of, ok := f.Factor.(Scattered); ok {
		return of.ScatterForm()
	}
	return 0, 0, false
}

// scatter is [Summarised].Scatter of the factor's part of the table, own.
func (f *part) scatter(w *Pooled, own []float64) {
	if of, ok := f.Factor.(Summarised); ok {
		of.Scatter(f.ofSums(w.Sums), f.ofAnchor(w.Anchor), own)
	}
}

// A columnScatter is that of a group of columns, or of the regressors of a factor, from a column of the table on.
type columnScatter struct {
	huber.Scatter
	first      int
	regressors bool // and not what a factor describes
}

// referenceRounds bounds the passes of the estimate, whose variances fall by a factor of about c/N in each until they
// settle.
const referenceRounds = 200

// refer puts location and scatter that wild rows do not move into w.Reference, where those of the table are others, and
// of no more rows than columns variances alone: parameters as those of the pooled table. It reads the source once,
// together with the draw, and again only where rows are wild.
func (b *beginning) refer(
	ctx context.Context, src framework.Source[blocks.Rows], w *Pooled, draw *framework.Draw,
) error {
	p := b.plan
	groups, moved := p.scatters(w)
	if len(groups) == 0 {
		return nil
	}
	for round := range referenceRounds {
		sums := askScatter(ofScatter{b.family, round}, groups)
		if err := framework.SurveyAll(ctx, src, 0, append(draw.Next(), sums)...); err != nil {
			return err
		}
		change := 0.0
		for i, s := range groups {
			if t := sums.Sum[i]; t.Beyond > 0 || moved && t.N > 0 {
				moved = true
				change = max(change, s.Move(t))
			}
			if !s.Ready() {
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

// scatters are the groups of columns of the plan's factors, as they are in the pooled table, or reduced: variances in
// place of the singular matrix of too few rows.
func (p *Plan) scatters(w *Pooled) (list []*columnScatter, reduced bool) {
	for i := range p.parts {
		f := &p.parts[i]
		if of, ok := f.Factor.(Regressing); ok {
			sums := f.ofSums(w.Sums)
			first, mean, cov := of.RegressorScatter(&Pooled{Sums: sums, Anchor: f.ofAnchor(w.Anchor)})
			s := &columnScatter{first: f.at.Columns + first, regressors: true}
			s.Scatter = huber.Scatter{Matrix: true, Mean: mean, Cov: cov, Far: huber.Furthest(len(mean), sums[0])}
			if len(mean) > 0 && s.Ready() {
				list = append(list, s)
			}
		}
		groups, width, matrix := f.scatterForm()
		if groups == 0 {
			continue
		}
		own := slices.Clone(f.ofParams(w.Parameters))
		f.scatter(w, own)
		params := f.Factor.(Scattered).ScatterOf(own)
		mean, rest := params[:groups*width], params[groups*width:]
		for g := range groups {
			s := &columnScatter{first: f.at.Columns + g*width}
			s.Matrix, s.Far = matrix, huber.Furthest(width, w.N)
			s.Mean = append(s.Mean, mean[g*width:(g+1)*width]...)
			if s.Cov = append(s.Cov, rest[g]); matrix {
				s.Cov = append([]float64(nil), rest...)
			}
			less := w.N <= float64(width) && s.Reduce() // of more rows, dependent columns bind every class alike
			if s.Ready() {
				list, reduced = append(list, s), reduced || less
			}
		}
	}
	return list, reduced
}

// askScatter asks for the sums of groups.
func askScatter(of any, groups []*columnScatter) *framework.Asked[blocks.Rows, []*huber.Sums] {
	return framework.Ask(of,
		func() ([]*huber.Sums, error) {
			list := make([]*huber.Sums, len(groups))
			for i, s := range groups {
				list[i] = s.Sums()
			}
			return list, nil
		},
		func(list []*huber.Sums, b blocks.Rows) error {
			for i := range b.N {
				x, w := b.Row(i), b.Weight(i)
				for j, s := range groups {
					list[j].Add(&s.Scatter, x[s.first:s.first+len(s.Mean)], w)
				}
			}
			return nil
		},
		func(into, from []*huber.Sums) error {
			for i, t := range into {
				t.Merge(from[i])
			}
			return nil
		})
}

// referenceOf are the parameters with the locations and scatters of the groups.
func (p *Plan) referenceOf(w *Pooled, groups []*columnScatter) []float64 {
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
				copy(to, s.Mean)
				copy(to[len(s.Mean):], s.Cov)
				continue
			}
			n, width, _ := f.scatterForm()
			params, g := f.Factor.(Scattered).ScatterOf(f.ofParams(reference)), (s.first-f.at.Columns)/width
			copy(params[g*width:], s.Mean)
			switch rest := params[n*width:]; {
			case s.Matrix:
				copy(rest, s.Cov)
			case n == 1: // one variance, which may be repeated
				linalg.Fill(rest, s.Cov[0])
			default:
				rest[g] = s.Cov[0]
			}
		}
	}
	return reference
}

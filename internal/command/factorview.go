package command

import (
	"context"
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/bootstrap"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/report"
)

// factorView shows a fit of factor analysis in text and on the page.
type factorView struct {
	st        factor.Structure
	names     []string
	rotate    string
	table     *framework.Table  // the rows
	solutions *factor.Solutions // of the closed form; else nil
	criterion string            // what the sizes were compared by
	others    string            // the K of further criteria
	none      float64           // how much higher it is of no factors at all
}

// result is that of parameters in canonical rotation.
func (v factorView) result(p *factor.Parameters) (*result, error) {
	file, err := rotated(p, v.rotate)
	if err != nil {
		return nil, err
	}
	r := &result{k: p.K, params: file, explained: v.explained(file)}
	if v.solutions != nil {
		r.facts = [][2]string{{"estimates", "maximum likelihood; gFAB ends at the same ones, with longer loadings"}}
		if v.others != "" {
			r.facts = append(r.facts, [2]string{"other criteria", "choose K by " + v.others})
		}
		if v.none > 0 {
			r.doubts = append(r.doubts, fmt.Errorf("%s of no factors at all is %s nats higher: the columns may be independent", v.criterion, digits(v.none)))
		}
		if !v.solutions.Converged(p.K) {
			r.doubts = append(r.doubts, fmt.Errorf("the search for the noise at K = %d did not converge", p.K))
		}
	}
	if v.rotate != "" && v.rotate != "none" {
		r.facts = append(r.facts, [2]string{"rotation", v.rotate})
	}
	var heywood []string
	for _, j := range p.Heywood() {
		heywood = append(heywood, v.names[j])
	}
	if len(heywood) > 0 {
		columns := "column"
		if len(heywood) > 1 {
			columns = "columns"
		}
		//lint:ignore ST1005 Heywood is a name
		r.doubts = append(r.doubts, fmt.Errorf("Heywood: %s %s: no noise is left but the least that is allowed, %s of the variance; K = %d may be too many", columns, quoted(heywood), percent(factor.Floor), p.K))
	}
	r.bootstrap = func(ctx context.Context, o bootstrap.Options) (outcome bootstrap.Outcome, err error) {
		r.loadingErrors, outcome, err = v.standardErrors(ctx, p, file, o)
		return outcome, err
	}
	r.print = func(out *page) { v.print(out, file, r.loadingErrors) }
	r.finding = func(*input) (report.Section, error) { return v.finding(file), nil }
	r.sections = func(*input) ([]report.Section, error) {
		return append(v.loadingsSection(file, r.loadingErrors), v.screeSection(file)...), nil
	}
	return r, nil
}

// explained is the share of the columns' variances, each of which counts as 1, along each factor. What correlated
// factors share is divided between them, Σ_j W_jk (WΦ)_jk as R's psych has it, so that the shares sum to the mean communality.
func (v factorView) explained(file factorFile) (shares []float64) {
	w := file.Standardized()
	structure := mat.DenseCopyOf(w) // correlations of columns and factors, WΦ
	if file.oblique() {
		structure.Mul(w, mat.NewDense(file.K, file.K, slices.Concat(file.Rotation.Correlations...)))
	}
	for k := range file.K {
		shares = append(shares, floats.Dot(mat.Col(nil, k, w), mat.Col(nil, k, structure))/float64(file.D))
	}
	return shares
}

// standardErrors are those of the loadings as they are printed, in axes held fixed: the loadings of each draw are
// rotated to where they are nearest to those of the fit.
func (v factorView) standardErrors(ctx context.Context, p *factor.Parameters, file factorFile, o bootstrap.Options) ([]float64, bootstrap.Outcome, error) {
	o.Fit.Method = framework.EM // at fixed K, the loadings of gFAB but for their length
	target := p.Standardized()
	basis := mat.NewDense(p.K, p.K, nil)
	basis.Copy(mat.NewDiagDense(p.K, slices.Repeat([]float64{1}, p.K)))
	if file.Rotation != nil {
		basis = mat.NewDense(p.K, p.K, file.Rotation.Basis)
	}
	numbers := func(q *factor.Parameters) []float64 {
		w, err := q.AlignedTo(target)
		if err != nil {
			return nil // which the bootstrap counts as a failure
		}
		w.Mul(mat.DenseCopyOf(w), basis)
		return w.RawMatrix().Data
	}
	e, err := bootstrap.StandardErrors(ctx, factor.Model{Structure: v.st}, v.table, p, numbers, o)
	if err != nil {
		return nil, bootstrap.Outcome{}, err
	}
	var errs []float64
	for _, n := range e.Numbers {
		errs = append(errs, n.Error)
	}
	return errs, e.Outcome, nil
}

func (v factorView) print(out *page, file factorFile, errs []float64) {
	w, explained := file.Standardized(), v.explained(file)
	out.line("")
	shown, g := out.widest(file.K, func(n int) *grid {
		g := newGrid(append(append([]string{"loadings"}, numbered("z", n)...), "uniqueness")...)
		for j := range file.D {
			if j >= mostRows {
				break
			}
			row := []string{short(v.names[j])}
			for k := range n {
				cell := fmt.Sprintf("%.3f", w.At(j, k))
				if errs != nil {
					cell += fmt.Sprintf(" ± %.3f", errs[j*file.K+k])
				}
				row = append(row, cell)
			}
			g.row(append(row, fmt.Sprintf("%.4f", file.Uniquenesses[j]))...)
		}
		row := []string{"variance explained"}
		for k := range n {
			row = append(row, percent(explained[k]))
		}
		g.row(append(row, percent(floats.Sum(file.Uniquenesses)/float64(file.D)))...)
		return g
	})
	out.grid(g)
	if left := file.K - shown; left > 0 {
		out.line("(%s left out: --format json has all)", are(left, "factor"))
	}
	if left := file.D - mostRows; left > 0 {
		out.line("(%s left out: --format json has all)", are(left, "column"))
	}
	text := "Loadings are of columns divided by their standard deviations; the uniqueness is the share of noise."
	if errs != nil {
		text += " Beside ± are standard errors by bootstrap."
	}
	out.prose(0, "%s", text)
	if !file.oblique() {
		return
	}
	g = newGrid(append([]string{"correlations"}, numbered("z", file.K)...)...)
	for k, row := range file.Rotation.Correlations {
		cells := []string{fmt.Sprint("z", k+1)}
		for _, c := range row {
			cells = append(cells, fmt.Sprintf("%.3f", c))
		}
		g.row(cells...)
	}
	out.line("")
	out.grid(g)
}

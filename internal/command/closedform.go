package command

import (
	"context"
	"fmt"
	"math"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/bpca"
)

// closedForm reads all K up to a largest off one spectrum.
type closedForm struct {
	spectrum func(kmax int) (*bpca.Spectrum, error)
}

// newClosedForm decomposes the table, or, where it is wide, waits until it is known how many of
// the eigenvalues are needed: of few, the rest is known by its sum, which is all that the
// solutions use.
func newClosedForm(ctx context.Context, table *framework.Table, workers int) (closedForm, error) {
	if n, d := table.Dims(); n >= d && d >= 400 {
		moments, err := bpca.Summarize(ctx, table, workers)
		return closedForm{func(kmax int) (*bpca.Spectrum, error) {
			if 16*kmax <= d {
				return moments.LeadingSpectrum(kmax)
			}
			return moments.Spectrum()
		}}, err
	}
	spectrum, err := bpca.Decompose(ctx, table, workers)
	return closedForm{func(int) (*bpca.Spectrum, error) { return spectrum, nil }}, err
}

func (e closedForm) fit(ctx context.Context, o framework.Options) (*outcome, error) {
	s, err := e.score(ctx, []int{o.K}, o, []framework.Criterion{o.Criterion})
	if err != nil {
		return nil, err
	}
	return s.fit(0)
}

func (e closedForm) score(_ context.Context, ks []int, _ framework.Options, criteria []framework.Criterion) (*scores, error) {
	kmax := ks[len(ks)-1]
	spectrum, err := e.spectrum(kmax)
	if err != nil {
		return nil, err
	}
	solutions, err := bpca.Solve(spectrum, kmax)
	if err != nil {
		return nil, err
	}
	if ks[0] > solutions.Max() {
		return nil, noSolution(ks[0], solutions)
	}
	s := &scores{}
	s.K, s.Criteria = ks, criteria
	for _, k := range ks {
		row, failed := make([]float64, len(criteria)), error(nil)
		for j, c := range criteria {
			if k > solutions.Max() {
				row[j], failed = math.NaN(), noSolution(k, solutions)
			} else if row[j], err = solutions.Value(k, c); err != nil {
				return nil, err
			}
		}
		e, err := solutions.Evaluation(k, framework.EM)
		if err != nil && failed == nil {
			return nil, err
		}
		s.add(row, e, failed)
	}
	s.fit = func(i int) (*outcome, error) {
		p, err := solutions.Parameters(ks[i], framework.EM)
		if err != nil {
			return nil, err
		}
		e, err := solutions.Evaluation(ks[i], bpca.MethodFor(criteria[0]))
		others := further(func(c framework.Criterion) (float64, error) { return solutions.Value(ks[i], c) })
		return solved(principal(p, nil), criteria[0], s.Values[i][0], e, others...), err
	}
	return s, nil
}

func noSolution(k int, s *bpca.Solutions) error {
	return fmt.Errorf("no solution at K = %d: the rows lie in a space of few dimensions, and no noise is left beyond K = %d", k, s.Max())
}

package reproduce

import (
	"context"
	"fmt"
)

// An evidenceRun is what a job gives: of a drawn table, values by structure, K and criterion; of a tiny one, biases in
// nats; of one drawn from the prior, K and p(K|X).
type evidenceRun struct {
	Values    [][][]float64
	Bias      []float64
	K         int
	Posterior []float64
}

// How many tables are drawn: of any kind unless it is said, with as many pairs from the prior; one wide table for so
// many of these; and of each tiny setting.
const (
	evidenceTables = 1400
	wideEvery      = 3
	biasTables     = 20
)

func evidenceStudy() *Experiment {
	return Define(Info{
		Name:  "evidence",
		Title: "Which criterion finds K: the evidence under a prior worth one row",
		Source: "Beyond the papers: tables with settings drawn at random, tiny ones with exact values, and tables " +
			"from the prior itself",
		About: `*Drawn tables.* The setting of table i is drawn by i alone: Gaussian columns in half of the tables, all 14 structures as truths, D from 1 to 64 (mostly at most 10); else Bernoulli, categorical (3 to 5 levels) or Poisson columns; N from 30 to 3,000, in proportion on a logarithmic scale, at least 10 rows a class and 3D/2 + 10 for Gaussian columns,
at most 12,000 numbers; K of 1, 2, 3, 4, 5, 8; weights within a factor of three; classes so far apart that the best rule errs in 0.1 to 10 % of the rows, where that can be had. Log variances spread over ±0.8 for volumes and ±1.5 for axes, directions are uniform: this is no criterion's prior. Half of the tables are such classes (base); others have one row of fifty spread over
three times the range (outliers), t(4) or overdispersed classes (heavy), gamma(2) ones (skewed), or columns in which the classes do not differ (noise). What is right is K of the truth, whatever else there is.

K from two below the truth to two above is fitted by EM, the likelier of a start at the true classes, united by Ward's method or divided across the largest one's longest axis, and of the library's own; fits in which a covariance has an eigenvalue below 10⁻⁴ (the truth's are above 0.05) have no value, as the likelihood has no maximum there. gFIC, BIC, ICL, sBIC (over the K that are fitted)
and the collapsed evidence (of conjugate families alone: VII, VVI and VVV among Gaussian ones, so that its choice of a structure is between those) score these. The evidence climbs from EM's estimate and from the true classes, whichever ends higher, and from there on under each worth of the prior. The structure is known, or chosen together with K from EII, EEI, VVI, EEE, VVV,
or from all 14, where D ≤ 10 and N·K ≤ 2,000; beyond five columns EVE and VVE are left out, both as truths and as candidates, for their time. Starts at the truth, and K near it, favour no criterion, but all of them find K more often than a user would.

*Wide tables.* One more table for three of these is of Gaussian classes in eight columns and more, with at most ten rows a column and nothing besides: priors of covariances matter most there.

*Tiny tables.* ln p(X|K = 2) is a sum over all labellings of 10 or 12 rows, of products of what two classes' rows have: in closed form for codes and counts, by quadrature over covariances for Gaussian classes.

*Tables from the prior.* m = 0 and S = I are fixed, or the rate's prior; K is drawn with p(K) ∝ 1/K!, then weights from Dir(1), parameters from the prior of the evidence, and rows. p(K|X) ∝ exp E, K = 1 to 8, of fits from the true classes and two of the library's starts.

*Limits.* An outlier that is a class of its own counts as wrong, though it describes the table. Non-normal classes are divided by every criterion. Tables with N ≤ D are not drawn. Rates belong to these settings: where tables are easy all criteria agree, and where they are hopeless none is right. The tables from the prior have at most eight columns.`,
		Revision: 2,
	}, func(s *Settings) (jobs []Job[evidenceRun], err error) {
		for _, c := range biasSettings() {
			for seed := range s.seeds(biasTables, 1) {
				jobs = append(jobs, Job[evidenceRun]{
					Key: fmt.Sprintf("bias-%s-%d", c.tiny(), seed),
					Run: func(ctx context.Context) (run evidenceRun, err error) {
						run.Bias, err = c.bias(ctx, uint64(seed))
						return run, err
					},
				})
			}
		}
		for i := range s.tables(evidenceTables, 12) {
			jobs = append(jobs, Job[evidenceRun]{
				Key: fmt.Sprintf("table-%d", i),
				Run: func(ctx context.Context) (evidenceRun, error) {
					return drawSetting(i).fitAll(ctx)
				},
			})
			if i%wideEvery == 0 {
				of := wideSetting(i / wideEvery)
				jobs = append(jobs, Job[evidenceRun]{Key: fmt.Sprintf("wide-%d", i/wideEvery), Cost: 3, Run: of.fitAll})
			}
			for j := 2 * i; j < 2*i+2; j++ {
				jobs = append(jobs, Job[evidenceRun]{
					Key:  fmt.Sprintf("prior-%d", j),
					Cost: 0.1,
					Run: func(ctx context.Context) (run evidenceRun, err error) {
						of := priorSettings()
						run.K, run.Posterior, err = of[j%len(of)].posterior(ctx, uint64(j))
						return run, err
					},
				})
			}
		}
		return jobs, nil
	}, evidenceConclude)
}

// fitAll draws a table and fits all that competes.
func (s evidenceSetting) fitAll(ctx context.Context) (run evidenceRun, err error) {
	t, err := newEvidenceTable(s)
	if err != nil {
		return run, err
	}
	for _, form := range t.forms() {
		values, err := t.fit(ctx, form)
		if err != nil {
			return run, fmt.Errorf("%v, %s: %w", t.evidenceSetting, form, err)
		}
		run.Values = append(run.Values, values)
	}
	return run, nil
}

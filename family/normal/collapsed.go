package normal

import (
	"math"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/internal/linalg"
	"github.com/latent-go/latent/internal/simd"
	"github.com/latent-go/latent/prior"
)

// LogEvidence is [prior.NormalInverseWishart.LogEvidence]; NaN if there is none.
func (q *normalWishart) LogEvidence(h []float64) float64 {
	v, err := q.at(h).LogEvidence(q.of, q.norm)
	if err != nil {
		return math.NaN()
	}
	return v
}

func (q *normalWishart) AddPredictive(o *family.Observed, hyper, scores family.Table, out, r []float64) {
	q.eachRow(o, hyper, scores, func(s prior.Student, _, i int, distance float64) {
		r[i] += s.LogPredictive(distance, linalg.Entry(out, i))
	})
}

func (q *normalWishart) AddSpread(o *family.Observed, hyper, scores family.Table, weights, dst []float64) {
	q.eachRow(o, hyper, scores, func(s prior.Student, k, i int, distance float64) {
		if w := weights[i]; w != 0 {
			dst[k] += w / 2 * s.Curvature(distance)
		}
	})
}

// eachRow visits the rows of each class, i being their places in what is laid out as r. Of rows with missing values it
// has the distribution of the others; those of which all are missing are left out.
func (q *normalWishart) eachRow(
	o *family.Observed, hyper, scores family.Table, visit func(s prior.Student, k, i int, distance float64),
) {
	n, f := o.Padded(), solvers.Get().(*solver)
	defer solvers.Put(f)
	distances, gaps := make([]float64, n), &memory[own](o).gaps
	var laws []prior.Student // of incomplete rows' places, from the first on
	if !o.Complete {
		f.set(gaps.patterns)
		laws = make([]prior.Student, o.N-gaps.first)
	}
	o.Work = linalg.Resize(o.Work, q.d+simd.ScoresWork(q.d))
	zeros, work := o.Work[:q.d], o.Work[q.d:]
	clear(zeros)
	for k := range hyper.K {
		p := q.at(hyper.Row(k, 3+q.d+q.d*q.d))
		m, root := q.split(scores.Row(k, 1+q.d+q.d*q.d), 1)
		x, mean, s := o.X, m, p.Student(root, q.of, q.norm)
		if !o.Complete {
			f.complete(o, gaps.of(k, q.d, m, root), func(e *group) {
				for l, rows := range e.patterns {
					var left prior.Student
					if e.m < q.d {
						left = p.Without(s, e.m, -e.logDet[l])
					}
					for i := rows.from; i < rows.to; i++ {
						laws[i-gaps.first] = left
					}
				}
			})
			x, mean = f.rows, zeros
		}
		clear(distances)
		simd.GaussianScores(distances, x, q.d, n, 0, mean, root, work)
		for i, v := range distances[:o.N] {
			law, row := s, i
			if !o.Complete {
				row = int(gaps.rows[i])
			}
			if before := o.N - len(laws); i >= before {
				law = laws[i-before]
			}
			if law != (prior.Student{}) {
				visit(law, k, k*n+row, -2*v/p.Nu)
			}
		}
	}
}

// LogEvidence is the sum of [prior.IsotropicNormal.LogEvidence] over the groups.
func (q *isotropicPrior) LogEvidence(h []float64) float64 {
	sum := 0.0
	for i := range q.groups {
		sum += q.group(h, i).LogEvidence(q.group(q.before, i))
	}
	return sum
}

func (q *isotropicPrior) AddPredictive(o *family.Observed, hyper, _ family.Table, out, r []float64) {
	q.eachCell(o, hyper, func(s prior.Student, _, i int, distance float64) {
		r[i] += s.LogPredictive(distance, linalg.Entry(out, i))
	})
}

func (q *isotropicPrior) AddSpread(o *family.Observed, hyper, _ family.Table, weights, dst []float64) {
	q.eachCell(o, hyper, func(s prior.Student, k, i int, distance float64) {
		if w := weights[i]; w != 0 {
			dst[k] += w / 2 * s.Curvature(distance)
		}
	})
}

// eachCell visits the groups of each class and row that are not missing.
func (q *isotropicPrior) eachCell(
	o *family.Observed, hyper family.Table, visit func(s prior.Student, k, i int, distance float64),
) {
	padded := o.Padded()
	for k := range hyper.K {
		h := hyper.Row(k, q.groups*(q.width+3))
		for g := range q.groups {
			p := q.group(h, g)
			s := p.Student(q.group(q.before, g))
			for i := range o.N {
				squared := 0.0
				for j, m := range p[:q.width] {
					d := o.X[(g*q.width+j)*padded+i] - m
					squared += d * d
				}
				if squared == squared {
					visit(s, k, k*padded+i, p.Distance(squared))
				}
			}
		}
	}
}

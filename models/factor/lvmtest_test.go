package factor_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/framework/lvmtest"
	"github.com/latent-go/latent/internal/tier"
	"github.com/latent-go/latent/models/factor"
	"github.com/latent-go/latent/models/lineargaussian"
)

type suiteOf[B any] = lvmtest.Case[B, *factor.Parameters, *factor.Statistics]

// draw makes n rows of d columns from k factors, with columns of different units, means and noise.
func draw(n, d, k int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 1))
	normal := func(_, _ int, _ float64) float64 { return rng.NormFloat64() }
	w, z, x := mat.NewDense(k, d, nil), mat.NewDense(n, k, nil), mat.NewDense(n, d, nil)
	w.Apply(normal, w)
	z.Apply(normal, z)
	x.Mul(z, w)
	x.Apply(func(_, j int, v float64) float64 {
		return float64(10*j) + math.Pow(3, float64(j%3))*(v+(0.6+0.1*float64(j%5))*rng.NormFloat64())
	}, x)
	return x
}

// pierced is x without a share of its entries, at random; no row is empty. Of blocks it takes whole ones.
func pierced(x *mat.Dense, share float64, blocks [][]int, seed uint64) *mat.Dense {
	rng := rand.New(rand.NewPCG(seed, 2))
	y := mat.DenseCopyOf(x)
	n, d := x.Dims()
	if blocks == nil {
		for j := range d {
			blocks = append(blocks, []int{j})
		}
	}
	for i := range n {
		stays := rng.IntN(len(blocks))
		for b, block := range blocks {
			if rng.Float64() < share && b != stays {
				for _, j := range block {
					y.Set(i, j, math.NaN())
				}
			}
		}
	}
	return y
}

// suite is a case of a structure of noise, with columns or blocks in other units.
func suite[B any](m framework.Model[B, *factor.Parameters, *factor.Statistics], st factor.Structure, x *mat.Dense, as func(lvmtest.Data[blocks.Rows]) lvmtest.Data[B]) suiteOf[B] {
	scaled := lvmtest.Rescaled("columns", x, []float64{1000, 1, 0.1, 2, 50})
	if st.Isotropic {
		scaled = lvmtest.Rescaled("table", x, []float64{1000, 1000, 1000, 1000, 1000})
	}
	ks := []int{1, 2}
	if len(st.Blocks) > 2 {
		ks = ks[:1] // of five columns in three blocks, two factors converge slowly
	}
	return suiteOf[B]{
		Model: m, Data: as(lvmtest.Matrix(x)), K: ks,
		Units:  []lvmtest.Units[B]{{Name: scaled.Name, Data: as(scaled.Data), LogDet: scaled.LogDet}},
		Free:   free,
		Latent: latent,
		Symmetry: func(p *factor.Parameters, rng *rand.Rand) *factor.Parameters {
			q := *p
			q.Loadings = make([]float64, len(p.Loadings))
			q.W().Mul(p.W(), rotation(p.K, rng))
			return &q
		},
		Degenerate: flattened,
		Sample: func(p *factor.Parameters, n int, rng *rand.Rand) (lvmtest.Data[B], error) {
			x, err := p.Sample(n, rng)
			if err != nil {
				return lvmtest.Data[B]{}, err
			}
			return as(lvmtest.Matrix(x)), nil
		},
		SampleK: 1,
	}
}

// flattened has the last factor at 0 in every row, which loses the density of N(0, 1) there. Its loadings stay.
func flattened(s *factor.Statistics, p *factor.Parameters) (*factor.Statistics, *factor.Parameters, float64) {
	last := s.K - 1
	for _, list := range [][]float64{s.XZ, s.ZZ, s.Z, s.PartZZ} {
		for i := last; i < len(list); i += s.K {
			list[i] = 0
		}
	}
	for _, list := range [][]float64{s.ZZ, s.PartZZ} {
		for i := last * s.K; i < len(list); i += s.K * s.K {
			clear(list[i : i+s.K])
		}
	}
	anchor := mat.NewDense(s.D, s.K, s.Anchor)
	var cross, square mat.Dense
	cross.Mul(anchor.T(), mat.NewDense(s.D, s.K, s.XZ))
	square.Product(anchor, mat.NewDense(s.K, s.K, s.ZZ), anchor.T())
	s.Residual = s.SumSq - 2*mat.Trace(&cross) + mat.Trace(&square)
	return s, p, -s.N / 2 * math.Log(2*math.Pi)
}

// rotation is an orthogonal matrix at random.
func rotation(k int, rng *rand.Rand) *mat.Dense {
	a := mat.NewDense(k, k, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return rng.NormFloat64() }, a)
	var qr mat.QR
	var q mat.Dense
	qr.Factorize(a)
	qr.QTo(&q)
	return &q
}

// lowers are the Cholesky factors of the blocks of Ψ: of a column its standard deviation.
func lowers(p *factor.Parameters) (list []*mat.TriDense, parts [][]int) {
	parts = p.Blocks
	if parts == nil {
		for j := range p.D {
			parts = append(parts, []int{j})
		}
	}
	at := 0
	for _, part := range parts {
		m := len(part)
		var chol mat.Cholesky
		if !chol.Factorize(mat.NewSymDense(m, slices.Clone(p.Noise[at:at+m*m]))) {
			panic("noise is not positive definite")
		}
		var lower mat.TriDense
		chol.LTo(&lower)
		list = append(list, &lower)
		if !p.Isotropic {
			at += m * m
		}
	}
	return list, parts
}

// latent are the loadings in units of the noise, L⁻¹W with Ψ = LLᵀ: where no entry is missing one factor after
// another, else for each column or block by itself. Of isotropic noise they are in units of the mean column variance.
func latent(_ *factor.Statistics, p *factor.Parameters) (v []float64, at func([]float64) *factor.Parameters) {
	roots, parts := lowers(p)
	if p.Isotropic {
		for i := range roots {
			roots[i] = mat.NewTriDense(1, mat.Lower, []float64{math.Sqrt(floats.Sum(p.Unit) / float64(p.D))})
		}
	}
	type place struct{ j, k int }
	var order []place
	white := mat.NewDense(p.D, p.K, nil)
	for i, part := range parts {
		own := mat.NewDense(len(part), p.K, nil)
		for r, j := range part {
			own.SetRow(r, p.W().RawRowView(j))
		}
		var solved mat.Dense
		if err := roots[i].SolveTo(&solved, false, own); err != nil {
			panic(err)
		}
		for r, j := range part {
			white.SetRow(j, solved.RawRowView(r))
		}
		for k := range p.K {
			for _, j := range part {
				order = append(order, place{j, k})
			}
		}
	}
	if p.Center == nil {
		slices.SortStableFunc(order, func(a, b place) int { return a.k - b.k })
	}
	for _, o := range order {
		v = append(v, white.At(o.j, o.k))
	}
	return v, func(v []float64) *factor.Parameters {
		q := *p
		q.Loadings = make([]float64, len(p.Loadings))
		w := mat.NewDense(p.D, p.K, nil)
		for i, o := range order {
			w.Set(o.j, o.k, v[i])
		}
		for i, part := range parts {
			own, product := mat.NewDense(len(part), p.K, nil), mat.NewDense(len(part), p.K, nil)
			for r, j := range part {
				own.SetRow(r, w.RawRowView(j))
			}
			product.Mul(roots[i], own)
			for r, j := range part {
				q.W().SetRow(j, product.RawRowView(r))
			}
		}
		return &q
	}
}

// free are the loadings and the Cholesky factors of Ψ with logarithms on their diagonals. The mean, which Shape.Total
// does not count, stays.
func free(_ *factor.Statistics, p *factor.Parameters) (v []float64, at func([]float64) *factor.Parameters) {
	v = slices.Clone(p.Loadings)
	roots, parts := lowers(p)
	if p.Isotropic {
		roots, parts = roots[:1], parts[:1]
	}
	for i := range parts {
		m, _ := roots[i].Dims()
		for r := range m {
			for c := range r {
				v = append(v, roots[i].At(r, c))
			}
			v = append(v, math.Log(roots[i].At(r, r)))
		}
	}
	return v, func(v []float64) *factor.Parameters {
		q := *p
		q.Loadings, q.Noise = slices.Clone(v[:len(p.Loadings)]), nil
		v = v[len(p.Loadings):]
		for i := range parts {
			m, _ := roots[i].Dims()
			lower := mat.NewDense(m, m, nil)
			for r := range m {
				for c := range r {
					lower.Set(r, c, v[c])
				}
				lower.Set(r, r, math.Exp(v[r]))
				v = v[r+1:]
			}
			var noise mat.Dense
			noise.Mul(lower, lower.T())
			q.Noise = append(q.Noise, noise.RawMatrix().Data...)
		}
		return &q
	}
}

func asRows(d lvmtest.Data[blocks.Rows]) lvmtest.Data[blocks.Rows] { return d }

// summarized makes moments of every block of rows.
func summarized(d lvmtest.Data[blocks.Rows]) lvmtest.Data[*lineargaussian.Moments] {
	return lvmtest.Data[*lineargaussian.Moments]{Rows: d.Rows, Block: func(rows []int, weights []float64, first int) *lineargaussian.Moments {
		m := &lineargaussian.Moments{}
		if err := m.Add(d.Block(rows, weights, first)); err != nil {
			panic(err)
		}
		return m
	}}
}

var structures = map[string]factor.Structure{
	"diagonal":  {},
	"isotropic": {Isotropic: true},
	"two":       {Blocks: [][]int{{0, 2, 4}, {1, 3}}},
	"three":     {Blocks: [][]int{{4}, {1, 3}, {0, 2}}},
}

func TestConformance(t *testing.T) {
	for name, st := range structures {
		x := draw(60, 5, 2, 1)
		m := factor.Model{Structure: st}
		t.Run(name+" rows", func(t *testing.T) {
			t.Parallel()
			if name != "diagonal" {
				tier.Leave(t, "its moments, and rows of diagonal noise")
			}
			lvmtest.Test(t, suite(m, st, x, asRows))
		})
		if name != "three" { // as two
			t.Run(name+" moments", func(t *testing.T) {
				t.Parallel()
				lvmtest.Test(t, suite(factor.Compressed{Model: m}, st, x, summarized))
			})
		}
		t.Run(name+" with missing entries", func(t *testing.T) {
			t.Parallel()
			if name != "diagonal" && name != "two" {
				tier.Leave(t, "gaps of single columns, and of blocks")
			}
			gaps := pierced(x, 0.2, st.Blocks, 1)
			c := suite(m, st, gaps, asRows)
			c.Units[0].LogDet = 0 // entries that are missing have no density
			scaled := c.Units[0].Data.Block(upTo(60), nil, 0)
			for i := range 60 {
				for j := range 5 {
					if v := gaps.At(i, j); v == v {
						c.Units[0].LogDet += math.Log(scaled.X[i*5+j]/v) / 60
					}
				}
			}
			c.Sample = nil // rows that miss no entry
			lvmtest.Test(t, c)
		})
	}
}

func upTo(n int) (list []int) {
	for i := range n {
		list = append(list, i)
	}
	return list
}

package lvmtest

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/optional"
)

// identifiability counts the directions in which ln p(x_n|Π) of the rows changes: those of the maxima for rows that are
// reweighted a little, of small rotations, and of the case's free coordinates.
func (r *run[B, P, S]) identifiability() {
	r.deterministic()
	_ = able[optional.LogProber[B, P]](r, "LogProber")
	if _, variational := r.Model.(optional.Variational); variational {
		r.skipf("the parameters of %T are those of a posterior", r.Model)
	}
	if r.Unweighted || r.tolerance() > 1e-9 {
		r.skipf("the maxima for rows that are reweighted a little are not known, or to few digits")
	}
	for _, at := range r.late(framework.EM) {
		shape := r.Model.Shape(at.p)
		if n := shape.Total() + 2; n > 60 || n > r.Data.Rows {
			r.notef("%s: D_Π = %d is too many to look at with %d rows", at.where, shape.Total(), r.Data.Rows)
			continue
		}
		middle := r.other(at, at.where, r.Data.all(0)) // of all pairs: directions at other points are others
		middle.k, middle.p = at.k, r.maximize(at.where, middle.s, at.p)
		pairs := slices.Concat(r.reweightings(at, shape.Total()+2), r.turns(middle), r.steps(middle))
		rows, parameters := r.moves(at.where, pairs)
		r.ranked(at.where, shape, rows, parameters)
	}
}

// nudge is the size of the changes.
const nudge = 1e-4

// reweightings are pairs of maxima for rows whose weights are changed at random, and by as much the other way.
func (r *run[B, P, S]) reweightings(at state[P, S], n int) (pairs [][2]P) {
	rng := r.rng(14)
	u, w := make([]float64, r.Data.Rows), make([]float64, r.Data.Rows)
	for range n {
		for i := range u {
			u[i] = 2*rng.Float64() - 1
		}
		var pair [2]P
		for side, sign := range []float64{nudge, -nudge} {
			for i := range w {
				w[i] = 1 + sign*u[i]
			}
			t := r.other(at, at.where, r.Data.arranged(arrangement{order: upTo(len(w)), weights: w}))
			pair[side] = r.maximize(at.where, t.s, at.p)
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// turns are pairs of rotations of every two latent dimensions, of a model whose dimensions mix.
func (r *run[B, P, S]) turns(at state[P, S]) (pairs [][2]P) {
	m, ok := r.Model.(optional.Rotator[P, S])
	if !ok || r.coupled() != nil {
		return nil
	}
	for i := range at.k {
		for j := range i {
			var pair [2]P
			for side, angle := range []float64{nudge, -nudge} {
				basis := mat.NewDense(at.k, at.k, nil)
				for k := range at.k {
					basis.Set(k, k, 1)
				}
				sin, cos := math.Sincos(angle)
				basis.Set(i, i, cos)
				basis.Set(j, j, cos)
				basis.Set(i, j, sin)
				basis.Set(j, i, -sin)
				_, pair[side] = r.rotated(m, at.where, at.s, at.p, basis)
			}
			pairs = append(pairs, pair)
		}
	}
	return pairs
}

// steps are pairs of steps along free coordinates.
func (r *run[B, P, S]) steps(at state[P, S]) (pairs [][2]P) {
	if r.Free == nil {
		return nil
	}
	x, point := r.Free(at.s, at.p)
	scale := r.scales(func(x []float64) float64 { return r.Model.LogJoint(at.s, point(x)) }, x)
	for i, v := range x {
		var pair [2]P
		for side, sign := range []float64{nudge, -nudge} {
			y := slices.Clone(x)
			y[i] = v + sign*scale[i]
			pair[side] = point(y)
		}
		pairs = append(pairs, pair)
	}
	return pairs
}

// moves are the singular values of the changes of ln p(x_n|Π), and of the parameters' numbers, relative to the latter.
func (r *run[B, P, S]) moves(where string, pairs [][2]P) (rows, parameters []float64) {
	block := r.Data.all(0).blocks[0]
	logProb := func(p P) []float64 {
		v, err := r.Model.(optional.LogProber[B, P]).LogProb(block, p, nil)
		r.must(err, "LogProb", where)
		return r.numbersOf(v, r.Data.Rows, "LogProb", where)
	}
	changes, numbers := mat.NewDense(r.Data.Rows, len(pairs), nil), r.tangents(pairs)
	for j, pair := range pairs {
		a, b := logProb(pair[0]), logProb(pair[1])
		floats.Sub(a, b)
		changes.SetCol(j, a)
	}
	for j := range pairs {
		if size := floats.Norm(mat.Col(nil, j, numbers), 2); size > 0 {
			for _, a := range []*mat.Dense{changes, numbers} {
				column := mat.Col(nil, j, a)
				floats.Scale(1/size, column)
				a.SetCol(j, column)
			}
		}
	}
	return singular(changes), singular(numbers)
}

// tangents are the changes of the parameters' numbers, relative to their size, in a column for each pair.
func (r *run[B, P, S]) tangents(pairs [][2]P) (numbers *mat.Dense) {
	for j, pair := range pairs {
		one, other := r.numbers("parameters", pair[0]), r.numbers("parameters", pair[1])
		if numbers == nil {
			numbers = mat.NewDense(len(one), len(pairs), nil)
		}
		for i, v := range one {
			numbers.Set(i, j, (v.value-other[i].value)/max(v.size, math.Abs(v.value), 1e-300))
		}
	}
	return numbers
}

// singular are the singular values of a matrix, and a 0 more.
func singular(a *mat.Dense) []float64 {
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDNone) {
		return []float64{0}
	}
	return append(svd.Values(nil), 0)
}

// above is the number of singular values above a part of the largest.
func above(v []float64, least float64) (n int) {
	for _, x := range v {
		if x > least*v[0] {
			n++
		}
	}
	return n
}

// ranked compares the number of parameters that are free with singular values of what rows say and of parameters.
// Maxima that do not move, such as those on a bound, say nothing. Means of the columns that are taken off once, which
// BIC counts, do not move either.
func (r *run[B, P, S]) ranked(where string, shape framework.Shape, rows, parameters []float64) {
	const none, some = 1e-9, 1e-5
	free, centring := shape.Identifiable(), 0
	if b, ok := rowsOf(r.Data.all(0).blocks[0]); ok {
		centring = b.D
	}
	switch least, most, moved := above(rows, some), above(rows, none), above(parameters, some); {
	case least > free:
		r.errorf("%s: Shape counts %d identifiable parameters, and ln p(x_n|Π) of the rows changes in %d directions", where,
			free, least)
	case most < free && (moved >= free || moved == shape.Total() && free != most+centring):
		r.errorf("%s: Shape counts %d identifiable parameters, and ln p(x_n|Π) of the rows changes in %d directions only, "+
			"of %d in which parameters move", where, free, most, moved)
	case most < free:
		r.notef("%s: parameters move in %d directions, and Shape counts %d: that the others are identifiable, and no "+
			"centring, needs Case.Free", where, moved, free)
	}
}

// untold finds rows that say nothing of some parameters, such as sequences of one step of transitions: p(x_n|Π) has the
// same bits at other values of their numbers. Of these rows alone no more than one observation may charge for them.
func (r *run[B, P, S]) untold() {
	m, ok := r.Model.(optional.LogProber[B, P])
	if _, variational := r.Model.(optional.Variational); variational || !ok || r.Stochastic || r.tolerance() > 1e-9 {
		r.notef("the rows that say nothing of some parameters are not looked for: it takes LogProb and exact maxima")
		return
	}
	for _, at := range r.late(framework.EM) {
		total := r.Model.Shape(at.p).Total()
		if _, labels := r.Model.(optional.Assigner[B, P]); labels && at.k > 1 {
			continue // a row far from a component tells nothing of it either, to rounding
		}
		if n := total + 2; n > 60 || n > r.Data.Rows {
			r.notef("%s: rows that say nothing of some of %d parameters are not looked for among %d", at.where, total,
				r.Data.Rows)
			continue
		}
		groups, silent := r.silent(m, at)
		if len(groups) < 2 {
			continue
		}
		tangents := r.tangents(r.reweightings(at, total+2))
		for _, rows := range groups {
			said := mat.DenseCopyOf(tangents)
			for i, of := range silent {
				if of[rows[0]] {
					said.SetRow(i, make([]float64, total+2))
				}
			}
			const some = 1e-5
			unsaid := above(singular(tangents), some) - above(singular(said), some)
			part, told := r.other(at, at.where, r.Data.arranged(arrangement{order: rows, first: rows[0]})), 0
			for _, c := range r.charged(part.where, part.s, at.p) {
				if c.N > 1+r.tolerance() {
					told += c.Parameters
				}
			}
			if told > total-unsaid {
				r.errorf("%s: p(x_n|Π) of %d rows, such as row %d, does not depend on %d of %d parameters, and of these rows "+
					"alone N is above 1 for %d", at.where, len(rows), rows[0]+1, unsaid, total, told)
			}
		}
	}
}

// silent finds of each number of the parameters the rows of which p(x_n|Π) does not depend on it, and groups rows of
// which it depends on the same ones.
func (r *run[B, P, S]) silent(m optional.LogProber[B, P], at state[P, S]) (groups [][]int, silent [][]bool) {
	block, list := r.Data.all(0).blocks[0], r.numbers("parameters", at.p)
	here, err := m.LogProb(block, at.p, nil)
	r.must(err, "LogProb", at.where)
	here = slices.Clone(here)
	keys := make([]string, r.Data.Rows)
	for i, v := range list {
		of := make([]bool, r.Data.Rows)
		silent = append(silent, of)
		var tree any
		r.must(json.Unmarshal(r.text("parameters", at.p), &tree), "json.Unmarshal", at.where)
		next := 0
		text := r.text("parameters", replaced(tree, i, v.value+1e-4*max(v.size, math.Abs(v.value), 1e-3), &next))
		p, err := decoded(text, at.p)
		if err != nil {
			continue // an integer, such as K
		}
		there, err := m.LogProb(block, p, nil)
		if err != nil || slices.Equal(here, there) {
			continue
		}
		for n := range of {
			if of[n] = here[n] == there[n]; of[n] {
				keys[n] += fmt.Sprint(i, " ")
			}
		}
	}
	index := map[string]int{}
	for n, key := range keys {
		if _, ok := index[key]; !ok {
			index[key], groups = len(groups), append(groups, nil)
		}
		groups[index[key]] = append(groups[index[key]], n)
	}
	return groups, silent
}

// replaced is a tree of JSON with another number at place i, in the order of collect.
func replaced(tree any, i int, by float64, next *int) any {
	switch v := tree.(type) {
	case float64:
		if *next++; *next == i+1 {
			return by
		}
	case []any:
		for j := range v {
			v[j] = replaced(v[j], i, by, next)
		}
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			v[k] = replaced(v[k], i, by, next)
		}
	}
	return tree
}

// keptDimensions compares the numbers of single latent dimensions with what Keep leaves of each, and with the maximum
// for the statistics that it leaves.
func (r *run[B, P, S]) keptDimensions() {
	m := able[optional.Projector[P, S]](r, "Projector")
	r.given(r.Least <= 1 && slices.Max(r.ks()) > 1, "K above 1, with Least at 1,")
	tree := func(p P) (v any) {
		if err := json.Unmarshal(r.text("parameters", p), &v); err != nil {
			r.fatalf("parameters: their JSON cannot be read: %v", err)
		}
		return v
	}
	for _, at := range r.early() {
		if at.k == 1 {
			continue
		}
		p := r.maximize(at.where, at.s, at.p)
		all, first := tree(p), any(nil)
		same := true
		for j := range at.k {
			s, q := r.kept(m, at.where, at.s, p, []int{j})
			kept := tree(q)
			if j == 0 {
				first = kept
			}
			same = same && reflect.DeepEqual(first, kept)
			var none P
			next, err := r.Model.Maximize(s, q, none)
			for i, v := range []any{kept, tree(next)} {
				what := [...]string{"", "the statistics of "}[i]
				if i == 1 && err != nil {
					continue
				}
				if other, name := r.mistaken(all, v, at.k, j, "the parameters"); other >= 0 {
					r.errorf("%s: Keep of latent dimension %d keeps %slatent dimension %d: see %s", at.where, j+1, what, other+1, name)
				}
			}
		}
		if same {
			r.errorf("%s: Keep gives the same whatever latent dimension it is asked for", at.where)
		}
	}
}

// mistaken finds numbers that are those of another of k latent dimensions than j: −1 for none.
func (r *run[B, P, S]) mistaken(all, kept any, k, j int, name string) (other int, where string) {
	switch a := all.(type) {
	case map[string]any:
		b, _ := kept.(map[string]any)
		for field, v := range a {
			if i, where := r.mistaken(v, b[field], k, j, name+"."+field); i >= 0 {
				return i, where
			}
		}
	case []any:
		b, _ := kept.([]any)
		if len(b) == 0 || len(a) != k*len(b) || len(b) == 1 && alike(b[0], 1., 0) { // a probability of one dimension is 1
			return -1, ""
		}
		if !partOf(a, b, k, j, 1e-3) { // j may differ by much before others are held to be meant
			for i := range k {
				if i != j && partOf(a, b, k, i, r.tolerance()) {
					return i, name
				}
			}
		}
	}
	return -1, ""
}

// partOf reports whether numbers are those of latent dimension j of k, by rows or by columns, within a relative
// difference.
func partOf(all, part []any, k, j int, within float64) bool {
	m := len(part)
	for _, index := range []func(i int) int{func(i int) int { return j*m + i }, func(i int) int { return i*k + j }} {
		equal := true
		for i, v := range part {
			equal = equal && alike(all[index(i)], v, within)
		}
		if equal {
			return true
		}
	}
	return false
}

func alike(a, b any, within float64) bool {
	x, number := a.(float64)
	y, both := b.(float64)
	if number && both {
		return math.Abs(x-y) <= within*max(math.Abs(x), math.Abs(y))
	}
	return reflect.DeepEqual(a, b)
}

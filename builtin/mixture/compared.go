package mixture

import (
	"bytes"
	"cmp"
	"context"
	"encoding/gob"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
)

// mostTurned is the largest number of columns whose common axes (VVE) are found in the time that the other structures
// take.
const mostTurned = 15

// possible are the structures to compare that the rows of these numbers of a table can have; a note says why others are
// left out.
func (e *comparing) possible(block []int, notes *[]string) []fitted.Structure {
	table, in, auto := e.table.Rows, e.table.Data, e.request.Family == families.Auto
	note := func(format string, args ...any) { *notes = append(*notes, fmt.Sprintf(format, args...)) }
	n, d := table.Rows(), len(block)
	if d == 1 { // the volume is all that there is
		var names []string
		for _, one := range e.asked.Structures {
			names = append(names, map[byte]string{'E': "EEE", 'V': "VVV"}[one.Name[0]])
		}
		list := fitted.StructuresNamed(names...)
		if slices.Contains(e.asked.Structures, fitted.HeavyTailed) && !table.HasGaps(len(e.table.Columns)) {
			list = slices.Insert(list, 0, fitted.HeavyTailed)
		}
		return list
	}
	// Spheres have no place for constant columns.
	constant := e.asked.Usual && slices.ContainsFunc(block, func(j int) bool { return in.Constant(j, in.Weights) })
	gaps := table.HasGaps(families.Described(e.table.Columns))
	var few, incomplete []string
	list := slices.DeleteFunc(slices.Clone(e.asked.Structures), func(one fitted.Structure) bool {
		switch {
		case e.asked.Usual && d > mostTurned && one.Name == "VVE", constant && one.Name == "EII",
			one == fitted.HeavyTailed && (constant || gaps || auto):
		case auto && families.NeedsComplete(one.Family): // nor could rows to come have gaps
		case (families.WholeMatrix(one.Family) || one == fitted.HeavyTailed) && n <= d:
			few = append(few, one.Label())
		case gaps && families.NeedsComplete(one.Family):
			incomplete = append(incomplete, one.Name)
		default:
			return false
		}
		return true
	})
	if len(few) > 0 {
		note("%s not compared: a covariance matrix needs more rows than columns, and there are %d and %d",
			strings.Join(few, ", "), n, d)
	}
	if len(incomplete) > 0 {
		note("%s not compared: these covariances need complete rows "+
			"(--missing drop leaves the rows out)",
			strings.Join(incomplete, ", "))
	}
	return list
}

// A comparing problem fits mixtures of several covariance structures, and takes the best.
type comparing struct {
	binding
	fitted.Problem[fitted.Found] // of the last of them
	asked                        *fitted.Comparison
	list                         []rival
}

// A rival is one of the structures that are compared.
type rival struct {
	fitted.Structure
	*estimated
	columns []data.Column
	family  family.Family
}

// A bounded mixture begins with fewer components than those it is compared with where the rows do not bear as many of
// its own.
type bounded struct {
	mixture.Model
	most int
}

// Init begins with at most so many components.
func (m bounded) Init(ctx context.Context, src framework.Source[blocks.Rows], k int, rng *rand.Rand) (
	*mixture.Parameters, error) {
	return m.Model.Init(ctx, src, min(k, m.most), rng)
}

// comparing readies a mixture of each structure.
func (e binding) comparing(asked *fitted.Comparison) (*fitted.Bound, error) {
	c := &comparing{binding: e, asked: asked}
	auto, block := e.request.Family == families.Auto, wording.UpTo(0, families.Described(e.table.Columns)-1)
	if auto {
		block = slices.DeleteFunc(block, func(j int) bool { return e.table.Columns[j].Family != families.Gaussian })
	}
	var notes []string
	facts := e.request.Facts
	if facts == nil {
		facts = &fitted.Facts{Structures: c.possible(block, &notes)}
	}
	list := facts.Structures
	if len(list) == 0 {
		return nil, errors.New("none of these covariances can describe the table: --cov diag can")
	}
	of := e.request.Families
	if of == nil {
		of = families.Set{}
	}
	var b *fitted.Bound
	for i, one := range list {
		own, table := e, *e.table
		own.table, table.Columns = &table, slices.Clone(e.table.Columns)
		for _, j := range block {
			switch c := &table.Columns[j]; {
			case one.Family == families.Diagonal:
				c.Family = families.Gaussian
			case auto:
				c.Block = one.Family
			default:
				c.Family = one.Family
			}
		}
		if !auto {
			own.request.Family = one.Family
		}
		own.family = family.WithFloor(of.OfRows(own.request.Family, table.Columns), e.floor)
		if len(facts.Most) == i {
			facts.Most = append(facts.Most, mostComponents(table.Rows, own.family))
		}
		made, most := own.estimated(), facts.Most[i]
		if most < classes.MostByDefault && !e.request.FixedK {
			made.Model = bounded{own.model(), most}
		}
		c.Problem, c.list = made, append(c.list, rival{one, made, table.Columns, own.family})
		bound := classes.Bind(&table, own.family, own.request, "component")
		if bound.KMax = most; b != nil {
			bound.KMax = max(most, b.KMax)
		}
		b = bound
	}
	e.double(b)
	b.Problem, b.Notes, b.Facts = c, notes, facts
	return b, nil
}

// Fit fits all structures.
func (e *comparing) Fit(ctx context.Context, o framework.Options) (*framework.Result[fitted.Found, struct{}], error) {
	models := make([]framework.Model[blocks.Rows, *mixture.Parameters, *mixture.Statistics], len(e.list))
	for i, one := range e.list {
		models[i] = one.Model
	}
	src := fitted.Passing[blocks.Rows, *mixture.Parameters](ctx, e.list[0].Source)
	c, err := framework.FitBest(ctx, models, src, e.asked.By, o)
	if c == nil {
		return nil, err
	}
	for _, one := range c.Compared { // spheres, named by nobody, would describe a column that no other structure can
		if e.asked.Usual && errors.Is(one.Err, blocks.ErrConstant) {
			return nil, one.Err
		}
	}
	best := e.list[c.Model]
	found, fault := best.Found(c.Parameters, c.Statistics)
	if found != nil {
		found = &winner{found.(*fit), best, e.compared(c.Compared)}
	}
	return fitted.With(c.Result, found), cmp.Or(err, fault)
}

// Shared is true.
func (e *comparing) Shared() bool { return true }

// Rows is the number of rows.
func (e *comparing) Rows() int { return e.list[0].Rows() }

// Share makes a share of a pass, of the structure that the state names.
func (e *comparing) Share(ctx context.Context, state []byte, first, last, shards, workers int) ([]byte, error) {
	var at framework.State[*mixture.Parameters]
	if err := gob.NewDecoder(bytes.NewReader(state)).Decode(&at); err != nil {
		return nil, err
	}
	if at.Model < 0 || at.Model >= len(e.list) {
		return nil, fmt.Errorf("parameters of structure %d of %d", at.Model+1, len(e.list))
	}
	one := e.list[at.Model]
	return framework.Share(ctx, one.Model, one.Source, at, first, last, shards, workers)
}

// A winner is the best of several structures.
type winner struct {
	*fit
	rival    rival
	compared []fitted.Compared
}

// Won says which it is.
func (w *winner) Won() (columns []data.Column, what string, all []fitted.Compared) {
	return w.rival.columns, strings.Join(classes.Parts(w.rival.family), ", ") + " components", w.compared
}

// compared lists how the structures fared, the best first.
func (e *comparing) compared(all []framework.Compared) (list []fitted.Compared) {
	order := make([]int, len(all))
	for i := range order {
		order[i] = i
	}
	whole := func(i int) int {
		if all[i].Whole {
			return 1 // others may be as good
		}
		return 0
	}
	slices.SortStableFunc(order, func(i, j int) int {
		return cmp.Or(cmp.Compare(whole(j), whole(i)), cmp.Compare(all[j].Value, all[i].Value)) // NaN is the least
	})
	for _, i := range order {
		one := all[i]
		list = append(list, fitted.Compared{Covariance: e.list[i].Name, Family: e.list[i].Family,
			Structure: e.list[i].Structure, K: one.K, Value: fitted.Number(one.Value), Behind: fitted.Number(one.Behind),
			Converged: one.Converged, Stage: one.Stage, Err: one.Err})
	}
	return list
}

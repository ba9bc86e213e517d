package fitted

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
)

// fitting are the settings of a file that say how a model was fitted.
type fitting struct {
	Prior      string
	Temper     float64
	Accelerate bool
	Tol        float64
	MaxIter    int `json:"max_iter"`
	Restarts   int
}

// Refit fits the model of a file to another table with its columns: with the K, the method, the criterion and the
// settings of the file, and without the structures, sizes and sequences of starts that the fit compared. A fit begins
// at the parameters of the file if it can ([Beginner]), and makes no moves. Of o it takes Seed, Workers and, for other
// fits, unless 0, Restarts.
func (r Registry) Refit(ctx context.Context, f *Fitted, t *Table, o framework.Options) (Found, error) {
	at := slices.IndexFunc(r, func(d Definition) bool { return d.Name == f.File.Model })
	if at < 0 {
		return nil, &UnknownError{What: "model", Name: strconv.Quote(f.File.Model), Known: r.Names()}
	}
	d, how := r[at], fitting{}
	method, has := d.MethodNamed(f.File.Method)
	if !has || d.New == nil {
		return nil, fmt.Errorf("fitted: the model %q cannot be fitted by method %q", d.Name, f.File.Method)
	}
	settings := d.New()
	if f.File.Settings != nil {
		if err := cmp.Or(json.Unmarshal(f.File.Settings, settings), json.Unmarshal(f.File.Settings, &how)); err != nil {
			return nil, err
		}
	}
	criterion, err := framework.CriterionByName(f.File.Criterion)
	if err != nil {
		return nil, err
	}
	q := Request{Method: method, Family: f.File.Family, Accelerate: how.Accelerate, Workers: o.Workers, FixedK: true,
		Families: d.Families}
	for item := range strings.SplitSeq(how.Prior, ",") {
		key, value, given := strings.Cut(item, "=")
		if !given {
			continue
		}
		if q.Prior == nil {
			q.Prior = map[string]float64{}
		}
		if q.Prior[strings.TrimSpace(key)], err = strconv.ParseFloat(strings.TrimSpace(value), 64); err != nil {
			return nil, err
		}
	}
	over := *t
	over.Family = nil // noise is in the box of these rows
	bound, err := settings.Bind(ctx, &over, q)
	if err != nil {
		return nil, err
	}
	starts, begins := cmp.Or(o.Restarts, how.Restarts), false
	if b, is := bound.Problem.(Beginner[Found]); is {
		if _, err := b.Begin(&f.File); err == nil {
			starts, begins = 1, true
		}
	}
	res, err := bound.Fit(ctx, framework.Options{K: f.File.K, FixedK: true, Method: method.Engine, Criterion: criterion,
		Tolerance: how.Tol, MaxIterations: how.MaxIter, Restarts: starts, NoMoves: begins, Seed: o.Seed,
		Workers: o.Workers, Temper: how.Temper, Accelerate: how.Accelerate || bound.Accelerate})
	if err != nil {
		return nil, err
	}
	return res.Parameters, nil
}

// FamilyOf returns the family of the rows of a table: that of the table, or if it has none, that of the request, with
// the least variances of the settings, and noise in the box of the rows.
func (q Request) FamilyOf(t *Table, s Settings) family.Family {
	if t.Family != nil {
		return t.Family
	}
	if q.Families == nil {
		q.Families = families.Set{}
	}
	floor := 1.
	if of, has := s.(interface{ LeastVariance(q Request) float64 }); has {
		floor = of.LeastVariance(q)
	}
	columns := slices.DeleteFunc(slices.Clone(t.Columns), func(c data.Column) bool { return c.Family == families.Gate })
	of := family.WithFloor(q.Families.OfRows(q.Family, columns), floor)
	return families.Over(of, len(columns), func(d int) (low, high []float64) {
		if q.Facts != nil && q.Facts.Low != nil {
			return q.Facts.Low, q.Facts.High
		}
		all := t.Rows.All()
		x := all.X
		if d < all.D {
			x = nil
			for i := range all.N {
				x = append(x, all.Row(i)[:d]...)
			}
		}
		return normal.Ranges(x, d)
	})
}

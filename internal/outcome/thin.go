package outcome

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// leastRows is how many rows a fit wants for each free parameter: with fewer, the criteria of small and large K differ
// by less than what they approximate away.
const leastRows = 10

// farApart is how many nats two approximations of one marginal likelihood differ by where neither is to be trusted.
const farApart = 100

// mostThin is how many rows and cells of a thin component a note has room for.
const mostThin = 5

// crowded says that the fit has many parameters for its rows, and what would help; empty where it has not.
func (r *Report) crowded() string {
	free := float64(r.Df)
	estimated := r.Posterior == nil && r.Criterion != framework.Collapsed.Name // else parameters are integrated out
	if len(r.classes) == 0 || !estimated || free*leastRows <= float64(r.N) {
		return ""
	}
	said := fmt.Sprintf(", more than one for each %d of %.10g rows", leastRows, float64(r.N))
	if gap := math.Abs(float64(r.Value - r.BIC)); gap >= farApart {
		said += fmt.Sprintf(", and %s and bic are %.0f nats apart", strings.ToLower(r.Criterion), gap)
	}
	said += ": other K may be as good"
	switch {
	case r.Compared != nil || !r.hasMatrix():
	case r.mixes():
		said += "; --cov all compares covariances with fewer"
	default:
		said += "; --cov diag has fewer"
	}
	return said
}

// hasMatrix says whether a component has a D×D covariance.
func (r *Report) hasMatrix() bool { return r.correlated() > 0 && !r.responds() }

// hasOwn says whether more than the volume of it differs between components.
func (r *Report) hasOwn() bool {
	return r.hasMatrix() && slices.ContainsFunc(r.Columns, func(c data.Column) bool {
		return families.OwnMatrix(cmp.Or(c.Block, r.Family))
	})
}

// correlated is how many columns have one.
func (r *Report) correlated() int { return len(families.Correlated(r.Family, r.Columns)) }

// noteThin notes components that hardly any rows have: what they are made of, and what would help.
func (r *Report) noteThin(s *tables.Session, in *tables.Input) error {
	if len(r.classes) == 0 || !r.Converged {
		return nil
	}
	least := 2.
	if r.hasOwn() {
		least = float64(r.correlated())
	}
	var thin []int
	for k, c := range r.classes {
		if c.Assigned > 0 && float64(c.Assigned) <= least && len(r.classes) > 1 {
			thin = append(thin, k)
		}
	}
	if len(thin) == 0 {
		r.noteFar(s, in)
		return nil
	}
	class, err := r.found.(fitted.Classifier).Classify()
	if err != nil {
		return err
	}
	for _, k := range thin {
		if said := r.thin(in, class, k); said != "" {
			s.Note("%s: %s", in.Name, said)
		}
	}
	return nil
}

// farOff is how many times the range of all other cells a cell is away from them that is hardly a value as theirs are:
// of the columns of numbers in 170 public tables two have such a cell, and 18 one that is once their range away. A -99
// that says missing in a column of 17 to 55 is three times that away.
const farOff = 3

// noteFar notes up to mostThin cells far above or below all others of their column, of which components with many rows
// have made nothing: where these share one volume, none has the place for one row.
func (r *Report) noteFar(s *tables.Session, in *tables.Input) {
	var cells []string
	for j, c := range r.Columns {
		if c.Levels != nil {
			continue
		}
		high, low := extremes{sign: 1}, extremes{sign: -1}
		for i := range in.Rows() {
			if x := in.Number(i, j); x == x && in.Weight(i) > 0 {
				high.add(x, i)
				low.add(x, i)
			}
		}
		above, below := far(&high, &low)
		for _, i := range slices.Concat(high.rows[:above], low.rows[:below]) {
			cells = append(cells, apart(in, i, j, c.Name, low.at(below), high.at(above)))
		}
	}
	if len(cells) > 0 {
		s.Note("%s: %s", in.Name, wrong(cells))
	}
}

// apart says that a cell is apart from a range of other rows.
func apart(in *tables.Input, i, j int, name string, low, high float64) string {
	return fmt.Sprintf("%.60q of row %d is %.6g, where other rows have %.6g to %.6g", name, in.Origin(i)+1,
		in.Number(i, j), low, high)
}

// wrong lists cells that are apart, and says what to do.
func wrong(cells []string) string {
	return strings.Join(cells[:min(len(cells), mostThin)], ", ") + "; correct or mark what is wrong (--na)"
}

// extremes are the largest values of a column, times a sign, in descending order, and their rows.
type extremes struct {
	sign   float64
	values []float64
	rows   []int
}

func (e *extremes) add(x float64, row int) {
	x *= e.sign
	at := len(e.values)
	for at > 0 && e.values[at-1] < x {
		at--
	}
	if at > mostThin {
		return
	}
	e.values, e.rows = slices.Insert(e.values, at, x), slices.Insert(e.rows, at, row)
	most := min(len(e.values), mostThin+1)
	e.values, e.rows = e.values[:most], e.rows[:most]
}

// at is one of the values without the sign, NaN where there are fewer.
func (e *extremes) at(i int) float64 {
	if i >= len(e.values) {
		return math.NaN()
	}
	return e.sign * e.values[i]
}

// far is how many values at the upper and at the lower end are far from all others.
func far(high, low *extremes) (above, below int) {
	most := min(mostThin, len(high.values)-1)
	for outside := most; outside > 0; outside-- {
		for above = range outside + 1 {
			below = outside - above
			width := high.at(above) - low.at(below)
			clear := func(e *extremes, n int) bool { return n == 0 || e.values[n-1]-e.values[n] > farOff*width }
			if width > 0 && clear(high, above) && clear(low, below) {
				return above, below
			}
		}
	}
	return 0, 0
}

// thin says which few rows component k has, and which of their cells set them apart; empty where there is nothing to be
// said.
func (r *Report) thin(in *tables.Input, class []int, k int) string {
	var rows []int
	// of the rows of other components
	ranges := slices.Repeat([][2]float64{{math.Inf(1), math.Inf(-1)}}, len(r.Columns))
	for i, c := range class {
		if in.Weight(i) == 0 {
			continue
		}
		if c == k {
			rows = append(rows, i)
			continue
		}
		for j, own := range ranges {
			if x := in.Number(i, j); x == x {
				ranges[j] = [2]float64{min(own[0], x), max(own[1], x)}
			}
		}
	}
	var names, cells []string
	for _, i := range rows {
		names = append(names, strconv.Itoa(in.Origin(i)+1))
		for j, own := range ranges {
			x, width := in.Number(i, j), own[1]-own[0]
			if r.Columns[j].Levels == nil && (x < own[0]-width || x > own[1]+width) {
				cells = append(cells, apart(in, i, j, r.Columns[j].Name, own[0], own[1]))
			}
		}
	}
	part := wording.Either(r.kind.Sequences, "state", "component")
	what := fmt.Sprintf("%s %d has %s (%s)", part, k+1, wording.Counted(len(rows), "row"), wording.Listed(names, mostThin))
	switch {
	case len(cells) > 0:
		return what + ": " + wrong(cells) +
			wording.Either(r.mixes(), ", or have outliers in a component of their own: --noise", "")
	case r.hasOwn():
		return what + ", no more than columns: its covariance is hardly determined"
	}
	return ""
}

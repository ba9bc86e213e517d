package fitted

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

// What a Found may have beside if z is a class of each row, such as a component or a state.
type (
	// A Classifier assigns the rows of the table that was fitted to classes.
	Classifier interface {
		// Classes are the classes, the heaviest first. The caller sets Assigned to what Count returns.
		Classes() []*Class
		// ComponentList describes the classes: "components" in JSON and in files.
		ComponentList() any
		// Covariances are those of the columns within the classes, in JSON; nil of classes without.
		Covariances() []Matrix
		// Table has a row for each number of each class.
		Table() report.Table
		// Count adds up the weights of the rows by the class that they are assigned to.
		Count(ctx context.Context, workers int) ([]float64, error)
		// Classify returns the class of each row, from 0.
		Classify() ([]int, error)
	}
	// A Grouper joins classes into groups.
	Grouper interface {
		// Group joins them into as many groups as the rows suggest, or into at most so many if wanted is not nil. Count has
		// been called before. It returns nil if there are too many classes.
		Group(wanted *int) (*Groups, error)
		// ClassifyGroups returns the group of each row, from 0.
		ClassifyGroups() ([]int, error)
	}
	// A Gated model has class probabilities that depend on columns.
	Gated interface {
		Gate() any // "gate" in JSON and in files
	}
	// A Printer writes text of its own in place of what its Description has.
	Printer interface {
		Facts() [][2]string // names and values, a line each
		Print(p report.Page)
	}
)

// A Class is what is known of any class of rows.
type Class struct {
	Label       string `json:"label,omitempty"` // of a class that rows are known to be in
	Weight      Number `json:"weight"`
	WeightError Number `json:"weight_complete_data_standard_error"`
	Rows        Number `json:"rows"`     // sum of the weights of the rows that are expected to be its own
	Assigned    Number `json:"assigned"` // of those whose most probable class it is
}

// A Matrix is symmetric; its rows and its columns have the same names.
type Matrix struct {
	Component int        `json:"component,omitempty"` // from 1; left out of what all components share
	Names     []string   `json:"names"`
	Values    [][]Number `json:"values"`
}

// NewMatrix returns a matrix with names.
func NewMatrix(m mat.Symmetric, names []string) Matrix {
	named := Matrix{Names: names, Values: [][]Number{}}
	for i := range names {
		named.Values = append(named.Values, Numbers(mat.Row(nil, i, m)))
	}
	return named
}

// Correlation returns element (i, j) of the correlation matrix of a covariance matrix.
func (m Matrix) Correlation(i, j int) float64 {
	return float64(m.Values[i][j]) / math.Sqrt(float64(m.Values[i][i])*float64(m.Values[j][j]))
}

// Groups are sets of classes, and the steps that join classes to sets.
type Groups struct {
	Groups [][]int   `json:"groups,omitempty"` // classes from 1
	Joined []Joining `json:"group_tree,omitempty"`
}

// Joining is one step of the hierarchy of groups.
type Joining struct {
	Groups  [2][]int `json:"groups"`
	Overlap Number   `json:"overlap"`
	Ridge   Number   `json:"ridge"` // null where the density between groups is not known
}

// GroupsOf cuts a hierarchy where it is proposed, or into so many groups.
func GroupsOf(t *grouping.Tree, wanted *int) (*Groups, error) {
	n := t.Proposed()
	if wanted != nil {
		n = min(*wanted, t.K)
	}
	groups, err := t.Cut(n)
	if err != nil {
		return nil, err
	}
	v := &Groups{Groups: fromOne(groups...), Joined: []Joining{}}
	for _, j := range t.Joined {
		both := fromOne(j.Groups[0], j.Groups[1])
		v.Joined = append(v.Joined, Joining{[2][]int{both[0], both[1]}, Number(j.Overlap), Number(j.Ridge)})
	}
	return v, nil
}

// fromOne are lists of classes counted from 1.
func fromOne(groups ...[]int) [][]int {
	list := make([][]int, len(groups))
	for i, g := range groups {
		for _, k := range g {
			list[i] = append(list[i], k+1)
		}
	}
	return list
}

// Join reports whether a group has several classes.
func (v *Groups) Join() bool {
	return v != nil && slices.ContainsFunc(v.Groups, func(g []int) bool { return len(g) > 1 })
}

// Of returns the group of a class, both from 1.
func (v *Groups) Of(class int) int {
	return 1 + slices.IndexFunc(v.Groups, func(g []int) bool { return slices.Contains(g, class) })
}

// sets lists the groups: {1, 3}, {2}.
func (v *Groups) sets() string {
	var list []string
	alone := 0
	for _, g := range v.Groups {
		if len(v.Groups) > wording.MostShaded && len(g) == 1 {
			alone++
		} else {
			list = append(list, setOf(g))
		}
	}
	if alone > 0 {
		list = append(list, wording.Counted(alone, "component")+" alone")
	}
	return wording.Listed(list, wording.MostRows)
}

func setOf(classes []int) string {
	var list []string
	for _, k := range classes {
		list = append(list, strconv.Itoa(k))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// Sentence returns what the groups are, in words.
func (v *Groups) Sentence() string {
	return fmt.Sprintf("%s form %s: %s", wording.Counted(len(v.Joined)+1, "component"),
		wording.Counted(len(v.Groups), "group"), v.sets())
}

// Sections are the hierarchy on a page.
func (v *Groups) Sections() []report.Section {
	if v == nil || len(v.Joined) < 2 {
		return nil
	}
	about := "No two components overlap without a gap between them: each is a group."
	if v.Join() {
		about = v.Sentence() + "."
	}
	table := report.Table{Caption: "joined groups, the closest first", Open: len(v.Joined) < wording.MostShaded,
		Columns: report.Columns("groups left", "joined", "with", "overlap", "ridge")}
	for i, j := range v.Joined {
		ridge := any(report.Missing)
		if j.Ridge == j.Ridge {
			ridge = report.Share(float64(j.Ridge))
		}
		one, other := setOf(j.Groups[0]), setOf(j.Groups[1])
		table.Add(len(v.Joined)-i, one, other, report.Share(float64(j.Overlap)), ridge)
	}
	list := report.Single("Groups of components", nil, table)
	list[0].Text = fmt.Sprintf("%s Overlap is the share of the rows of the smaller group that their posteriors assign to "+
		"the other one; ridge is the density between the two relative to the lower peak. From %v and %v on, two are "+
		"proposed as "+
		"one group.", about, grouping.LeastOverlap, grouping.LeastRidge)
	return list
}

package command

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/models/mixture"
	"github.com/latent-go/latent/report"
)

// groupHead heads the column of groups of components, from 1.
const groupHead = "group"

// groupsView is which components form a group, and the hierarchy.
type groupsView struct {
	Groups [][]int   `json:"groups,omitempty"` // components from 1
	Joined []joining `json:"group_tree,omitempty"`
}

// joining is one step of the hierarchy of groups.
type joining struct {
	Groups  [2][]int `json:"groups"`
	Overlap number   `json:"overlap"`
	Ridge   number   `json:"ridge"` // null where the density between groups is not known
}

// group cuts the hierarchy where it is proposed, or into so many groups.
func (f *components) group(wanted *int) (*groupsView, error) {
	t := f.tree
	n := t.Proposed()
	if wanted != nil {
		n = min(*wanted, t.K)
	}
	groups, err := t.Cut(n)
	if err != nil {
		return nil, err
	}
	v := &groupsView{Groups: fromOne(groups...), Joined: []joining{}}
	for _, j := range t.Joined {
		both := fromOne(j.Groups[0], j.Groups[1])
		v.Joined = append(v.Joined, joining{[2][]int{both[0], both[1]}, number(j.Overlap), number(j.Ridge)})
	}
	f.groups = v
	return v, nil
}

// fromOne are lists of components counted from 1.
func fromOne(groups ...[]int) [][]int {
	list := make([][]int, len(groups))
	for i, g := range groups {
		for _, k := range g {
			list[i] = append(list[i], k+1)
		}
	}
	return list
}

// joins says whether a group has several components.
func (v *groupsView) joins() bool {
	return v != nil && slices.ContainsFunc(v.Groups, func(g []int) bool { return len(g) > 1 })
}

// of is the group of a component, both from 1.
func (v *groupsView) of(component int) int {
	return 1 + slices.IndexFunc(v.Groups, func(g []int) bool { return slices.Contains(g, component) })
}

// sets lists the groups: {1, 3}, {2}.
func (v *groupsView) sets() string {
	var list []string
	alone := 0
	for _, g := range v.Groups {
		if len(v.Groups) > mostShaded && len(g) == 1 {
			alone++
		} else {
			list = append(list, setOfNumbers(g))
		}
	}
	if alone > 0 {
		list = append(list, counted(alone, "component")+" alone")
	}
	return listed(list, mostRows)
}

func setOfNumbers(of []int) string {
	var list []string
	for _, k := range of {
		list = append(list, strconv.Itoa(k))
	}
	return "{" + strings.Join(list, ", ") + "}"
}

// sentence says what the groups are.
func (v *groupsView) sentence() string {
	return fmt.Sprintf("%s form %s: %s", counted(len(v.Joined)+1, "component"), counted(len(v.Groups), "group"), v.sets())
}

// joinOver has the result join the components into groups, by the pass over the source that counts their rows.
func (f *components) joinOver(src framework.Source[framework.Rows], r *result) {
	if f.params.K > grouping.MostComponents {
		r.count = likeliestOf(src, f.params.K, f.scorer)
		return
	}
	r.group, r.classifyGroups = f.group, f.classifyGroups
	r.count = func(ctx context.Context, workers int) ([]float64, error) {
		o, err := grouping.Over(ctx, src, workers, f.scorer)
		if err != nil {
			return nil, err
		}
		terrain, err := f.model.Terrain(f.params, o)
		if err != nil {
			return nil, err
		}
		f.tree, err = grouping.Join(o, terrain)
		return o.Assigned, err
	}
}

// checkGroups refuses --groups of models whose components are not joined.
func (c *fitCommand) checkGroups() error {
	if c.Groups != nil && !c.model().mixes {
		return misused("--groups requires a mixture without --gate, whose components are joined")
	}
	return nil
}

// group takes the groups that the components form, once their rows are counted, and compares them with known classes.
func (r *fitReport) group(s *session, in *input, wanted *int) (err error) {
	if r.kind.mixes && r.K > grouping.MostComponents {
		s.note("%s are too many to join into groups; must be at most %d", counted(r.K, "component"), grouping.MostComponents)
	}
	if r.found.group == nil || !s.crew.writes() {
		return nil
	}
	if wanted != nil && *wanted > r.K {
		s.note("--groups %d: there are %s, and as many groups", *wanted, counted(r.K, "component"))
	}
	v, err := r.found.group(wanted)
	if err != nil {
		return err
	}
	if r.groupsView = *v; r.Agreement == nil || !v.joins() {
		return nil
	}
	list, err := r.found.classifyGroups(in)
	if err == nil {
		r.Agreement.Groups = &in.agreement(list, len(r.Groups)).AdjustedRand
	}
	return err
}

// classifyGroups finds the group of every row of the table, from 0, by the summed posteriors of its components.
func (f *components) classifyGroups(in *input) (list []int, err error) {
	groups, err := f.tree.Cut(len(f.groups.Groups))
	if err != nil {
		return nil, err
	}
	var pooled []float64
	for block := range slices.Chunk(upTo(0, in.Rows()-1), blockRows) {
		q, err := f.probabilities(in, block)
		if err != nil {
			return nil, err
		}
		pooled = grouping.Pool(pooled, q, f.params.K, groups)
		list = append(list, mixture.Labels(pooled, len(groups))...)
	}
	return list, nil
}

// groupFact is a line of the text where groups have several components.
func (r *fitReport) groupFact() [][2]string {
	if !r.groupsView.joins() {
		return nil
	}
	return [][2]string{{"groups", r.sentence()}}
}

// sections are the hierarchy on the page.
func (v *groupsView) sections() []report.Section {
	if v == nil || len(v.Joined) < 2 {
		return nil
	}
	about := "No two components overlap without a gap between them: each is a group."
	if v.joins() {
		about = v.sentence() + "."
	}
	table := report.Table{Caption: "joined groups, the closest first",
		Open: len(v.Joined) < mostShaded, Columns: report.Columns("groups left", "joined", "with", "overlap", "ridge")}
	for i, j := range v.Joined {
		ridge := any(report.Missing)
		if j.Ridge == j.Ridge {
			ridge = report.Share(float64(j.Ridge))
		}
		one, other := setOfNumbers(j.Groups[0]), setOfNumbers(j.Groups[1])
		table.Add(len(v.Joined)-i, one, other, report.Share(float64(j.Overlap)), ridge)
	}
	list := section("Groups of components", nil, table)
	list[0].Text = fmt.Sprintf("%s Overlap is the share of the rows of the smaller group that their posteriors assign to "+
		"the other one; ridge is the density between the two relative to the lower peak. From %v and %v on, two are "+
		"proposed as "+
		"one group.", about, grouping.LeastOverlap, grouping.LeastRidge)
	return list
}

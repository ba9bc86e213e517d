package classes

import (
	"context"
	"slices"

	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/grouping"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/models/mixture"
)

// GroupHead heads the column of groups of components, from 1.
const GroupHead = "group"

// JoinOver has the components join into groups, by the pass over the source that counts their rows. Known classes stay
// apart.
func (f *Components) JoinOver(src framework.Source[blocks.Rows]) {
	known := slices.ContainsFunc(f.List, func(c Component) bool { return c.Label != "" })
	if known || f.Mixture.K > grouping.MostComponents {
		f.Counter = LikeliestOf(src, f.Mixture.K, f.Scorer)
		return
	}
	f.Counter = func(ctx context.Context, workers int) ([]float64, error) {
		o, err := grouping.Over(ctx, src, workers, f.Scorer)
		if err != nil {
			return nil, err
		}
		terrain, err := f.Model.Terrain(f.Mixture, o)
		if err != nil {
			return nil, err
		}
		f.tree, err = grouping.Join(o, terrain)
		return o.Assigned, err
	}
}

// Group joins the components where that is proposed, or into so many groups; it returns nil where they are not joined.
func (f *Components) Group(wanted *int) (v *fitted.Groups, err error) {
	if f.tree != nil {
		v, err = fitted.GroupsOf(f.tree, wanted)
		f.groups = v
	}
	return v, err
}

// ClassifyGroups finds the group of every row of the table, from 0, by the summed posteriors of its components.
func (f *Components) ClassifyGroups() (list []int, err error) {
	groups, err := f.tree.Cut(len(f.groups.Groups))
	if err != nil {
		return nil, err
	}
	var pooled []float64
	for block := range slices.Chunk(wording.UpTo(0, f.Data.Rows()-1), rowsOfBlock) {
		q, err := f.Probabilities(block)
		if err != nil {
			return nil, err
		}
		pooled = grouping.Pool(pooled, q, f.Mixture.K, groups)
		list = append(list, mixture.Labels(pooled, len(groups))...)
	}
	return list, nil
}

package reproduce

import (
	"context"
	"fmt"

	"github.com/latent-go/latent/framework"
)

// howMany are the ways that a number of latent dimensions is found by: one run of each of two methods, and criteria
// that compare EM fits of every number.
var howMany = []string{"gFAB, one run", "FAB, one run", "gFIC", "FIC", "BIC", "AIC", "ICL"}

// papers are gFAB and FAB, each by the criterion of its paper.
var papers = []framework.Options{
	{Method: framework.GFAB, Criterion: framework.GFIC}, {Method: framework.FAB, Criterion: framework.FIC},
}

// chooseByCriteria is the K that each of the criteria of howMany chooses, up to most, of EM fits with so many starts.
func chooseByCriteria[B, P any, S framework.Statistics[S]](
	ctx context.Context, m framework.Model[B, P, S], src framework.Source[B], most, starts int, o framework.Options,
) (chosen []int, err error) {
	var ks []int
	for k := 1; k <= most; k++ {
		ks = append(ks, k)
	}
	criteria := []framework.Criterion{framework.GFIC, framework.FIC, framework.BIC, framework.AIC, framework.ICL}
	o.Method, o.Restarts = framework.EM, starts
	sweep, err := framework.Select(ctx, m, src, ks, o, criteria...)
	if err != nil {
		return nil, err
	}
	for j := range criteria {
		chosen = append(chosen, ks[sweep.Best(j)])
	}
	return chosen, nil
}

// countRight counts the tables in which way m of howMany chose the right K; mean is what it chose on average.
func countRight(tables [][]int, m, right int) (n int, mean float64) {
	sum := 0
	for _, chosen := range tables {
		if sum += chosen[m]; chosen[m] == right {
			n++
		}
	}
	return n, float64(sum) / float64(len(tables))
}

// foundBy says in how many tables a way of howMany found the right K.
func foundBy(m int, found []float64) string {
	return fmt.Sprintf("%s %.0f %%", howMany[m], 100*found[m])
}

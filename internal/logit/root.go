package logit

import (
	"context"
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/family/normal"
	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/framework/blocks"
)

// RootOf is the root of some columns of a table. It returns an error if a column is constant, or determined by the
// others, which calls them by what they are, such as "the gate" and "columns of the gate".
func RootOf(
	ctx context.Context, src framework.Source[blocks.Rows], columns []int, whole, parts string,
) (Root, error) {
	errDependent := fmt.Errorf("is a linear combination of other %s: leave it out of %s", parts, whole)
	if len(columns) == 0 {
		return Root{1}, nil
	}
	pooled, _, err := family.Pool(ctx, framework.ColumnsOf(src, columns), normal.Family{Floor: family.NoFloor})
	if fault, ok := errors.AsType[*blocks.DataError](err); ok {
		switch {
		case errors.Is(err, blocks.ErrConstant):
			fault.Reason = fmt.Errorf("is constant: leave it out of %s", whole)
		case errors.Is(err, normal.ErrDependent):
			fault.Reason = errDependent
		}
		if fault.Column >= 0 {
			fault.Column = columns[fault.Column]
		}
	}
	if err != nil {
		return nil, err
	}
	d := len(columns)
	var chol mat.Cholesky
	if !chol.Factorize(mat.NewSymDense(d, pooled.Parameters[d:])) {
		return nil, blocks.FaultyColumn(columns[d-1], errDependent)
	}
	root := mat.NewDense(d+1, d+1, nil)
	root.SetCol(0, append([]float64{1}, pooled.Parameters[:d]...))
	root.Slice(1, d+1, 1, d+1).(*mat.Dense).Copy(chol.RawU().T())
	return root.RawMatrix().Data, nil
}

package framework

import "context"

// A Condenser is a model to which a row of weight 3 is three equal rows, and whose rows are often equal. Condense
// returns a source with the statistics of src, to rounding, in fewer rows, or src itself if that does not pay (see
// [Condense]). [Fit] and [Select] call it once and iterate over the result; Init, and computations for single rows,
// such as responsibilities, see src.
type Condenser[B any] interface {
	Condense(ctx context.Context, src Source[B]) Source[B]
}

// condensedNumbers bounds the numbers of a condensed source: 4 MiB, and not much more to find
// them. Reading stops once the distinct rows exceed it.
const condensedNumbers = 1 << 19

// Condense counts repeated rows once, as [Table.Distinct] does, if less than half of the rows of a source are distinct
// and these hold at most 2¹⁹ numbers. It returns any other source unchanged, also one that it cannot read: the next
// reader gets the error.
func Condense(ctx context.Context, src Source[Rows]) Source[Rows] {
	var kept distinct
	limit := (src.Rows() - 1) / 2
	for b, err := range src.Blocks(ctx) {
		if err != nil || b.D < 1 || kept.d != 0 && b.D != kept.d || b.Check() != nil {
			return src
		}
		if b.Entries != nil && b.Entries.check(b.First, b.D) != nil {
			return src
		}
		if !kept.add(b, min(limit, condensedNumbers/b.D)) {
			return src
		}
	}
	if ctx.Err() != nil || kept.rows == 0 {
		return src
	}
	return kept.table()
}

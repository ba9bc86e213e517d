package family

import (
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/linalg"
)

// Rows that are given by their entries cost what the entries cost, and not the columns, where T
// and ln h are 0 at 0.

// observeEntries reads rows in compressed form.
func (l exponentialKernel) observeEntries(b blocks.Rows, at, first, n int, o *Observed) error {
	if at != 0 || l.s != 1 || l.width != 1 {
		return errSparse
	}
	*o = Observed{
		N:         n,
		Complete:  true,
		Base:      linalg.Resize(o.Base, n),
		rows:      b,
		first:     first,
		sparse:    true,
		t:         o.own,
		Exposures: o.Exposures,
		labels:    o.labels,
	}
	entries := b.Entries.Start[first+n] - b.Entries.Start[first]
	o.t = linalg.Resize(o.t, entries+2)
	o.own = o.t
	x := o.t[entries+1:] // an observation; before it, its statistic at 0
	x[0] = 0
	if e, h, ok := l.law.Observe(x, o.t[entries:entries+1]); !ok || e != 1 || h != 0 || o.t[entries] != 0 {
		return errSparse
	}
	place := 0
	for i := range n {
		columns, values := b.Entries.Row(first + i)
		o.Base[i] = 0
		last := -1
		for e, j := range columns {
			if j <= last || j >= b.D { // a source of one's own may hand out anything
				return blocks.FaultyRow(b.First+first+i,
					"has an entry in column %d after column %d: columns must ascend from 0 to %d", j, last, b.D-1)
			}
			last = j
			if x[0] = 1; values != nil {
				x[0] = values[e]
			}
			exposure, h, ok := l.law.Observe(x, o.t[place:place+1])
			if !ok || exposure != 1 {
				return l.outside(b.First+first+i, j, x)
			}
			o.Base[i] += h
			place++
		}
	}
	return nil
}

// addSparseScores adds Σ_m η_km T(x_nm) over the entries.
func (o *Observed) addSparseScores(scores Table, cells int, r []float64) {
	k, n := scores.K, o.Padded()
	o.Exposures = linalg.Resize(o.Exposures, (cells+1)*k)
	to := linalg.Row(o.Exposures, cells, k)
	for j := range k {
		for c, eta := range scores.Row(j, 2*cells)[cells:] {
			o.Exposures[c*k+j] = eta
		}
	}
	entry := 0
	for i := range o.N {
		columns, _ := o.rows.Entries.Row(o.first + i)
		clear(to)
		for _, c := range columns {
			t := o.t[entry]
			for j, eta := range o.Exposures[c*k : (c+1)*k] {
				to[j] += t * eta
			}
			entry++
		}
		for j, v := range to {
			r[j*n+i] += v
		}
	}
}

// addSparseSums adds Σ_n r_nk T(x_nm) over the entries.
func (o *Observed) addSparseSums(sums Table, cells int, r []float64) {
	k, n := sums.K, o.Padded()
	o.Exposures = linalg.Resize(o.Exposures, (cells+1)*k)
	clear(o.Exposures)
	from := linalg.Row(o.Exposures, cells, k)
	entry := 0
	for i := range o.N {
		columns, _ := o.rows.Entries.Row(o.first + i)
		for j := range from {
			from[j] = r[j*n+i]
		}
		for _, c := range columns {
			t := o.t[entry]
			to := o.Exposures[c*k : (c+1)*k]
			for j, q := range from {
				to[j] += q * t
			}
			entry++
		}
	}
	for j := range k {
		for c := range cells {
			sums.Data[j*sums.Stride+cells+c] += o.Exposures[c*k+j]
		}
	}
}

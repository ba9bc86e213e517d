package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/models/bpca"
)

type predictCommand struct {
	Data string `required:"" placeholder:"FILE|NAME" help:"CSV or NPY file, also gzipped; - for standard input; or an embedded data set, see latent datasets."`
	inputFlags
	Saved  string `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	Out    string `placeholder:"FILE" help:"Write here instead of to standard output, which is also -."`
	Format string `default:"csv" enum:"csv,json" help:"Output: csv or json."`
}

// Run writes the latent posterior and the log-likelihood of each row.
func (c *predictCommand) Run(s *session) error {
	m, err := readModel(c.Saved)
	if err != nil {
		return err
	}
	if err := s.checkOut(c.Out, c.Data, c.Saved); err != nil {
		return err
	}
	in, err := c.open(s, c.Data)
	if err != nil {
		return err
	}
	if _, err := c.choose(in); err != nil {
		return err
	}
	order, err := in.match(m.Columns)
	if err != nil {
		return in.wrap(err)
	}
	c.complete(s, in)
	x, rows, _, err := in.Matrix()
	if err != nil {
		return in.wrap(err)
	}
	p := &prediction{params: m.Params, x: x, rows: rows, columns: m.Columns}
	if !slices.IsSorted(order) {
		p.order = order
	}
	write := p.writeCSV
	if c.Format == "json" {
		write = p.writeJSON
	}
	return s.emit(c.Out, func(w io.Writer) error { return write(s, w) })
}

// match keeps the model's columns, in the order in which the table has them, and tells
// where each column of the model is. Names decide when the table has all of the
// model's. Otherwise, where either side has made-up names, the places do; and where both
// have, there must be as many.
func (in *input) match(names []string) (order []int, err error) {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(in.Names, name) })
	made, differ := generated(names), in.Cols() != len(names)
	switch {
	case len(missing) > 0 && !made && !in.unnamed:
		return nil, fmt.Errorf("columns of the model are missing in the data: %s", quoted(missing))
	case len(missing) > 0 && differ:
		return nil, fmt.Errorf("the data have %d columns and the model %d; by name, these are missing: %s", in.Cols(), len(names), quoted(missing))
	case made && in.unnamed && differ:
		return nil, fmt.Errorf("the data have %d columns and the model %d; neither has names to go by: choose columns with --select or --drop", in.Cols(), len(names))
	case len(missing) > 0:
		names = in.Names
	}
	kept := slices.DeleteFunc(slices.Clone(in.Names), func(name string) bool { return !slices.Contains(names, name) })
	for _, name := range names {
		order = append(order, slices.Index(kept, name))
	}
	in.Table, err = in.Table.Select(kept...)
	return order, err
}

// generated tells whether names are V1, V2, …, which package data gives to columns
// without one.
func generated(names []string) bool {
	for j, name := range names {
		if name != "V"+strconv.Itoa(j+1) {
			return false
		}
	}
	return true
}

func quoted(names []string) string {
	const most = 20
	var list []string
	for _, name := range names[:min(len(names), most)] {
		list = append(list, strconv.Quote(name))
	}
	if len(names) > most {
		list = append(list, fmt.Sprintf("… (%d in all)", len(names)))
	}
	return strings.Join(list, ", ")
}

// A prediction is a model applied to rows, block by block.
type prediction struct {
	params  *bpca.Parameters
	x       []float64 // rows×D, columns as the table has them
	rows    int
	order   []int // place of each column of the model; nil: they are in place
	columns []string

	reordered []float64 // one block
}

const blockRows = 4096

// block is rows first to first+n−1 as the model has its columns. The next call
// overwrites it.
func (p *prediction) block(first, n int) *mat.Dense {
	d := p.params.D
	from := p.x[first*d : (first+n)*d]
	if p.order == nil {
		return mat.NewDense(n, d, from)
	}
	p.reordered = p.reordered[:0]
	for i := range n {
		for _, place := range p.order {
			p.reordered = append(p.reordered, from[i*d+place])
		}
	}
	return mat.NewDense(n, d, p.reordered)
}

// blocks calls use with the posterior means (n×K), their common covariance and the
// log-likelihoods of one block of rows after another.
func (p *prediction) blocks(s *session, use func(mean *mat.Dense, cov *mat.SymDense, logProb []float64) error) error {
	for first := 0; first < p.rows; first += blockRows {
		if s.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d rows", first, p.rows)
		}
		block := p.block(first, min(blockRows, p.rows-first))
		mean, cov, err := p.params.Transform(block)
		if err != nil {
			return err
		}
		logProb, err := p.params.LogProb(block)
		if err != nil {
			return err
		}
		if err := use(mean, cov, logProb); err != nil {
			return err
		}
	}
	return nil
}

func (p *prediction) writeCSV(s *session, w io.Writer) error {
	k := p.params.K
	var names []string
	for j := range k {
		names = append(names, "z"+strconv.Itoa(j+1))
	}
	names = append(names, "log_likelihood")
	var table []float64
	return p.blocks(s, func(mean *mat.Dense, _ *mat.SymDense, logProb []float64) error {
		table = table[:0]
		for i, l := range logProb {
			table = append(append(table, mean.RawRowView(i)...), l)
		}
		err := data.WriteCSV(w, names, table, len(logProb), k+1)
		names = nil
		return err
	})
}

// writeJSON writes the object {"columns", "mean": N×K, "covariance": K×K, the same for all
// rows, "log_likelihood": N} as it comes; only the last list is kept until its turn.
func (p *prediction) writeJSON(s *session, w io.Writer) error {
	out := bufio.NewWriter(w)
	if err := p.writePart(out, `{"columns":`, p.columns); err != nil {
		return err
	}
	separator := `,"mean":[`
	var covariance [][]number
	logLikelihood := make([]float64, 0, p.rows)
	err := p.blocks(s, func(mean *mat.Dense, cov *mat.SymDense, logProb []float64) error {
		for i := range logProb {
			if err := p.writePart(out, separator, numbers(mean.RawRowView(i))); err != nil {
				return err
			}
			separator = ","
		}
		logLikelihood = append(logLikelihood, logProb...)
		if covariance == nil {
			for i := range p.params.K {
				covariance = append(covariance, numbers(mat.Row(nil, i, cov)))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := p.writePart(out, `],"covariance":`, covariance); err != nil {
		return err
	}
	separator = `,"log_likelihood":[`
	for _, l := range logLikelihood {
		if err := p.writePart(out, separator, number(l)); err != nil {
			return err
		}
		separator = ","
	}
	if _, err := out.WriteString("]}\n"); err != nil {
		return err
	}
	return out.Flush()
}

// writePart writes a piece of an object: what stands before a value, and the value.
func (p *prediction) writePart(w io.Writer, before string, value any) error {
	text, err := encode(value)
	if err != nil {
		return err
	}
	_, err = w.Write(append([]byte(before), text...))
	return err
}

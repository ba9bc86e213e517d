package main

import (
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
	inputFlags
	Saved  string `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	Out    string `placeholder:"FILE" help:"Write here instead of to standard output."`
	Format string `default:"csv" enum:"csv,json" help:"Output: csv or json."`
}

// Run writes the latent posterior and the log-likelihood of each row.
func (c *predictCommand) Run(s *session) error {
	m, err := readModel(c.Saved)
	if err != nil {
		return err
	}
	if err := checkWritable(c.Out); err != nil {
		return err
	}
	in, err := c.open(s)
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
	p := &prediction{m.Params, x, rows, order, m.Columns}
	write := p.writeCSV
	if c.Format == "json" {
		write = p.writeJSON
	}
	if c.Out == "" {
		return write(s, s.out())
	}
	if err := writeFile(c.Out, func(w io.Writer) error { return write(s, w) }); err != nil {
		return err
	}
	s.out()
	return nil
}

// match keeps the model's columns, in the order in which the table has them, and tells
// where each column of the model is. Names decide when the table has all of the
// model's. Otherwise, where either side has made-up names, the places do.
func (in *input) match(names []string) (order []int, err error) {
	missing := slices.DeleteFunc(slices.Clone(names), func(name string) bool { return slices.Contains(in.Names, name) })
	if len(missing) > 0 {
		if !generated(names) && !generated(in.Names) {
			return nil, fmt.Errorf("columns of the model are missing in the data: %s", quoted(missing))
		}
		if in.Cols() != len(names) {
			return nil, fmt.Errorf("the data have %d columns and the model %d; by name, these are missing: %s", in.Cols(), len(names), quoted(missing))
		}
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
	order   []int // place of each column of the model
	columns []string
}

const blockRows = 4096

// blocks calls use with the posterior means (n×K), their common covariance and the
// log-likelihoods of one block of rows after another.
func (p *prediction) blocks(s *session, use func(mean *mat.Dense, cov *mat.SymDense, logProb []float64) error) error {
	d := p.params.D
	for first := 0; first < p.rows; first += blockRows {
		if s.Err() != nil {
			return fmt.Errorf("interrupted after %d of %d rows", first, p.rows)
		}
		block := mat.NewDense(min(blockRows, p.rows-first), d, nil)
		for i := range block.RawMatrix().Rows {
			from, to := p.x[(first+i)*d:(first+i+1)*d], block.RawRowView(i)
			for j, place := range p.order {
				to[j] = from[place]
			}
		}
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
	return p.blocks(s, func(mean *mat.Dense, _ *mat.SymDense, logProb []float64) error {
		table := make([]float64, 0, len(logProb)*(k+1))
		for i, l := range logProb {
			table = append(append(table, mean.RawRowView(i)...), l)
		}
		err := data.WriteCSV(w, names, table, len(logProb), k+1)
		names = nil
		return err
	})
}

func (p *prediction) writeJSON(s *session, w io.Writer) error {
	var object struct {
		Columns       []string   `json:"columns"`
		Mean          [][]number `json:"mean"`       // N×K
		Covariance    [][]number `json:"covariance"` // K×K, the same for all rows
		LogLikelihood []number   `json:"log_likelihood"`
	}
	object.Columns = p.columns
	err := p.blocks(s, func(mean *mat.Dense, cov *mat.SymDense, logProb []float64) error {
		for i := range logProb {
			object.Mean = append(object.Mean, numbers(mean.RawRowView(i)))
		}
		object.LogLikelihood = append(object.LogLikelihood, numbers(logProb)...)
		if object.Covariance == nil {
			for i := range p.params.K {
				object.Covariance = append(object.Covariance, numbers(mat.Row(nil, i, cov)))
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return writeJSON(w, object)
}

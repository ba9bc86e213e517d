package command

import (
	"cmp"
	"encoding/csv"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
	"github.com/latent-go/latent/report"
)

type sampleCommand struct {
	Saved  string `arg:"" name:"model" placeholder:"MODEL.json" help:"Model saved by latent fit --out."`
	Rows   int    `name:"rows" short:"n" required:"" placeholder:"N" range:"[1,inf)" help:"Rows to draw; topics: documents; blockmodel: nodes of a graph, of both sets if it is bipartite."`
	Labels bool   `help:"Add the component, or state of hmm, that each row was drawn from, as a last column named component, or state; of blockmodel the blocks of both nodes."`
	Given  string `placeholder:"FILE" help:"Models with a gate, and regression: draw rows given the columns of the gate, or the regressors, of this file or embedded data set, row by row and from the beginning again."`
	Seed   uint64 `default:"1" help:"Seed."`
	Out    string `placeholder:"FILE" help:"File to write: Parquet if its name ends in .parquet. Default, and -: standard output."`
	Format string `default:"csv" enum:"csv,json" help:"Output: csv, or json: an object with the names of the columns and a list of rows, numbers as numbers."`
}

// drawnHead heads the column of what rows were drawn from.
func drawnHead(m *modelFile) string {
	if m.input.Sequence {
		return stateHead
	}
	return "component"
}

// Run writes rows drawn from the model as CSV, under the names of its columns.
func (c *sampleCommand) Run(s *session) error {
	m, err := s.known.read(c.Saved)
	if err != nil {
		return err
	}
	if err := c.checkLabels(m); err != nil {
		return err
	}
	if m.Family == families.Multinomial {
		s.Note("each row has a single trial: a multinomial model does not describe the number of trials")
	}
	if isParquet(c.Out) && c.Format == "json" {
		return misused("--out %s is Parquet, and --format json is not: leave one of them out", word(c.Out))
	}
	if err := s.checkWritten([]string{c.Saved, c.Given}, written{flag: "--out", path: c.Out, stdout: true}); err != nil {
		return err
	}
	if list, is := m.saved.Model.(fitted.ListSampler); is {
		return c.drawPairs(s, list)
	}
	draw, err := c.take(s, m)
	if err != nil {
		return err
	}
	return c.draw(s, m, draw)
}

// drawPairs writes a list of pairs: two names, and numbers.
func (c *sampleCommand) drawPairs(s *session, list fitted.ListSampler) error {
	if _, note := list.ListFacts(); note != "" {
		s.Note("%s", note)
	}
	draw := func(write func(record ...string) error) error {
		return list.SampleList(s, c.Rows, c.Labels, rand.New(rand.NewPCG(c.Seed, 0)), write)
	}
	if c.Format != "json" && !isParquet(c.Out) { // in the memory of one pair
		return s.emit(c.Out, func(w io.Writer) error {
			out := csv.NewWriter(w)
			err := draw(func(record ...string) error { return out.Write(record) })
			out.Flush()
			return cmp.Or(err, out.Error())
		})
	}
	const names = 2
	var table report.Table
	if err := draw(func(record ...string) error {
		if table.Columns == nil {
			table.Columns = report.Columns(record...)
			return nil
		}
		cells := []any{record[0], record[1]}
		for _, cell := range record[names:] {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				return err
			}
			cells = append(cells, v)
		}
		table.Add(cells...)
		return nil
	}); err != nil {
		return err
	}
	heads, texts, numbers := table.Cells()
	return s.emitAs(c.Format, c.Out, heads, func(to data.Writer) error { return to.Write(texts, numbers) })
}

func (c *sampleCommand) checkLabels(m *modelFile) error {
	if list, is := m.saved.Model.(fitted.ListSampler); is {
		if labels, _ := list.ListFacts(); labels {
			return nil
		}
	}
	switch {
	case c.Labels && !m.kind.Classes:
		return misused("--labels requires a mixture or hmm: %s is %s model, which has no components", c.Saved,
			wording.A(m.Model))
	case c.Labels && slices.Contains(namesOf(m.Columns), drawnHead(m)):
		return misused("--labels would add a second column named %q", drawnHead(m))
	}
	return nil
}

// A draw draws n rows, and the component of each where z is a class.
type draw func(n int) (x []float64, labels []int, err error)

// take is what draws: rows by themselves, or given those of --given.
func (c *sampleCommand) take(s *session, m *modelFile) (draw, error) {
	rng := rand.New(rand.NewPCG(c.Seed, 0))
	given, is := m.saved.Model.(fitted.ConditionalSampler)
	switch {
	case !is && m.input.Given > 0:
		return nil, misused("latent sample cannot draw from %s, which describes its columns given %s", c.Saved,
			quoted(m.taken()))
	case !is && c.Given == "":
		sampler, draws := m.saved.Model.(fitted.Sampler)
		if !draws {
			return nil, fmt.Errorf("%s is %s model, which cannot draw rows", c.Saved, wording.A(m.Model))
		}
		return sampler.NewSampler(rng), nil
	case !is:
		return nil, misused("--given requires a model with a gate, or a regression: %s takes no column as given", c.Saved)
	case c.Given == "":
		return nil, misused("%s does not describe its columns %s: latent sample needs rows that have them (--given FILE)",
			c.Saved, quoted(m.taken()))
	}
	reading := tables.Options{Header: "auto"}
	reading.AsFitted(m.Settings.Spelt)
	in, err := reading.Open(s.Session, c.Given, tables.Reading(m.Columns))
	if err != nil {
		return nil, err
	}
	columns := slices.DeleteFunc(slices.Clone(m.Columns), func(one data.Column) bool {
		return !slices.Contains(in.Names, one.Name) && !slices.Contains(m.taken(), one.Name)
	})
	if in.Table, err = in.Table.Select(namesOf(columns)...); err != nil {
		return nil, in.Wrap(err)
	}
	if err := in.Recode(columns, upTo(0, len(columns)-1), false); err != nil {
		return nil, in.Wrap(err)
	}
	rows := make([]float64, 0, in.Rows()*len(m.Columns))
	for row := range in.Rows() {
		for j, one := range m.Columns {
			v := 0.0
			if at := slices.Index(in.Names, one.Name); at >= 0 {
				v = in.Number(row, at)
			} else if j < max(1, m.input.Optional) {
				v = 1 // the trial of a multinomial row, or of a response
			}
			rows = append(rows, v)
		}
	}
	in.Shown = namesOf(m.Columns)
	next, d := 0, len(m.Columns)
	return func(n int) (x []float64, labels []int, err error) {
		b := blocks.Rows{N: n, D: d, Stride: d}
		for range n {
			b.X = append(b.X, rows[next*d:(next+1)*d]...)
			next = (next + 1) % in.Rows()
		}
		x, labels, err = given.SampleGiven(b, rng)
		return x, labels, in.Wrap(err)
	}, nil
}

// draw writes rows, some after others.
func (c *sampleCommand) draw(s *session, m *modelFile, some draw) error {
	heads, d := []data.Head(nil), len(m.Columns)
	for _, column := range m.Columns {
		head := data.Head{Name: column.Name}
		if len(column.Levels) > 0 {
			head.Cells = data.Texts
		}
		heads = append(heads, head)
	}
	if c.Labels {
		heads = append(heads, data.Head{Name: drawnHead(m), Cells: data.Integers})
	}
	return s.emitAs(c.Format, c.Out, heads, func(to data.Writer) error {
		for first := 0; first < c.Rows; first += blockRows {
			if s.Err() != nil {
				return fmt.Errorf("interrupted after %d of %d rows", first, c.Rows)
			}
			n := min(blockRows, c.Rows-first)
			x, labels, err := some(n)
			if err != nil {
				return err
			}
			var texts []string
			var numbers []float64
			for i := range n {
				for j, v := range x[i*d : (i+1)*d] {
					if levels := m.Columns[j].Levels; len(levels) > 0 && v != v { // no class is known
						texts = append(texts, "")
					} else if len(levels) > 0 {
						texts = append(texts, levels[int(v)])
					} else {
						numbers = append(numbers, v)
					}
				}
				if c.Labels {
					numbers = append(numbers, float64(labels[i]+1))
				}
			}
			if err := to.Write(texts, numbers); err != nil {
				return err
			}
		}
		return nil
	})
}

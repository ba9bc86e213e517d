package command

import (
	"math/rand/v2"
	"slices"
	"strconv"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/fitted"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// drawHead heads the column of the numbers of --draws.
const drawHead = "draw"

// checkFill refuses --fill of a model that cannot fill, and flags that do not go with it.
func (c *predictCommand) checkFill(m *modelFile) error {
	_, fills := m.saved.Model.(fitted.Filler)
	switch {
	case c.Draws != nil && !c.Fill:
		return misused("--draws requires --fill")
	case !c.Fill:
		return nil
	case !fills:
		return misused("--fill requires a model that fills in missing entries, such as mixture, hmm and factor: %s is %s "+
			"model", c.Saved, wording.A(m.Model))
	case c.Forecast != nil || c.Label != "":
		return misused("--fill cannot be used with --forecast or --label: it writes the rows of the table")
	case c.Draws != nil && c.Format == "json":
		return misused("--draws writes a table: leave --format json out")
	case c.Draws != nil && slices.Contains(append(namesOf(m.Columns), c.ID...), drawHead):
		return misused("--draws would add a second column named %q to the rows", drawHead)
	case len(without(c.ID, setOf(namesOf(m.Columns)))) < len(c.ID):
		return misused("--id names columns of the model, which --fill writes: leave them out")
	case c.Missing != nil && *c.Missing != tables.MissingKeep:
		return misused("--fill fills in missing entries: leave --missing %s out", *c.Missing)
	}
	c.rng = rand.New(rand.NewPCG(c.Seed, 0))
	return nil
}

// A filling has the cells of the model's columns, and what becomes of those that are missing.
type filling struct {
	tables.IDs
	columns []data.Column
	filler  fitted.Filler
	draws   int // 0: means are filled in
	rng     *rand.Rand
	text    []func(v float64) string // of each column
	numeric []bool                   // columns of numbers are written as numbers, in formats that have such
}

// filling readies what fills the gaps of a table whose columns are the model's, in another order.
func (c *predictCommand) filling(
	m *modelFile, in *tables.Input, columns []data.Column, order []int,
) (f *filling, err error) {
	f = &filling{columns: columns, filler: m.saved.Model.(fitted.Filler), rng: c.rng}
	if c.Draws != nil {
		f.draws = *c.Draws
	}
	var names []string
	for _, place := range order {
		names = append(names, in.Names[place])
	}
	if f.IDs, err = in.PassThrough(names); err != nil {
		return nil, err
	}
	for j, column := range columns {
		text, err := c.Text(in, names[j])
		if err != nil {
			return nil, err
		}
		if len(column.Levels) > 0 {
			text = func(v float64) string {
				if v != v { // a class that is not known
					return ""
				}
				return column.Levels[int(v)]
			}
		}
		f.text = append(f.text, text)
		f.numeric = append(f.numeric, isParquet(c.Out) && len(column.Levels) == 0 && in.Unit(names[j]) == "")
	}
	return f, nil
}

// table has the rows of a block with their gaps filled in, as often as there are draws.
func (f *filling) table(p *prediction, b blocks.Rows) (table []float64, err error) {
	times := max(1, f.draws)
	table = make([]float64, times*len(b.X))
	rng := f.rng
	if f.draws == 0 {
		rng = nil
	}
	ends := []int{b.N}
	if p.ends != nil {
		ends = p.series(b).Ends
	}
	for first := 0; len(ends) > 0; first, ends = ends[0], ends[1:] {
		part := blocks.Rows{First: b.First + first, N: ends[0] - first, D: b.D, Stride: b.D,
			X: b.X[first*b.D : ends[0]*b.D]}
		for time := range times {
			wide := p.widened(part)
			x, err := f.filler.Fill(wide, rng)
			if err != nil {
				return nil, err
			}
			for i := range part.N {
				to := table[((first+i)*times+time)*b.D:]
				for j := range wide.D {
					if at := j; p.wide == nil || p.wide[j] >= 0 {
						if p.wide != nil {
							at = p.wide[j]
						}
						to[at] = x[i*wide.D+j]
					}
				}
			}
		}
	}
	return table, nil
}

// heads are those of the columns passed through, the number of the draw, and the model's columns.
func (f *filling) heads(p *prediction) (heads []data.Head) {
	for _, name := range p.ids.Names[:len(p.ids.Names)-len(f.Names)] {
		heads = append(heads, data.Head{Name: name, Cells: data.Texts})
	}
	if f.draws > 0 {
		heads = append(heads, data.Head{Name: drawHead, Cells: data.Integers})
	}
	for j, name := range f.Names {
		head := data.Head{Name: name, Cells: data.Texts}
		if f.numeric[j] {
			head.Cells = data.Floats
		}
		heads = append(heads, head)
	}
	return heads
}

// rows are the texts and the numbers of completed rows.
func (f *filling) rows(cells []string, table []float64) (texts []string, numbers []float64) {
	times, d := max(1, f.draws), len(f.columns)
	wide := len(cells) * d * times / len(table) // of one row
	for row := range slices.Chunk(cells, wide) {
		for time := range times {
			texts = append(texts, row[:wide-d]...)
			if f.draws > 0 {
				numbers = append(numbers, float64(time+1))
			}
			for j, v := range table[:d] {
				cell := row[wide-d+j]
				switch {
				case f.numeric[j]:
					numbers = append(numbers, v)
				case cell != "" && cell != strconv.FormatFloat(v, 'g', -1, 64): // else it was read as a number
					texts = append(texts, cell)
				default:
					texts = append(texts, f.text[j](v))
				}
			}
			table = table[d:]
		}
	}
	return texts, numbers
}

// values are those of a row for JSON.
func (f *filling) values(row []float64) (list []any) {
	for j, v := range row {
		if len(f.columns[j].Levels) > 0 {
			list = append(list, f.text[j](v))
		} else {
			list = append(list, number(v))
		}
	}
	return list
}

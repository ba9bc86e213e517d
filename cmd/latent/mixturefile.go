package main

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"

	"github.com/latent-go/latent/framework"
	"github.com/latent-go/latent/models/mixture"
)

// load takes the parameters out of a model file, and the families of its columns.
func (m mixtureModel) load(file *modelFile) (learned, error) {
	var p *mixture.Parameters
	if err := json.Unmarshal(file.Params, &p); err != nil {
		return nil, err
	}
	if p == nil {
		return nil, fmt.Errorf("no parameters")
	}
	if err := file.goesWith(p.K, p.D); err != nil {
		return nil, err
	}
	families := columnFamilyNames
	if m.bernoulli || joint(file.Family) {
		families = []string{file.Family}
	}
	for _, c := range file.Columns {
		if err := c.check(families); err != nil {
			return nil, err
		}
	}
	model := mixture.Model{Family: familyFrom(file.Family, file.Columns)}
	if err := model.Check(p); err != nil {
		return nil, err
	}
	return clustering{model, p, file.Family, file.Columns}, nil
}

// check says what is wrong with a column of a model file.
func (c column) check(families []string) error {
	levels := len(c.Levels)
	wrong := levels > 0
	switch c.Family {
	case familyCategorical:
		wrong = levels < 2
	case familyBernoulli:
		wrong = levels != 0 && levels != 2
	}
	switch {
	case !slices.Contains(families, c.Family):
		return fmt.Errorf("the family of column %q is %q, and this model has %s", c.Name, c.Family, strings.Join(families, ", "))
	case wrong:
		return fmt.Errorf("column %q is %s and has %s", c.Name, c.Family, counted(levels, "level"))
	case len(slices.Compact(slices.Sorted(slices.Values(c.Levels)))) < levels:
		return fmt.Errorf("column %q has a level twice", c.Name)
	}
	return nil
}

// clustering is a saved mixture.
type clustering struct {
	model   mixture.Model
	params  *mixture.Parameters
	family  string
	columns []column
}

func (m clustering) needsAll() bool { return joint(m.family) }

func (m clustering) recode(in *input, places []int, unseenMissing bool) error {
	return in.recode(m.columns, places, unseenMissing)
}

func (m clustering) values(s *session, in *input) (x []float64, rows int, err error) {
	if x, rows, _, err = in.Values(); err != nil {
		return nil, 0, err
	}
	return x, rows, in.reportGaps(s, x, m.needsAll())
}

func (m clustering) layout() (layout, error) {
	l := layout{names: []string{"label"}, list: "responsibilities", first: 1, last: 1 + m.params.K}
	for k := range m.params.K {
		l.names = append(l.names, "p"+strconv.Itoa(k+1))
	}
	l.names = append(l.names, "log_likelihood")
	return l, nil
}

func (m clustering) judge(b framework.Rows) ([]float64, error) {
	k := m.params.K
	logProb, q, err := m.model.Judge(b, m.params, nil, nil)
	if err != nil {
		return nil, err
	}
	labels := mixture.Labels(q, k)
	table := make([]float64, 0, b.N*(k+2))
	for i, l := range logProb {
		table = append(table, float64(labels[i]+1))
		table = append(append(table, q[i*k:(i+1)*k]...), l)
	}
	return table, nil
}

func (clustering) labelled() bool { return true }

func (m clustering) sample(n int, rng *rand.Rand) (x []float64, labels []int, err error) {
	return m.model.Sample(m.params, n, rng)
}

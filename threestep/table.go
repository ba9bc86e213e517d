package threestep

import (
	"fmt"
	"maps"
	"slices"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/internal/design"
	"github.com/latent-go/latent/internal/families"
)

// Read takes the outcomes and covariates of an analysis from a table, by the names of its columns. family says what
// the values of a column are: gaussian, poisson, bernoulli or categorical. Other outcomes are what
// [data.Table.Suggest] takes them for; other covariates are numbers, or levels if they are texts. Levels of covariates
// become indicators from the second on.
func Read(t *data.Named, outcomes, covariates []string, family map[string]string) (a *Analysis, err error) {
	a = &Analysis{Part: "class", Weights: t.Weights}
	for _, name := range slices.Sorted(maps.Keys(family)) {
		if !slices.Contains(outcomes, name) && !slices.Contains(covariates, name) {
			return nil, fmt.Errorf("threestep: column %q has a family, and is no outcome and no covariate", name)
		}
	}
	for _, name := range outcomes {
		o, err := outcomeOf(t, name, family[name])
		if err != nil {
			return nil, err
		}
		a.Outcomes = append(a.Outcomes, o)
	}
	if len(covariates) > 0 {
		a.Covariates, a.X, err = covariatesOf(t, covariates, family)
	}
	return a, err
}

func outcomeOf(t *data.Named, name, family string) (c Column, err error) {
	c.Name = name
	suggested := t.Suggest(name, t.Weights).Kind
	switch {
	case family == families.Bernoulli || family == families.Categorical:
		c.Kind = Categorical
	case family == families.Poisson:
		c.Kind = Count
	case family == families.Gaussian:
	case family != "":
		return c, fmt.Errorf("outcome %q: the family %s is none of gaussian, poisson, bernoulli and categorical", name,
			family)
	case suggested == data.Binary || t.Levels(name) != nil || suggested == data.Categorical:
		c.Kind = Categorical
	case suggested == data.Count:
		c.Kind = Count
	}
	if c.Kind == Categorical {
		c.Values, c.Levels, err = codes(t, name)
		c.Outcome.Levels = len(c.Levels)
	} else {
		c.Values, err = t.Column(name)
	}
	return c, err
}

// mostLevels is how many levels a column can have.
const mostLevels = 50

// codes are a column as codes of its levels.
func codes(t *data.Named, name string) (values []float64, levels []string, err error) {
	if levels, err = t.Occurring(name); err != nil {
		return nil, nil, err
	}
	if len(levels) > mostLevels {
		return nil, nil, fmt.Errorf("column %q has %d levels: join them to %d or fewer", name, len(levels), mostLevels)
	}
	coded, err := t.Factor(name, levels, false)
	if err != nil {
		return nil, nil, err
	}
	if coded, err = coded.Select(name); err != nil {
		return nil, nil, err
	}
	for row := range coded.Rows() {
		values = append(values, coded.Number(row, 0))
	}
	return values, levels, nil
}

func covariatesOf(t *data.Named, names []string, family map[string]string) (list []Covariate, x []float64, err error) {
	columns := make([]design.GateColumn, len(names))
	values := make([][]float64, len(names))
	for j, name := range names {
		columns[j].Name = name
		if f := family[name]; t.Levels(name) != nil || f == families.Categorical || f == families.Bernoulli {
			values[j], columns[j].Levels, err = codes(t, name)
		} else {
			values[j], err = t.Column(name)
		}
		if err == nil && len(columns[j].Levels) == 1 {
			err = fmt.Errorf("column %q: %w", name, ErrConstant)
		}
		if err != nil {
			return nil, nil, err
		}
		list = append(list, Covariate{name, columns[j].Names()})
	}
	for row := range t.Rows() {
		for j, c := range columns {
			x = c.Numbers(x, values[j][row])
		}
	}
	return list, x, nil
}

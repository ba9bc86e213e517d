package columns

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/latent-go/latent/data"
	"github.com/latent-go/latent/framework/blocks"
	"github.com/latent-go/latent/internal/classes"
	"github.com/latent-go/latent/internal/families"
	"github.com/latent-go/latent/internal/tables"
	"github.com/latent-go/latent/internal/wording"
)

// checkCovariates refuses covariates that are no numbers, or say nothing.
func (in Columns) checkCovariates(names []string, flag string) error {
	for _, name := range names {
		switch j := slices.Index(in.Names, name); {
		case in.Levels(name) != nil:
			return fmt.Errorf("%s: column %.60q has texts; must be numbers", flag, name)
		case in.Constant(j, in.Weights):
			return in.constant(name, flag)
		}
	}
	return nil
}

// constant is the error of a covariate that has one value.
func (Columns) constant(name, flag string) error {
	return fmt.Errorf("%s: column %.60q is constant: leave it out of %[1]s, and --drop %[3]s", flag, name,
		wording.Item(name))
}

// described are the families of --columns, with those of the gate and of known classes.
func (in Columns) described() *classes.ColumnFamilies {
	if len(in.asked.Aside()) == 0 {
		return in.asked.Described()
	}
	given := *in.asked.Described()
	if given.Family = maps.Clone(given.Family); given.Family == nil {
		given.Family = map[string]string{}
	}
	for _, name := range in.asked.Gate() {
		if given.Family[name] == "" {
			given.Family[name] = families.Gate
		}
	}
	if known := in.asked.KnownColumn(); known != "" {
		given.Family[known] = families.Known
	}
	return &given
}

// checkGate refuses columns of the gate that say nothing or lack a value.
func (in Columns) checkGate(gate []string) error {
	_, flag := in.asked.Given()
	missing := errors.New("a gate needs every value of its columns; --missing drop leaves such rows out")
	if flag == "--covariates" {
		missing = errors.New("a covariate needs a value in every step: fill it in")
	}
	for _, name := range gate {
		j := slices.Index(in.Names, name)
		switch {
		case !in.Constant(j, in.Weights):
		case flag == "--covariates":
			return in.constant(name, flag)
		default:
			return fmt.Errorf("--gate: column %.60q is constant: leave it out of the gate", name)
		}
		for row := range in.Rows() {
			if v := in.Number(row, j); v != v {
				return &blocks.DataError{
					Row:    row,
					Column: j,
					Value:  v,
					Reason: missing,
				}
			}
		}
	}
	return nil
}

// measuredTogether moves columns of measurements beside one another where their covariances are compared, or have been
// named, in a table that has others, too.
func (in Columns) measuredTogether(columns []data.Column) ([]data.Column, error) {
	named := families.Joint(in.asked.Covariance)
	if *in.asked.Family != families.Auto || *in.asked.Structures == nil && !named {
		return columns, nil
	}
	var before, block, after []data.Column
	for _, c := range columns {
		switch {
		case c.Family == families.Gaussian:
			if named {
				c.Block = in.asked.Covariance
			}
			block = append(block, c)
		case block == nil:
			before = append(before, c)
		default:
			after = append(after, c)
		}
	}
	if len(block) < 2 && !named {
		*in.asked.Structures = nil
		return columns, nil
	}
	columns = slices.Concat(before, block, after)
	t, err := in.Table.Select(tables.NamesOf(columns)...)
	if err == nil {
		in.Table = t
	}
	return columns, err
}

// columnsFlag is --columns that gives further columns a family too.
func columnsFlag(c *classes.ColumnFamilies, names []string, family string) string {
	var items []string
	if c.Text != "" {
		items = append(items, c.Text)
	}
	for _, name := range names {
		items = append(items, strings.ReplaceAll(name, ",", `\,`)+"="+family)
	}
	return "--columns " + wording.Word(strings.Join(items, ","))
}

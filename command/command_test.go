package command_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/family"
	"github.com/latent-go/latent/fitted"
)

// said is the status and the last line of a command of a host.
func said(h command.Host, line string) (status int, text string) {
	var out, errs bytes.Buffer
	status = command.Run(context.Background(), h, strings.Fields(line), strings.NewReader(""), &out, &errs)
	return status, out.String() + errs.String()
}

// A contradiction is a family whose factors are none.
type contradiction struct{ family.Family }

func (contradiction) Name() string                            { return "contradiction" }
func (contradiction) Columns() int                            { return 1 }
func (contradiction) On(columns int) ([]family.Factor, error) { return []family.Factor{half{}}, nil }

type half struct{ family.Factor }

func (half) Name() string          { return "half" }
func (half) Layout() family.Layout { return family.Layout{Columns: 1, Cells: 1} }

// TestHostsThatContradictThemselvesAreRefusedAtOnce, before data are read.
func TestHostsThatContradictThemselvesAreRefusedAtOnce(t *testing.T) {
	of := func(names ...string) (list []builtin.Family) {
		for _, name := range names {
			list = append(list, builtin.Family{Name: name, Of: family.Poisson{}})
		}
		return list
	}
	models := builtin.Models()
	for want, list := range map[string]fitted.Registry{
		`family of one's own is named ""`:                                  builtin.Models(of("")...),
		`is named "a,b": a name is one word`:                               builtin.Models(of("a,b")...),
		"is named poisson, as one of the library is":                       builtin.Models(of("poisson")...),
		"two families of one's own are named visits":                       builtin.Models(of("visits", "visits")...),
		"the family visits of one's own has no Of":                         builtin.Models(builtin.Family{Name: "visits"}),
		"must be a family.SumFactor or a family.RowFactor, one of the two": builtin.Models(builtin.Family{Name: "visits", Of: contradiction{}}),
		`two definitions are named "mixture"`:                              append(models, models[0]),
		`the definition of model "mine" has no Load`:                       append(models, fitted.Definition{Name: "mine"}),
		"definition 12 of 12 has no name":                                  append(models, fitted.Definition{}),
		"there are no models":                                              {},
	} {
		status, text := said(command.Host{Name: "own", Models: list}, "fit --data nothing.csv")
		require.Contains(t, text, want)
		require.True(t, strings.HasPrefix(text, "own: "), text)
		require.Equal(t, 2, status, text)
		require.Equal(t, 1, strings.Count(text, "\n"), text)
	}
}

// TestModelsOfOneHostAreUnknownToAnother, which says what it knows.
func TestModelsOfOneHostAreUnknownToAnother(t *testing.T) {
	own := command.Host{Name: "own", Models: builtin.Models(builtin.Family{Name: "visits", Of: family.Poisson{}})}
	path := t.TempDir() + "/m.json"
	status, text := said(own, "fit --data earthquakes --columns year=gaussian,count=visits --kmax 2 --restarts 2 --out "+path)
	require.Zero(t, status, text)
	require.Contains(t, text, "visits: count")
	status, text = said(own, "predict --data earthquakes "+path)
	require.Zero(t, status, text)
	status, text = said(command.Host{}, "predict --data earthquakes "+path)
	require.Equal(t, 1, status)
	require.Contains(t, text, "visits")
	require.Contains(t, text, "ordinal")
	status, text = said(command.Host{}, "fit --data earthquakes --columns count=visits")
	require.Equal(t, 2, status)
	require.Contains(t, text, `no family "visits" of one column: choose one of gaussian, `)
}

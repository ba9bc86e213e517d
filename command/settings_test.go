package command_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/latent-go/latent/builtin"
	"github.com/latent-go/latent/command"
	"github.com/latent-go/latent/examples/geometric"
	"github.com/latent-go/latent/fitted"
)

// settings are a flag of a model of one's own.
type settings struct {
	Most            int `json:"most,omitempty" default:"5" placeholder:"K" range:"[1,inf)" help:"Begin with so many components."`
	fitted.Settings `json:"-" kong:"-"`
}

func (s *settings) Check(fitted.Request) error {
	if s.Most > 50 {
		return &fitted.SettingError{Setting: "Most", Reason: fmt.Sprintf("is %d: at most 50 components", s.Most)}
	}
	return nil
}

func (s *settings) Bind(ctx context.Context, t *fitted.Table, r fitted.Request) (*fitted.Bound, error) {
	b, err := s.Settings.Bind(ctx, t, r)
	if len(t.Columns) > 1 {
		return nil, &fitted.SettingError{Setting: "Most", Reason: "is of one column"}
	}
	b.KMax = s.Most
	return b, err
}

// drawn geometric mixtures have rows to draw.
type drawn struct{ geometric.Model }

func (drawn) Sample(p *geometric.Parameters, n int, rng *rand.Rand) (x []float64, labels []int, err error) {
	for range n {
		x = append(x, float64(rng.IntN(9)))
	}
	return x, make([]int, n), nil
}

// TestSettingsOfOnesOwnAreFlags, fields of JSON and of files.
func TestSettingsOfOnesOwnAreFlags(t *testing.T) {
	d := fitted.Plain("drawn", "Geometric mixture", drawn{})
	plain := d.New
	d.New = func() fitted.Settings { return &settings{Settings: plain()} }
	own := command.Host{Name: "own", Models: append(builtin.Models(), d)}
	path := t.TempDir() + "/m.json"
	fit := "fit --model drawn --data earthquakes --select count --method em --max-iter 5 "
	status, text := said(own, fit+"--most 3 --out "+path)
	require.Zero(t, status, text)
	require.Contains(t, text, "of at most 3")
	saved, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Contains(t, string(saved), `"most":3`)
	status, text = said(own, "sample -n 4 --seed 7 "+path)
	require.Zero(t, status, text)
	require.Regexp(t, `^count\n(\d\n){4}$`, text)
	status, text = said(own, "fit --model drawn --help")
	require.Zero(t, status)
	require.Regexp(t, `Flags of --model drawn:\s+--most=K\s+Begin with so many components`, text)

	damaged := strings.Replace(string(saved), `"P":[`, `"P":[0.5,`, 1)
	object := damaged[strings.Index(damaged, `"model"`):strings.LastIndex(damaged, `,"checksum"`)]
	require.NoError(t, fitted.Save(path, []byte("{"+object+"}")))
	for line, want := range map[string]string{
		fit + "--most 51":                                  "own: --most is 51: at most 50 components",
		fit + "--most 0":                                   "own: --most is 0; must be at least 1",
		"fit --most 3":                                     "own: --most is a flag of --model drawn, and the model is mixture",
		"predict --data earthquakes " + path:               "damaged: ",
		"fit --model drawn --data faithful --method em":    "--most is of one column",
		"select --model drawn --data faithful --method em": "--most is of one column",
	} {
		status, text := said(own, line)
		require.NotZero(t, status, line)
		require.Contains(t, text, want, line)
		require.Equal(t, 1, strings.Count(text, "\n"), text)
	}
	for flag, settings := range map[string]fitted.Settings{
		"seed": &struct {
			Seed            int
			fitted.Settings `kong:"-"`
		}{Settings: plain()},
		"kmax": &struct {
			Kmax            int
			fitted.Settings `kong:"-"`
		}{Settings: plain()},
		"kmin": &struct {
			Kmin            int
			fitted.Settings `kong:"-"`
		}{Settings: plain()},
		"quiet": &struct {
			Quiet           bool
			fitted.Settings `kong:"-"`
		}{Settings: plain()},
	} {
		d.New = func() fitted.Settings { return settings }
		status, text = said(command.Host{Name: "own", Models: fitted.Registry{d}}, fit)
		require.Equal(t, 2, status)
		require.Equal(t, "own: the model \"drawn\" has the flag --"+flag+", which all models have: rename its setting\n", text)
	}
}

// TestAWorkerOpensAModelOfOnesOwn, and makes the shares of a pass that a process alone makes.
func TestAWorkerOpensAModelOfOnesOwn(t *testing.T) {
	own := command.Host{Name: "own", Models: fitted.Registry{fitted.Plain("geometric", "Geometric mixture", geometric.Model{})}}
	const line = "fit --data earthquakes --select count --k 2 --method em --max-iter 7 --format json"
	_, alone := said(own, line)
	made := 0
	own.Passes = func(ctx context.Context, j command.Job) (command.Passes, error) {
		opened, err := command.Open(ctx, own, j)
		return shares{opened, &made}, err
	}
	status, text := said(own, line)
	require.Zero(t, status, text)
	timeless := func(text string) string { return text[:strings.Index(text, `"seconds"`)] }
	require.Equal(t, timeless(alone), timeless(text))
	require.GreaterOrEqual(t, made, 7)
}

type shares struct {
	command.Opened
	made *int
}

func (s shares) Make(ctx context.Context, state []byte, n int) ([][]byte, error) {
	*s.made++
	var list [][]byte
	for i := range n {
		one, err := s.Share(ctx, state, i, i+1, n, 1)
		if err != nil {
			return nil, err
		}
		list = append(list, one)
	}
	return list, nil
}

// listed is a model of pairs that says which it was given.
type listed struct {
	fitted.Settings `json:"-" kong:"-"`
}

func (*listed) Check(fitted.Request) error { return nil }

func (*listed) Bind(_ context.Context, t *fitted.Table, _ fitted.Request) (*fitted.Bound, error) {
	return nil, fmt.Errorf("given %v %v %v of %d columns", t.Pairs.Names, t.Pairs.Index, t.Pairs.Numbers, len(t.Columns))
}

// TestPairsReachAModelOfOnesOwn, with their names and numbers.
func TestPairsReachAModelOfOnesOwn(t *testing.T) {
	d := fitted.Plain("listed", "Pairs", drawn{})
	d.Pairs, d.New = true, func() fitted.Settings { return new(listed) }
	path := t.TempDir() + "/list.csv"
	require.NoError(t, os.WriteFile(path, []byte("from,to,n\nb,x,1\na,y,2\nb,y,3\n"), 0o600))
	status, text := said(command.Host{Name: "own", Models: fitted.Registry{d}}, "fit --model listed --data "+path)
	require.Equal(t, 1, status)
	require.Contains(t, text, "given [[a b] [x y]] [[1 0 1] [0 1 1]] [1 2 3] of 3 columns")
}
